"""Several servers on one database: nodes, the cells that each of them has, and the store of a node's worker."""
