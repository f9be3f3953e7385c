"""Expressions: JSONPath, reference paths, intrinsic functions and JSONata. Pure."""
