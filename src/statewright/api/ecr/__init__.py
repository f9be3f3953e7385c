"""The operations of ECR."""
