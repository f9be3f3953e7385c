"""API Gateway's operations on HTTP APIs."""
