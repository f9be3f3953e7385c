"""What a Task may call: services in this process, services at an endpoint, HTTP addresses."""
