"""Services of others, called by tasks: at configured endpoints, or played by moto in a child process."""
