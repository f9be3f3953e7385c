"""The checks of a node before it joins: a wrong clock, and an address that leads elsewhere, are refused."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace
from typing import Any

import pytest

from statewright.api.nodes.client import NodeClient
from statewright.api.nodes.peers import Peer
from statewright.clock import RealClock
from statewright.hosting.nodes import guards
from statewright.hosting.nodes.guards import (
    ADDRESS_MS,
    check_address,
    check_clock,
    clock_ahead_ms,
    refuse_open_host,
    unreachable,
)
from statewright.hosting.options import CannotServe
from statewright.virtual_clock import VirtualClock, run_virtual
from tests.unit.api.nodes.cluster import Answering, cluster, ported, respond


class Ticking:
    """A clock whose readings a test gives."""

    def __init__(self, *readings: int) -> None:
        self.readings = list(readings)

    def now_ms(self) -> int:
        return self.readings.pop(0)


def test_the_answer_with_the_shortest_way_counts_and_half_of_the_way():
    clock: Any = Ticking(10_000, 10_900, 11_000, 11_020, 12_000, 12_500)
    database = [9_000, 10_000, 11_900]
    assert asyncio.run(clock_ahead_ms(clock, lambda: database.pop(0))) == 1_010


@pytest.mark.parametrize("ahead_ms", [10_001, -10_001])
def test_a_clock_that_is_too_far_off_is_refused(ahead_ms):
    way = "ahead of" if ahead_ms > 0 else "behind"
    with pytest.raises(
        CannotServe, match=rf"the clock of this machine is 10.0 s {way} the database's: .*; set the clo"
    ):
        check_clock(ahead_ms)


@pytest.mark.parametrize(("ahead_ms", "warns"), [(500, False), (-500, False), (501, True), (-10_000, True)])
def test_a_clock_that_is_off_is_warned_of(caplog, ahead_ms, warns):
    with caplog.at_level(logging.WARNING, "statewright.server"):
        check_clock(ahead_ms)
    assert [one.levelname for one in caplog.records] == ["WARNING"] * warns


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_a_node_on_all_addresses_says_which_one_leads_to_it(host):
    with pytest.raises(CannotServe, match=f"listens on {host} needs --advertise"):
        refuse_open_host(host, None)
    refuse_open_host(host, "http://10.0.0.5:4566")
    refuse_open_host("127.0.0.1", None)
    refuse_open_host("10.0.0.5", None)


async def refusal(client: NodeClient, peer: Peer) -> str:
    with pytest.raises(CannotServe) as caught:
        await check_address(client, peer, "a 1", RealClock(), "--advertise http://x:1")
    return str(caught.value)


def test_an_address_that_leads_elsewhere():
    async def test() -> None:
        async with cluster("a", "b") as (a, b):
            own, other = (Peer("a", f"http://127.0.0.1:{node.port}", 1) for node in (a, b))
            await check_address(a.client, own, "a 1", RealClock(), "")
            found = await refusal(a.client, other)
            assert found == "--advertise http://x:1 does not lead to this node: the node b answers there"
            stranger = NodeClient(b"another secret", "a", RealClock())
            assert "another cluster, or another program" in await refusal(stranger, own)
            stranger.close()

    asyncio.run(test())


@pytest.mark.parametrize(("status", "body"), [(200, b"<html>"), (200, b"[]"), (200, b"{}"), (404, b"{}")])
def test_another_program_at_the_address(status, body):
    async def answer(_scope: Any, _receive: Any, send: Any) -> None:
        await respond(send, status, body)

    async def test() -> None:
        async with ported(Answering("other", answer)) as port:
            client = NodeClient(b"secret", "a", RealClock())
            assert "another program answers there" in await refusal(client, Peer("a", f"http://127.0.0.1:{port}", 1))
            client.close()

    asyncio.run(test())


def test_an_address_that_does_not_answer_is_tried_for_a_while(monkeypatch):
    asked: list[int] = []

    async def test(clock: VirtualClock) -> None:
        client, begun_ms = NodeClient(b"secret", "a", clock), clock.now_ms()
        own = Peer("a", "http://127.0.0.1:1", 1)
        take = client.links.take

        async def noted(address: str) -> Any:
            asked.append(clock.now_ms() - begun_ms)
            return await take(address)

        monkeypatch.setattr(client.links, "take", noted)
        with pytest.raises(CannotServe, match=r"does not lead to this node: http://127\.0\.0\.1:1 does not answer: "):
            await check_address(client, own, "a 1", clock, "--advertise http://127.0.0.1:1")
        client.close()

    run_virtual(test)
    assert (asked[0], asked[-1]) == (0, ADDRESS_MS)
    assert len(asked) == 1 + ADDRESS_MS // guards.AGAIN_MS


def test_nodes_on_loopback_beside_others():
    here, far = Peer("here", "http://127.0.0.1:4566", 0), Peer("far", "http://10.0.0.5:4566", 0)
    for own, others in ((here, [replace(here, name="too"), far]), (far, [here])):
        found = unreachable(own, others)
        assert found is not None
        assert found.startswith("the node here is at http://127.0.0.1:4566, where no other machine reaches it")
        assert "the node far at http://10.0.0.5:4566" in found
    assert unreachable(here, []) is None
    assert unreachable(here, [replace(here, address=one) for one in ("http://localhost:1", "http://[::1]:1")]) is None
    assert unreachable(far, [replace(far, address="http://a.example:4566")]) is None
