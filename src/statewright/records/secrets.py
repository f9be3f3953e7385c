"""Secrets: versions, staging labels, deletion with a window to think again.

Values lie in the store as they are: there is no key service here, and who can read the store can read them.

Source: Secrets Manager user guide and API reference; texts of refusals as users of SDKs report them.
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from statewright.clock import Clock
from statewright.config import Config
from statewright.errors import ApiError
from statewright.records.shelf import Entry, Place, Shelf, letters
from statewright.stores.protocol import CatalogStore
from statewright.tags import retagged

SECRET: Final = "secret"
VALUE: Final = "secret-value"
CURRENT: Final = "AWSCURRENT"
PREVIOUS: Final = "AWSPREVIOUS"
PENDING: Final = "AWSPENDING"
MOST_VERSIONS: Final = 100
DAY_MS: Final = 86_400_000
LONGEST_BYTES: Final = 65_536

Value = Mapping[str, Any]
"""What a version holds: `SecretString`, a text, or `SecretBinary`, bytes."""


class Secrets:
    """The secrets of the account."""

    def __init__(self, catalog: CatalogStore, clock: Clock, config: Config) -> None:
        self._catalog = catalog
        self._clock = clock
        self._config = config
        self._shelf = Shelf(catalog, SECRET)
        self._values = Shelf(catalog, VALUE)
        self._change = asyncio.Lock()

    # -------------------------------------------------------------- reading

    async def find(self, reference: str) -> Entry:
        """A secret by its name, its ARN, or its ARN without the six letters at its end.

        Raises: ApiError (`ResourceNotFoundException`).
        """
        for name in _names(reference):
            found = await self._shelf.get(name)
            if found is None or self._is_gone(found):
                continue
            if not reference.startswith("arn:") or found.fields["arn"].startswith(reference):
                return found
        raise ApiError("ResourceNotFoundException", "Secrets Manager can't find the specified secret.")

    async def _usable(self, reference: str) -> Entry:
        found = await self.find(reference)
        if found.fields["deleted_ms"] is not None:
            raise _refused("You can't perform this operation on the secret because it was marked for deletion.")
        return found

    def _is_gone(self, entry: Entry) -> bool:
        """Whether its window has passed; the row goes when its name is taken again, or at the next start."""
        deleted_ms = entry.fields["deleted_ms"]
        return deleted_ms is not None and deleted_ms <= self._clock.now_ms()

    async def value(self, reference: str, version: str | None, stage: str | None) -> tuple[Entry, str, Value]:
        """A version's id and value. Raises: ApiError."""
        entry = await self._usable(reference)
        versions = entry.fields["versions"]
        if version is None:
            wanted = stage or CURRENT
            version = next((one for one, of in versions.items() if wanted in of["stages"]), None)
            missing = f"staging label: {wanted}"
        else:
            missing = f"VersionId: {version}"
            if stage is not None and stage not in versions.get(version, {"stages": ()})["stages"]:
                raise _refused("You provided a VersionStage that is not associated to the provided VersionId.")
        found = await self._values.get(_value_key(entry, version)) if version is not None else None
        if version is None or found is None:
            raise ApiError(
                "ResourceNotFoundException", f"Secrets Manager can't find the specified secret value for {missing}"
            )
        return entry, version, _opened(found.fields)

    async def page(
        self, wanted: Callable[[Entry], bool], after: Place | None, limit: int, *, with_deleted: bool
    ) -> tuple[list[Entry], Place | None]:
        """Secrets by name."""

        def shown(entry: Entry) -> bool:
            if self._is_gone(entry) or (entry.fields["deleted_ms"] is not None and not with_deleted):
                return False
            return wanted(entry)

        return await self._shelf.page("", after, limit, wanted=shown)

    # -------------------------------------------------------------- writing

    async def create(
        self,
        name: str,
        version: str,
        value: Value,
        *,
        description: str | None,
        kms: str | None,
        tags: Mapping[str, str],
    ) -> Entry:
        """Create a secret, with a first version if there is a value. Raises: ApiError."""
        async with self._change:
            before = await self._shelf.get(name)
            if before is not None and self._is_gone(before):
                await self._erase(before)
                before = None
            if before is not None:
                return await self._made_before(before, version, value)
            number = await self._catalog.next_number("secret")
            suffix = letters("", f"{self._config.account} {number}", 6)
            now_ms = self._clock.now_ms()
            made = Entry(name, {
                "arn": self._config.arn("secretsmanager", f"secret:{name}-{suffix}"),
                "description": description, "kms": kms, "tags": dict(tags), "created_ms": now_ms, "changed_ms": now_ms,
                "deleted_ms": None, "marked_ms": None, "policy": None, "versions": {},
            })  # fmt: skip
            return await self._add(made, version, value, [CURRENT]) if value else await self._put(made)

    async def _made_before(self, before: Entry, version: str, value: Value) -> Entry:
        """What a second creation comes to: nothing, if it is the same one."""
        if before.fields["deleted_ms"] is not None:
            raise _refused(
                "You can't create this secret because a secret with this name is already scheduled for deletion."
            )
        had = await self._values.get(_value_key(before, version))
        if had is not None and _opened(had.fields) == value:
            return before
        raise ApiError(
            "ResourceExistsException", f"The operation failed because the secret {before.key} already exists."
        )

    async def put(self, reference: str, version: str, value: Value, stages: Iterable[str] = (CURRENT,)) -> Entry:
        """Add a version. Raises: ApiError."""
        async with self._change:
            entry = await self._usable(reference)
            if version in entry.fields["versions"]:
                had = await self._values.get(_value_key(entry, version))
                if had is not None and _opened(had.fields) == value:
                    return entry
                raise ApiError(
                    "ResourceExistsException",
                    f"You can't use ClientRequestToken {version} because that value is already in use for a version of "
                    f"secret {entry.fields['arn']}.",
                )
            return await self._add(entry, version, value, list(stages))

    async def _add(self, entry: Entry, version: str, value: Value, stages: list[str]) -> Entry:
        now_ms = self._clock.now_ms()
        versions = {**entry.fields["versions"], version: {"stages": [], "created_ms": now_ms}}
        for stage in stages:
            versions = _moved(versions, stage, version)
        old = [one for one, of in versions.items() if not of["stages"]]
        # Versions without labels are deprecated: the service forgets them when there are many.
        surplus = old[: max(0, len(versions) - MOST_VERSIONS)]
        kept = {one: of for one, of in versions.items() if one not in surplus}
        gone = tuple((VALUE, _value_key(entry, one)) for one in surplus)
        record = self._values.record(Entry(_value_key(entry, version), _sealed(value), entry.fields["arn"]))
        return await self._put(entry.having(versions=kept, changed_ms=now_ms), (record,), gone)

    async def _put(self, entry: Entry, also: Any = (), gone: Any = ()) -> Entry:
        await self._shelf.put(entry, also=also, gone=gone)
        return entry

    async def set(self, reference: str, **fields: Any) -> Entry:
        """Change fields of a secret. Raises: ApiError."""
        async with self._change:
            entry = await self._usable(reference)
            return await self._put(entry.having(**fields, changed_ms=self._clock.now_ms()))

    async def tag(self, reference: str, put: Mapping[str, str], drop: Iterable[str] = ()) -> None:
        """Put tags on a secret and take others away. Raises: ApiError."""
        async with self._change:
            entry = await self._usable(reference)
            await self._put(entry.having(tags=retagged(entry.fields["tags"], put, drop)))

    async def move_stage(self, reference: str, stage: str, source: str | None, target: str | None) -> Entry:
        """Move a staging label from one version to another, or take it away. Raises: ApiError."""
        async with self._change:
            entry = await self._usable(reference)
            versions = entry.fields["versions"]
            for one in (source, target):
                if one is not None and one not in versions:
                    raise ApiError(
                        "ResourceNotFoundException",
                        f"Secrets Manager can't find the specified secret version: {one}.",
                    )
            has = next((one for one, of in versions.items() if stage in of["stages"]), None)
            if source is not None and has != source:
                raise _invalid(f"The staging label {stage} is not attached to version {source}.")
            if target is not None and has is not None and has != target and source is None:
                raise _invalid(
                    f"The parameter RemoveFromVersionId can't be empty. Staging label {stage} is currently attached "
                    f"to version {has}, so you must explicitly reference that version in RemoveFromVersionId."
                )
            if target is None and stage == CURRENT:
                raise _invalid("You can only move staging label AWSCURRENT to a different secret version. It can't be "
                               "completely removed.")  # fmt: skip
            return await self._put(entry.having(versions=_moved(versions, stage, target)))

    async def delete(self, reference: str, window_days: int | None) -> tuple[Entry, int]:
        """Delete a secret at once, or mark it: also returns when it is gone. Raises: ApiError."""
        async with self._change:
            now_ms = self._clock.now_ms()
            if window_days is None:
                entry = await self.find(reference)
                await self._erase(entry)
                return entry, now_ms
            entry = await self._usable(reference)
            until_ms = now_ms + window_days * DAY_MS
            return await self._put(entry.having(deleted_ms=until_ms, marked_ms=now_ms)), until_ms

    async def restore(self, reference: str) -> Entry:
        """Take a secret's mark away. Raises: ApiError."""
        async with self._change:
            return await self._put((await self.find(reference)).having(deleted_ms=None, marked_ms=None))

    async def _erase(self, entry: Entry) -> None:
        values = [(VALUE, _value_key(entry, one)) for one in entry.fields["versions"]]
        await self._shelf.put(gone=((SECRET, entry.key), *values))

    async def start(self) -> None:
        """Erase the secrets whose window has passed."""
        for entry in [one async for one in self._shelf.walk() if self._is_gone(one)]:
            await self._erase(entry)

    async def stop(self) -> None:
        """Nothing is held."""


