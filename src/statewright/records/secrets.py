"""Secrets: versions, staging labels, and deletion with a recovery window.

Values are stored in plain text: there is no key service, and any reader of the store can read them.

Source: Secrets Manager user guide and API reference; texts of refusals as users of SDKs report them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Final

from statewright.clock import Clock
from statewright.config import Config
from statewright.errors import ApiError
from statewright.payload import Json, JsonMapping
from statewright.records.entries import SECRET, SECRET_VALUE, Secret, SecretValue, SecretVersion
from statewright.records.generated_names import generated_name
from statewright.stores.entries import Entries, Place
from statewright.stores.protocol import CatalogueStore
from statewright.tags import retagged

CURRENT: Final = "AWSCURRENT"
PREVIOUS: Final = "AWSPREVIOUS"
PENDING: Final = "AWSPENDING"
MOST_VERSIONS: Final = 100
DAY_MS: Final = 86_400_000
LONGEST_BYTES: Final = 65_536

Value = JsonMapping
"""The value of a version: `SecretString`, a text, or `SecretBinary`, bytes."""


class Secrets:
    """The secrets of the account."""

    def __init__(self, catalogue: CatalogueStore, clock: Clock, config: Config) -> None:
        self._catalogue = catalogue
        self._clock = clock
        self._config = config
        self._secrets = Entries(catalogue, SECRET)
        self._values = Entries(catalogue, SECRET_VALUE)
        self._change = asyncio.Lock()

    # -------------------------------------------------------------- reading

    async def find(self, reference: str) -> Secret:
        """A secret by its name, its ARN, or its ARN without the six letters at its end.

        Raises: ApiError (`ResourceNotFoundException`).
        """
        for name in _names(reference):
            found = await self._secrets.get(name)
            if found is None or self._is_gone(found):
                continue
            if not reference.startswith("arn:") or found.arn.startswith(reference):
                return found
        raise ApiError("ResourceNotFoundException", "Secrets Manager can't find the specified secret.")

    async def _usable(self, reference: str) -> Secret:
        found = await self.find(reference)
        if found.deleted_ms is not None:
            raise _refused("You can't perform this operation on the secret because it was marked for deletion.")
        return found

    def _is_gone(self, entry: Secret) -> bool:
        """True if its window has passed; its row is deleted when the name is reused, or at the next start."""
        deleted_ms = entry.deleted_ms
        return deleted_ms is not None and deleted_ms <= self._clock.now_ms()

    async def value(self, reference: str, version: str | None, stage: str | None) -> tuple[Secret, str, Value]:
        """A version's id and value. Raises: ApiError."""
        entry = await self._usable(reference)
        versions = entry.versions
        if version is None:
            wanted = stage or CURRENT
            version = next((one for one, of in versions.items() if wanted in of.stages), None)
            missing = f"staging label: {wanted}"
        else:
            missing = f"VersionId: {version}"
            if stage is not None and (version not in versions or stage not in versions[version].stages):
                raise _refused("You provided a VersionStage that is not associated to the provided VersionId.")
        found = await self._values.get(_value_key(entry, version)) if version is not None else None
        if version is None or found is None:
            raise ApiError(
                "ResourceNotFoundException", f"Secrets Manager can't find the specified secret value for {missing}"
            )
        return entry, version, _opened(found)

    async def page(
        self, wanted: Callable[[Secret], bool], after: Place | None, limit: int, *, with_deleted: bool
    ) -> tuple[list[Secret], Place | None]:
        """Secrets by name."""

        def shown(entry: Secret) -> bool:
            if self._is_gone(entry) or (entry.deleted_ms is not None and not with_deleted):
                return False
            return wanted(entry)

        return await self._secrets.chosen(shown, after, limit)

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
    ) -> Secret:
        """Create a secret, with a first version if there is a value. Raises: ApiError."""
        async with self._change:
            before = await self._secrets.get(name)
            if before is not None and self._is_gone(before):
                await self._erase(before)
                before = None
            if before is not None:
                return await self._repeated(before, version, value)
            number = await self._catalogue.next_number("secret")
            suffix = generated_name("", f"{self._config.account} {number}", 6)
            now_ms = self._clock.now_ms()
            arn = self._config.arn("secretsmanager", f"secret:{name}-{suffix}")
            made = Secret(name, arn, now_ms, now_ms, description, kms, dict(tags))
            return await self._add(made, version, value, [CURRENT]) if value else await self._secrets.write(made)

    async def _repeated(self, before: Secret, version: str, value: Value) -> Secret:
        """Answer a repeated creation: the existing secret, if the request is the same. Raises: ApiError."""
        if before.deleted_ms is not None:
            raise _refused(
                "You can't create this secret because a secret with this name is already scheduled for deletion."
            )
        had = await self._values.get(_value_key(before, version))
        if had is not None and _opened(had) == value:
            return before
        raise ApiError(
            "ResourceExistsException", f"The operation failed because the secret {before.name} already exists."
        )

    async def put(self, reference: str, version: str, value: Value, stages: Iterable[str] = (CURRENT,)) -> Secret:
        """Add a version. Raises: ApiError."""
        async with self._change:
            entry = await self._usable(reference)
            if version in entry.versions:
                had = await self._values.get(_value_key(entry, version))
                if had is not None and _opened(had) == value:
                    return entry
                raise ApiError(
                    "ResourceExistsException",
                    f"You can't use ClientRequestToken {version} because that value is already in use for a version of "
                    f"secret {entry.arn}.",
                )
            return await self._add(entry, version, value, list(stages))

    async def _add(self, entry: Secret, version: str, value: Value, stages: list[str]) -> Secret:
        now_ms = self._clock.now_ms()
        versions = {**entry.versions, version: SecretVersion([], now_ms)}
        for stage in stages:
            versions = _moved(versions, stage, version)
        old = [one for one, of in versions.items() if not of.stages]
        # Versions without labels are deprecated: the service forgets them when there are many.
        surplus = old[: max(0, len(versions) - MOST_VERSIONS)]
        kept = {one: of for one, of in versions.items() if one not in surplus}
        gone = [(SECRET_VALUE.name, _value_key(entry, one)) for one in surplus]
        row = SECRET_VALUE.row(_sealed(entry, version, value))
        return await self._secrets.write(replace(entry, versions=kept, changed_ms=now_ms), also=[row], delete=gone)

    async def set(self, reference: str, **fields: Json) -> Secret:
        """Change fields of a secret. Raises: ApiError."""
        async with self._change:
            entry = await self._usable(reference)
            return await self._secrets.write(replace(entry, **fields, changed_ms=self._clock.now_ms()))

    async def tag(self, reference: str, put: Mapping[str, str], drop: Iterable[str] = ()) -> None:
        """Add tags to a secret and remove others. Raises: ApiError."""
        async with self._change:
            entry = await self._usable(reference)
            await self._secrets.write(replace(entry, tags=retagged(entry.tags, put, drop)))

    async def move_stage(self, reference: str, stage: str, source: str | None, target: str | None) -> Secret:
        """Move a staging label from one version to another, or remove it. Raises: ApiError."""
        async with self._change:
            entry = await self._usable(reference)
            versions = entry.versions
            for one in (source, target):
                if one is not None and one not in versions:
                    raise ApiError(
                        "ResourceNotFoundException",
                        f"Secrets Manager can't find the specified secret version: {one}.",
                    )
            has = next((one for one, of in versions.items() if stage in of.stages), None)
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
            return await self._secrets.write(replace(entry, versions=_moved(versions, stage, target)))

    async def delete(self, reference: str, window_days: int | None) -> tuple[Secret, int]:
        """Delete a secret now, or mark it for deletion; also returns the instant of deletion. Raises: ApiError."""
        async with self._change:
            now_ms = self._clock.now_ms()
            if window_days is None:
                entry = await self.find(reference)
                await self._erase(entry)
                return entry, now_ms
            entry = await self._usable(reference)
            until_ms = now_ms + window_days * DAY_MS
            return await self._secrets.write(replace(entry, deleted_ms=until_ms, marked_ms=now_ms)), until_ms

    async def restore(self, reference: str) -> Secret:
        """Remove a secret's mark for deletion. Raises: ApiError."""
        async with self._change:
            return await self._secrets.write(replace(await self.find(reference), deleted_ms=None, marked_ms=None))

    async def _erase(self, entry: Secret) -> None:
        values = [(SECRET_VALUE.name, _value_key(entry, one)) for one in entry.versions]
        await self._catalogue.write([], [SECRET.name_of(entry), *values])

    async def start(self) -> None:
        """Erase the secrets whose window has passed."""
        for entry in [one async for one in self._secrets.walk() if self._is_gone(one)]:
            await self._erase(entry)

    async def stop(self) -> None:
        """Do nothing; secrets hold no resources."""


