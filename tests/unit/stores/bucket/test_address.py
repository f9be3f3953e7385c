"""Addresses of buckets."""

from __future__ import annotations

import pytest

from statewright.errors import StoreError
from statewright.stores.bucket.address import BucketAddress, bucket_address
from statewright.stores.opening import open_store


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("s3://name", BucketAddress("name")),
        ("s3://na.me-2/", BucketAddress("na.me-2")),
        ("s3://name/a/b/", BucketAddress("name", "a/b/")),
        (
            "s3://name/a%20b?endpoint=http://127.0.0.1:9000/&region=eu-west-1",
            BucketAddress("name", "a b/", "http://127.0.0.1:9000", "eu-west-1"),
        ),
        ("s3://name?region=eu-west-1", BucketAddress("name", "", None, "eu-west-1")),
    ],
)
def test_an_address_is_read_and_written(text, found):
    assert bucket_address(text) == found
    assert bucket_address(found.text) == found


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("name", "name is not the address of a bucket; write it as s3://NAME"),
        ("https://name.s3.amazonaws.com", "is not the address of a bucket"),
        ("s3://", "is not the address of a bucket"),
        ("s3://NAME", "is not the address of a bucket"),
        ("s3://name:80", "is not the address of a bucket"),
        ("s3://[", "cannot be read"),
        ("s3://name?endpoint", "cannot be read"),
        ("s3://name?endpoint=", "has an empty endpoint"),
        ("s3://name?profile=a", "has the option profile; a bucket has only endpoint and region"),
        ("s3://name//a//b", "has a prefix that cannot be used"),
        ("s3://name/../b", "has a prefix that cannot be used"),
        ("s3://name?endpoint=127.0.0.1:9000", "127.0.0.1:9000 is not an endpoint of a bucket"),
        ("s3://name?endpoint=http://c:x", "is not an endpoint of a bucket"),
    ],
)
def test_what_is_no_address_is_refused(text, said):
    with pytest.raises(StoreError, match=said.replace("?", r"\?")):
        bucket_address(text)


@pytest.mark.parametrize(
    "text",
    [
        "s3://KEY:SECRET@name",
        "KEY:SECRET@name",
        "http://KEY:SECRET@name",
        "s3://name?endpoint=http://KEY:SECRET@host",
        "s3://name?endpoint=http://KEY:SECRET%40host",
        "s3://name?endpoint=http://KEY:SECRET@host&profile=a",
    ],
)
def test_a_secret_in_an_address_is_not_quoted(text):
    with pytest.raises(StoreError, match="must not have credentials") as caught:
        bucket_address(text)
    assert "SECRET" not in str(caught.value).replace("AWS_SECRET_ACCESS_KEY", "")


@pytest.mark.parametrize("location", ["memory:", "folder"])
def test_only_a_database_has_a_bucket(location):
    with pytest.raises(StoreError, match="--bucket needs a store in PostgreSQL"):
        open_store(location, bucket="s3://name")
