"""Files of an embedded store that a store in PostgreSQL has as rows: for `move` and `backup`."""
