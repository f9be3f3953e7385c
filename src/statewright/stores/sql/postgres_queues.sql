-- Messages of queues in PostgreSQL. The store's one owner writes them on one connection, in order; rows are still
-- locked as they are claimed, so that nothing but time would be lost with several.

-- name: insert_messages
INSERT INTO message (id, queue, visible_ms, receives, sent_ms, receipt, first_received_ms, base, grp, tenant)
SELECT g.id, g.queue, g.visible_ms, 0, g.sent_ms, 0, 0, 0, g.grp, g.tenant
FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::text[], $6::text[])
AS g (id, queue, visible_ms, sent_ms, grp, tenant)

-- name: insert_bodies
INSERT INTO message_body (id, body, extra)
SELECT g.id, g.body, g.extra FROM unnest($1::bigint[], $2::text[], $3::text[]) AS g (id, body, extra)

-- name: fill_groups
INSERT INTO message_group (queue, grp, free_ms, backlog)
SELECT g.queue, g.grp, g.free_ms, g.backlog
FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::bigint[]) AS g (queue, grp, free_ms, backlog)
ON CONFLICT (queue, grp) DO UPDATE SET backlog = message_group.backlog + excluded.backlog

-- name: known_dedups
SELECT g.id, d.id
FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::bigint[]) AS g (id, queue, dedup, now_ms)
JOIN message_dedup AS d ON d.queue = g.queue AND d.dedup = g.dedup AND d.until_ms > g.now_ms

-- name: put_dedups
INSERT INTO message_dedup (queue, dedup, until_ms, id)
SELECT g.queue, g.dedup, g.until_ms, g.id
FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::bigint[]) AS g (queue, dedup, until_ms, id)
ON CONFLICT (queue, dedup) DO UPDATE SET until_ms = excluded.until_ms, id = excluded.id

-- name: claim
SELECT m.id, m.receives + 1, m.base, coalesce(nullif(m.first_received_ms, 0), $1::bigint), m.sent_ms, m.visible_ms,
    m.grp, m.tenant, m.source, b.body, b.extra
FROM (
    SELECT id FROM message
    WHERE queue = $2 AND visible_ms <= $3
    ORDER BY visible_ms, receives, id
    LIMIT $4
    FOR UPDATE SKIP LOCKED
) AS p
JOIN message AS m ON m.id = p.id
JOIN message_body AS b ON b.id = m.id
ORDER BY m.visible_ms, m.receives, m.id

-- name: read_messages
SELECT m.id, m.receives + 1, m.base, coalesce(nullif(m.first_received_ms, 0), $1::bigint), m.sent_ms, m.visible_ms,
    m.grp, m.tenant, m.source, b.body, b.extra
FROM unnest($2::bigint[]) WITH ORDINALITY AS g (id, place)
JOIN message AS m ON m.id = g.id
JOIN message_body AS b ON b.id = g.id
ORDER BY g.place

-- name: proven
SELECT m.id, m.receives, m.visible_ms, m.grp, m.queue
FROM unnest($1::bigint[], $2::bigint[]) AS g (id, receipt)
JOIN message AS m ON m.id = g.id AND m.receipt = g.receipt

-- name: hide
UPDATE message SET visible_ms = g.visible_ms
FROM unnest($1::bigint[], $2::bigint[]) AS g (id, visible_ms)
WHERE message.id = g.id

-- name: shrink_groups
UPDATE message_group
SET backlog = backlog - g.gone, free_ms = CASE WHEN g.free_ms IS NULL THEN message_group.free_ms ELSE greatest(g.free_ms, (
    SELECT first.visible_ms FROM message AS first
    WHERE first.queue = g.queue AND first.grp = g.grp
    ORDER BY first.id LIMIT 1
)) END
FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::bigint[]) AS g (queue, grp, gone, free_ms)
WHERE message_group.queue = g.queue AND message_group.grp = g.grp

