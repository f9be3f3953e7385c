-- Who owns the store. Time is the database's, so that nodes need not agree on it.

-- name: prepare
INSERT INTO shard (id, owner, epoch, lease_until_ms) VALUES (0, NULL, 0, 0) ON CONFLICT DO NOTHING

-- name: look
SELECT owner, epoch, lease_until_ms, (extract(epoch FROM clock_timestamp()) * 1000)::bigint
FROM shard WHERE id = 0
FOR UPDATE

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
