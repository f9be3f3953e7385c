"""What a database's settings say about acknowledged calls."""

from __future__ import annotations

import logging

import pytest

from statewright.stores.postgres.surroundings import examine, replication_problem
from tests.postgres_server import Server, server_or_skip


@pytest.mark.parametrize(
    ("commit", "names", "replicas", "said"),
    [
        ("on", "", 0, None),
        ("on", "*", 1, None),
        ("remote_apply", "ANY 1 (*)", 2, None),
        ("on", " ", 1, "1 replica follows it asynchronously (synchronous_standby_names is empty)"),
        ("local", "*", 2, "2 replicas follow it asynchronously (synchronous_commit is local)"),
        ("off", "", 0, "synchronous_commit is off"),
        ("off", "*", 1, "synchronous_commit is off"),
    ],
)
def test_what_replication_may_lose(commit: str, names: str, replicas: int, said: str | None) -> None:
    found = replication_problem(commit, names, replicas)
    assert found is None if said is None else found is not None and found.startswith(said)


def test_a_database_without_replicas_is_no_reason_to_warn(caplog: pytest.LogCaptureFixture) -> None:
    examine(server_or_skip().new_database(), "db")
    assert not caplog.records


@pytest.mark.slow
def test_an_asynchronous_replica_is_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    server_or_skip()
    primary = Server()
    try:
        replica = Server(primary)
        try:
            with caplog.at_level(logging.WARNING, "statewright.server"):
                examine(primary.new_database(), "db")
        finally:
            replica.remove()
    finally:
        primary.remove()
    assert [record.getMessage().partition(":")[0] for record in caplog.records] == ["the store db"]
    assert "1 replica follows it asynchronously" in caplog.text
