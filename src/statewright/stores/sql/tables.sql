-- Items of tables. `{rows:N}` as in writes.sql. Rows that are read come as one JSON text: each row handed to Python may
-- cost a wait for a busy event loop.

-- name: current
SELECT json_group_array(json_array(g.column1, i.size, i.body))
FROM (VALUES {rows:4}) AS g
CROSS JOIN table_item AS i ON i.space = g.column2 AND i.part = g.column3 AND i.sort = g.column4

-- name: put_items
INSERT INTO table_item (space, part, sort, size, body)
SELECT column1, column2, column3, column4, column5 FROM (VALUES {rows:5}) WHERE column1 IS NOT NULL
ON CONFLICT (space, part, sort) DO UPDATE SET size = excluded.size, body = excluded.body

-- name: drop_items
DELETE FROM table_item WHERE (space, part, sort) IN (SELECT * FROM (VALUES {rows:3}))

-- name: count_items
INSERT INTO table_count (space, items, bytes)
SELECT column1, column2, column3 FROM (VALUES {rows:3}) WHERE column1 IS NOT NULL
ON CONFLICT (space) DO UPDATE SET items = items + excluded.items, bytes = bytes + excluded.bytes

-- name: item
SELECT size, body FROM table_item WHERE space = ? AND part = ? AND sort = ?

-- name: span
SELECT json_group_array(json_array(size, body)) FROM (
    SELECT size, body FROM table_item
    WHERE space = ? AND part = ? AND sort >= ? AND sort < ?
    ORDER BY sort
    LIMIT ?
)

-- name: span_back
SELECT json_group_array(json_array(size, body)) FROM (
    SELECT size, body FROM table_item
    WHERE space = ? AND part = ? AND sort >= ? AND sort < ?
    ORDER BY sort DESC
    LIMIT ?
)

-- name: scan
SELECT json_group_array(json_array(size, body)) FROM (
    SELECT size, body FROM table_item
    WHERE space = ? AND (part, sort) > (?, ?) AND part < ?
    ORDER BY part, sort
    LIMIT ?
)

-- name: count
SELECT items, bytes FROM table_count WHERE space = ?

-- name: clear
DELETE FROM table_item WHERE space = ?1 AND (part, sort) IN (
    SELECT part, sort FROM table_item WHERE space = ?1 ORDER BY part, sort LIMIT ?2
)

-- name: clear_count
DELETE FROM table_count WHERE space = ?
