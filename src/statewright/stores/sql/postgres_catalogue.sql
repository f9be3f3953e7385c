-- The catalogue in PostgreSQL. Writes run one by one: people make them.

-- name: get
SELECT kind, key, parent, sort, version, body FROM entry WHERE kind = $1 AND key = $2

-- name: insert
INSERT INTO entry (kind, key, parent, sort, version, body) VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (kind, key) DO NOTHING

-- name: update
UPDATE entry SET parent = $3, sort = $4, version = $5, body = $6
WHERE kind = $1 AND key = $2 AND version = $5 - 1

-- name: delete
DELETE FROM entry WHERE kind = $1 AND key = $2

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

-- name: next_number
INSERT INTO number (name, last) VALUES ($1, 1)
ON CONFLICT (name) DO UPDATE SET last = number.last + 1
RETURNING last
