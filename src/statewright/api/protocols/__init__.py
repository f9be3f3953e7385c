"""How requests and answers look on the wire, one module per protocol."""
