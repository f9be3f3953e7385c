"""One execution: its rows, its state in memory, its names, lists and logs."""