-- name: drop_empty_groups
DELETE FROM message_group
USING unnest($1::bigint[], $2::text[]) AS g (queue, grp)
WHERE message_group.queue = g.queue AND message_group.grp = g.grp AND message_group.backlog <= 0

-- name: put_notes
INSERT INTO message_note (id, at_ms, kind, detail)
SELECT g.id, g.at_ms, g.kind, g.detail
FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[]) AS g (id, at_ms, kind, detail)

-- name: head
SELECT id, tenant FROM message
WHERE queue = $1 AND visible_ms <= $2
ORDER BY visible_ms, receives, id
LIMIT $3

-- name: of_tenants
SELECT id FROM message
WHERE queue = $1 AND tenant > $2 AND tenant < $3 AND visible_ms <= $4
ORDER BY tenant, visible_ms
LIMIT $5

-- name: of_tenant
SELECT id FROM message
WHERE queue = $1 AND tenant = $2 AND visible_ms <= $3
ORDER BY visible_ms
LIMIT $4

-- name: free_groups
SELECT grp FROM message_group
WHERE queue = $1 AND free_ms <= $2
ORDER BY free_ms, grp
LIMIT $3

-- name: first_of_group
SELECT id, visible_ms FROM message
WHERE queue = $1 AND grp = $2
ORDER BY id
LIMIT $3

-- name: receive
UPDATE message
SET visible_ms = $1, receipt = $2, receives = receives + 1,
    first_received_ms = CASE first_received_ms WHEN 0 THEN $3 ELSE first_received_ms END
WHERE id = ANY ($4)

-- name: give_places
UPDATE message SET visible_ms = $1 WHERE visible_ms <= $2 AND id = ANY ($3)

-- name: drop_messages
DELETE FROM message WHERE id = ANY ($1)

-- name: drop_bodies
DELETE FROM message_body WHERE id = ANY ($1)

-- name: move_message
UPDATE message
SET id = $2, queue = $4, grp = $5, visible_ms = $6, sent_ms = $7, source = $8, receipt = 0, tenant = NULL,
    receives = receives - 1, base = receives - 1
WHERE id = $1 AND queue = $3

-- name: renew_message
UPDATE message
SET id = $2, queue = $4, grp = $5, visible_ms = $6, sent_ms = $7, source = $8, receipt = 0, tenant = NULL,
    base = 0, receives = 0, first_received_ms = 0
WHERE id = $1 AND queue = $3

-- name: move_body
UPDATE message_body SET id = $2, extra = coalesce($3, extra) WHERE id = $1

-- name: outdated
SELECT id, receives, visible_ms, grp FROM message
WHERE queue = $1 AND visible_ms < $2
ORDER BY visible_ms, receives, id
LIMIT $3

-- name: take_time
SELECT set_config('statement_timeout', $1, true)

-- name: count
SELECT count(*) FROM message WHERE queue = $1

-- name: held
SELECT id, visible_ms, receipt, receives, sent_ms, grp, tenant FROM message
WHERE id IN (SELECT id FROM message WHERE queue = $1 AND receives > 0)
ORDER BY id

-- name: delayed
SELECT visible_ms FROM message WHERE queue = $1 AND visible_ms > $2 AND receives = 0

-- name: look
SELECT id, visible_ms, receipt, receives, sent_ms, grp, tenant FROM message
WHERE id = ANY ($1)
ORDER BY id

-- name: forget_dedups
DELETE FROM message_dedup
WHERE (queue, dedup) IN (SELECT queue, dedup FROM message_dedup WHERE until_ms <= $1 LIMIT $2)

-- name: forget_notes
DELETE FROM message_note
WHERE ctid = ANY (ARRAY(SELECT ctid FROM message_note WHERE id >= $1 AND id < $2 LIMIT $3))

-- name: trail
SELECT id, at_ms, kind, detail FROM message_note WHERE id = $1 ORDER BY at_ms, kind DESC
