"""Documents on the state of the server itself: `/health` and `/metrics`."""
