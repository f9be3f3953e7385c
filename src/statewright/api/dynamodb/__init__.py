"""The DynamoDB API: one function an operation."""
