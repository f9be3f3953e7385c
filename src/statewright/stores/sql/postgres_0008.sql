-- Version 8: minutes of metrics, so that a server that takes over elsewhere has those of its predecessor.

-- Blocks of points: `place` is the region, `at` the minute in epoch seconds, `epoch` that of the lease under which the
-- block was decided, 0 for what a data folder had, `n` its number under that epoch.
CREATE TABLE minute (
    place text COLLATE "C" NOT NULL,
    node text COLLATE "C" NOT NULL,
    at bigint NOT NULL,
    epoch bigint NOT NULL,
    n bigint NOT NULL,
    body bytea NOT NULL,
    PRIMARY KEY (place, at, node, epoch, n)
);

-- The metrics whose numbers blocks have; `at`: when they were last named.
CREATE TABLE metric (
    place text COLLATE "C" NOT NULL,
    node text COLLATE "C" NOT NULL,
    number bigint NOT NULL,
    at bigint NOT NULL,
    body bytea NOT NULL,
    PRIMARY KEY (place, node, number)
);
CREATE INDEX metric_by_age ON metric (place, node, at);
