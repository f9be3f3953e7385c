"""Encodings of requests and answers on the wire, one module per protocol."""
