-- Objects and multipart uploads. Every statement is written once, with `?` for a value; PostgreSQL numbers them.
-- `{ids}` is a list of ids: `SELECT value FROM json_each(?)`, or `SELECT unnest(?::bigint[])`.

-- name: buckets
SELECT id, name, created_ms, body FROM bucket ORDER BY name

-- name: bucket_named
SELECT id FROM bucket WHERE name = ?

-- name: bucket_there
SELECT id FROM bucket WHERE id = ?

-- name: put_bucket
INSERT INTO bucket (id, name, created_ms, body) VALUES (?, ?, ?, ?)
ON CONFLICT (id) DO UPDATE SET body = excluded.body

-- name: drop_bucket
DELETE FROM bucket WHERE id = ?

-- name: any_object
SELECT 1 FROM object WHERE bucket = ? LIMIT 1

-- name: row
SELECT bucket, key, id, size, modified_ms, etag, place, head, version, named FROM object WHERE bucket = ? AND key = ?

-- name: found
-- One statement, so that row and bytes are of one moment.
SELECT o.bucket, o.key, o.id, o.size, o.modified_ms, o.etag, o.place, o.head, o.version, o.named, b.body
FROM object AS o LEFT JOIN object_body AS b ON b.id = o.id
WHERE o.bucket = ? AND o.key = ?

-- name: put
INSERT INTO object (bucket, key, id, size, modified_ms, etag, place, head, version, named)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (bucket, key) DO UPDATE
SET id = excluded.id, size = excluded.size, modified_ms = excluded.modified_ms, etag = excluded.etag,
    place = excluded.place, head = excluded.head, version = excluded.version, named = excluded.named

-- name: note
-- A new entry of the catalogue that goes with a write.
INSERT INTO entry (kind, key, parent, sort, version, body) VALUES (?, ?, ?, ?, ?, ?)

-- name: put_body
INSERT INTO object_body (id, body) VALUES (?, ?)

-- name: bodies
SELECT id, body FROM object_body WHERE id IN ({ids})

-- name: drop_body
DELETE FROM object_body WHERE id = ?

-- name: drop_bodies
DELETE FROM object_body WHERE id IN ({ids})

-- name: change_head
UPDATE object SET head = ? WHERE bucket = ? AND key = ? AND id = ?

-- name: drop
DELETE FROM object WHERE bucket = ? AND key = ?

-- name: note_deletion
-- Uploads under way to a key whose object is deleted.
INSERT INTO segment (owner, number, id, size, place, head)
SELECT id, ?, 0, 0, ?, ? FROM upload WHERE bucket = ? AND key = ?
ON CONFLICT (owner, number) DO NOTHING

-- name: keys
SELECT bucket, key, id, size, modified_ms, etag, place, head, version, named FROM object
WHERE bucket = ? AND key >= ?
ORDER BY key
LIMIT ?

-- name: keys_below
SELECT bucket, key, id, size, modified_ms, etag, place, head, version, named FROM object
WHERE bucket = ? AND key >= ? AND key < ?
ORDER BY key
LIMIT ?

-- name: segments
SELECT owner, number, id, size, place, head FROM segment
WHERE owner = ? AND number > ?
ORDER BY number
LIMIT ?

-- name: segment
SELECT id, place FROM segment WHERE owner = ? AND number = ?

-- name: put_segment
INSERT INTO segment (owner, number, id, size, place, head) VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (owner, number) DO UPDATE
SET id = excluded.id, size = excluded.size, place = excluded.place, head = excluded.head

-- name: segment_ids
SELECT number, id, place FROM segment WHERE owner = ?

-- name: drop_segments
DELETE FROM segment WHERE owner = ? AND number IN ({ids})

-- name: create_upload
INSERT INTO upload (id, bucket, key, created_ms, head) VALUES (?, ?, ?, ?, ?)

-- name: upload
SELECT id, bucket, key, created_ms, head FROM upload WHERE id = ?

-- name: uploads
SELECT id, bucket, key, created_ms, head FROM upload
WHERE bucket = ? AND (key, id) > (?, ?)
ORDER BY key, id
LIMIT ?

-- name: uploads_below
SELECT id, bucket, key, created_ms, head FROM upload
WHERE bucket = ? AND (key, id) > (?, ?) AND key < ?
ORDER BY key, id
LIMIT ?

-- name: upload_ids
SELECT id FROM upload WHERE bucket = ?

-- name: drop_upload
DELETE FROM upload WHERE id = ?

-- name: save
DELETE FROM doomed_file WHERE id = ?

