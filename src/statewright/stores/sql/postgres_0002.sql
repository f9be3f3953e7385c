-- Version 2: objects in buckets. Keys are UTF-8 bytes, which sort as such.

CREATE TABLE bucket (
    id bigint PRIMARY KEY,
    name text COLLATE "C" NOT NULL UNIQUE,
    created_ms bigint NOT NULL,
    body bytea NOT NULL
);

CREATE TABLE object (
    bucket bigint NOT NULL,
    key bytea NOT NULL,
    id bigint NOT NULL,
    size bigint NOT NULL,
    modified_ms bigint NOT NULL,
    etag text COLLATE "C" NOT NULL,
    place bigint NOT NULL,
    head bytea NOT NULL,
    PRIMARY KEY (bucket, key)
);

-- Bytes of small objects and parts, apart from what listings read.
CREATE TABLE object_body (
    id bigint PRIMARY KEY,
    body bytea NOT NULL
);

CREATE TABLE upload (
    id bigint PRIMARY KEY,
    bucket bigint NOT NULL,
    key bytea NOT NULL,
    created_ms bigint NOT NULL,
    head bytea NOT NULL
);
CREATE INDEX upload_by_key ON upload (bucket, key, id);

-- Parts of an upload, then of the object that it became under the same id.
CREATE TABLE segment (
    owner bigint NOT NULL,
    number bigint NOT NULL,
    id bigint NOT NULL,
    size bigint NOT NULL,
    place bigint NOT NULL,
    head bytea NOT NULL,
    PRIMARY KEY (owner, number)
);

-- Ids of files that no row names: not yet, or not any more.
CREATE TABLE doomed_file (
    id bigint PRIMARY KEY
);
