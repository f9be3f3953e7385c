"""`statewright schema NAME`: the JSON Schema of one of our files, by which editors complete and check it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click

from statewright.cli.output import json_text, stderr, stdout
from statewright.cli.output_files import write_output

if TYPE_CHECKING:
    from statewright.payload import JsonObject

NAMES: Final = ("settings", "cases", "mocks", "scenario")


@click.command(short_help="Print a JSON Schema for editors.")
@click.argument("name", type=click.Choice(NAMES))
@click.option("-O", "--out", "target", metavar="FILE", help="Write the schema to a file.")
def schema(name: str, target: str | None) -> None:
    """Print the JSON Schema (draft 7) of statewright.toml (settings), of case files, mock files or scenarios, by which
    editors complete and check them.

    \b
    Examples:
      statewright schema settings --out statewright.schema.json
      statewright schema cases --out cases.schema.json
    """
    text = json_text(schema_of(name)) + "\n"
    if target is None:
        stdout().plain(text)
        return
    write_output(target, text)
    stderr().line(f"Wrote {target}")


def schema_of(name: str) -> JsonObject:
    """The schema with a name of `NAMES`."""
    from statewright.cli.local.schemas import cases, scenario, settings

    made = {
        "settings": settings.schema,
        "cases": cases.cases_schema,
        "mocks": cases.mocks_schema,
        "scenario": scenario.schema,
    }
    return made[name]()
