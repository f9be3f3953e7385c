"""What runs in worker processes. The server names these files and never imports them."""
