"""OpenAPI documents as definitions of APIs: read, turned into rows, and written."""
