-- Version 1: executions with all they have, and the catalogue.
-- SQLite only: STRICT, WITHOUT ROWID, BLOB. Instants are epoch milliseconds; statuses count along protocol.STATUSES.

CREATE TABLE shard (
    id INTEGER PRIMARY KEY,
    owner TEXT,
    epoch INTEGER NOT NULL,
    lease_until_ms INTEGER
) STRICT;

-- Its head stands apart, because SQLite writes a whole row anew at every step.
CREATE TABLE execution (
    id INTEGER PRIMARY KEY,
    shard INTEGER NOT NULL,
    machine INTEGER NOT NULL,
    name TEXT NOT NULL,
    status INTEGER NOT NULL,
    started_ms INTEGER NOT NULL,
    stopped_ms INTEGER,
    version INTEGER NOT NULL,
    state BLOB,
    tail BLOB NOT NULL
) STRICT;
CREATE UNIQUE INDEX execution_by_name ON execution (machine, name);
CREATE INDEX execution_by_start ON execution (machine, started_ms, id);
CREATE INDEX execution_by_status ON execution (machine, status, started_ms, id);
-- What retention looks through: the closed ones.
CREATE INDEX execution_by_end ON execution (stopped_ms, id) WHERE status BETWEEN 1 AND 4;

CREATE TABLE execution_head (
    id INTEGER PRIMARY KEY,
    body BLOB NOT NULL
) STRICT;

-- How many executions stand in each status; machine -1 counts them all, -2 all Map Runs.
CREATE TABLE execution_count (
    machine INTEGER NOT NULL,
    status INTEGER NOT NULL,
    shard INTEGER NOT NULL,
    n INTEGER NOT NULL,
    PRIMARY KEY (machine, status, shard)
) STRICT, WITHOUT ROWID;

CREATE TABLE frame (
    execution INTEGER NOT NULL,
    frame INTEGER NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (execution, frame)
) STRICT;

CREATE TABLE payload (
    execution INTEGER NOT NULL,
    hash BLOB NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (execution, hash)
) STRICT;

-- One row per commit: n events from id first on.
CREATE TABLE history (
    execution INTEGER NOT NULL,
    first INTEGER NOT NULL,
    n INTEGER NOT NULL,
    at_ms INTEGER NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (execution, first)
) STRICT;

CREATE TABLE timer (
    shard INTEGER NOT NULL,
    due_ms INTEGER NOT NULL,
    execution INTEGER NOT NULL,
    timer INTEGER NOT NULL,
    PRIMARY KEY (shard, due_ms, execution, timer)
) STRICT, WITHOUT ROWID;

-- Ids begin with the shard, so the key lists a shard by itself.
CREATE TABLE outbox (
    id INTEGER PRIMARY KEY,
    execution INTEGER NOT NULL,
    kind TEXT NOT NULL,
    body BLOB NOT NULL
) STRICT;

CREATE TABLE inbox (
    id INTEGER PRIMARY KEY,
    execution INTEGER NOT NULL,
    kind TEXT NOT NULL,
    body BLOB NOT NULL
) STRICT;

CREATE TABLE entry (
    kind TEXT NOT NULL,
    key TEXT NOT NULL,
    parent TEXT NOT NULL,
    sort INTEGER NOT NULL,
    version INTEGER NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (kind, key)
) STRICT;
CREATE INDEX entry_by_parent ON entry (kind, parent, sort, key);

CREATE TABLE number (
    name TEXT PRIMARY KEY,
    last INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
