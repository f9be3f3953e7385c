"""CloudWatch's API: metrics."""
