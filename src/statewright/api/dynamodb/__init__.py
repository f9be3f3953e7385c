"""The DynamoDB API: one function per operation."""
