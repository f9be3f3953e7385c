-- Version 9: the bucket that has the blobs of the store.

-- Its address, as `--bucket` had it; NULL for a store whose blobs are rows.
ALTER TABLE store_identity ADD COLUMN bucket text;
