"""`statewright object` with versions: lists, reads, copies and deletions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from statewright.cli.commands import run_command
from tests.e2e.conftest import Server


class Shell:
    """Runs commands against a server, with a bucket that has versions."""

    def __init__(self, server: Server, capsys: pytest.CaptureFixture[str]) -> None:
        self.server = server
        self._capsys = capsys
        self.s3 = server.client("s3")
        self.bucket = f"b-{uuid4()}"
        self.s3.create_bucket(Bucket=self.bucket)
        self.s3.put_bucket_versioning(Bucket=self.bucket, VersioningConfiguration={"Status": "Enabled"})

    def __call__(self, *words: str, code: int = 0) -> str:
        """The output of a command, or what it says if it fails with this code."""
        self._capsys.readouterr()
        assert run_command(["object", *words, "--endpoint", self.server.url]) == code
        shown = self._capsys.readouterr()
        return shown.err if code else shown.out

    def put(self, key: str, body: bytes) -> str:
        version: str = self.s3.put_object(Bucket=self.bucket, Key=key, Body=body)["VersionId"]
        return version

    def at(self, key: str = "") -> str:
        return f"s3://{self.bucket}/{key}"

    def rows(self, *words: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads(self("ls", self.at(), "--versions", "-o", "json", *words))["objects"]
        return found


@pytest.fixture
def shell(server: Server, capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(server, capsys)


def test_versions_are_listed(shell: Shell):
    first, second = shell.put("a", b"one"), shell.put("a", b"three")
    hidden = shell.put("b", b"x")
    marker = shell.s3.delete_object(Bucket=shell.bucket, Key="b")["VersionId"]
    shell.put("deep/c", b"x")
    seen = [(row["key"], row["versionId"], row["state"], row["size"]) for row in shell.rows()]
    assert seen == [
        ("a", second, "object", 5),
        ("a", first, "older", 3),
        ("b", marker, "deleted", None),
        ("b", hidden, "older", 1),
        ("deep/", None, None, None),
    ]
    assert [row["key"] for row in shell.rows("-r")] == ["a", "a", "b", "b", "deep/c"]
    table = shell("ls", shell.at("a"), "--versions")
    assert table.splitlines()[0].split() == ["SIZE", "MODIFIED", "(UTC)", "VERSION", "STATE", "KEY"]
    assert first in table
    # Without the option, only objects.
    assert marker not in shell("ls", shell.at())
    assert "Name a bucket" in shell("ls", "--versions", code=2)


def test_a_version_is_printed_and_copied(shell: Shell, tmp_path: Path):
    first = shell.put("a", b"one")
    shell.put("a", b"two")
    assert shell("cat", shell.at("a"), "--version", first) == "one"
    shell("cp", shell.at("a"), str(tmp_path / "old"), "--version", first)
    assert (tmp_path / "old").read_bytes() == b"one"
    shell("cp", shell.at("a"), shell.at("a"), "--version", first)
    assert shell("cat", shell.at("a")) == "one"
    assert "the source is a file" in shell("cp", str(tmp_path / "old"), shell.at("b"), "--version", first, code=2)
    assert "Invalid version id" in shell("cat", shell.at("a"), "--version", "nonsense", code=2)


def test_an_object_is_deleted_restored_and_deleted_for_good(shell: Shell):
    version = shell.put("a", b"one")
    said = shell("rm", shell.at("a"))
    assert "is hidden by a delete marker; to restore it: statewright object rm" in said
    marker = shell.rows()[0]["versionId"]
    assert marker in said
    assert "NoSuchKey" in shell("rm", shell.at("a"), code=3)
    assert "delete marker" in shell("rm", shell.at("a"), "--version", marker)
    assert shell("cat", shell.at("a")) == "one"
    assert f"Version {version} of" in shell("rm", shell.at("a"), "--version", version)
    assert shell.rows() == []
    assert "NoSuchVersion" in shell("rm", shell.at("a"), "--version", version, code=3)


def test_an_object_without_versions_is_deleted(shell: Shell):
    plain = f"b-{uuid4()}"
    shell.s3.create_bucket(Bucket=plain)
    shell.s3.put_object(Bucket=plain, Key="a", Body=b"x")
    assert shell("rm", f"s3://{plain}/a") == f"s3://{plain}/a is deleted.\n"
    assert "Contents" not in shell.s3.list_objects_v2(Bucket=plain)
