"""Project folders: which definitions they hold, and what changes in them."""
