-- Minutes of metrics: see `minutes/protocol.py`. Every statement that writes locks the lease first; the first column of its
-- answer is the number of rows that it locked: see `fenced/statement.py`.

-- name: put
-- Not flushed: points of a second are not worth a wait for the disk.
WITH held AS (
    SELECT id FROM shard WHERE id = 0 AND owner = $1 AND epoch = $2 FOR KEY SHARE
),
quick AS MATERIALIZED (
    SELECT set_config('synchronous_commit', 'off', true)
),
named AS (
    INSERT INTO metric (place, node, number, at, body)
    SELECT $3::text, $4::text, given.number, $5::bigint, given.body
    FROM held CROSS JOIN quick CROSS JOIN unnest($6::bigint[], $7::bytea[]) AS given (number, body)
    ON CONFLICT (place, node, number) DO UPDATE SET at = excluded.at, body = excluded.body
),
put AS (
    INSERT INTO minute (place, node, at, epoch, n, body)
    SELECT $3::text, $4::text, given.at, $8::bigint, given.n, given.body
    FROM held CROSS JOIN quick CROSS JOIN unnest($9::bigint[], $10::bigint[], $11::bytea[]) AS given (at, n, body)
    ON CONFLICT (place, at, node, epoch, n) DO NOTHING
)
SELECT count(*) FROM held

-- name: read
-- A page behind the last block of the page before.
SELECT at, node, epoch, n, body FROM minute
WHERE place = $1 AND at < $2 AND (at, node, epoch, n) > ($3, $4, $5, $6)
ORDER BY at, node, epoch, n
LIMIT $7

-- name: names
SELECT number, body FROM metric WHERE place = $1 AND node = $2 ORDER BY at DESC LIMIT $3

-- name: newest
SELECT number FROM metric WHERE place = $1 AND node = $2 ORDER BY number DESC LIMIT 1

-- name: sizes
-- A page of lengths, which are known without reading the bytes, from the newest block on.
SELECT at, node, epoch, n, octet_length(body)::bigint FROM minute
WHERE place = $1 AND (at, node, epoch, n) < ($2, $3, $4, $5)
ORDER BY at DESC, node DESC, epoch DESC, n DESC
LIMIT $6

-- name: drop
WITH held AS (
    SELECT id FROM shard WHERE id = 0 AND owner = $1 AND epoch = $2 FOR KEY SHARE
),
chosen AS MATERIALIZED (
    SELECT at, node, epoch, n FROM minute WHERE place = $3 AND at < $4 ORDER BY at, node, epoch, n LIMIT $5
),
gone AS (
    DELETE FROM minute AS m USING held, chosen AS c
    WHERE m.place = $3 AND m.at = c.at AND m.node = c.node AND m.epoch = c.epoch AND m.n = c.n
    RETURNING m.at
)
SELECT (SELECT count(*) FROM held), (SELECT count(*) FROM gone)

-- name: drop_names
WITH held AS (
    SELECT id FROM shard WHERE id = 0 AND owner = $1 AND epoch = $2 FOR KEY SHARE
),
chosen AS MATERIALIZED (
    SELECT number FROM metric WHERE place = $3 AND node = $4 AND at < $5 ORDER BY at LIMIT $6
),
gone AS (
    DELETE FROM metric AS m USING held, chosen AS c
    WHERE m.place = $3 AND m.node = $4 AND m.number = c.number AND m.at < $5
    RETURNING m.number
)
SELECT (SELECT count(*) FROM held), (SELECT count(*) FROM gone)
