"""`statewright object ...`: the objects of a server and their versions, listed, shown, copied and deleted.

Owns the commands. Calls and their errors are `client.py`'s. For more there is the AWS CLI: `statewright aws s3`.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, Final, NoReturn

import click

from statewright.cli.client import Server, endpoint_option, server_options
from statewright.cli.output import USAGE, Stop, stdout
from statewright.cli.output_files import writing_output
from statewright.cli.table import local_time, print_rows

SCHEME: Final = "s3://"
PIECE_BYTES: Final = 1024 * 1024
LARGEST_BYTES: Final = 5 * 1024**3


@click.group("object", short_help="List, show, copy and delete objects.")
def object_() -> None:
    """Work with the buckets and objects of a server.

    \b
    Examples:
      statewright object ls
      statewright object cat s3://data/report.json
      statewright object cp orders.csv s3://data/orders.csv
      statewright object ls s3://data --versions
    """


_version = click.option("--version", metavar="ID", help="An older version, by the id that `ls --versions` shows.")


@object_.command(short_help="List buckets, or the objects of one.")
@click.argument("where", metavar="[s3://BUCKET[/PREFIX]]", default="")
@click.option("-r", "--recursive", is_flag=True, help="Include objects below a slash.")
@click.option("--versions", is_flag=True, help="Include older versions and delete markers, with their ids.")
@server_options
def ls(where: str, recursive: bool, versions: bool, form: str, endpoint: str | None) -> None:
    """List buckets, or what a bucket has under a prefix: size, time and key.

    With --versions, the first line of a key is its object, or the delete marker that hides it.

    \b
    Examples:
      statewright object ls
      statewright object ls s3://data/2026/ -r -o json
      statewright object ls s3://data/orders.csv --versions
    """
    if versions and not where:
        _misused("Name a bucket: statewright object ls s3://BUCKET --versions")
    titles = _TITLES[bool(where), versions]
    with Server(endpoint, service="s3") as server:
        if not where:
            buckets = server.call("list_buckets")["Buckets"]
            rows = [{"bucket": one["Name"], "creationDate": one["CreationDate"]} for one in buckets]
        else:
            bucket, prefix = _place(where, needs_key=False)
            listed = _versions if versions else _listed
            rows = listed(server, bucket, prefix, recursive=recursive)
    print_rows(form, "objects" if where else "buckets", rows, titles, _cells)


_TITLES: Final = {
    (False, False): ("BUCKET", "CREATED (UTC)"),
    (True, False): ("SIZE", "MODIFIED (UTC)", "KEY"),
    (True, True): ("SIZE", "MODIFIED (UTC)", "VERSION", "STATE", "KEY"),
}
"""Columns, by whether a bucket is named and whether versions are listed."""


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


def _versions(server: Server, bucket: str, prefix: str, *, recursive: bool) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    following: dict[str, Any] = {} if recursive else {"Delimiter": "/"}
    while True:
        page = server.call("list_object_versions", Bucket=bucket, Prefix=prefix, **following)
        rows += [_version_row({"Key": one["Prefix"]}, None) for one in page.get("CommonPrefixes", ())]
        rows += [_version_row(one, "object" if one["IsLatest"] else "older") for one in page.get("Versions", ())]
        rows += [
            _version_row(one, "deleted" if one["IsLatest"] else "delete marker")
            for one in page.get("DeleteMarkers", ())
        ]
        if not page.get("IsTruncated"):
            # Stable: versions of one key stay newest first, and the page's own order is by key.
            return sorted(rows, key=_place_in_list)
        following["KeyMarker"] = page["NextKeyMarker"]
        following.pop("VersionIdMarker", None)
        if page.get("NextVersionIdMarker"):
            following["VersionIdMarker"] = page["NextVersionIdMarker"]


def _version_row(one: dict[str, Any], state: str | None) -> dict[str, Any]:
    return {
        "size": one.get("Size"),
        "modifiedDate": one.get("LastModified"),
        "versionId": one.get("VersionId"),
        "state": state,
        "key": one["Key"],
    }


def _place_in_list(row: dict[str, Any]) -> tuple[bytes, bool, int]:
    """By key; the latest version first, then the newest."""
    is_latest = row["state"] in ("object", "deleted")
    return str(row["key"]).encode(), not is_latest, -(row["modifiedDate"] or 0)


@object_.command(short_help="Print an object.")
@click.argument("where", metavar="s3://BUCKET/KEY")
@_version
@endpoint_option
def cat(where: str, version: str | None, endpoint: str | None) -> None:
    """Print the bytes of an object, or of an older version.

    \b
    Examples:
      statewright object cat s3://data/report.json | jq .
    """
    bucket, key = _place(where)
    with Server(endpoint, service="s3") as server:
        body = server.call("get_object", Bucket=bucket, Key=key, **_named_version(version))["Body"]
        while piece := body.read(PIECE_BYTES):
            sys.stdout.buffer.write(piece)
    sys.stdout.buffer.flush()


@object_.command(short_help="Copy a file to a bucket, or an object to a file or key.")
@click.argument("source", metavar="FILE|s3://BUCKET/KEY")
@click.argument("target", metavar="FILE|s3://BUCKET/KEY")
@_version
@endpoint_option
def cp(source: str, target: str, version: str | None, endpoint: str | None) -> None:
    """Copy a file to an object, an object to a file, or an object to another. A target that ends in a slash, or is
    a bucket or a folder, keeps the name of the source. A copy of an older version onto its own key restores it.

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
            if version is not None:
                _misused("--version names a version of an object, and the source is a file.")
            _upload(server, Path(source), target)
        elif target.startswith(SCHEME):
            from_bucket, from_key = _place(source)
            bucket, key = _place(_named(target, from_key))
            copied = {"Bucket": from_bucket, "Key": from_key, **_named_version(version)}
            server.call("copy_object", Bucket=bucket, Key=key, CopySource=copied)
        else:
            _download(server, source, Path(target), version)