def _names(reference: str) -> tuple[str, ...]:
    if not reference.startswith("arn:"):
        return (reference,)
    name = reference.partition(":secret:")[2]
    return (name[:-7], name) if name[-7:-6] == "-" else (name,)


def _value_key(entry: Secret, version: str) -> str:
    return f"{entry.arn}:{version}"


def _moved(versions: Mapping[str, SecretVersion], stage: str, target: str | None) -> dict[str, SecretVersion]:
    """The versions after moving a label to one of them; the current version becomes the previous one."""
    had = next((one for one, of in versions.items() if stage in of.stages), None)
    if had == target:
        return dict(versions)
    moved = {
        name: replace(of, stages=[one for one in of.stages if one != stage] + ([stage] if name == target else []))
        for name, of in versions.items()
    }
    return _moved(moved, PREVIOUS, had) if stage == CURRENT and had is not None else moved


def _sealed(entry: Secret, version: str, value: Value) -> SecretValue:
    return SecretValue(entry.arn, version, value.get("SecretString"), value.get("SecretBinary"))


def _opened(value: SecretValue) -> Value:
    return {"SecretBinary": value.binary} if value.binary is not None else {"SecretString": value.text}


def _refused(text: str) -> ApiError:
    return ApiError("InvalidRequestException", text)


def _invalid(text: str) -> ApiError:
    return ApiError("InvalidParameterException", text)
