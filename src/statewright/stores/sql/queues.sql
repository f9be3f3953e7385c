-- Messages of queues. `{rows:N}` as in writes.sql; a `?` beside `json_each` is a JSON array of ids.

-- name: insert_messages
INSERT INTO message (id, queue, visible_ms, receives, sent_ms, receipt, first_received_ms, base, grp, tenant)
SELECT column1, column2, column3, 0, column4, 0, 0, 0, column5, column6
FROM (VALUES {rows:6})
WHERE column1 IS NOT NULL

-- name: insert_bodies
INSERT INTO message_body (id, body, extra)
SELECT column1, column2, column3 FROM (VALUES {rows:3}) WHERE column1 IS NOT NULL

-- name: fill_groups
INSERT INTO message_group (queue, grp, free_ms, backlog)
SELECT column1, column2, column3, column4 FROM (VALUES {rows:4}) WHERE column1 IS NOT NULL
ON CONFLICT (queue, grp) DO UPDATE SET backlog = backlog + excluded.backlog

-- name: known_dedups
SELECT given.column1, d.id
FROM (VALUES {rows:4}) AS given
CROSS JOIN message_dedup AS d ON d.queue = given.column2 AND d.dedup = given.column3 AND d.until_ms > given.column4

-- name: put_dedups
INSERT INTO message_dedup (queue, dedup, until_ms, id)
SELECT column1, column2, column3, column4 FROM (VALUES {rows:4}) WHERE column1 IS NOT NULL
ON CONFLICT (queue, dedup) DO UPDATE SET until_ms = excluded.until_ms, id = excluded.id

-- name: claim
-- One answer in one row: each row handed to Python may cost a wait for a busy event loop.
SELECT json_group_array(json_array(m.id, m.receives + 1, m.base, coalesce(nullif(m.first_received_ms, 0), ?), m.sent_ms, m.visible_ms,
    m.grp, m.tenant, m.source, b.body, b.extra))
FROM (
    SELECT * FROM message
    WHERE queue = ? AND visible_ms <= ?
    ORDER BY visible_ms, receives, id
    LIMIT ?
) AS m
CROSS JOIN message_body AS b ON b.id = m.id

-- name: head
SELECT id, tenant FROM message
WHERE queue = ? AND visible_ms <= ?
ORDER BY visible_ms, receives, id
LIMIT ?

-- name: of_tenants
SELECT id FROM message
WHERE queue = ? AND tenant > ? AND tenant < ? AND visible_ms <= ?
ORDER BY tenant, visible_ms
LIMIT ?

-- name: of_tenant
SELECT id FROM message
WHERE queue = ? AND tenant = ? AND visible_ms <= ?
ORDER BY visible_ms
LIMIT ?

-- name: read_messages
SELECT json_group_array(json_array(m.id, m.receives + 1, m.base, coalesce(nullif(m.first_received_ms, 0), ?), m.sent_ms, m.visible_ms,
    m.grp, m.tenant, m.source, b.body, b.extra))
FROM json_each(?) AS given
CROSS JOIN message AS m ON m.id = given.value
CROSS JOIN message_body AS b ON b.id = m.id

-- name: free_groups
SELECT grp FROM message_group
WHERE queue = ? AND free_ms <= ?
ORDER BY free_ms, grp
LIMIT ?

-- name: first_of_group
SELECT id, visible_ms FROM message
WHERE queue = ? AND grp = ?
ORDER BY id
LIMIT ?

-- name: receive
UPDATE message
SET visible_ms = ?, receipt = ?, receives = receives + 1,
    first_received_ms = CASE first_received_ms WHEN 0 THEN ? ELSE first_received_ms END
WHERE id IN (SELECT value FROM json_each(?))

-- name: give_places
UPDATE message SET visible_ms = ? WHERE visible_ms <= ? AND id IN (SELECT value FROM json_each(?))

-- name: drop_messages
DELETE FROM message WHERE id IN (SELECT value FROM json_each(?))

-- name: drop_bodies
DELETE FROM message_body WHERE id IN (SELECT value FROM json_each(?))

-- name: proven
SELECT m.id, m.receives, m.visible_ms, m.grp, m.queue
FROM (VALUES {rows:2}) AS given
CROSS JOIN message AS m ON m.id = given.column1 AND m.receipt = given.column2

-- name: hide
UPDATE message SET visible_ms = given.column2 FROM (VALUES {rows:2}) AS given WHERE message.id = given.column1

-- name: shrink_groups
UPDATE message_group
SET backlog = backlog - given.column3, free_ms = coalesce(max(given.column4, coalesce((
    SELECT first.visible_ms FROM message AS first
    WHERE first.queue = given.column1 AND first.grp = given.column2
    ORDER BY first.id LIMIT 1
), 0)), free_ms)
FROM (VALUES {rows:4}) AS given
WHERE message_group.queue = given.column1 AND message_group.grp = given.column2

-- name: drop_empty_groups
DELETE FROM message_group
WHERE (queue, grp) IN (SELECT * FROM (VALUES {rows:2})) AND backlog <= 0

-- name: move_message
UPDATE message
SET id = ?2, queue = ?4, grp = ?5, visible_ms = ?6, sent_ms = ?7, source = ?8, receipt = 0, tenant = NULL,
    receives = receives - 1, base = receives - 1
WHERE id = ?1 AND queue = ?3

-- name: renew_message
UPDATE message
SET id = ?2, queue = ?4, grp = ?5, visible_ms = ?6, sent_ms = ?7, source = ?8, receipt = 0, tenant = NULL,
    base = 0, receives = 0, first_received_ms = 0
WHERE id = ?1 AND queue = ?3

-- name: move_body
UPDATE message_body SET id = ?2, extra = coalesce(?3, extra) WHERE id = ?1

-- name: outdated
SELECT id, receives, visible_ms, grp FROM message
WHERE queue = ? AND visible_ms < ?
ORDER BY visible_ms, receives, id
LIMIT ?

-- name: count
SELECT count(*) FROM message WHERE queue = ?

-- name: held
SELECT id, visible_ms, receipt, receives, sent_ms, grp, tenant FROM message
WHERE id IN (SELECT id FROM message WHERE queue = ? AND receives > 0)
ORDER BY id

-- name: delayed
SELECT visible_ms FROM message WHERE queue = ? AND visible_ms > ? AND receives = 0

-- name: look
SELECT id, visible_ms, receipt, receives, sent_ms, grp, tenant FROM message
WHERE id IN (SELECT value FROM json_each(?))
ORDER BY id

-- name: forget_dedups
DELETE FROM message_dedup
WHERE (queue, dedup) IN (SELECT queue, dedup FROM message_dedup WHERE until_ms <= ? LIMIT ?)

-- name: forget_notes
DELETE FROM message_note WHERE rowid IN (SELECT rowid FROM message_note WHERE id >= ? AND id < ? LIMIT ?)

-- name: put_notes
INSERT INTO message_note (id, at_ms, kind, detail)
SELECT column1, column2, column3, column4 FROM (VALUES {rows:4}) WHERE column1 IS NOT NULL

-- name: trail
SELECT id, at_ms, kind, detail FROM message_note WHERE id = ? ORDER BY rowid
