"""Fetching the SDK for JavaScript through npm, one version at a time.

`node_sdk/v3` and `node_sdk/v2` beside this module say what is fetched, with versions and digests. A version is fetched
into a folder beside its own, which it takes only when it is complete.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from statewright.cli.output import FAILED, Stop, count_words, stderr, stdout
from statewright.functions.node_sdk import NodeSdk
from statewright.payload import JsonObject

MANIFESTS: Final = Path(__file__).parent / "node_sdk"
STAMP: Final = "fetched.json"
NPM_OPTIONS: Final = (
    "--omit-lockfile-registry-resolved", "--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier",
    "--loglevel=error", "--fetch-retries=1", "--fetch-timeout=60000",
)  # fmt: skip
OFFLINE: Final = ("ENOTFOUND", "EAI_AGAIN", "ECONNREFUSED", "ECONNRESET", "ETIMEDOUT", "ENETUNREACH", "ENOTCACHED")
LOOK_SECONDS: Final = 1.0


@dataclass(frozen=True, slots=True)
class Order:
    """One version of the SDK to be fetched into `folder`; `packages` are added to those of its manifest."""

    npm: str
    folder: Path
    version: str
    packages: tuple[str, ...]

    @property
    def place(self) -> Path:
        """The folder of this version."""
        return self.folder / self.version

    def carry_out(self, *, force: bool) -> None:
        """Fetch the version unless it is there. Raises: Stop if npm fails, OSError."""
        manifest = MANIFESTS / self.version
        digest = hashlib.sha256((manifest / "package-lock.json").read_bytes()).hexdigest()
        before = self._stamp()
        # What was added once stays, also when a later Statewright pins other versions.
        wanted = sorted({*self.packages, *before.get("packages", [])})
        stamp = {"lock": digest, "packages": wanted}
        if before == stamp and not force:
            stdout().line(f"version {self.version[1:]}: {self._described()}, is there already")
            return
        count = len(json.loads((manifest / "package.json").read_text("utf-8"))["dependencies"]) + len(wanted)
        stdout().line(f"version {self.version[1:]}: fetching {count_words(count, 'package')} with npm ...")
        stdout().flush()
        self.folder.mkdir(parents=True, exist_ok=True)
        staging = Path(tempfile.mkdtemp(prefix=f".{self.version}-", dir=self.folder))
        try:
            for name in ("package.json", "package-lock.json"):
                shutil.copyfile(manifest / name, staging / name)
            self._run(staging, "ci")
            if wanted:
                self._run(staging, "install", *(f"{name}@^3" for name in wanted))
            (staging / STAMP).write_text(json.dumps(stamp), "utf-8")
            self._put(staging)
        finally:
            shutil.rmtree(staging, ignore_errors=True)
        stdout().line(f"version {self.version[1:]}: {self._described()}, {_megabytes(self.place)} MB")

    def _put(self, staging: Path) -> None:
        """Give a complete folder its name; workers that run keep the files that they have open."""
        aside = Path(tempfile.mkdtemp(prefix=f".old-{self.version}-", dir=self.folder))
        try:
            if self.place.exists():
                self.place.rename(aside / self.version)
            staging.rename(self.place)
        finally:
            shutil.rmtree(aside, ignore_errors=True)

    def _stamp(self) -> JsonObject:
        try:
            found = json.loads((self.place / STAMP).read_text("utf-8"))
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}

    def _described(self) -> str:
        number = NodeSdk(self.folder).versions().get(self.version, "?")
        return f"aws-sdk {number}" if self.version == "v2" else f"@aws-sdk/client-sfn {number} and others"

    def _run(self, staging: Path, *command: str) -> None:
        """Run npm in a folder, with the megabytes so far on a terminal. Raises: Stop if it fails."""
        with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as said:
            process = subprocess.Popen(
                [self.npm, *command, "--prefix", str(staging), *NPM_OPTIONS],
                stdin=subprocess.DEVNULL, stdout=said, stderr=said, cwd=staging,
            )  # fmt: skip
            try:
                _watch(process, staging)
            finally:
                if process.poll() is None:
                    process.kill()
                    process.wait()
            if process.returncode:
                said.seek(0)
                raise _failure(said.read(), self.packages)


def _watch(process: subprocess.Popen[bytes], staging: Path) -> None:
    shown: Callable[[str], None] | None = None
    if sys.stderr.isatty():
        shown = stderr().plain
    while True:
        try:
            process.wait(LOOK_SECONDS)
            break
        except subprocess.TimeoutExpired:
            if shown is not None:
                shown(f"\r  {_megabytes(staging)} MB ")
                stderr().flush()
    if shown is not None:
        shown("\r\x1b[K")


def _failure(said: str, packages: tuple[str, ...]) -> Stop:
    """The refusal for npm's output."""
    lines = [line.removeprefix("npm error ").strip() for line in said.splitlines() if line.startswith("npm error ")]
    code = next((line.removeprefix("code ") for line in lines if line.startswith("code ")), "")
    reason = next((line for line in lines if not line.startswith(("code ", "errno ", "syscall "))), said.strip()[-300:])
    if code in ("E404", "ETARGET") and packages:
        return Stop(FAILED, f"npm knows no such package: {', '.join(packages)}.", f"npm said: {reason}")
    if code in OFFLINE or "network" in reason.lower():
        return Stop(
            FAILED,
            f"npm cannot reach its registry ({code or 'no answer'}): {reason}",
            "try again with a network, or copy the folder node-sdk from the data folder of a machine that has one",
        )
    return Stop(FAILED, f"npm failed{f' ({code})' if code else ''}: {reason}")


def _megabytes(folder: Path) -> int:
    """The size of a folder's files in MB."""
    size = 0
    for path in folder.rglob("*"):
        try:
            size += path.lstat().st_size
        except OSError:
            continue
    return round(size / 1e6)
