"""Secrets on virtual time: the window of a deletion, and labels that move."""

from __future__ import annotations

import pytest

from statewright.config import Config
from statewright.errors import ApiError
from statewright.records.entries import SECRET_VALUE
from statewright.records.secrets import MOST_VERSIONS, Secrets
from statewright.stores.entries import Entries
from statewright.stores.memory.store import MemoryStore
from statewright.virtual_clock import VirtualClock
from tests.unit.records.running import DAY, on_store


async def create(secrets: Secrets, name: str, text: str = "one", version: str = "v1") -> str:
    value = {"SecretString": text}
    made = await secrets.create(name, version, value, description=None, kms=None, tags={})
    arn: str = made.arn
    return arn


def test_a_secret_is_gone_after_its_window() -> None:
    async def story(clock: VirtualClock, store: MemoryStore) -> None:
        secrets = Secrets(store.catalogue, clock, Config())
        first = await create(secrets, "s")
        await secrets.delete("s", 7)
        await clock.sleep_until(clock.now_ms() + 7 * DAY - 1)
        await secrets.find("s")
        with pytest.raises(ApiError, match="already scheduled for deletion"):
            await create(secrets, "s")
        await clock.sleep_until(clock.now_ms() + 1)
        for reference in ("s", first):
            with pytest.raises(ApiError, match="can't find the specified secret"):
                await secrets.find(reference)
        second = await create(secrets, "s", "two", "v2")
        assert second != first
        assert (await secrets.value(second, None, None))[2] == {"SecretString": "two"}
        with pytest.raises(ApiError, match="can't find the specified secret"):
            await secrets.find(first)

    on_store(story)


def test_a_start_erases_what_is_due() -> None:
    async def story(clock: VirtualClock, store: MemoryStore) -> None:
        secrets = Secrets(store.catalogue, clock, Config())
        arn = await create(secrets, "s")
        await create(secrets, "stays")
        await secrets.delete("s", 7)
        await clock.sleep_until(clock.now_ms() + 8 * DAY)
        await Secrets(store.catalogue, clock, Config()).start()
        assert [one async for one in Entries(store.catalogue, SECRET_VALUE).walk(arn)] == []
        assert (await secrets.value("stays", None, None))[1] == "v1"

    on_store(story)


def test_old_versions_without_labels_are_forgotten() -> None:
    async def story(clock: VirtualClock, store: MemoryStore) -> None:
        secrets = Secrets(store.catalogue, clock, Config())
        arn = await create(secrets, "s", version="v0")
        await secrets.move_stage("s", "kept", None, "v0")
        for number in range(1, MOST_VERSIONS + 10):
            await secrets.put("s", f"v{number}", {"SecretString": str(number)})
        entry = await secrets.find("s")
        assert len(entry.versions) == MOST_VERSIONS
        assert len([one async for one in Entries(store.catalogue, SECRET_VALUE).walk(arn)]) == MOST_VERSIONS
        assert (await secrets.value("s", None, "kept"))[2] == {"SecretString": "one"}

    on_store(story)


@pytest.mark.parametrize(
    ("stage", "source", "target", "text"),
    [
        ("AWSCURRENT", None, "v1", "RemoveFromVersionId can't be empty"),
        ("AWSCURRENT", "v2", None, "only move staging label AWSCURRENT"),
        ("AWSCURRENT", "v1", "v1", "not attached to version v1"),
        ("x", None, "v9", "can't find the specified secret version"),
    ],
)
def test_refused_moves_of_labels(stage: str, source: str | None, target: str | None, text: str) -> None:
    async def story(clock: VirtualClock, store: MemoryStore) -> None:
        secrets = Secrets(store.catalogue, clock, Config())
        await create(secrets, "s")
        await secrets.put("s", "v2", {"SecretString": "two"})
        with pytest.raises(ApiError, match=text):
            await secrets.move_stage("s", stage, source, target)

    on_store(story)
