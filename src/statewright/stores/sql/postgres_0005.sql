-- Version 5: versions of objects. The newest object of each key stays in `object`; older versions and delete markers are
-- here. `rank` is minus the number of a version, so that the newest comes first. `named` is 0 for the null version.

ALTER TABLE object ADD COLUMN version bigint NOT NULL DEFAULT 0;
ALTER TABLE object ADD COLUMN named bigint NOT NULL DEFAULT 0;

CREATE TABLE object_version (
    bucket bigint NOT NULL,
    key bytea NOT NULL,
    rank bigint NOT NULL,
    id bigint NOT NULL,
    size bigint NOT NULL,
    modified_ms bigint NOT NULL,
    etag text COLLATE "C" NOT NULL,
    place bigint NOT NULL,
    head bytea NOT NULL,
    named bigint NOT NULL,
    PRIMARY KEY (bucket, key, rank)
);
CREATE UNIQUE INDEX object_version_null ON object_version (bucket, key) WHERE named = 0;
