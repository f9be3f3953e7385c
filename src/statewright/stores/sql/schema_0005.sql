-- Version 5: versions of objects. The newest object of each key stays in `object`; older versions and delete markers are
-- here. `rank` is minus the number of a version, so that the newest comes first. `named` is 0 for the null version.
-- SQLite only: STRICT, WITHOUT ROWID.

ALTER TABLE object ADD COLUMN version INTEGER NOT NULL DEFAULT 0;
ALTER TABLE object ADD COLUMN named INTEGER NOT NULL DEFAULT 0;

CREATE TABLE object_version (
    bucket INTEGER NOT NULL,
    key BLOB NOT NULL,
    rank INTEGER NOT NULL,
    id INTEGER NOT NULL,
    size INTEGER NOT NULL,
    modified_ms INTEGER NOT NULL,
    etag TEXT NOT NULL,
    place INTEGER NOT NULL,
    head BLOB NOT NULL,
    named INTEGER NOT NULL,
    PRIMARY KEY (bucket, key, rank)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX object_version_null ON object_version (bucket, key) WHERE named = 0;
