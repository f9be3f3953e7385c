-- Blobs: see `postgres/fenced/blobs.py`. Every statement that writes holds the fence first, and answers how many rows
-- held it. Time is the database's.

-- name: put
-- A piece that is not durable yet: the statement that ends its blob is later in the log, and makes both so.
WITH held AS (
    SELECT id FROM shard WHERE id = 0 AND owner = $1 AND epoch = $2 FOR KEY SHARE
),
quick AS MATERIALIZED (
    SELECT set_config('synchronous_commit', 'off', true)
),
put AS (
    INSERT INTO blob (name, n, at_ms, body)
    SELECT $3::text, $4::bigint, (extract(epoch FROM clock_timestamp()) * 1000)::bigint, $5::bytea
    FROM held CROSS JOIN quick
    ON CONFLICT (name, n) DO UPDATE SET at_ms = excluded.at_ms, body = excluded.body
)
SELECT count(*) FROM held

-- name: end
-- The last piece, and how many there are before it.
WITH held AS (
    SELECT id FROM shard WHERE id = 0 AND owner = $1 AND epoch = $2 FOR KEY SHARE
),
put AS (
    INSERT INTO blob (name, n, at_ms, body)
    SELECT $3::text, $4::bigint, (extract(epoch FROM clock_timestamp()) * 1000)::bigint, $5::bytea FROM held
    ON CONFLICT (name, n) DO UPDATE SET at_ms = excluded.at_ms, body = excluded.body
)
SELECT (SELECT count(*) FROM held), (SELECT count(*) FROM blob WHERE name = $3 AND n < $4)

-- name: touch
-- Lengths of uncompressed bytes are known without reading them.
WITH held AS (
    SELECT id FROM shard WHERE id = 0 AND owner = $1 AND epoch = $2 FOR KEY SHARE
),
touched AS (
    UPDATE blob SET at_ms = (extract(epoch FROM clock_timestamp()) * 1000)::bigint
    FROM held WHERE name = $3
    RETURNING octet_length(body) AS length
)
SELECT (SELECT count(*) FROM held), (SELECT sum(length)::bigint FROM touched)

-- name: copy
WITH held AS (
    SELECT id FROM shard WHERE id = 0 AND owner = $1 AND epoch = $2 FOR KEY SHARE
),
put AS (
    INSERT INTO blob (name, n, at_ms, body)
    SELECT $4::text, b.n, (extract(epoch FROM clock_timestamp()) * 1000)::bigint, b.body
    FROM held CROSS JOIN blob AS b
    WHERE b.name = $3 AND b.n >= $5 AND b.n < $6
    ON CONFLICT (name, n) DO UPDATE SET at_ms = excluded.at_ms, body = excluded.body
    RETURNING n
)
SELECT (SELECT count(*) FROM held), (SELECT count(*) FROM put)

-- name: drop
-- Some pieces of the blobs, the first of each at last: a blob without its first piece has no other.
WITH held AS (
    SELECT id FROM shard WHERE id = 0 AND owner = $1 AND epoch = $2 FOR KEY SHARE
),
chosen AS MATERIALIZED (
    SELECT b.name, b.n FROM unnest($3::text[]) AS given (name) JOIN blob AS b ON b.name = given.name
    ORDER BY b.n DESC
    LIMIT $4
),
gone AS (
    DELETE FROM blob AS b USING held, chosen AS c WHERE b.name = c.name AND b.n = c.n RETURNING b.n
)
SELECT (SELECT count(*) FROM held), (SELECT count(*) FROM gone)

-- name: drop_old
-- As `drop`, of those blobs of which no piece is younger than so many milliseconds.
WITH held AS (
    SELECT id FROM shard WHERE id = 0 AND owner = $1 AND epoch = $2 FOR KEY SHARE
),
chosen AS MATERIALIZED (
    SELECT b.name, b.n FROM unnest($3::text[]) AS given (name) JOIN blob AS b ON b.name = given.name
    WHERE b.at_ms < (extract(epoch FROM clock_timestamp()) * 1000)::bigint - $5
    ORDER BY b.n DESC
    LIMIT $4
),
gone AS (
    DELETE FROM blob AS b USING held, chosen AS c
    WHERE b.name = c.name AND b.n = c.n
        AND b.at_ms < (extract(epoch FROM clock_timestamp()) * 1000)::bigint - $5
    RETURNING b.n
)
SELECT (SELECT count(*) FROM held), (SELECT count(*) FROM gone)

-- name: young
-- The blobs of which a piece is younger than so many milliseconds.
SELECT DISTINCT b.name FROM unnest($1::text[]) AS given (name) JOIN blob AS b ON b.name = given.name
WHERE b.at_ms >= (extract(epoch FROM clock_timestamp()) * 1000)::bigint - $2

-- name: first
SELECT n FROM blob WHERE name = $1 AND n = 0

-- name: read
SELECT substring(body FROM $3::int FOR $4::int) FROM blob WHERE name = $1 AND n = $2

-- name: sizes
SELECT name, sum(octet_length(body))::bigint FROM blob WHERE name >= $1 AND name < $2 GROUP BY name ORDER BY name

-- name: next
SELECT name FROM blob WHERE name > $1 ORDER BY name LIMIT 1
