"""API Gateway's operations on REST APIs."""
