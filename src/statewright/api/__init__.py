"""The service's API over HTTP: routing, protocols, validation from the service models, and the operations."""
