-- The parts of the one statement that writes a group of commits, put together by `postgres_writer`: each becomes
-- `name AS (...)`, those with nothing to write are left out, and every `?` is numbered. All parts see the database as
-- it was before the statement, so no row may be both deleted and inserted.
--
-- `held` is the fence: without it, nothing starts or steps, so nothing passes. Taking the shard over locks the row
-- FOR UPDATE, which fails while a group holds it; renewing the lease does not, and looking at it takes no lock.
-- `(x IN (SELECT id FROM passed)) IS TRUE` is looked up in a hash table whatever the planner believes about sizes.

-- name: held
SELECT id FROM shard WHERE id = 0 AND owner = ? AND epoch = ? FOR KEY SHARE

-- name: started
INSERT INTO execution (id, shard, machine, name, status, started_ms, stopped_ms, version, state, tail)
SELECT g.id, g.shard, g.machine, g.name, g.status, g.started_ms, g.stopped_ms, 1, g.state, g.tail
FROM held CROSS JOIN unnest(
    ?::bigint[], ?::bigint[], ?::bigint[], ?::text[], ?::bigint[], ?::bigint[], ?::bigint[], ?::bytea[], ?::bytea[]
) AS g (id, shard, machine, name, status, started_ms, stopped_ms, state, tail)
ON CONFLICT DO NOTHING
RETURNING id, machine, status

-- name: no_started
SELECT 0::bigint AS id, 0::bigint AS machine, 0 AS status WHERE false

-- name: stepped
UPDATE execution AS e
SET version = e.version + 1, status = g.status, stopped_ms = g.stopped_ms, state = g.state, tail = g.tail
FROM held CROSS JOIN unnest(
    ?::bigint[], ?::bigint[], ?::bigint[], ?::bigint[], ?::bytea[], ?::bytea[]
) AS g (id, expected, status, stopped_ms, state, tail)
WHERE e.id = g.id AND e.version = g.expected
RETURNING e.id, e.machine, e.status, (SELECT was.status FROM execution AS was WHERE was.id = e.id) AS was

-- name: no_stepped
SELECT 0::bigint AS id, 0::bigint AS machine, 0 AS status, 0 AS was WHERE false

-- name: passed
SELECT id FROM started UNION ALL SELECT id FROM stepped

-- name: put_heads
INSERT INTO execution_head (id, body)
SELECT g.id, g.body FROM unnest(?::bigint[], ?::bytea[]) AS g (id, body)
WHERE (g.id IN (SELECT id FROM passed)) IS TRUE

-- name: counted
INSERT INTO execution_count (machine, status, lane, n)
SELECT of_all.machine, changed.status, ?::bigint, sum(changed.by)
FROM (
    SELECT machine, status, 1 AS by FROM started
    UNION ALL SELECT machine, status, 1 FROM stepped WHERE status <> was
    UNION ALL SELECT machine, was, -1 FROM stepped WHERE status <> was
) AS changed
CROSS JOIN LATERAL (
    VALUES (changed.machine), (CASE WHEN changed.machine < 0 THEN -2 ELSE -1 END)
) AS of_all (machine)
GROUP BY of_all.machine, changed.status
HAVING sum(changed.by) <> 0
ORDER BY of_all.machine, changed.status
ON CONFLICT (machine, status, lane) DO UPDATE SET n = execution_count.n + excluded.n

-- name: clear_frames
DELETE FROM frame WHERE execution = ANY (ARRAY(
    SELECT id FROM passed WHERE id = ANY (?::bigint[])
))

-- name: clear_payloads
DELETE FROM payload WHERE execution = ANY (ARRAY(
    SELECT id FROM passed WHERE id = ANY (?::bigint[])
))

-- name: drop_frames
DELETE FROM frame AS f USING unnest(?::bigint[], ?::bigint[]) AS g (execution, frame)
WHERE f.execution = g.execution AND f.frame = g.frame AND (g.execution IN (SELECT id FROM passed)) IS TRUE

-- name: put_frames
INSERT INTO frame (execution, frame, body)
SELECT g.execution, g.frame, g.body FROM unnest(?::bigint[], ?::bigint[], ?::bytea[]) AS g (execution, frame, body)
WHERE (g.execution IN (SELECT id FROM passed)) IS TRUE
ON CONFLICT (execution, frame) DO UPDATE SET body = excluded.body

-- name: put_payloads
INSERT INTO payload (execution, hash, body)
SELECT g.execution, g.hash, g.body FROM unnest(?::bigint[], ?::bytea[], ?::bytea[]) AS g (execution, hash, body)
WHERE (g.execution IN (SELECT id FROM passed)) IS TRUE
ON CONFLICT DO NOTHING

-- name: put_history
INSERT INTO history (execution, first, n, at_ms, body)
SELECT g.execution, g.first, g.n, g.at_ms, g.body
FROM unnest(?::bigint[], ?::bigint[], ?::bigint[], ?::bigint[], ?::bytea[]) AS g (execution, first, n, at_ms, body)
WHERE (g.execution IN (SELECT id FROM passed)) IS TRUE

-- name: drop_timers
DELETE FROM timer AS t
USING unnest(?::bigint[], ?::bigint[], ?::bigint[], ?::bigint[]) AS g (execution, shard, due_ms, timer)
WHERE t.shard = g.shard AND t.due_ms = g.due_ms AND t.execution = g.execution AND t.timer = g.timer
  AND (g.execution IN (SELECT id FROM passed)) IS TRUE

-- name: put_timers
INSERT INTO timer (execution, shard, due_ms, timer)
SELECT g.execution, g.shard, g.due_ms, g.timer
FROM unnest(?::bigint[], ?::bigint[], ?::bigint[], ?::bigint[]) AS g (execution, shard, due_ms, timer)
WHERE (g.execution IN (SELECT id FROM passed)) IS TRUE
ON CONFLICT DO NOTHING

-- name: drop_outbox
DELETE FROM outbox WHERE id = ANY (ARRAY(
    SELECT g.id FROM unnest(?::bigint[], ?::bigint[]) AS g (execution, id)
    WHERE (g.execution IN (SELECT id FROM passed)) IS TRUE
))

-- name: put_outbox
INSERT INTO outbox (execution, id, kind, body)
SELECT g.execution, g.id, g.kind, g.body
FROM unnest(?::bigint[], ?::bigint[], ?::text[], ?::bytea[]) AS g (execution, id, kind, body)
WHERE (g.execution IN (SELECT id FROM passed)) IS TRUE
ON CONFLICT DO NOTHING

-- name: drop_inbox
DELETE FROM inbox WHERE id = ANY (ARRAY(
    SELECT g.id FROM unnest(?::bigint[], ?::bigint[]) AS g (execution, id)
    WHERE (g.execution IN (SELECT id FROM passed)) IS TRUE
))

-- name: put_inbox
INSERT INTO inbox (execution, id, kind, body)
SELECT g.execution, g.id, g.kind, g.body
FROM unnest(?::bigint[], ?::bigint[], ?::text[], ?::bytea[]) AS g (execution, id, kind, body)
WHERE (g.execution IN (SELECT id FROM passed)) IS TRUE
ON CONFLICT DO NOTHING

-- name: answer
SELECT (SELECT count(*) FROM held), ARRAY(SELECT id FROM passed)
