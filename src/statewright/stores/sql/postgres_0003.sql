-- Version 3: messages of queues. A queue is the number of its rows. Instants are epoch milliseconds.
-- Rows that change keep half of their page free.

-- What changes with a receive; the body stands apart, so that it is not copied. `grp` is the group of a
-- FIFO message, `tenant` that of a standard one; `base` is what `receives` was when it came from another queue.
CREATE TABLE message (
    id bigint PRIMARY KEY,
    queue bigint NOT NULL,
    visible_ms bigint NOT NULL,
    receives bigint NOT NULL,
    sent_ms bigint NOT NULL,
    receipt bigint NOT NULL,
    first_received_ms bigint NOT NULL,
    base bigint NOT NULL,
    grp text COLLATE "C",
    tenant text COLLATE "C",
    source text
) WITH (fillfactor = 50);
-- What is received next, what is past its time, and (covered) what is in flight or delayed.
CREATE INDEX message_by_time ON message (queue, visible_ms, receives, id);
CREATE INDEX message_by_group ON message (queue, grp, id) WHERE grp IS NOT NULL;
CREATE INDEX message_by_tenant ON message (queue, tenant, visible_ms) WHERE tenant IS NOT NULL;

CREATE TABLE message_body (
    id bigint PRIMARY KEY,
    body text NOT NULL,
    extra text
);

-- A FIFO group with messages, and from when on its first one may be received.
CREATE TABLE message_group (
    queue bigint NOT NULL,
    grp text COLLATE "C" NOT NULL,
    free_ms bigint NOT NULL,
    backlog bigint NOT NULL,
    PRIMARY KEY (queue, grp)
) WITH (fillfactor = 50);
CREATE INDEX message_group_by_time ON message_group (queue, free_ms);

CREATE TABLE message_dedup (
    queue bigint NOT NULL,
    dedup text COLLATE "C" NOT NULL,
    until_ms bigint NOT NULL,
    id bigint NOT NULL,
    PRIMARY KEY (queue, dedup)
);
CREATE INDEX message_dedup_by_time ON message_dedup (until_ms);

CREATE TABLE message_note (
    id bigint NOT NULL,
    at_ms bigint NOT NULL,
    kind text NOT NULL,
    detail text NOT NULL
);
CREATE INDEX message_note_by_message ON message_note (id);
