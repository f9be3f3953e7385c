-- What a server asks about a database before it has the lease. Nothing here takes a lock.

-- name: seen
SELECT owner, lease_until_ms - (extract(epoch FROM clock_timestamp()) * 1000)::bigint FROM shard WHERE id = 0

-- name: backend
SELECT pg_backend_pid()

-- name: replication
SELECT current_setting('synchronous_commit'), current_setting('synchronous_standby_names'),
  (SELECT count(*) FROM pg_stat_replication
   WHERE application_name <> 'pg_basebackup'
     AND pid NOT IN (SELECT active_pid FROM pg_replication_slots WHERE slot_type = 'logical' AND active_pid IS NOT NULL))