@object_.command(short_help="Delete an object, or one of its versions.")
@click.argument("where", metavar="s3://BUCKET/KEY")
@_version
@endpoint_option
def rm(where: str, version: str | None, endpoint: str | None) -> None:
    """Delete an object. In a bucket with versions, a delete marker hides it, and its versions stay; with --version,
    that version or marker is deleted for good.

    \b
    Examples:
      statewright object rm s3://data/orders.csv
      statewright object rm s3://data/orders.csv --version ID
    """
    bucket, key = _place(where)
    with Server(endpoint, service="s3") as server:
        if version is None:
            # The service deletes what does not exist, and would hide nothing behind a marker.
            server.call("get_object_attributes", Bucket=bucket, Key=key, ObjectAttributes=["ETag"])
        gone = server.call("delete_object", Bucket=bucket, Key=key, **_named_version(version))
        marker = gone.get("VersionId") if gone.get("DeleteMarker") and version is None else None
        if marker is not None:
            restore = server.words(f"object rm {where} --version {marker}")
            stdout().line(f"{where} is hidden by a delete marker; to restore it: {restore}")
        elif gone.get("DeleteMarker"):
            stdout().line(f"The delete marker {version} of {where} is deleted.")
        else:
            stdout().line(f"{where} is deleted." if version is None else f"Version {version} of {where} is deleted.")


def _upload(server: Server, file: Path, target: str) -> None:
    bucket, key = _place(_named(target, file.name))
    if file.stat().st_size > LARGEST_BYTES:
        _misused(f"{file} is larger than 5 GiB; copy it in parts: statewright aws s3 cp {file} {target}")
    with file.open("rb") as body:
        server.call("put_object", Bucket=bucket, Key=key, Body=body)


def _download(server: Server, source: str, file: Path, version: str | None) -> None:
    bucket, key = _place(source)
    if file.is_dir():
        file = file / Path(key.rstrip("/").rpartition("/")[2]).name
    body = server.call("get_object", Bucket=bucket, Key=key, **_named_version(version))["Body"]
    with writing_output(file) as out:
        while piece := body.read(PIECE_BYTES):
            out.write(piece)


def _named_version(version: str | None) -> dict[str, str]:
    return {} if version is None else {"VersionId": version}


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