-- name: doom
INSERT INTO doomed_file (id) SELECT * FROM ({ids}) AS given WHERE true ON CONFLICT DO NOTHING

-- name: doomed
SELECT id FROM doomed_file WHERE id > ? ORDER BY id LIMIT ?

-- name: buried
DELETE FROM doomed_file WHERE id IN ({ids})

-- Older versions, and delete markers. `rank` is minus the number of a version: the newest comes first.

-- name: any_version
SELECT 1 FROM object_version WHERE bucket = ? LIMIT 1

-- name: put_version
INSERT INTO object_version (bucket, key, rank, id, size, modified_ms, etag, place, head, named)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)

-- name: version
SELECT bucket, key, id, size, modified_ms, etag, place, head, -rank, named FROM object_version
WHERE bucket = ? AND key = ? AND rank = ?

-- name: null_version
SELECT bucket, key, id, size, modified_ms, etag, place, head, -rank, named FROM object_version
WHERE bucket = ? AND key = ? AND named = 0

-- name: newest_version
SELECT bucket, key, id, size, modified_ms, etag, place, head, -rank, named FROM object_version
WHERE bucket = ? AND key = ?
ORDER BY rank
LIMIT 1

-- name: drop_version
DELETE FROM object_version WHERE bucket = ? AND key = ? AND rank = ?

-- name: change_version_head
UPDATE object_version SET head = ? WHERE bucket = ? AND key = ? AND rank = ? AND id = ?

-- name: found_version
-- These are one statement each, so that a version is found while it passes from one table to the other.
SELECT v.bucket, v.key, v.id, v.size, v.modified_ms, v.etag, v.place, v.head, v.version, v.named, b.body
FROM (
    SELECT bucket, key, id, size, modified_ms, etag, place, head, version, named FROM object
    WHERE bucket = ? AND key = ? AND named = 1 AND version = ?
    UNION ALL
    SELECT bucket, key, id, size, modified_ms, etag, place, head, -rank AS version, named FROM object_version
    WHERE bucket = ? AND key = ? AND named = 1 AND rank = ?
) AS v LEFT JOIN object_body AS b ON b.id = v.id

-- name: found_null
SELECT v.bucket, v.key, v.id, v.size, v.modified_ms, v.etag, v.place, v.head, v.version, v.named, b.body
FROM (
    SELECT bucket, key, id, size, modified_ms, etag, place, head, version, named FROM object
    WHERE bucket = ? AND key = ? AND named = 0
    UNION ALL
    SELECT bucket, key, id, size, modified_ms, etag, place, head, -rank AS version, named FROM object_version
    WHERE bucket = ? AND key = ? AND named = 0
) AS v LEFT JOIN object_body AS b ON b.id = v.id

-- name: found_newest
-- The object, if there is one, and the newest of what else is there.
SELECT v.bucket, v.key, v.id, v.size, v.modified_ms, v.etag, v.place, v.head, v.version, v.named, b.body
FROM (
    SELECT bucket, key, id, size, modified_ms, etag, place, head, version, named FROM object
    WHERE bucket = ? AND key = ?
    UNION ALL
    SELECT * FROM (
        SELECT bucket, key, id, size, modified_ms, etag, place, head, -rank AS version, named FROM object_version
        WHERE bucket = ? AND key = ?
        ORDER BY rank
        LIMIT 1
    ) AS older
) AS v LEFT JOIN object_body AS b ON b.id = v.id

-- name: versions
SELECT * FROM (
    SELECT bucket, key, id, size, modified_ms, etag, place, head, version, named FROM object
    WHERE bucket = ? AND key >= ?
    ORDER BY key
    LIMIT ?
) AS newest
UNION ALL
SELECT * FROM (
    SELECT bucket, key, id, size, modified_ms, etag, place, head, -rank AS version, named FROM object_version
    WHERE bucket = ? AND (key, rank) > (?, ?)
    ORDER BY key, rank
    LIMIT ?
) AS older

-- name: versions_below
SELECT * FROM (
    SELECT bucket, key, id, size, modified_ms, etag, place, head, version, named FROM object
    WHERE bucket = ? AND key >= ? AND key < ?
    ORDER BY key
    LIMIT ?
) AS newest
UNION ALL
SELECT * FROM (
    SELECT bucket, key, id, size, modified_ms, etag, place, head, -rank AS version, named FROM object_version
    WHERE bucket = ? AND (key, rank) > (?, ?) AND key < ?
    ORDER BY key, rank
    LIMIT ?
) AS older
