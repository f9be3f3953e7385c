-- What a server asks about the surroundings of a database: a pooler in front of it, replicas behind it. Takes no lock.

-- name: backend
SELECT pg_backend_pid()

-- name: replication
SELECT current_setting('synchronous_commit'), current_setting('synchronous_standby_names'),
  (SELECT count(*) FROM pg_stat_replication
   WHERE application_name <> 'pg_basebackup'
     AND pid NOT IN (SELECT active_pid FROM pg_replication_slots WHERE slot_type = 'logical' AND active_pid IS NOT NULL))
