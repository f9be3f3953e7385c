"""Several engines over one store: cells that come and go, and which executions run at the home."""
