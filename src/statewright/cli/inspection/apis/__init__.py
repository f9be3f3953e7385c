"""`statewright api ...`: the HTTP APIs, REST APIs and URLs of functions of a server."""
