"""Libraries over S3, DynamoDB and more, each with a program that uses it as its users do."""

from __future__ import annotations

from tests.clients.conftest import Program
from tests.thoroughness import slow

pytestmark = slow
MIB = 1 << 20


def test_pandas_and_pyarrow(program: Program) -> None:
    assert program("pandas_and_pyarrow.py") == {
        "read": True,
        "chosen": list(range(990, 1000)),
        "partitions": True,
        "csv": True,
        "table": 1000,
        "parts": True,
        "listed": ["frames/copies/moved.parquet"],
        "empty": "Directory",
        "deleted": "NotFound",
    }


def test_s3fs(program: Program) -> None:
    assert program("s3fs_files.py") == {
        "tail": "xxx",
        "size": 12 * MIB,
        "listed": ["files/in/a.txt", "files/in/long.bin", "files/out/a.txt", "files/out/b.txt"],
        "by pattern": ["files/out/a.txt", "files/out/b.txt"],
        "read": "first\nmore\n",
        "owner": "me",
        "signed": "second\n",
        "folders": True,
        "left": ["files/out/a.txt", "files/out/b.txt"],
    }


def test_smart_open(program: Program) -> None:
    found = program("smart_open_files.py")
    keys = dict(found.pop("keys"))
    assert found == {"lines": 10_000, "last": "line 9999\n", "rest": MIB}
    # What was given up is not there.
    assert (sorted(keys), keys["long.bin"]) == (["lines.txt.gz", "long.bin"], 12 * MIB)


def test_polars_and_deltalake(program: Program) -> None:
    assert program("lake.py") == {
        "read": True,
        "csv": 1000,
        "chosen": [995, 996, 997, 998, 999],
        "version": 6,
        "rows": 302,
        "first": 100,
        "removed": True,
        "left": 302,
    }


def test_pynamodb(program: Program) -> None:
    assert program("pynamodb_model.py") == {
        "read": [14.5, ["x", "y"], "Rome", ["paid"], 2, "2026-11-22T00:00:00+00:00"],
        "expires": True,
        "refused": [
            "ConditionalCheckFailedException",
            "ConditionalCheckFailedException",
            ["ConditionalCheckFailed", None],
            "DoesNotExist",
        ],
        "query": [59, 58, 57, 56, 55],
        "index": [58, 59, 1000],
        "count": 62,
        "scan": 60,
        "batch": [0, 1, 2, 3, 4],
    }


def test_django_storages(program: Program) -> None:
    assert program("django_storage.py") == {
        "names": ["covers/a.txt", False],
        "read": "written",
        "size": 7,
        "listed": 3,
        "signed": "first",
        "year": True,
        "there": False,
    }


def test_aioboto3(program: Program) -> None:
    assert program("aioboto3_calls.py") == {
        "objects": [100, 10_000_000, 100_000],
        "items": 100,
        "message": "hello",
        "outputs": 9_900,
    }
