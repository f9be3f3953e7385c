"""Worker processes of functions: how they are started, kept warm, used and ended."""
