-- What reads executions, writes apart from groups, and retention. PostgreSQL.

-- name: row
SELECT e.id, e.shard, e.machine, e.name, e.status, e.started_ms, e.stopped_ms, h.body, e.tail
FROM execution e JOIN execution_head h ON h.id = e.id
WHERE e.id = $1

-- name: row_by_name
SELECT e.id, e.shard, e.machine, e.name, e.status, e.started_ms, e.stopped_ms, h.body, e.tail
FROM execution e JOIN execution_head h ON h.id = e.id
WHERE e.machine = $1 AND e.name = $2

-- name: rows_by_names
SELECT e.id, e.shard, e.machine, e.name, e.status, e.started_ms, e.stopped_ms, h.body, e.tail
FROM unnest($1::bigint[], $2::text[]) AS g (machine, name)
JOIN execution e ON e.machine = g.machine AND e.name = g.name COLLATE "C"
JOIN execution_head h ON h.id = e.id

-- name: taken_ids
SELECT id FROM execution WHERE id = ANY ($1::bigint[])

-- name: load
-- One statement sees one moment.
SELECT e.id, e.shard, e.machine, e.name, e.status, e.started_ms, e.stopped_ms, h.body, e.tail, e.version, e.state,
    ARRAY(SELECT f.frame FROM frame f WHERE f.execution = e.id ORDER BY f.frame),
    ARRAY(SELECT f.body FROM frame f WHERE f.execution = e.id ORDER BY f.frame),
    ARRAY(SELECT p.hash FROM payload p WHERE p.execution = e.id ORDER BY p.hash),
    ARRAY(SELECT p.body FROM payload p WHERE p.execution = e.id ORDER BY p.hash)
FROM execution e JOIN execution_head h ON h.id = e.id
WHERE e.id = $1

-- name: list_rows
SELECT e.id, e.shard, e.machine, e.name, e.status, e.started_ms, e.stopped_ms, h.body, e.tail
FROM execution e JOIN execution_head h ON h.id = e.id
WHERE e.machine = $1 AND (e.started_ms, e.id) < ($2, $3)
ORDER BY e.started_ms DESC, e.id DESC
LIMIT $4

-- name: list_rows_of_status
SELECT e.id, e.shard, e.machine, e.name, e.status, e.started_ms, e.stopped_ms, h.body, e.tail
FROM execution e JOIN execution_head h ON h.id = e.id
WHERE e.machine = $1 AND e.status = $2 AND (e.started_ms, e.id) < ($3, $4)
ORDER BY e.started_ms DESC, e.id DESC
LIMIT $5

-- name: rows
SELECT e.id, e.shard, e.machine, e.name, e.status, e.started_ms, e.stopped_ms, h.body, e.tail
FROM unnest($1::bigint[]) AS g (id)
JOIN execution e ON e.id = g.id JOIN execution_head h ON h.id = e.id

-- name: thin_rows
SELECT g.place, r.started_ms, r.id, r.machine, r.name, r.status, r.stopped_ms
FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[])
    AS g (place, machine, status, started_ms, id)
CROSS JOIN LATERAL (
    SELECT e.id, e.machine, e.name, e.status, e.started_ms, e.stopped_ms FROM execution e
    WHERE e.machine = g.machine AND (e.started_ms, e.id) < (g.started_ms, g.id) AND e.started_ms >= $6
    ORDER BY e.started_ms DESC, e.id DESC
    LIMIT $7
) r
ORDER BY g.place, r.started_ms DESC, r.id DESC

-- name: thin_rows_of_status
SELECT g.place, r.started_ms, r.id, r.machine, r.name, r.status, r.stopped_ms
FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[])
    AS g (place, machine, status, started_ms, id)
CROSS JOIN LATERAL (
    SELECT e.id, e.machine, e.name, e.status, e.started_ms, e.stopped_ms FROM execution e
    WHERE e.machine = g.machine AND e.status = g.status AND (e.started_ms, e.id) < (g.started_ms, g.id) AND e.started_ms >= $6
    ORDER BY e.started_ms DESC, e.id DESC
    LIMIT $7
) r
ORDER BY g.place, r.started_ms DESC, r.id DESC

-- name: thin_rows_oldest
SELECT g.place, r.started_ms, r.id, r.machine, r.name, r.status, r.stopped_ms
FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[])
    AS g (place, machine, status, started_ms, id)
CROSS JOIN LATERAL (
    SELECT e.id, e.machine, e.name, e.status, e.started_ms, e.stopped_ms FROM execution e
    WHERE e.machine = g.machine AND (e.started_ms, e.id) > (g.started_ms, g.id) AND e.started_ms >= $6
    ORDER BY e.started_ms, e.id
    LIMIT $7
) r
ORDER BY g.place, r.started_ms, r.id

-- name: thin_rows_of_status_oldest
SELECT g.place, r.started_ms, r.id, r.machine, r.name, r.status, r.stopped_ms
FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[])
    AS g (place, machine, status, started_ms, id)
CROSS JOIN LATERAL (
    SELECT e.id, e.machine, e.name, e.status, e.started_ms, e.stopped_ms FROM execution e
    WHERE e.machine = g.machine AND e.status = g.status AND (e.started_ms, e.id) > (g.started_ms, g.id) AND e.started_ms >= $6
    ORDER BY e.started_ms, e.id
    LIMIT $7
) r
ORDER BY g.place, r.started_ms, r.id

-- name: counts
SELECT status, sum(n)::bigint FROM execution_count WHERE machine = $1 GROUP BY status

