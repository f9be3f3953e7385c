"""Worker processes of functions: starting them, keeping them warm, using and ending them."""
