-- The nodes of a cluster, and which of them has which cells. Time is the database's, so that nodes need not agree on it.
-- Rows of `shard` are locked by id, so that nobody waits in a circle. Shard 0 has the lease of `postgres_lease.sql`.

-- name: prepare
-- Another node may be first: its row stays.
INSERT INTO cluster (id, cells, secret, format, made_ms)
VALUES (0, $1, $2, $3, (extract(epoch FROM clock_timestamp()) * 1000)::bigint)
ON CONFLICT DO NOTHING

-- name: cluster
-- Locked, so that nodes join one after the other.
SELECT cells, secret, format FROM cluster WHERE id = 0 FOR UPDATE

-- name: prepare_cells
INSERT INTO shard (id, owner, epoch, lease_until_ms)
SELECT g.id, NULL, 0, 0 FROM unnest($1::bigint[]) AS g (id) ORDER BY g.id
ON CONFLICT DO NOTHING

-- name: holder
SELECT address, lease_until_ms, (extract(epoch FROM clock_timestamp()) * 1000)::bigint
FROM node WHERE name = $1

-- name: register
-- Only over a row whose lease has run out, or that of a call without an answer.
INSERT INTO node AS n (name, incarnation, address, lease_until_ms, home_epoch, format)
VALUES ($1, $2, $3, (extract(epoch FROM clock_timestamp()) * 1000)::bigint + $4, 0, $5)
ON CONFLICT (name) DO UPDATE
SET incarnation = excluded.incarnation, address = excluded.address, lease_until_ms = excluded.lease_until_ms,
    home_epoch = 0, format = excluded.format
WHERE n.lease_until_ms <= (extract(epoch FROM clock_timestamp()) * 1000)::bigint
    OR n.incarnation = excluded.incarnation
RETURNING n.name

-- name: forget_old
-- Nodes that ended without leaving, so many milliseconds ago: their names may never come again.
DELETE FROM node WHERE lease_until_ms < (extract(epoch FROM clock_timestamp()) * 1000)::bigint - $1

-- name: renew
-- The node and all its cells: 0 and no cell if another process has the name, or if the others have gone on to a format
-- that this one does not know while its lease had run out. Raises the format to the newest that the programs of all live
-- nodes know; it never falls.
WITH own AS (
    UPDATE node SET lease_until_ms = (extract(epoch FROM clock_timestamp()) * 1000)::bigint + $3
    WHERE name = $1 AND incarnation = $2 AND format >= (SELECT format FROM cluster WHERE id = 0)
    RETURNING name
),
raised AS (
    UPDATE cluster SET format = known.newest
    FROM (
        SELECT min(format) AS newest FROM node
        WHERE lease_until_ms > (extract(epoch FROM clock_timestamp()) * 1000)::bigint OR incarnation = $2
    ) AS known
    WHERE id = 0 AND known.newest > cluster.format
),
locked AS (
    SELECT s.id FROM unnest($4::bigint[], $5::bigint[]) AS g (id, epoch) JOIN shard AS s ON s.id = g.id
    WHERE s.owner = $2 AND s.epoch = g.epoch AND EXISTS (SELECT FROM own)
    ORDER BY s.id
    FOR NO KEY UPDATE OF s
),
renewed AS (
    UPDATE shard AS s SET lease_until_ms = (extract(epoch FROM clock_timestamp()) * 1000)::bigint + $3
    FROM locked WHERE s.id = locked.id AND s.owner = $2
    RETURNING s.id
)
SELECT (SELECT count(*) FROM own), ARRAY(SELECT id FROM renewed), (SELECT format FROM cluster WHERE id = 0)

