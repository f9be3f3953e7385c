-- Who owns the store, and its identity. Time is the database's, so that nodes need not agree on it.

-- name: prepare
INSERT INTO shard (id, owner, epoch, lease_until_ms) VALUES (0, NULL, 0, 0) ON CONFLICT DO NOTHING

-- name: look
-- Without a lock: a process that waits looks often, and commits lock the row.
SELECT owner, lease_until_ms, (extract(epoch FROM clock_timestamp()) * 1000)::bigint FROM shard WHERE id = 0

-- name: lock_free
-- Not while a group of the last owner is under way: that holds the row FOR KEY SHARE.
SELECT id FROM shard
WHERE id = 0 AND (owner IS NULL OR lease_until_ms <= (extract(epoch FROM clock_timestamp()) * 1000)::bigint)
FOR UPDATE SKIP LOCKED

-- name: take
UPDATE shard
SET owner = $1, epoch = epoch + 1, lease_until_ms = (extract(epoch FROM clock_timestamp()) * 1000)::bigint + $2
WHERE id = 0
RETURNING epoch

-- name: renew
UPDATE shard SET lease_until_ms = (extract(epoch FROM clock_timestamp()) * 1000)::bigint + $3
WHERE id = 0 AND owner = $1 AND epoch = $2
RETURNING epoch

-- name: release
UPDATE shard SET owner = NULL, lease_until_ms = 0 WHERE id = 0 AND owner = $1 AND epoch = $2

-- name: identity
SELECT identity, is_whole FROM store_identity WHERE id = 0

-- name: put_identity
WITH held AS (
    SELECT id FROM shard WHERE id = 0 AND owner = $1 AND epoch = $2 FOR KEY SHARE
)
INSERT INTO store_identity (id, identity, is_whole)
-- What a store without entries and objects writes from now on, it writes into the database.
SELECT 0, $3, (SELECT count(*) FROM (SELECT FROM entry LIMIT 1) AS one) = 0
    AND (SELECT count(*) FROM (SELECT FROM object LIMIT 1) AS one) = 0 FROM held
RETURNING is_whole

-- name: whole
WITH held AS (
    SELECT id FROM shard WHERE id = 0 AND owner = $1 AND epoch = $2 FOR KEY SHARE
)
UPDATE store_identity SET is_whole = true FROM held WHERE store_identity.id = held.id
RETURNING held.id

-- name: bucket
SELECT identity, bucket FROM store_identity WHERE id = 0

-- name: bind_bucket
WITH held AS (
    SELECT id FROM shard WHERE id = 0 AND owner = $1 AND epoch = $2 FOR KEY SHARE
)
UPDATE store_identity SET bucket = $3 FROM held WHERE store_identity.id = held.id
RETURNING held.id
