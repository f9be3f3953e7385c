-- Version 4: items of tables. A space is the number of a table or index; keys are bytes that sort as what they stand for.
-- SQLite only: STRICT, WITHOUT ROWID.

CREATE TABLE table_item (
    space INTEGER NOT NULL,
    part BLOB NOT NULL,
    sort BLOB NOT NULL,
    size INTEGER NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (space, part, sort)
) STRICT, WITHOUT ROWID;

CREATE TABLE table_count (
    space INTEGER PRIMARY KEY,
    items INTEGER NOT NULL,
    bytes INTEGER NOT NULL
) STRICT;
