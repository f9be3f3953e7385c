"""`statewright nodes`: the nodes of a cluster, and what each has."""

from __future__ import annotations

import click

from statewright.cli.client import OWN_SERVICE, Answer, Server, server_options
from statewright.cli.output import Span, stderr, stdout
from statewright.cli.table import print_table


@click.command(short_help="Show the nodes of a cluster.")
@click.option("--execution", metavar="ARN", help="Show only the node that has this execution.")
@server_options
def nodes(form: str, endpoint: str | None, execution: str | None) -> None:
    """Show the living nodes of a cluster, the address of each, and how many cells it has. Any of them may be asked.

    CLOCK is how far a node's clock is ahead of the database's, or behind it, or "no answer" if the home does not reach
    the node.

    One of them has the home: queues, tables, schedules and all that is not an execution.

    \b
    Examples:
      statewright nodes
      statewright nodes --endpoint http://10.0.0.5:4566 -o json
    """
    with Server(endpoint, service=OWN_SERVICE) as server:
        given = {"executionArn": execution} if execution is not None else {}
        found = server.call("list_nodes", **given)["nodes"]
    if form == "json":
        stdout().json({"nodes": found})
    elif form == "table":
        rows: list[list[Span]] = [
            [one["name"], one["address"], f"{one['cells']:,}", *_answer_of(one), "home" if one["isHome"] else ""]
            for one in found
        ]
        if rows:
            print_table(stdout(), ("NODE", "ADDRESS", "CELLS", "IN MEMORY", "CLOCK", ""), rows)
        elif execution is not None:
            stderr().line(("No node of a cluster has it at present.", "idle"))
        else:
            stderr().line(("This server is alone. See docs/cluster.md for several on one PostgreSQL.", "idle"))
    else:
        for one in found:
            stdout().json(one, compact=True)


def _answer_of(node: Answer) -> list[Span]:
    """The executions that a node has in memory, and its clock, as far as it has answered."""
    ahead = node.get("clockAheadMs")
    clock = f"{ahead:+,} ms" if ahead is not None else "" if node.get("isAnswering", True) else "no answer"
    return [f"{node['executionsInMemory']:,}" if "executionsInMemory" in node else "", clock]
