"""Programs that run in worker processes. The server starts these files and never imports them."""
