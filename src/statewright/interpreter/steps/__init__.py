"""What each type of state does, one module a subject."""
