"""What the console's lists cost: CPU of this process for a filter, a search and the first page.

`python bench/console_list.py [--executions 100000] [--children 10000] [--machines 4]`: the console's reads on a durable
SQLite store, no HTTP. Rows are written to the file directly, in the form that the engine writes them. Each figure is
the median of seven reads (three of searches), in milliseconds of CPU of the whole process, all threads.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sqlite3
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from statewright.assembly import assemble
from statewright.clock import RealClock
from statewright.config import Config
from statewright.console.asked import Asked, Caller, Lines
from statewright.console.reads import reader
from statewright.engine.executions.views import Head, Tail
from statewright.engine.machines.views import NewMachine
from statewright.stores.ids import COUNTER_BITS, FIRST_MS
from statewright.stores.sqlite.store import SqliteStore

ROLE = "arn:aws:iam::000000000000:role/bench"
DEFINITION = json.dumps({"StartAt": "A", "States": {"A": {"Type": "Succeed"}}})
CUSTOMERS = ("Ada Lovelace", "Grace Hopper", "Alan Turing", "Edsger Dijkstra", "Barbara Liskov")
ROUNDS = 7
STEP_MS = 500


def fill(file: Path, machines: list[tuple[int, str]], count: int, children: int, now_ms: int) -> None:
    """Write executions of all machines in turn, one each half second, and the newest ones as children of a Map Run."""
    on = sqlite3.connect(file)
    for number in range(count + children):
        at_ms = now_ms - (count + children - number) * STEP_MS
        identity = ((at_ms - FIRST_MS) << COUNTER_BITS) | number % 4096
        of, machine = (machines[number % len(machines)]) if number < count else (10**15, machines[0][1])
        name = f"order-{number}"
        customer = CUSTOMERS[number % 5]
        email = f"{customer.split()[1].lower()}@{number}.example"
        order = {"order": f"o-{number}", "total": number % 977, "customer": {"name": customer, "email": email}}
        given = json.dumps(order)
        arn = f"{machine.replace(':stateMachine:', ':execution:')}:{name}"
        head = Head(arn, machine, machine.rpartition(":")[2], of, "r", "STANDARD", ROLE, None, None, None, given)
        failed = number % 20 == 0
        tail = Tail(error="GatewayBusy", cause="gateway answered 503") if failed else Tail(output=given)
        row = (identity, 0, of, name, 2 if failed else 1, at_ms, at_ms + number % 12_000, 1, None, tail.encode())
        on.execute("INSERT INTO execution VALUES (?,?,?,?,?,?,?,?,?,?)", row)
        on.execute("INSERT INTO execution_head VALUES (?,?)", (identity, head.encode()))
    on.commit()
    on.close()


async def main() -> None:
    """Fill a store and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--executions", type=int, default=100_000)
    parser.add_argument("--children", type=int, default=10_000)
    parser.add_argument("--machines", type=int, default=4)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        store = SqliteStore(Path(folder))
        await store.open("bench")
        system = assemble(Config(), RealClock(), store, Path(folder), lambda: "http://nowhere")
        await system.start()
        machines = []
        for number in range(given.machines):
            made = await system.engine.machines.create(NewMachine(f"order-{number}", DEFINITION, ROLE, "STANDARD"))
            machines.append((made.machine.id, made.machine.arn))
        (file,) = Path(folder).glob("*.db")
        fill(file, machines, given.executions, given.children, system.app.clock.now_ms())
        read = reader(system.app)

        async def one(name: str, query: dict[str, Any]) -> str:
            asked = Asked({key: str(value) for key, value in query.items()}, Caller(), "bench")
            answer = await read(name, asked)
            if not isinstance(answer, Lines):
                return f"{len(answer.get('executions') or ())} rows"
            rows = looked = 0
            async for line in answer.documents:
                rows += len(line.get("rows", ()))
                looked = line.get("looked", looked)
            return f"{rows} rows, {looked} looked at"

        arn = machines[-1][1]
        for name, query in (
            ("executions", {}), ("executions", {"status": "FAILED"}), ("executions", {"status": "RUNNING"}),
            ("executions", {"machine": arn}), ("executions", {"within": 3_600_000}),
            ("executions", {"until": system.app.clock.now_ms() - 50_000_000, "status": "failed"}),
            ("executions/histogram", {}), ("executions/search", {"took": 11_500, "limit": 50}),
            ("executions/search", {"q": 'input.customer.email ~ "hopper"', "limit": 50}),
            ("executions/search", {"q": "o-31", "limit": 200}), ("executions/search", {"q": "nothing has this"}),
            ("overview", {}), ("machines", {}), ("machines/days", {}), ("counts", {}), ("find", {"name": "order-77"}),
        ):  # fmt: skip
            await one(name, query)
            costs = []
            for _ in range(ROUNDS if "search" not in name else 3):
                before = time.process_time()
                found = await one(name, query)
                costs.append((time.process_time() - before) * 1000)
            print(f"{statistics.median(costs):8.1f} ms  {name} {query}: {found}", flush=True)
        await system.stop()
        await store.close()


if __name__ == "__main__":
    asyncio.run(main())
