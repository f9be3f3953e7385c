"""Pages of very many semaphores: what each shows, without putting all of them in order."""

from __future__ import annotations

from typing import Any

import pytest

from statewright.console.services import limits as limits_module
from statewright.console.services.limits import limits, semaphore
from statewright.console.services.waiting import waiting
from statewright.engine.concurrency.semaphores import Permit, Semaphores
from statewright.virtual_clock import VirtualClock, run_virtual
from tests.unit.console.live_pages import asked, console_of
from tests.unit.engine.running import Rig

ARN = "arn:aws:states:us-east-1:000000000000:execution:m:x"


class Compared(str):
    """A name that counts how often its order is asked for."""

    compared = 0

    def __lt__(self, other: str) -> bool:
        Compared.compared += 1
        return str.__lt__(self, other)


def fill(semaphores: Semaphores, many: int) -> None:
    """Semaphores of one name, whose keys come in no order; every hundredth has a waiter, too."""
    for number in range(many):
        key = Compared(f"{number * 7_919 % many:06}")
        one = semaphores._named("door", key)
        semaphores._keep(one, Permit(2 * number, ARN, "S", f"h{number}", number, granted_ms=number))
        if not number % 100:
            semaphores._keep(one, Permit(2 * number + 1, ARN, "S", f"w{number}", number))


def test_a_page_orders_only_what_it_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits_module, "PAGE_ROWS", 20)

    async def main(clock: VirtualClock) -> None:
        rig = await Rig(clock).up()
        console = console_of(rig)
        semaphores = rig.engine.semaphores
        fill(semaphores, 3_000)
        Compared.compared = 0
        pages: list[Any] = [await limits(console, asked())]
        # To put 3,000 of them in order takes ten times as many.
        assert Compared.compared < 6_000
        while pages[-1]["next"]:
            pages.append(await limits(console, asked(cursor=pages[-1]["next"])))
        keys = [(not row["waiting"], row["key"]) for page in pages for row in page["semaphores"]]
        assert keys == sorted(keys)
        assert (len(keys), len(set(keys)), pages[0]["total"]) == (3_000, 3_000, 3_000)
        Compared.compared = 0
        assert (await semaphore(console, asked(name="door", key="000123")))["held"] == 1
        assert (await semaphore(console, asked(name="door", key="none")))["limit"] is None
        found = await waiting(console, asked(kind="permits"))
        assert (found["permits"], [row["sinceMs"] for row in found["rows"]][:3]) == (30, [0, 100, 200])
        assert Compared.compared == 0
        await rig.down()

    run_virtual(main)
