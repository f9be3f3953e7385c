-- Items of tables in PostgreSQL. The store's one owner writes them on one connection, in order.

-- name: current
SELECT g.place, i.size, i.body
FROM unnest($1::bigint[], $2::bigint[], $3::bytea[], $4::bytea[]) AS g (place, space, part, sort)
JOIN table_item AS i ON i.space = g.space AND i.part = g.part AND i.sort = g.sort

-- name: put_items
INSERT INTO table_item (space, part, sort, size, body)
SELECT g.space, g.part, g.sort, g.size, g.body
FROM unnest($1::bigint[], $2::bytea[], $3::bytea[], $4::bigint[], $5::text[]) AS g (space, part, sort, size, body)
ON CONFLICT (space, part, sort) DO UPDATE SET size = excluded.size, body = excluded.body

-- name: drop_items
DELETE FROM table_item AS i
USING unnest($1::bigint[], $2::bytea[], $3::bytea[]) AS g (space, part, sort)
WHERE i.space = g.space AND i.part = g.part AND i.sort = g.sort

-- name: count_items
INSERT INTO table_count (space, items, bytes)
SELECT g.space, g.items, g.bytes FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS g (space, items, bytes)
ON CONFLICT (space) DO UPDATE SET items = table_count.items + excluded.items, bytes = table_count.bytes + excluded.bytes

-- name: span
SELECT size, body FROM table_item
WHERE space = $1 AND part = $2 AND sort >= $3 AND sort < $4
ORDER BY sort
LIMIT $5

-- name: span_back
SELECT size, body FROM table_item
WHERE space = $1 AND part = $2 AND sort >= $3 AND sort < $4
ORDER BY sort DESC
LIMIT $5

-- name: scan
SELECT size, body FROM table_item
WHERE space = $1 AND (part, sort) > ($2, $3) AND part < $4
ORDER BY part, sort
LIMIT $5

-- name: counts
SELECT space, items, bytes FROM table_count WHERE space = ANY ($1::bigint[])

-- name: clear
DELETE FROM table_item WHERE space = $1 AND (part, sort) IN (
    SELECT part, sort FROM table_item WHERE space = $1 ORDER BY part, sort LIMIT $2
)

-- name: clear_count
DELETE FROM table_count WHERE space = $1
