-- The parts of a group of commits that differ where the executions are those of cells, each with a lease of its own; the
-- other parts are those of `postgres_writes.sql`, which says how they become one statement.
--
-- A commit passes only under the epoch with which it was given, and beside those whose cell was lost. Starts are inserted
-- by name: another node may start the same names, and neither must wait for the other in a circle.

-- name: held
SELECT s.id, s.epoch
FROM unnest(?::bigint[], ?::bigint[]) AS g (id, epoch) JOIN shard AS s ON s.id = g.id AND s.epoch = g.epoch
WHERE s.owner = ?
FOR KEY SHARE OF s

-- name: started
INSERT INTO execution (id, shard, machine, name, status, started_ms, stopped_ms, version, state, tail)
SELECT g.id, g.shard, g.machine, g.name, g.status, g.started_ms, g.stopped_ms, 1, g.state, g.tail
FROM unnest(
    ?::bigint[], ?::bigint[], ?::bigint[], ?::text[], ?::bigint[], ?::bigint[], ?::bigint[], ?::bytea[], ?::bytea[],
    ?::bigint[], ?::bigint[]
) AS g (id, shard, machine, name, status, started_ms, stopped_ms, state, tail, cell, epoch)
WHERE ((g.cell, g.epoch) IN (SELECT id, epoch FROM held)) IS TRUE
ORDER BY g.machine, g.name COLLATE "C"
ON CONFLICT DO NOTHING
RETURNING id, machine, status

-- name: stepped
UPDATE execution AS e
SET version = e.version + 1, status = g.status, stopped_ms = g.stopped_ms, state = g.state, tail = g.tail
FROM unnest(
    ?::bigint[], ?::bigint[], ?::bigint[], ?::bigint[], ?::bytea[], ?::bytea[], ?::bigint[], ?::bigint[]
) AS g (id, expected, status, stopped_ms, state, tail, cell, epoch)
WHERE e.id = g.id AND e.version = g.expected AND ((g.cell, g.epoch) IN (SELECT id, epoch FROM held)) IS TRUE
RETURNING e.id, e.machine, e.status, (SELECT was.status FROM execution AS was WHERE was.id = e.id) AS was

-- name: answer
SELECT ARRAY(SELECT id FROM held), ARRAY(SELECT epoch FROM held), ARRAY(SELECT id FROM passed)
