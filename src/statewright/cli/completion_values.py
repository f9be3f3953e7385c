"""Values that a shell completes: files where files go, names from the server elsewhere.

Owns which parameter takes what, by its metavar, so that a command declares nothing for it. The server has 300 ms to
answer; if it does not, or refuses, there are no names and no message.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, Final

import click
from click.shell_completion import CompletionItem

from statewright.cli import server_names
from statewright.cli.client import Answer, Server
from statewright.cli.output import FAILED, Stop
from statewright.cli.server_names import Kind

ANSWER_SECONDS: Final = 0.3
SECONDS_VARIABLE: Final = "STATEWRIGHT_COMPLETION_SECONDS"
"""Another time, for a server that is far away."""
MOST_NAMES: Final = 1_000
FILE: Final = "file"
DIR: Final = "dir"
AT: Final = "at"
"""The type of an item for files after an at sign."""
NOTHING: Final = "nothing"
"""The type of an item that keeps the shell from offering files."""
OPEN: Final = "open"
"""The type of an item after which no blank is put: the beginning of a longer word."""
SCHEME: Final = "s3://"

_KINDS: Final = {
    "MACHINE": (server_names.MACHINE,),
    "EXECUTION": (server_names.EXECUTION,),
    "FUNCTION": (server_names.FUNCTION,),
    "API": (server_names.HTTP_API, server_names.REST_API),
    "QUEUE": (server_names.QUEUE,),
    "TABLE": (server_names.TABLE,),
    "TOPIC": (server_names.TOPIC,),
    "SCHEDULE": (server_names.SCHEDULE,),
    "ALARM": (server_names.ALARM,),
    "SEMAPHORE": (server_names.SEMAPHORE,),
}
_PATHS: Final = {"FILE": FILE, "PATH": FILE, "BACKUP": FILE, "TARGET": FILE, "DIR": DIR, "SCENARIO.yaml": FILE}
_COMPLETED: Final = {*_KINDS, *_PATHS, "@FILE"}


class Values(click.ParamType):  # type: ignore[type-arg]
    """Completes the values of a parameter; converts as the type in whose place it stands."""

    name = "values"

    def __init__(self, type_: click.ParamType[Any], parts: Iterable[str]) -> None:
        self._type = type_
        self._parts = tuple(parts)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The value, as the other type converts it."""
        return self._type.convert(value, param, ctx)

    def shell_complete(self, ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem[str]]:
        """Items that begin as the word does."""
        kinds = {_PATHS[part] for part in self._parts if part in _PATHS}
        # Files include folders.
        paths = [CompletionItem(incomplete, type=FILE if FILE in kinds else DIR)] if kinds else []
        named: list[CompletionItem[str]] = []
        for part in self._parts:
            if part.startswith(SCHEME) and (not paths or incomplete.startswith(SCHEME)):
                named += _objects(ctx, incomplete)
            elif part in _KINDS:
                named += [CompletionItem(one) for kind in _KINDS[part] for one in _names(ctx, kind, incomplete)]
        if "@FILE" in self._parts:
            return [CompletionItem(incomplete, type=AT)] if incomplete.startswith("@") else []
        return [*named, *paths] or [CompletionItem("", type=NOTHING)]


def parts_of(metavar: str) -> tuple[str, ...]:
    """The parts of a metavar that can be completed: `FILE` and `MACHINE` of `FILE[#CASE]|MACHINE`, none of `TEXT`."""
    plain = metavar.replace("[#CASE]", "").replace("...", "")
    if plain.startswith("["):
        plain = plain[1:].removesuffix("]").replace("[", "")
    return tuple(one for one in plain.split("|") if one in _COMPLETED or one.startswith(SCHEME))


def prepare(command: click.Command) -> None:
    """Let every parameter of a command, and of those below it, complete what its metavar names."""
    for one in command.params:
        parts = parts_of(one.metavar or "")
        if parts:
            one.type = Values(one.type, parts)
    if isinstance(command, click.Group):
        for below in command.commands.values():
            prepare(below)


# ------------------------------------------------------------------ names


class _Brief(Server):
    """A server that is asked for names: all its answers together may take 300 ms."""

    def __init__(self, endpoint: str | None, service: str) -> None:
        self._seconds = float(os.environ.get(SECONDS_VARIABLE, ANSWER_SECONDS))
        super().__init__(endpoint, service=service, answer_seconds=self._seconds)
        self._ends_at: float | None = None

    def call(self, operation: str, **members: object) -> Answer:
        """Call an operation. Raises: Stop, also once the time is over."""
        # The time is the server's: what making the client takes does not count.
        self.client()
        now = time.monotonic()
        if self._ends_at is None:
            self._ends_at = now + self._seconds
        if now > self._ends_at:
            raise Stop(FAILED)
        return super().call(operation, **members)


def _names(ctx: click.Context, kind: Kind, incomplete: str) -> list[str]:
    found: list[str] = []
    try:
        with _Brief(_endpoint(ctx), kind.service) as server:
            found.extend(islice(_wanted(ctx, kind, kind.listed(server), incomplete), MOST_NAMES))
    except Exception:  # a shell has no place for a message
        return found
    return found


def _wanted(ctx: click.Context, kind: Kind, listed: Iterator[str], incomplete: str) -> Iterator[str]:
    """Names that begin as the word does. An execution is `MACHINE:NAME`, or `NAME` unless a machine is being named."""
    machine = ctx.params.get("machine")
    for name in listed:
        of, _, own = name.partition(":")
        if kind is server_names.EXECUTION and (machine is not None or ":" not in incomplete):
            if machine in (None, of) and own.startswith(incomplete):
                yield own
        elif name.startswith(incomplete):
            yield name


def _objects(ctx: click.Context, incomplete: str) -> list[CompletionItem[str]]:
    """Buckets, or the keys of one up to the next slash."""
    if not incomplete.startswith(SCHEME) or "/" not in incomplete.removeprefix(SCHEME):
        start = incomplete.removeprefix(SCHEME) if incomplete.startswith(SCHEME) else ""
        names = _names(ctx, server_names.BUCKET, start)
        whole = [f"{SCHEME}{name}/" for name in names]
        return [CompletionItem(one, type=OPEN) for one in whole if one.startswith(incomplete)]
    bucket, _, prefix = incomplete.removeprefix(SCHEME).partition("/")
    try:
        with _Brief(_endpoint(ctx), server_names.BUCKET.service) as server:
            page = server.call("list_objects_v2", Bucket=bucket, Prefix=prefix, Delimiter="/", MaxKeys=MOST_NAMES)
    except Exception:  # as for names
        return []
    found = [(one["Prefix"], OPEN) for one in page.get("CommonPrefixes", ())]
    found += [(one["Key"], "plain") for one in page.get("Contents", ())]
    # A key may have line breaks, which no shell takes.
    return [CompletionItem(f"{SCHEME}{bucket}/{key}", type=kind) for key, kind in found if key.isprintable()]


def _endpoint(ctx: click.Context) -> str | None:
    found: str | None = ctx.params.get("endpoint")
    return found
