"""PartiQL: statements on one table, carried out by the same conditions, reads and writes as other requests."""
