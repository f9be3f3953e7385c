-- What a group of commits runs. `{rows:N}` becomes `(?, ...), (?, ...)` with N columns a row; rows of nulls fill it up
-- to the next prepared length and are passed over. A `?` by itself is a JSON array of ids.

-- name: taken_names
-- One answer in one row, because each row handed to Python may cost a wait for a busy event loop.
SELECT group_concat(given.column1 || ',' || execution.id)
FROM (VALUES {rows:3}) AS given
CROSS JOIN execution ON execution.machine = given.column2 AND execution.name = given.column3

-- name: versions
SELECT group_concat(id || ',' || version || ',' || status || ',' || (stopped_ms IS NULL))
FROM execution
WHERE id IN (SELECT value FROM json_each(?))

-- name: insert_executions
INSERT INTO execution (id, shard, machine, name, status, started_ms, stopped_ms, version, state, tail)
SELECT column1, column2, column3, column4, column5, column6, column7, 1, column8, column9
FROM (VALUES {rows:9})
WHERE column1 IS NOT NULL

-- name: insert_heads
INSERT INTO execution_head (id, body)
SELECT column1, column2 FROM (VALUES {rows:2}) WHERE column1 IS NOT NULL

-- name: step_executions
UPDATE execution
SET version = given.column2, state = given.column3, tail = given.column4
FROM (VALUES {rows:4}) AS given
WHERE execution.id = given.column1

-- name: change_executions
UPDATE execution
SET version = given.column2, state = given.column3, tail = given.column4, status = given.column5,
    stopped_ms = given.column6
FROM (VALUES {rows:6}) AS given
WHERE execution.id = given.column1

-- name: count_executions
INSERT INTO execution_count (machine, status, shard, n)
SELECT column1, column2, column3, column4 FROM (VALUES {rows:4}) WHERE column1 IS NOT NULL
ON CONFLICT (machine, status, shard) DO UPDATE SET n = n + excluded.n

-- name: clear_frames
DELETE FROM frame WHERE execution IN (SELECT value FROM json_each(?))

-- name: clear_payloads
DELETE FROM payload WHERE execution IN (SELECT value FROM json_each(?))

-- name: drop_frames
-- Not `IN (VALUES ...)`: SQLite would read the whole table.
DELETE FROM frame WHERE (execution, frame) IN (SELECT * FROM (VALUES {rows:2}))

-- name: put_frames
INSERT INTO frame (execution, frame, body)
SELECT column1, column2, column3 FROM (VALUES {rows:3}) WHERE column1 IS NOT NULL
ON CONFLICT (execution, frame) DO UPDATE SET body = excluded.body

-- name: put_payloads
INSERT INTO payload (execution, hash, body)
SELECT column1, column2, column3 FROM (VALUES {rows:3}) WHERE column1 IS NOT NULL
ON CONFLICT DO NOTHING

-- name: insert_history
INSERT INTO history (execution, first, n, at_ms, body)
SELECT column1, column2, column3, column4, column5 FROM (VALUES {rows:5}) WHERE column1 IS NOT NULL

-- name: drop_timers
DELETE FROM timer WHERE (shard, due_ms, execution, timer) IN (SELECT * FROM (VALUES {rows:4}))

-- name: put_timers
INSERT INTO timer (shard, due_ms, execution, timer)
SELECT column1, column2, column3, column4 FROM (VALUES {rows:4}) WHERE column1 IS NOT NULL
ON CONFLICT DO NOTHING

-- name: drop_outbox
DELETE FROM outbox WHERE id IN (SELECT value FROM json_each(?))

-- name: put_outbox
INSERT INTO outbox (id, execution, kind, body)
SELECT column1, column2, column3, column4 FROM (VALUES {rows:4}) WHERE column1 IS NOT NULL
ON CONFLICT DO NOTHING

-- name: complete_outbox
UPDATE outbox SET body = ?2 WHERE id = ?1

-- name: drop_inbox
DELETE FROM inbox WHERE id IN (SELECT value FROM json_each(?))

-- name: put_inbox
INSERT INTO inbox (id, execution, kind, body)
SELECT column1, column2, column3, column4 FROM (VALUES {rows:4}) WHERE column1 IS NOT NULL
ON CONFLICT DO NOTHING
