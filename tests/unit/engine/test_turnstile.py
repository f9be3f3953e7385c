"""What passes in one turn of the loop, and in which order."""

from __future__ import annotations

import asyncio

from statewright.engine.turnstile import BURST, EXPRESS, WHOLE_TURN, Turnstile
from statewright.virtual_clock import VirtualClock, run_virtual


def test_a_turn_lets_through_no_more_than_its_weight_and_in_order():
    async def body(_clock: VirtualClock) -> None:
        ways: list[int] = []
        turnstile = Turnstile(lambda: ways.append(1))
        passed: list[tuple[int, int]] = []
        turn = 0

        async def guest(number: int, weight: int) -> None:
            await turnstile.enter(weight)
            passed.append((turn, number))

        tasks = [asyncio.ensure_future(guest(number, EXPRESS)) for number in range(10)]
        tasks.append(asyncio.ensure_future(guest(10, BURST)))
        while len(passed) < len(tasks):
            await asyncio.sleep(0)
            turn += 1
        assert [number for _, number in passed] == list(range(11))
        in_turns = [sum(1 for at, _ in passed if at == one) for one in range(turn)]
        assert max(in_turns) == WHOLE_TURN // EXPRESS
        assert len(ways) == 11

    run_virtual(body)


def test_a_cancelled_and_a_failing_waiter_delay_no_others():
    async def body(_clock: VirtualClock) -> None:
        turnstile = Turnstile(lambda: None)
        await turnstile.enter(BURST)
        gone = asyncio.ensure_future(turnstile.enter(BURST))
        await asyncio.sleep(0)
        gone.cancel()
        problems: list[str] = []
        asyncio.get_running_loop().set_exception_handler(lambda _loop, told: problems.append(str(told["exception"])))

        def stumble() -> None:
            raise ValueError("oh")

        turnstile.pass_later(BURST, stumble)
        await turnstile.enter(BURST)
        assert problems == ["oh"]

    run_virtual(body)
