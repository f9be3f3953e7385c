"""Items and results of distributed Maps: where they are read and written, and in which formats."""
