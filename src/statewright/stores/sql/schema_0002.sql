-- Version 2: objects in buckets.
-- Keys are UTF-8 bytes, which sort as such. Places count along object_rows: in a row, in a file, in segments.

CREATE TABLE bucket (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    created_ms INTEGER NOT NULL,
    body BLOB NOT NULL
) STRICT;

CREATE TABLE object (
    bucket INTEGER NOT NULL,
    key BLOB NOT NULL,
    id INTEGER NOT NULL,
    size INTEGER NOT NULL,
    modified_ms INTEGER NOT NULL,
    etag TEXT NOT NULL,
    place INTEGER NOT NULL,
    head BLOB NOT NULL,
    PRIMARY KEY (bucket, key)
) STRICT, WITHOUT ROWID;

-- Bytes of small objects and parts, apart from what listings read.
CREATE TABLE object_body (
    id INTEGER PRIMARY KEY,
    body BLOB NOT NULL
) STRICT;

CREATE TABLE upload (
    id INTEGER PRIMARY KEY,
    bucket INTEGER NOT NULL,
    key BLOB NOT NULL,
    created_ms INTEGER NOT NULL,
    head BLOB NOT NULL
) STRICT;
CREATE INDEX upload_by_key ON upload (bucket, key, id);

-- Parts of an upload, then of the object that it became under the same id.
CREATE TABLE segment (
    owner INTEGER NOT NULL,
    number INTEGER NOT NULL,
    id INTEGER NOT NULL,
    size INTEGER NOT NULL,
    place INTEGER NOT NULL,
    head BLOB NOT NULL,
    PRIMARY KEY (owner, number)
) STRICT, WITHOUT ROWID;

-- Ids of files that no row names: not yet, or not any more.
CREATE TABLE doomed_file (
    id INTEGER PRIMARY KEY
) STRICT;
