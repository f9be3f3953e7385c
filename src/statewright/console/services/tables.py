"""Tables with their counts, and statements that only read. Items are read and written by the service's operations."""

from __future__ import annotations

from typing import Final

from statewright.api.operations import Call, perform
from statewright.console.asked import Asked, document, text_of
from statewright.console.calls import refuse_conditions, shown
from statewright.console.context import Console
from statewright.console.redaction import MASK
from statewright.console.services.lists import page_of
from statewright.console.services.shown_data import items, items_and_key
from statewright.errors import ApiError
from statewright.payload import JsonObject
from statewright.tables.definitions import Definition
from statewright.tables.partiql.parser import statement
from statewright.tables.partiql.tree import Select, is_read
from statewright.tables.table import Table

MOST_ITEMS: Final = 50
LONGEST: Final = 8_192
"""Characters of a statement. Source: API reference, ExecuteStatement."""


async def tables(console: Console, asked: Asked) -> JsonObject:
    """A page of tables by name: `{rows, next}`; a row has `{name, items, bytes, hash, range, indexes, stream, ttl,
    billing, createdMs}`. `stream` is what its records show, `ttl` the attribute, None without one.
    """
    app = console.app_of(asked)
    rows, following = page_of(app.services.tables.catalogue.all(), lambda table: table.definition.name, asked.given)
    found = []
    for table in rows:
        counted = (await app.services.tables.counts(table)).get(table.definition.space)
        found.append(_row(table, table.definition, *((counted.items, counted.bytes) if counted else (0, 0))))
    return {"rows": found, "next": following}


def _row(table: Table, definition: Definition, items: int, size_bytes: int) -> JsonObject:
    lives = definition.time_to_live
    return {
        "name": definition.name, "items": items, "bytes": size_bytes, "hash": ", ".join(definition.hashes),
        "range": ", ".join(definition.ranges), "indexes": [one.name for one in definition.indexes],
        "stream": table.stream.entry.view if table.stream is not None else None,
        "ttl": lives.attribute if lives is not None else None, "billing": definition.billing,
        "createdMs": definition.created_ms,
    }  # fmt: skip


async def select(console: Console, asked: Asked) -> JsonObject:
    """A page of a SELECT: `{statement, cursor, region}` to `{items, next}`. Every other statement is refused, and
    items hide what is redacted.

    Raises: ApiError.
    """
    body = document(asked)
    text = text_of(body, "statement")
    parsed = statement(text) if len(text) <= LONGEST else None
    if parsed is None or not is_read(parsed):
        raise ApiError(
            "AccessDenied", f"This box only reads: write a SELECT of at most {LONGEST:,} characters.", status=403
        )
    if console.app.config.console.redact and isinstance(parsed, Select) and parsed.columns:
        # A part of an attribute has lost the path by which it is hidden.
        raise ApiError("AccessDenied", "The settings hide values: write SELECT * here.", status=403)
    if isinstance(parsed, Select) and parsed.where is not None:
        refuse_conditions(console, asked)
    app = console.app_in(text_of(body, "region", ""))
    cursor = text_of(body, "cursor", "")
    if cursor.startswith(MASK):
        cursor = console.places.place(cursor.removeprefix(MASK))
    request = {"Statement": text, "Limit": MOST_ITEMS, "NextToken": cursor or None}
    call = Call("dynamodb", "ExecuteStatement", asked.request_id, access_key=asked.caller.access_key or None)
    answer = await perform(app, call, {name: value for name, value in request.items() if value is not None})
    token, key = answer.get("NextToken"), shown(answer.get("LastEvaluatedKey"))
    if not key:
        return {"items": items(console.redactor, shown(answer["Items"])), "next": token}
    found, is_hidden = items_and_key(console.redactor, shown(answer["Items"]), key)
    # The token is made of the key.
    return {"items": found, "next": f"{MASK}{console.places.ticket(token)}" if is_hidden else token}


READS: Final = {"tables": tables}
ACTIONS: Final = {"tables/select": select}
