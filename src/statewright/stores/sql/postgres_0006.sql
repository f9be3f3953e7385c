-- Version 6: the identity of the store: one row, with the id that its data folder has, too.

CREATE TABLE store_identity (
    id bigint PRIMARY KEY,
    identity text NOT NULL
);
