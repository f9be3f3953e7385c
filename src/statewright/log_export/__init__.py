"""Export of the events of log groups by OTLP."""
