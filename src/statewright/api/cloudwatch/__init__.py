"""The CloudWatch API: metrics and dashboards."""
