-- The catalogue. Writes run one by one: people make them.

-- name: get
SELECT kind, key, parent, sort, version, body FROM entry WHERE kind = ? AND key = ?

-- name: version
SELECT version FROM entry WHERE kind = ? AND key = ?

-- name: put
INSERT INTO entry (kind, key, parent, sort, version, body) VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (kind, key) DO UPDATE
SET parent = excluded.parent, sort = excluded.sort, version = excluded.version, body = excluded.body

-- name: delete
DELETE FROM entry WHERE kind = ? AND key = ?

-- name: list
SELECT kind, key, parent, sort, version, body FROM entry
WHERE kind = ? AND parent = ?
ORDER BY sort, key
LIMIT ?

-- name: list_after
SELECT kind, key, parent, sort, version, body FROM entry
WHERE kind = ? AND parent = ? AND (sort, key) > (?, ?)
ORDER BY sort, key
LIMIT ?

-- name: list_newest
SELECT kind, key, parent, sort, version, body FROM entry
WHERE kind = ? AND parent = ?
ORDER BY sort DESC, key DESC
LIMIT ?

-- name: list_newest_after
SELECT kind, key, parent, sort, version, body FROM entry
WHERE kind = ? AND parent = ? AND (sort, key) < (?, ?)
ORDER BY sort DESC, key DESC
LIMIT ?

-- name: next_number
INSERT INTO number (name, last) VALUES (?, 1)
ON CONFLICT (name) DO UPDATE SET last = last + 1
RETURNING last
