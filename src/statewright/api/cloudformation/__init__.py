"""The CloudFormation API: one function per operation."""
