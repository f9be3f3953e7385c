-- Version 1: executions with all they have, and the catalogue. No sequences, triggers, foreign keys or procedures.
-- Instants are epoch milliseconds; statuses count along protocol.STATUSES. Rows that change keep half of their page
-- free, so that a new version of a row finds room beside the old one and no index is touched.
-- Texts compare byte by byte, as they do in the other stores.

CREATE TABLE shard (
    id bigint PRIMARY KEY,
    owner text,
    epoch bigint NOT NULL,
    lease_until_ms bigint NOT NULL
) WITH (fillfactor = 50);

CREATE TABLE execution (
    id bigint PRIMARY KEY,
    shard integer NOT NULL,
    machine bigint NOT NULL,
    name text COLLATE "C" NOT NULL,
    status integer NOT NULL,
    started_ms bigint NOT NULL,
    stopped_ms bigint,
    version bigint NOT NULL,
    state bytea,
    tail bytea NOT NULL
) WITH (fillfactor = 50);
CREATE UNIQUE INDEX execution_by_name ON execution (machine, name);
CREATE INDEX execution_by_start ON execution (machine, started_ms, id);
CREATE INDEX execution_by_status ON execution (machine, status, started_ms, id);
-- What retention looks through: the closed ones.
CREATE INDEX execution_by_end ON execution (stopped_ms, id) WHERE status BETWEEN 1 AND 4;

-- Never written again: it would be copied at every step.
CREATE TABLE execution_head (
    id bigint PRIMARY KEY,
    body bytea NOT NULL
);

-- How many executions stand in each status; machine -1 counts them all, -2 all Map Runs. A lane is a writer's connection, so that two
-- of them never wait for one row; only the sum over lanes means something.
CREATE TABLE execution_count (
    machine bigint NOT NULL,
    status integer NOT NULL,
    lane integer NOT NULL,
    n bigint NOT NULL,
    PRIMARY KEY (machine, status, lane)
) WITH (fillfactor = 50);

CREATE TABLE frame (
    execution bigint NOT NULL,
    frame bigint NOT NULL,
    body bytea NOT NULL,
    PRIMARY KEY (execution, frame)
) WITH (fillfactor = 50);

CREATE TABLE payload (
    execution bigint NOT NULL,
    hash bytea NOT NULL,
    body bytea NOT NULL,
    PRIMARY KEY (execution, hash)
);

-- One row per commit: n events from id first on.
CREATE TABLE history (
    execution bigint NOT NULL,
    first bigint NOT NULL,
    n bigint NOT NULL,
    at_ms bigint NOT NULL,
    body bytea NOT NULL,
    PRIMARY KEY (execution, first)
);

CREATE TABLE timer (
    shard integer NOT NULL,
    due_ms bigint NOT NULL,
    execution bigint NOT NULL,
    timer bigint NOT NULL,
    PRIMARY KEY (shard, due_ms, execution, timer)
);

-- Ids begin with the shard, so the key lists a shard by itself.
CREATE TABLE outbox (
    id bigint PRIMARY KEY,
    execution bigint NOT NULL,
    kind text NOT NULL,
    body bytea NOT NULL
);

CREATE TABLE inbox (
    id bigint PRIMARY KEY,
    execution bigint NOT NULL,
    kind text NOT NULL,
    body bytea NOT NULL
);

CREATE TABLE entry (
    kind text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    parent text COLLATE "C" NOT NULL,
    sort bigint NOT NULL,
    version bigint NOT NULL,
    body bytea NOT NULL,
    PRIMARY KEY (kind, key)
);
CREATE INDEX entry_by_parent ON entry (kind, parent, sort, key);

CREATE TABLE number (
    name text COLLATE "C" PRIMARY KEY,
    last bigint NOT NULL
);
