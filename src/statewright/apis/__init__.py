"""API Gateway: HTTP and REST APIs as rows, their deployed routers, and the data plane that answers HTTP requests."""
