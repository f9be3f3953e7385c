"""The probes of the storm: each has callers of a kind of its own, and a check of what several of them may see."""
