"""The console with something to see: a server with the shop of `projects/shop`, and orders that keep coming.

    python examples/console.py [--port 4566] [--orders 60]

Prints the address of the console; Ctrl+C ends the server and removes its data.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from serving import PATIENCE_SECONDS, Running, server

PROJECT = Path(__file__).parent / "projects" / "shop"
CUSTOMERS = [("Ada Byron", "ada@example.org"), ("Grace Hopper", "grace@example.org"), ("Alan Kay", "alan@example.org")]
ARTICLES = [("lamp", 49), ("chair", 120), ("desk", 240), ("sofa", 890), ("rug", 75)]
LAMP = {"sku": "lamp", "qty": 1, "price": 49}
CATALOGUE = 400
PAUSE_SECONDS = 1.5


class Shop:
    """The shop on a server. What customers order is the same in every run."""

    def __init__(self, running: Running) -> None:
        command = [sys.executable, "-m", "statewright.cli.main", "deploy", str(PROJECT), "--endpoint", running.endpoint]
        done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=PATIENCE_SECONDS)
        if done.returncode:
            raise SystemExit(f"The shop cannot be deployed: {done.stderr or done.stdout}")
        self._sfn = running.client("stepfunctions")
        self.machines = {
            one["name"]: one["stateMachineArn"] for one in self._sfn.list_state_machines()["stateMachines"]
        }
        self._chance = random.Random(7)
        self._number = 2390

    def start(self, machine: str, name: str, given: Any) -> str:
        """Start an execution; returns its ARN."""
        arn: str = self._sfn.start_execution(
            stateMachineArn=self.machines[machine], name=name, input=json.dumps(given)
        )["executionArn"]
        return arn

    def order(self, **given: Any) -> str:
        """One order; what is not given is drawn."""
        self._number += 1
        name, email = self._chance.choice(CUSTOMERS)
        lines = [
            {"sku": sku, "qty": self._chance.randint(1, 3), "price": price}
            for sku, price in self._chance.sample(ARTICLES[:3], k=self._chance.randint(1, 3))
        ]
        drawn = {
            "order": f"order-{self._number}",
            "customer": {"name": name, "email": email},
            "card": self._chance.choices(("ok", "declined"), (6, 1))[0],
            "busy": self._chance.choices((0, 1, 2), (7, 2, 1))[0],
            "lines": [line for line in lines if line["qty"] * line["price"] < 500]
            or [{"sku": "lamp", "qty": 1, "price": 49}],
        }
        return self.start("order-fulfilment", f"order-{self._number}", {**drawn, **given})

    def open(self, orders: int) -> dict[str, str]:
        """Begin with a day's work; returns the executions that are worth a look, by what they show."""
        sofa = [{"sku": "sofa", "qty": 1, "price": 890}]
        five = [{"sku": sku, "qty": 1, "price": price // 4} for sku, price in ARTICLES]
        shown = {
            "retried": self.order(card="ok", busy=3, lines=five),
            "failed": self.order(card="declined", busy=0, lines=five),
            "waiting": self.order(card="ok", busy=0, lines=sofa),
        }
        articles = [
            {"sku": f"article-{number}", "price": -1 if number % 37 == 5 else number} for number in range(CATALOGUE)
        ]
        shown["map"] = self.start("import-catalogue", "catalogue-1", {"articles": articles})
        for number in range(8):
            self.start("restock", f"restock-{number}", {"seconds": 3600})
        for _ in range(orders):
            self.order()
        return shown


def main() -> None:
    """Serve the shop until Ctrl+C."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, default=4566, help="0 for any that is free")
    parser.add_argument("--orders", type=int, default=60, help="how many there are at the beginning")
    given = parser.parse_args()
    print("Starting a server with a shop ...", flush=True)
    with (
        tempfile.TemporaryDirectory() as folder,
        contextlib.suppress(KeyboardInterrupt),
        server(f"{folder}/data", port=given.port) as running,
    ):
        shop = Shop(running)
        shown = shop.open(given.orders)
        print(f"The console is at {running.endpoint}/console")
        for words, arn in shown.items():
            print(f"  {words:8} {running.endpoint}/console/execution/{arn}")
        print("An order comes every other second. Ctrl+C ends the shop, and removes its data.", flush=True)
        while running.process.poll() is None:
            shop.order()
            time.sleep(PAUSE_SECONDS)


if __name__ == "__main__":
    main()
