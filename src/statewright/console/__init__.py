"""The console: pages for browsers on the server's own port, and the reads behind them. Nothing below knows it."""