-- name: take
-- Not while a group of the last owner is under way: that holds the row FOR KEY SHARE.
WITH own AS (
    SELECT name FROM node
    WHERE name = $1 AND incarnation = $2
        AND lease_until_ms > (extract(epoch FROM clock_timestamp()) * 1000)::bigint
        AND format >= (SELECT format FROM cluster WHERE id = 0)
),
free AS (
    SELECT s.id FROM shard AS s
    WHERE s.id = ANY ($4::bigint[])
        AND (s.owner IS NULL OR s.lease_until_ms <= (extract(epoch FROM clock_timestamp()) * 1000)::bigint)
        AND EXISTS (SELECT FROM own)
    ORDER BY s.id
    FOR UPDATE OF s SKIP LOCKED
)
UPDATE shard AS s
SET owner = $2, epoch = s.epoch + 1, wanted_by = NULL,
    lease_until_ms = (extract(epoch FROM clock_timestamp()) * 1000)::bigint + $3
FROM free WHERE s.id = free.id
RETURNING s.id, s.epoch, (extract(epoch FROM clock_timestamp()) * 1000)::bigint

-- name: release
WITH locked AS (
    SELECT s.id FROM unnest($2::bigint[], $3::bigint[]) AS g (id, epoch) JOIN shard AS s ON s.id = g.id
    WHERE s.owner = $1 AND s.epoch = g.epoch
    ORDER BY s.id
    FOR NO KEY UPDATE OF s
)
UPDATE shard AS s SET owner = NULL, lease_until_ms = 0 FROM locked WHERE s.id = locked.id AND s.owner = $1

-- name: want
WITH locked AS (
    SELECT s.id FROM shard AS s WHERE s.id = ANY ($2::bigint[]) ORDER BY s.id FOR NO KEY UPDATE
)
UPDATE shard AS s SET wanted_by = $1 FROM locked WHERE s.id = locked.id

-- name: home
UPDATE node SET home_epoch = $3
WHERE name = $1 AND incarnation = $2 AND format >= (SELECT format FROM cluster WHERE id = 0)
RETURNING name

-- name: leave
DELETE FROM node WHERE name = $1 AND incarnation = $2

-- name: look
-- One statement sees one moment: the nodes, and the cells with the nodes that have them.
SELECT 0 AS kind, n.name, n.incarnation, n.address,
    n.lease_until_ms - (extract(epoch FROM now()) * 1000)::bigint AS left_ms, n.home_epoch AS number,
    n.format::bigint AS other
FROM node AS n
UNION ALL
SELECT 1, n.name, s.wanted_by, NULL, s.lease_until_ms - (extract(epoch FROM now()) * 1000)::bigint, s.id, s.epoch
FROM shard AS s LEFT JOIN node AS n ON n.incarnation = s.owner

-- name: now
SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint

-- name: held
-- The fence of some cells, for a transaction.
SELECT s.id, s.epoch
FROM unnest($2::bigint[], $3::bigint[]) AS g (id, epoch) JOIN shard AS s ON s.id = g.id AND s.epoch = g.epoch
WHERE s.owner = $1
FOR KEY SHARE OF s

-- name: put_inbox
WITH held AS (
    SELECT s.id, s.epoch
    FROM unnest($2::bigint[], $3::bigint[]) AS g (id, epoch) JOIN shard AS s ON s.id = g.id AND s.epoch = g.epoch
    WHERE s.owner = $1
    FOR KEY SHARE OF s
),
put AS (
    INSERT INTO inbox (id, execution, kind, body)
    SELECT g.id, g.execution, g.kind, g.body
    FROM unnest($4::bigint[], $5::bigint[], $6::text[], $7::bytea[], $8::bigint[], $9::bigint[])
        AS g (id, execution, kind, body, cell, epoch)
    WHERE ((g.cell, g.epoch) IN (SELECT id, epoch FROM held)) IS TRUE
    ON CONFLICT DO NOTHING
)
SELECT ARRAY(SELECT id FROM held), ARRAY(SELECT epoch FROM held)

-- name: living
-- A node that keeps others from the database; in a transaction with a lock on the table, no other one joins meanwhile.
SELECT name, address FROM node
WHERE lease_until_ms > (extract(epoch FROM clock_timestamp()) * 1000)::bigint
ORDER BY name
LIMIT 1
