-- Version 3: messages of queues. A queue is the number of its rows. Instants are epoch milliseconds.
-- SQLite only: STRICT, WITHOUT ROWID.

-- What changes with a receive; the body stands apart, because SQLite writes a whole row anew. `grp` is the group of a
-- FIFO message, `tenant` that of a standard one; `base` is what `receives` was when it came from another queue.
CREATE TABLE message (
    id INTEGER PRIMARY KEY,
    queue INTEGER NOT NULL,
    visible_ms INTEGER NOT NULL,
    receives INTEGER NOT NULL,
    sent_ms INTEGER NOT NULL,
    receipt INTEGER NOT NULL,
    first_received_ms INTEGER NOT NULL,
    base INTEGER NOT NULL,
    grp TEXT,
    tenant TEXT,
    source TEXT
) STRICT;
-- What is received next, what is past its time, and (covered) what is in flight or delayed. The id follows by itself.
CREATE INDEX message_by_time ON message (queue, visible_ms, receives);
CREATE INDEX message_by_group ON message (queue, grp, id) WHERE grp IS NOT NULL;
CREATE INDEX message_by_tenant ON message (queue, tenant, visible_ms) WHERE tenant IS NOT NULL;

CREATE TABLE message_body (
    id INTEGER PRIMARY KEY,
    body TEXT NOT NULL,
    extra TEXT
) STRICT;

-- A FIFO group with messages, and from when on its first one may be received.
CREATE TABLE message_group (
    queue INTEGER NOT NULL,
    grp TEXT NOT NULL,
    free_ms INTEGER NOT NULL,
    backlog INTEGER NOT NULL,
    PRIMARY KEY (queue, grp)
) STRICT, WITHOUT ROWID;
CREATE INDEX message_group_by_time ON message_group (queue, free_ms);

CREATE TABLE message_dedup (
    queue INTEGER NOT NULL,
    dedup TEXT NOT NULL,
    until_ms INTEGER NOT NULL,
    id INTEGER NOT NULL,
    PRIMARY KEY (queue, dedup)
) STRICT, WITHOUT ROWID;
CREATE INDEX message_dedup_by_time ON message_dedup (until_ms);

CREATE TABLE message_note (
    id INTEGER NOT NULL,
    at_ms INTEGER NOT NULL,
    kind TEXT NOT NULL,
    detail TEXT NOT NULL
) STRICT;
CREATE INDEX message_note_by_message ON message_note (id);
