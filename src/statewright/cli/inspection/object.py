"""`statewright object ...`: the objects of a server, listed, shown and copied.

Owns the commands. Calls and their errors are `client.py`'s. For more there is the AWS CLI: `statewright aws s3`.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, Final, NoReturn

import click

from statewright.cli.client import Server, endpoint_option, server_options
from statewright.cli.output import USAGE, Stop
from statewright.cli.output_files import writing_output
from statewright.cli.table import local_time, print_rows

SCHEME: Final = "s3://"
PIECE_BYTES: Final = 1024 * 1024
LARGEST_BYTES: Final = 5 * 1024**3


@click.group("object", short_help="List, show and copy objects.")
def object_() -> None:
    """Work with the buckets and objects of a server.

    \b
    Examples:
      statewright object ls
      statewright object cat s3://data/report.json
      statewright object cp orders.csv s3://data/orders.csv
    """


@object_.command(short_help="List buckets, or the objects of one.")
@click.argument("where", metavar="[s3://BUCKET[/PREFIX]]", default="")
@click.option("-r", "--recursive", is_flag=True, help="Include objects below a slash.")
@server_options
def ls(where: str, recursive: bool, form: str, endpoint: str | None) -> None:
    """List buckets, or what a bucket has under a prefix: size, time and key.

    \b
    Examples:
      statewright object ls
      statewright object ls s3://data/2026/ -r -o json
    """
    with Server(endpoint, service="s3") as server:
        if not where:
            buckets = server.call("list_buckets")["Buckets"]
            rows = [{"bucket": one["Name"], "creationDate": one["CreationDate"]} for one in buckets]
        else:
            bucket, prefix = _place(where, needs_key=False)
            rows = _listed(server, bucket, prefix, recursive=recursive)
    titles = ("SIZE", "MODIFIED (UTC)", "KEY") if where else ("BUCKET", "CREATED (UTC)")
    print_rows(form, "objects" if where else "buckets", rows, titles, _cells)


def _cells(row: dict[str, Any]) -> list[str]:
    shown = {**row, **{name: local_time(value) for name, value in row.items() if name.endswith("Date")}}
    return ["" if value is None else str(value) for value in shown.values()]


def _listed(server: Server, bucket: str, prefix: str, *, recursive: bool) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    following: dict[str, Any] = {} if recursive else {"Delimiter": "/"}
    while True:
        page = server.call("list_objects_v2", Bucket=bucket, Prefix=prefix, **following)
        rows += [{"size": None, "modifiedDate": None, "key": one["Prefix"]} for one in page.get("CommonPrefixes", ())]
        rows += [
            {"size": one["Size"], "modifiedDate": one["LastModified"], "key": one["Key"]}
            for one in page.get("Contents", ())
        ]
        if not page.get("IsTruncated"):
            return sorted(rows, key=lambda row: str(row["key"]).encode())
        following["ContinuationToken"] = page["NextContinuationToken"]


@object_.command(short_help="Print an object.")
@click.argument("where", metavar="s3://BUCKET/KEY")
@endpoint_option
def cat(where: str, endpoint: str | None) -> None:
    """Print the bytes of an object.

    \b
    Examples:
      statewright object cat s3://data/report.json | jq .
    """
    bucket, key = _place(where)
    with Server(endpoint, service="s3") as server:
        body = server.call("get_object", Bucket=bucket, Key=key)["Body"]
        while piece := body.read(PIECE_BYTES):
            sys.stdout.buffer.write(piece)
    sys.stdout.buffer.flush()


@object_.command(short_help="Copy a file to a bucket, or an object to a file or key.")
@click.argument("source", metavar="FILE|s3://BUCKET/KEY")
@click.argument("target", metavar="FILE|s3://BUCKET/KEY")
@endpoint_option
def cp(source: str, target: str, endpoint: str | None) -> None:
    """Copy a file to an object, an object to a file, or an object to another. A target that ends in a slash, or is
    a bucket or a folder, keeps the name of the source.

    Files over 5 GiB go in parts: `statewright aws s3 cp`.

    \b
    Examples:
      statewright object cp orders.csv s3://data/orders.csv
      statewright object cp s3://data/orders.csv orders.csv
    """
    if SCHEME not in (source[: len(SCHEME)], target[: len(SCHEME)]):
        _misused("One side must be an object, written as s3://BUCKET/KEY.")
    with Server(endpoint, service="s3") as server:
        if not source.startswith(SCHEME):
            _upload(server, Path(source), target)
        elif target.startswith(SCHEME):
            from_bucket, from_key = _place(source)
            bucket, key = _place(_named(target, from_key))
            server.call("copy_object", Bucket=bucket, Key=key, CopySource={"Bucket": from_bucket, "Key": from_key})
        else:
            _download(server, source, Path(target))


def _upload(server: Server, file: Path, target: str) -> None:
    bucket, key = _place(_named(target, file.name))
    if file.stat().st_size > LARGEST_BYTES:
        _misused(f"{file} is larger than 5 GiB; copy it in parts: statewright aws s3 cp {file} {target}")
    with file.open("rb") as body:
        server.call("put_object", Bucket=bucket, Key=key, Body=body)


def _download(server: Server, source: str, file: Path) -> None:
    bucket, key = _place(source)
    if file.is_dir():
        file = file / Path(key.rstrip("/").rpartition("/")[2]).name
    body = server.call("get_object", Bucket=bucket, Key=key)["Body"]
    with writing_output(file) as out:
        while piece := body.read(PIECE_BYTES):
            out.write(piece)


def _named(target: str, source: str) -> str:
    """A target that ends in a slash, or is a bucket alone, gets the last part of the source's name."""
    bucket, _, key = target.removeprefix(SCHEME).partition("/")
    if key and not key.endswith("/"):
        return target
    return f"{SCHEME}{bucket}/{key}{source.rstrip('/').rpartition('/')[2]}"


def _place(where: str, *, needs_key: bool = True) -> tuple[str, str]:
    bucket, _, key = where.removeprefix(SCHEME).partition("/")
    if not bucket or (needs_key and not key):
        _misused(f"{where} names no object; write it as s3://BUCKET/KEY")
    return bucket, key


def _misused(message: str) -> NoReturn:
    raise Stop(USAGE, message)
