"""Commands over files on this machine, which need no server: run, test, validate, draw, simulate, export, begin."""
