-- Version 10: several servers on one database. Each is a node; the executions are divided among cells, of which each is a
-- row of `shard` with a lease of its own.

-- The name of the node that waits for the cell; only its owner gives it up.
ALTER TABLE shard ADD COLUMN wanted_by text;

-- At most one row. The nodes sign what they ask of each other with the secret.
CREATE TABLE cluster (
    id integer PRIMARY KEY,
    cells integer NOT NULL,
    secret bytea NOT NULL,
    made_ms bigint NOT NULL
);

-- A process that serves under a name. `incarnation` is the owner of its cells in `shard`; `home_epoch`: that of shard 0
-- while the process has that, else 0; `format`: of what the nodes write and say to each other.
CREATE TABLE node (
    name text COLLATE "C" PRIMARY KEY,
    incarnation text NOT NULL,
    address text NOT NULL,
    lease_until_ms bigint NOT NULL,
    home_epoch bigint NOT NULL,
    format integer NOT NULL
) WITH (fillfactor = 50);
