"""The storm: kills under mixed load, and a checker that shares no code with the server. See `__main__`."""
