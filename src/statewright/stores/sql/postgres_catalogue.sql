-- The catalogue in PostgreSQL. A group of writes is one statement: the fence first, then the versions, then the rows of
-- the writes that fit, each of which names its place in the group. See `postgres/entry_group.py`.

-- name: get
SELECT kind, key, parent, sort, version, body FROM entry WHERE kind = $1 AND key = $2

-- name: write_group
WITH held AS (
    SELECT id FROM shard WHERE id = 0 AND owner = $1 AND epoch = $2 FOR KEY SHARE
),
given AS MATERIALIZED (
    SELECT * FROM unnest($3::bigint[], $4::text[], $5::text[], $6::text[], $7::bigint[], $8::bigint[], $9::bytea[])
        AS g (place, kind, key, parent, sort, version, body)
),
wrong AS MATERIALIZED (
    SELECT DISTINCT g.place
    FROM given AS g LEFT JOIN entry AS e ON e.kind = g.kind AND e.key = g.key
    WHERE coalesce(e.version, 0) <> g.version - 1
),
put AS (
    INSERT INTO entry (kind, key, parent, sort, version, body)
    SELECT g.kind, g.key, g.parent, g.sort, g.version, g.body FROM held CROSS JOIN given AS g
    WHERE (g.place IN (SELECT place FROM wrong)) IS NOT TRUE
    ON CONFLICT (kind, key) DO UPDATE
    SET parent = excluded.parent, sort = excluded.sort, version = excluded.version, body = excluded.body
),
dropped AS (
    DELETE FROM entry AS e USING held CROSS JOIN unnest($10::bigint[], $11::text[], $12::text[]) AS d (place, kind, key)
    WHERE e.kind = d.kind AND e.key = d.key AND (d.place IN (SELECT place FROM wrong)) IS NOT TRUE
),
completed AS (
    UPDATE outbox AS o SET body = c.body
    FROM held CROSS JOIN unnest($13::bigint[], $14::bigint[], $15::bytea[]) AS c (place, id, body)
    WHERE o.id = c.id AND (c.place IN (SELECT place FROM wrong)) IS NOT TRUE
)
SELECT (SELECT count(*) FROM held), ARRAY(SELECT place FROM wrong)

-- name: list
SELECT kind, key, parent, sort, version, body FROM entry
WHERE kind = $1 AND parent = $2
ORDER BY sort, key
LIMIT $3

-- name: list_after
SELECT kind, key, parent, sort, version, body FROM entry
WHERE kind = $1 AND parent = $2 AND (sort, key) > ($3, $4)
ORDER BY sort, key
LIMIT $5

-- name: list_newest
SELECT kind, key, parent, sort, version, body FROM entry
WHERE kind = $1 AND parent = $2
ORDER BY sort DESC, key DESC
LIMIT $3

-- name: list_newest_after
SELECT kind, key, parent, sort, version, body FROM entry
WHERE kind = $1 AND parent = $2 AND (sort, key) < ($3, $4)
ORDER BY sort DESC, key DESC
LIMIT $5

-- name: next_numbers
WITH held AS (
    SELECT id FROM shard WHERE id = 0 AND owner = $1 AND epoch = $2 FOR KEY SHARE
)
INSERT INTO number (name, last)
SELECT g.name, g.many FROM held CROSS JOIN unnest($3::text[], $4::bigint[]) AS g (name, many)
ON CONFLICT (name) DO UPDATE SET last = number.last + excluded.last
RETURNING name, last