def _names(reference: str) -> tuple[str, ...]:
    if not reference.startswith("arn:"):
        return (reference,)
    name = reference.partition(":secret:")[2]
    return (name[:-7], name) if name[-7:-6] == "-" else (name,)


def _value_key(entry: Entry, version: str) -> str:
    return f"{entry.fields['arn']}:{version}"


def _moved(versions: Mapping[str, Any], stage: str, target: str | None) -> dict[str, Any]:
    """The versions with a label on another of them; the one that was current becomes the previous one."""
    had = next((one for one, of in versions.items() if stage in of["stages"]), None)
    if had == target:
        return dict(versions)
    moved = {
        name: {**of, "stages": [one for one in of["stages"] if one != stage] + ([stage] if name == target else [])}
        for name, of in versions.items()
    }
    return _moved(moved, PREVIOUS, had) if stage == CURRENT and had is not None else moved


def _sealed(value: Value) -> dict[str, Any]:
    binary = value.get("SecretBinary")
    return {"binary": base64.b64encode(binary).decode()} if binary is not None else {"text": value["SecretString"]}


def _opened(fields: Mapping[str, Any]) -> Value:
    if "binary" in fields:
        return {"SecretBinary": base64.b64decode(fields["binary"])}
    return {"SecretString": fields["text"]}


def _refused(text: str) -> ApiError:
    return ApiError("InvalidRequestException", text)


def _invalid(text: str) -> ApiError:
    return ApiError("InvalidParameterException", text)
