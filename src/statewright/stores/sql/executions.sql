-- What reads executions, and retention.

-- name: row
SELECT e.id, e.shard, e.machine, e.name, e.status, e.started_ms, e.stopped_ms, h.body, e.tail
FROM execution e JOIN execution_head h ON h.id = e.id
WHERE e.id = ?

-- name: row_by_name
SELECT e.id, e.shard, e.machine, e.name, e.status, e.started_ms, e.stopped_ms, h.body, e.tail
FROM execution e JOIN execution_head h ON h.id = e.id
WHERE e.machine = ? AND e.name = ?

-- name: load
-- One statement, so one snapshot however the writer commits meanwhile. The execution comes first, its frames and large
-- values after it, told apart by the last column.
SELECT e.id, e.shard, e.machine, e.name, e.status, e.started_ms, e.stopped_ms, h.body, e.tail, e.version, e.state, 0
FROM execution e JOIN execution_head h ON h.id = e.id
WHERE e.id = ?1
UNION ALL
SELECT frame, body, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1 FROM frame WHERE execution = ?1
UNION ALL
SELECT hash, body, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 2 FROM payload WHERE execution = ?1

-- name: list_rows
SELECT e.id, e.shard, e.machine, e.name, e.status, e.started_ms, e.stopped_ms, h.body, e.tail
FROM execution e JOIN execution_head h ON h.id = e.id
WHERE e.machine = ? AND (e.started_ms, e.id) < (?, ?)
ORDER BY e.started_ms DESC, e.id DESC
LIMIT ?

-- name: list_rows_of_status
SELECT e.id, e.shard, e.machine, e.name, e.status, e.started_ms, e.stopped_ms, h.body, e.tail
FROM execution e JOIN execution_head h ON h.id = e.id
WHERE e.machine = ? AND e.status = ? AND (e.started_ms, e.id) < (?, ?)
ORDER BY e.started_ms DESC, e.id DESC
LIMIT ?

-- name: rows
SELECT e.id, e.shard, e.machine, e.name, e.status, e.started_ms, e.stopped_ms, h.body, e.tail
FROM json_each(?) g JOIN execution e ON e.id = g.value JOIN execution_head h ON h.id = e.id

-- name: thin_rows
SELECT started_ms, id, machine, name, status, stopped_ms FROM execution
WHERE machine = ? AND (started_ms, id) < (?, ?) AND started_ms >= ?
ORDER BY started_ms DESC, id DESC
LIMIT ?

-- name: thin_rows_of_status
SELECT started_ms, id, machine, name, status, stopped_ms FROM execution
WHERE machine = ? AND status = ? AND (started_ms, id) < (?, ?) AND started_ms >= ?
ORDER BY started_ms DESC, id DESC
LIMIT ?

-- name: thin_rows_oldest
SELECT started_ms, id, machine, name, status, stopped_ms FROM execution
WHERE machine = ? AND (started_ms, id) > (?, ?) AND started_ms >= ?
ORDER BY started_ms, id
LIMIT ?

-- name: thin_rows_of_status_oldest
SELECT started_ms, id, machine, name, status, stopped_ms FROM execution
WHERE machine = ? AND status = ? AND (started_ms, id) > (?, ?) AND started_ms >= ?
ORDER BY started_ms, id
LIMIT ?

-- name: counts
SELECT status, sum(n) FROM execution_count WHERE machine = ? GROUP BY status

-- name: count_open
SELECT coalesce(sum(n), 0) FROM execution_count WHERE machine = ? AND status = ? AND shard = ?

-- name: history
SELECT first, n, at_ms, body FROM history
WHERE execution = ?1
  AND first >= coalesce((SELECT max(first) FROM history WHERE execution = ?1 AND first <= ?2), 0)
  AND first + n > ?2
ORDER BY first
LIMIT ?3

-- name: history_reversed
SELECT first, n, at_ms, body FROM history
WHERE execution = ?1 AND first <= ?2
ORDER BY first DESC
LIMIT ?3

-- name: due
SELECT execution, timer, due_ms FROM timer
WHERE shard = ? AND due_ms <= ? AND (due_ms, execution, timer) > (?, ?, ?)
ORDER BY due_ms, execution, timer
LIMIT ?

-- name: sent
SELECT id, execution, kind, body FROM outbox WHERE id = ?

-- name: pending_outbox
SELECT id, execution, kind, body FROM outbox WHERE id BETWEEN ? AND ? ORDER BY id

-- name: pending_inbox
SELECT id, execution, kind, body FROM inbox WHERE id BETWEEN ? AND ? ORDER BY id

-- name: inbox_of
SELECT id, execution, kind, body FROM inbox
WHERE id BETWEEN ? AND ? AND kind IN (SELECT value FROM json_each(?))
ORDER BY id
LIMIT ?

-- name: newest_id
SELECT max(
    coalesce((SELECT max(id) FROM execution WHERE id BETWEEN ?1 AND ?2), 0),
    coalesce((SELECT max(id) FROM outbox WHERE id BETWEEN ?1 AND ?2), 0),
    coalesce((SELECT max(id) FROM inbox WHERE id BETWEEN ?1 AND ?2), 0),
    coalesce((SELECT max(id) FROM message WHERE id BETWEEN ?1 AND ?2), 0)
)

-- name: closed_before
SELECT id, shard, machine, status FROM execution
WHERE stopped_ms < ? AND status BETWEEN 1 AND 4
ORDER BY stopped_ms, id
LIMIT ?

-- name: forget_executions
DELETE FROM execution WHERE id IN (SELECT value FROM json_each(?))

-- name: forget_heads
DELETE FROM execution_head WHERE id IN (SELECT value FROM json_each(?))

-- name: forget_history
DELETE FROM history WHERE execution IN (SELECT value FROM json_each(?))

-- name: forget_timers
-- The bounds keep this off the rows of everybody who still waits.
DELETE FROM timer
WHERE shard = ?2 AND due_ms < ?3 AND execution IN (SELECT value FROM json_each(?1))

-- name: forget_outbox
DELETE FROM outbox WHERE id BETWEEN ?2 AND ?3 AND +execution IN (SELECT value FROM json_each(?1))

-- name: forget_inbox
DELETE FROM inbox WHERE id BETWEEN ?2 AND ?3 AND +execution IN (SELECT value FROM json_each(?1))

-- name: forget_counts
DELETE FROM execution_count WHERE n = 0 AND machine IN (SELECT value FROM json_each(?))
