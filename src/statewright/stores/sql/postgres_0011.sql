-- Version 11: versions of the program side by side.

-- What the nodes write and say to each other. It grows once the programs of all live nodes know the next one (`node.format`).
ALTER TABLE cluster ADD COLUMN format integer NOT NULL DEFAULT 1;
