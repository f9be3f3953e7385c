"""Deleting objects and versions: plainly, by id, or by a marker in front of what is there.

Owns which of these a deletion is, in one transaction for all of a call, and its notifications. A bucket with versions
gets a marker unless the caller names a version; a suspended one gets a marker without a name, in place of its null
version.

Source: user guide, "Deleting object versions from a versioning-enabled bucket", "Deleting objects from
versioning-suspended buckets".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Final

from statewright.errors import ApiError
from statewright.objects import faults
from statewright.objects.locks import LOCK, denied
from statewright.objects.names import key_bytes
from statewright.objects.notifications import DELETED, EXPIRED, EXPIRED_BY_MARKER, MARKED, NOTIFICATION, Change
from statewright.objects.records import Bucket, object_of
from statewright.objects.state import ObjectState
from statewright.objects.versions.ids import NULL, Deleted, known_number, version_number, version_text
from statewright.objects.writing import NO_DEMAND
from statewright.stores.completion import Completion, adapted
from statewright.stores.object_rows import (
    MARKER,
    NULL_VERSION,
    Deletion,
    Demand,
    Missing,
    ObjectRow,
    Refused,
    WriteOutcome,
    Written,
)
from statewright.stores.protocol import EntryRow

_MARKER_EVENTS: Final = {DELETED: MARKED, EXPIRED: EXPIRED_BY_MARKER}
_EMPTY_MD5: Final = "d41d8cd98f00b204e9800998ecf8427e"

Wanted = tuple[str, Demand, str | None]
"""A deletion: key, demand, and the id of a version."""


@dataclass(frozen=True, slots=True)
class _Chosen:
    """A deletion that may be tried, and its place in the call."""

    place: int
    deletion: Deletion
    version: str | None


class Deletions:
    """The deletions of one server."""

    def __init__(self, state: ObjectState) -> None:
        self._state = state

    async def delete(
        self,
        bucket: str,
        key: str,
        *,
        version: str | None = None,
        demand: Demand = NO_DEMAND,
        bypass: bool = False,
        completion: Completion[Deleted] | None = None,
    ) -> Deleted:
        """Delete an object or a version, or put a marker in front; a missing object counts as deleted.

        `bypass` ignores a retention in the mode GOVERNANCE.

        Raises: ApiError (`NoSuchBucket`, `PreconditionFailed`, `NoSuchVersion`, `AccessDenied` for a locked version,
            `InvalidArgument` for an id that no version can have).
        """

        def deleted(answers: Sequence[ApiError | Deleted]) -> Deleted | None:
            return answers[0] if isinstance(answers[0], Deleted) else None

        if version is not None:
            version_number(version)
        wanted = [(key, demand, version)]
        (answer,) = await self.delete_many(bucket, wanted, completion=adapted(completion, deleted), bypass=bypass)
        if isinstance(answer, ApiError):
            raise answer
        return answer

    async def delete_many(
        self,
        bucket: str,
        wanted: Sequence[Wanted],
        event: str = DELETED,
        completion: Completion[list[ApiError | Deleted]] | None = None,
        *,
        older_only: bool = False,
        bypass: bool = False,
    ) -> list[ApiError | Deleted]:
        """Delete objects and versions in one transaction; what became of each, or its refusal.

        With `older_only`, a version that is the object of its key is refused. `bypass` ignores retentions in the mode
        GOVERNANCE.

        Raises: ApiError (`NoSuchBucket`).
        """
        home = await self._state.bucket(bucket)
        # Markers are written in the order of their numbers: from here to the write, no other part runs.
        numbers = iter(await self._state.vault.next_ids(len(wanted)) if home.is_versioned else ())
        home = self._state.buckets.get(bucket, home)
        answers: list[ApiError | Deleted] = [Deleted()] * len(wanted)
        chosen: list[_Chosen] = []
        refuses = self._protection(home, bypass=bypass)
        for place, one in enumerate(wanted):
            try:
                deletion = self._deletion(home, one, next(numbers, 0))
            except ApiError as problem:
                answers[place] = problem
            else:
                guarded = replace(deletion, older_only=older_only, refuses=refuses) if one[2] is not None else deletion
                chosen.append(_Chosen(place, guarded, one[2]))
        notes = self._notes(home, chosen, event)

        def answered(outcomes: Sequence[WriteOutcome]) -> list[ApiError | Deleted]:
            found = list(answers)
            for one, outcome in zip(chosen, outcomes, strict=True):
                found[one.place] = self._answer(bucket, one, outcome)
            return found

        writing = self._state.store.objects.delete(
            home.id, [one.deletion for one in chosen], notes, adapted(completion, answered)
        )
        outcomes = await self._state.announce(writing, list(chain.from_iterable(notes)))
        for outcome in outcomes:
            if isinstance(outcome, Written):
                self._state.vault.free(outcome.freed)
        return answered(outcomes)

    def _protection(self, bucket: Bucket, *, bypass: bool) -> Callable[[ObjectRow], bool] | None:
        """A test of rows for versions that their lock protects; `None` in a bucket without Object Lock."""
        if LOCK not in bucket.settings:
            return None
        now_ms = self._state.clock.now_ms()

        def protects(row: ObjectRow) -> bool:
            return object_of(bucket, row).settings.lock.protects(now_ms, bypass=bypass)

        return protects

    def _deletion(self, bucket: Bucket, wanted: Wanted, number: int) -> Deletion:
        """Raises: ApiError (`NoSuchVersion`, or as `key_bytes`)."""
        key, demand, version = wanted
        name = key_bytes(key)
        if version is not None:
            known = known_number(version)
            if known is None or (known != NULL_VERSION and not bucket.is_versioned):
                raise faults.no_such_version(key, version)
            return Deletion(name, demand, known if bucket.is_versioned else None)
        if not bucket.is_versioned:
            return Deletion(name, demand)
        now_ms, named = self._state.clock.now_ms(), int(bucket.keeps_versions)
        marker = ObjectRow(bucket.id, name, number, 0, now_ms, "", MARKER, b"{}", number, named)
        return Deletion(name, demand, marker=marker)

    def _notes(self, bucket: Bucket, chosen: Sequence[_Chosen], event: str) -> list[list[EntryRow]]:
        if self._state.outbox is None or NOTIFICATION not in bucket.settings:
            return []
        now_ms = self._state.clock.now_ms()
        changes: list[Change] = []
        for one in chosen:
            key, marker = one.deletion.key.decode(), one.deletion.marker
            if marker is not None:
                text = version_text(marker) if marker.named else None
                changes.append(Change(_MARKER_EVENTS[event], key, now_ms, etag=_EMPTY_MD5, version=text))
            else:
                text = one.version if bucket.is_versioned and one.version != NULL else None
                changes.append(Change(event, key, now_ms, version=text))
        return self._state.outbox.prepare(bucket, changes)

    def _answer(self, bucket: str, one: _Chosen, outcome: WriteOutcome) -> ApiError | Deleted:
        deletion = one.deletion
        if isinstance(outcome, Missing) and one.version is not None:
            return faults.no_such_version(deletion.key.decode(), one.version)
        found = outcome.found if isinstance(outcome, Refused) else None
        if found is not None and deletion.refuses is not None and deletion.refuses(found):
            return denied()
        if not isinstance(outcome, Written):
            return self._state.refusal(bucket, deletion.key, outcome, deletion.demand)
        if deletion.marker is not None:
            return Deleted(marker=version_text(deletion.marker))
        if outcome.gone is None:
            return Deleted()
        return Deleted(one.version, one.version if outcome.gone.place == MARKER else None)
