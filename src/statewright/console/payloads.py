"""Payloads and events of one execution, a page at a time: rows of the run itself carry none.

A payload is the JSON text of a member of an event, or of a part of it by a JSON pointer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from statewright.errors import ApiError
from statewright.interpreter.history import HistoryEvent
from statewright.payload import Json, JsonObject, JsonTextError, dump_json, parse_json

PAGE_CHARACTERS: Final = 200_000
MOST_EVENTS: Final = 200
SHORT_CHARACTERS: Final = 400
"""Length of a payload in a row of events, before it is cut."""
_INDEX: Final = re.compile(r"0|[1-9][0-9]{0,8}")


def payload(events: Sequence[HistoryEvent], event: int, member: str, pointer: str, offset: int) -> JsonObject:
    """`{text, isJson, next, length}`: one page of a member of an event; `text` is null if the event has none.

    `next` is the offset of the page after it, null at the end. Offsets and lengths count characters of Unicode, which
    JavaScript does not.

    Raises: ApiError (`NotFound`) for an event or a place in the payload that does not exist.
    """
    if not 1 <= event <= len(events):
        raise ApiError("NotFound", f"The history has no event {event}.", status=404)
    value = (events[event - 1].details or {}).get(member)
    if value is None:
        return {"text": None, "isJson": False, "next": None, "length": 0}
    text, is_json = _text(value)
    if pointer:
        text, is_json = dump_json(_at(parse_json(text) if is_json else None, pointer)), True
    end = offset + PAGE_CHARACTERS
    following = end if end < len(text) else None
    return {"text": text[offset:end], "isJson": is_json, "next": following, "length": len(text)}


def rows(events: Sequence[HistoryEvent], first: int, text: str, limit: int = MOST_EVENTS) -> JsonObject:
    """`{rows, next}`: events from one on as GetExecutionHistory shows them, long payloads cut.

    With a text only those whose type, names or payloads contain it, in any case. `next` is null at the end.
    """
    wanted = text.casefold()
    found: list[Json] = []
    for event in events[max(0, first - 1) :]:
        if wanted and not any(wanted in word.casefold() for word in _words(event)):
            continue
        if len(found) == limit:
            return {"rows": found, "next": event.id}
        found.append(_row(event))
    return {"rows": found, "next": None}


def _row(event: HistoryEvent) -> JsonObject:
    details: JsonObject = {}
    for name, value in (event.details or {}).items():
        if isinstance(value, str) and len(value) > SHORT_CHARACTERS:
            value = value[: SHORT_CHARACTERS - 1] + "…"
        details[name] = value if isinstance(value, str | int | float | bool) else _text(value)[0][:SHORT_CHARACTERS]
    return {
        "id": event.id, "previous": event.previous_id, "type": event.type, "atMs": event.at_ms, "details": details,
    }  # fmt: skip


def _words(event: HistoryEvent) -> Iterator[str]:
    yield event.type
    for value in (event.details or {}).values():
        if isinstance(value, str):
            yield value
        elif value is not None:
            yield _text(value)[0]


def _text(value: Json) -> tuple[str, bool]:
    """A member's text, and whether that is JSON."""
    if not isinstance(value, str):
        return dump_json(value), True
    try:
        parse_json(value)
    except JsonTextError:
        return value, False
    return value, True


def _at(value: Json, pointer: str) -> Json:
    """The part of a value that a JSON pointer leads to. Source: RFC 6901."""
    for step in pointer.split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        if isinstance(value, dict) and name in value:
            value = value[name]
        elif isinstance(value, list) and _INDEX.fullmatch(name) and int(name) < len(value):
            value = value[int(name)]
        else:
            raise ApiError("NotFound", f"The payload has nothing at {pointer[:200]}.", status=404)
    return value
