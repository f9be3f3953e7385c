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
    """Show the living nodes of a cluster, the address and version of each, and how many cells it has.

    Any of them may be asked. During an upgrade, a line says in which format the nodes of both versions write.

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
        answer = server.call("list_nodes", **given)
    found = answer["nodes"]
    if form == "json":
        stdout().json({name: answer[name] for name in ("nodes", "format") if name in answer})
    elif form == "table":
        rows: list[list[Span]] = [
            [
                one["name"],
                one["address"],
                one.get("version", ""),
                f"{one['cells']:,}",
                *_answer_of(one),
                "home" if one["isHome"] else "",
            ]
            for one in found
        ]
        if rows:
            print_table(stdout(), ("NODE", "ADDRESS", "VERSION", "CELLS", "IN MEMORY", "CLOCK", ""), rows)
            _print_upgrade(answer)
        elif execution is not None:
            stderr().line(("No node of a cluster has it at present.", "idle"))
        else:
            stderr().line(("This server is alone. See docs/cluster.md for several on one PostgreSQL.", "idle"))
    else:
        for one in found:
            stdout().json(one, compact=True)


def _print_upgrade(answer: Answer) -> None:
    """Say in which format nodes write, if those of several versions live."""
    nodes = answer["nodes"]
    if len({one["version"] for one in nodes if "version" in one}) > 1:
        newest = max(one.get("newestFormat", 0) for one in nodes)
        words = (
            f"Nodes of several versions live: they write format {answer['format']}, the newest of them knows {newest}."
        )
        stderr().line((words, "idle"))


def _answer_of(node: Answer) -> list[Span]:
    """The executions that a node has in memory, and its clock, as far as it has answered."""
    ahead = node.get("clockAheadMs")
    clock = f"{ahead:+,} ms" if ahead is not None else "" if node.get("isAnswering", True) else "no answer"
    return [f"{node['executionsInMemory']:,}" if "executionsInMemory" in node else "", clock]
