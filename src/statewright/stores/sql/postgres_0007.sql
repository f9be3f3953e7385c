-- Version 7: bodies of objects and code packages, so that servers of one database need no shared folder.

-- Bytes in pieces of 1 MiB, numbered from 0. `at_ms`: written, or asked for again by a writer of the same bytes.
CREATE TABLE blob (
    name text COLLATE "C" NOT NULL,
    n bigint NOT NULL,
    at_ms bigint NOT NULL,
    body bytea NOT NULL,
    PRIMARY KEY (name, n)
);
-- Not compressed: a part of a piece is read without the rest, and most bodies would not become smaller.
ALTER TABLE blob ALTER COLUMN body SET STORAGE EXTERNAL;

-- True once no byte of the store lies in a folder: a server with a new folder may serve it.
ALTER TABLE store_identity ADD COLUMN is_whole boolean NOT NULL DEFAULT false;
