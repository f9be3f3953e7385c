"""The interpreter: `advance(program, state, event, now_ms)`, without I/O of any kind."""