-- name: count_open
-- Only running executions are read, by the counters of their machines, and none if the ids have no execution at all.
SELECT count(*)
FROM (
    SELECT machine FROM execution_count
    WHERE status = $1 AND machine >= 0 AND EXISTS (SELECT 1 FROM execution WHERE id BETWEEN $2 AND $3)
    GROUP BY machine
    HAVING sum(n) > 0
) AS m
JOIN execution AS e ON e.machine = m.machine AND e.status = $1
WHERE e.id BETWEEN $2 AND $3

-- name: history
SELECT first, n, at_ms, body FROM history
WHERE execution = $1
  AND first >= coalesce((SELECT max(first) FROM history WHERE execution = $1 AND first <= $2), 0)
  AND first + n > $2
ORDER BY first
LIMIT $3

-- name: history_reversed
SELECT first, n, at_ms, body FROM history
WHERE execution = $1 AND first <= $2
ORDER BY first DESC
LIMIT $3

-- name: due
SELECT execution, timer, due_ms FROM timer
WHERE shard = $1 AND due_ms <= $2 AND (due_ms, execution, timer) > ($4, $5, $6)
ORDER BY due_ms, execution, timer
LIMIT $3

-- name: pending
-- As they come from the indexes, by id, without a sort of their bodies.
SELECT 0 AS box, id, execution, kind, body FROM outbox WHERE id BETWEEN $1 AND $2
UNION ALL
SELECT 1, id, execution, kind, body FROM inbox WHERE id BETWEEN $1 AND $2

-- name: sent
-- The lock waits for a transaction that completes the row and whose connection was lost.
SELECT id, execution, kind, body FROM outbox WHERE id = $1 FOR SHARE

-- name: complete_outbox
UPDATE outbox AS o SET body = g.body FROM unnest($1::bigint[], $2::bytea[]) AS g (id, body) WHERE o.id = g.id

-- name: inbox_of
-- One seek in the index of ids for each shard.
SELECT i.id, i.execution, i.kind, i.body
FROM unnest($1::bigint[], $2::bigint[]) AS s (low, high)
CROSS JOIN LATERAL (
    SELECT id, execution, kind, body FROM inbox
    WHERE id BETWEEN s.low AND s.high AND kind = ANY($3::text[])
    ORDER BY id
    LIMIT $4
) AS i
ORDER BY i.id

-- name: newest_id
SELECT greatest(
    coalesce((SELECT max(id) FROM execution WHERE id BETWEEN $1 AND $2), 0),
    coalesce((SELECT max(id) FROM outbox WHERE id BETWEEN $1 AND $2), 0),
    coalesce((SELECT max(id) FROM inbox WHERE id BETWEEN $1 AND $2), 0),
    coalesce((SELECT max(id) FROM message WHERE id BETWEEN $1 AND $2), 0)
)

-- name: put_inbox
WITH held AS (
    SELECT id FROM shard WHERE id = 0 AND owner = $1 AND epoch = $2 FOR KEY SHARE
),
put AS (
    INSERT INTO inbox (id, execution, kind, body)
    SELECT g.id, g.execution, g.kind, g.body
    FROM held CROSS JOIN unnest($3::bigint[], $4::bigint[], $5::text[], $6::bytea[]) AS g (id, execution, kind, body)
    ON CONFLICT DO NOTHING
)
SELECT count(*) FROM held

-- name: held
SELECT id FROM shard WHERE id = 0 AND owner = $1 AND epoch = $2 FOR KEY SHARE

-- name: discard_timers
DELETE FROM timer AS t
USING unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[]) AS g (shard, due_ms, execution, timer)
WHERE t.shard = g.shard AND t.due_ms = g.due_ms AND t.execution = g.execution AND t.timer = g.timer

-- name: discard_outbox
DELETE FROM outbox WHERE id = ANY ($1::bigint[])

-- name: discard_inbox
DELETE FROM inbox WHERE id = ANY ($1::bigint[])

-- name: forget_executions
DELETE FROM execution
WHERE id = ANY (ARRAY(
    SELECT id FROM execution WHERE stopped_ms < $1 AND status BETWEEN 1 AND 4 ORDER BY stopped_ms, id LIMIT $2
))
RETURNING id, machine, status

-- name: forget_heads
DELETE FROM execution_head WHERE id = ANY ($1::bigint[])

-- name: forget_frames
DELETE FROM frame WHERE execution = ANY ($1::bigint[])

-- name: forget_payloads
DELETE FROM payload WHERE execution = ANY ($1::bigint[])

-- name: forget_history
DELETE FROM history WHERE execution = ANY ($1::bigint[])

-- name: forget_timers
-- The bounds keep this off the rows of everybody who still waits.
DELETE FROM timer WHERE shard = $2 AND due_ms < $3 AND execution = ANY ($1::bigint[])

-- name: forget_outbox
DELETE FROM outbox WHERE id BETWEEN $2 AND $3 AND execution = ANY ($1::bigint[])

-- name: forget_inbox
DELETE FROM inbox WHERE id BETWEEN $2 AND $3 AND execution = ANY ($1::bigint[])

-- name: lower_counts
-- Lane 0 is the one that retention runs in.
INSERT INTO execution_count (machine, status, lane, n)
SELECT g.machine, g.status, 0, g.by
FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS g (machine, status, by)
ORDER BY g.machine, g.status
ON CONFLICT (machine, status, lane) DO UPDATE SET n = execution_count.n + excluded.n

-- name: lock_counts
-- In the order in which writers take these rows, so that nobody waits in a circle.
SELECT machine, status, lane, n FROM execution_count
WHERE machine = ANY ($1::bigint[])
ORDER BY machine, status, lane
FOR UPDATE

-- name: forget_counts
DELETE FROM execution_count AS c USING unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS g (machine, status, lane)
WHERE c.machine = g.machine AND c.status = g.status AND c.lane = g.lane
