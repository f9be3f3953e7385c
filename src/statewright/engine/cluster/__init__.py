"""Several engines over one store: cells that come and go, which executions run at the home, and what a worker lacks."""
