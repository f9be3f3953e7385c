-- Version 4: items of tables. A space is the number of a table or index; keys are bytes that sort as what they stand for.

CREATE TABLE table_item (
    space bigint NOT NULL,
    part bytea NOT NULL,
    sort bytea NOT NULL,
    size bigint NOT NULL,
    body text NOT NULL,
    PRIMARY KEY (space, part, sort)
) WITH (fillfactor = 50);

CREATE TABLE table_count (
    space bigint PRIMARY KEY,
    items bigint NOT NULL,
    bytes bigint NOT NULL
) WITH (fillfactor = 50);
