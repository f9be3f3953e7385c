"""The tables of `statewright.toml`: their settings, the checks of these, and the reader that refuses mistakes."""
