"""The input of a pipe's target: the messages of a batch, or for each of them a text made from a template.

Pure. Source: EventBridge user guide, "Amazon EventBridge Pipes input transformation".
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from statewright.events.inputs import MISSING, found_at, quoted_after
from statewright.payload import Json, JsonMapping, JsonTextError, dump_json, parse_json

_VARIABLE: Final = re.compile(r"<(\$[^<>]*|aws\.pipes\.[a-z.\-]+)>")


def input_of(records: Iterable[JsonMapping], template: str, predefined: JsonMapping) -> str:
    """The input of a batch: a JSON array with an element for each record."""
    if not template:
        return dump_json(list(records))
    return "[" + ",".join(_filled(template, record, predefined) for record in records) + "]"


def _filled(template: str, record: JsonMapping, predefined: JsonMapping) -> str:
    """A template with its variables replaced.

    Within quotes a string is inserted with its special characters escaped, any other value as its JSON; outside quotes
    everything as JSON. A path that the record does not have is nothing within quotes, and an empty string outside.
    """
    event = {**record, "body": _parsed(record.get("body"))}
    parts: list[str] = []
    is_quoted, end = False, 0
    for found in _VARIABLE.finditer(template):
        before = template[end : found.start()]
        is_quoted = quoted_after(before, is_quoted)
        parts.append(before)
        end = found.end()
        value = _value(found[1], event, record, predefined)
        if value is MISSING:
            parts.append("" if is_quoted else '""')
        elif is_quoted:
            text = value if isinstance(value, str) else dump_json(value)
            parts.append(dump_json(text)[1:-1])
        else:
            parts.append(dump_json(value))
    return "".join([*parts, template[end:]])


def _value(name: str, event: JsonMapping, record: JsonMapping, predefined: JsonMapping) -> Json:
    if name.startswith("$"):
        return found_at(name, dict(event))
    if name in ("aws.pipes.event", "aws.pipes.event.json"):
        return dict(record)
    return predefined.get(name, MISSING)


def _parsed(body: Json) -> Json:
    """A message's body as its value, if it is JSON. Source: user guide, "Implicit body data parsing"."""
    try:
        return parse_json(body) if isinstance(body, str) else body
    except JsonTextError:
        return body
