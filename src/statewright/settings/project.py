"""The tables of `statewright.toml` that make a folder a project, and the form of each.

They are `[project]` itself, and queues, tables, topics, buckets, schedules, functions and machines by name. Leaves what
they mean as resources to `projects/plain.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from statewright.payload import Json, JsonObject
from statewright.settings.reader import Keys, Reader


@dataclass(frozen=True, slots=True)
class ProjectSettings:
    """`[project]`: the project's name, the file that describes it, the stage and parameters with which that is read,
    and patterns of files that a plain folder leaves out."""

    name: str | None = None
    template: str | None = None
    stage: str | None = None
    parameters: Mapping[str, str] = field(default_factory=dict)
    exclude: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Check:
    """A check of a value, and the JSON Schema of what it accepts."""

    read: Callable[[Reader, Keys, object], Json]
    schema: JsonObject

    def __call__(self, reader: Reader, keys: Keys, value: object) -> Json:
        """The value as it is used. Raises: ConfigError."""
        return self.read(reader, keys, value)


Tables = dict[str, dict[str, JsonObject]]


def _read_text(reader: Reader, keys: Keys, value: object) -> Json:
    if not reader.text(keys, value):
        reader.refuse(keys, "must not be empty")
    return value


def _read_number(reader: Reader, keys: Keys, value: object) -> Json:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        reader.refuse(keys, "must be a whole number, 0 or more")
    return value


def _read_rate(reader: Reader, keys: Keys, value: object) -> Json:
    if not isinstance(value, int | float) or isinstance(value, bool) or not value > 0:
        reader.refuse(keys, "must be a number above 0")
    return value


def _read_truth(reader: Reader, keys: Keys, value: object) -> Json:
    if not isinstance(value, bool):
        reader.refuse(keys, "must be true or false")
    return value


def _read_texts(reader: Reader, keys: Keys, value: object) -> Json:
    return reader.texts(keys, value)


def _read_list(reader: Reader, keys: Keys, value: object) -> Json:
    if not isinstance(value, list) or not all(isinstance(one, str) and one for one in value):
        reader.refuse(keys, "must be a list of strings")
    return value


def _read_anything(_reader: Reader, _keys: Keys, value: object) -> Json:
    return value


_text: Final = Check(_read_text, {"type": "string", "minLength": 1})
_number: Final = Check(_read_number, {"type": "integer", "minimum": 0})
_rate: Final = Check(_read_rate, {"type": "number", "exclusiveMinimum": 0})
_truth: Final = Check(_read_truth, {"type": "boolean"})
_texts: Final = Check(_read_texts, {"type": "object", "additionalProperties": {"type": "string"}})
_list: Final = Check(_read_list, {"type": "array", "items": {"type": "string", "minLength": 1}})
_anything: Final = Check(_read_anything, {})


def _one_of(*choices: str) -> Check:
    def check(reader: Reader, keys: Keys, value: object) -> Json:
        if value not in choices:
            reader.refuse(keys, f"must be one of {', '.join(choices)}")
        return value

    return Check(check, {"enum": list(choices)})


def _table(members: Mapping[str, Check], *needed: str) -> Check:
    def check(reader: Reader, keys: Keys, value: object) -> Json:
        found = reader.table(keys, value, tuple(members))
        for name in needed:
            if name not in found:
                reader.refuse(keys, f"has no {name}")
        return {name: members[name](reader, (*keys, name), one) for name, one in found.items()}

    properties = {name: member.schema for name, member in members.items()}
    schema: JsonObject = {"type": "object", "properties": properties, "additionalProperties": False}
    return Check(check, {**schema, "required": list(needed)} if needed else schema)


def _named(members: Check) -> Check:
    def check(reader: Reader, keys: Keys, value: object) -> Json:
        return {name: members(reader, (*keys, name), one) for name, one in reader.table(keys, value).items()}

    return Check(check, {"type": "object", "additionalProperties": members.schema})


_INDEX: Final = _table({"hash": _text, "range": _text, "projection": _text, "include": _list}, "hash")
_SUBSCRIPTION: Final = _table({"to": _text, "filter": _anything, "raw": _truth}, "to")


def _read_subscriptions(reader: Reader, keys: Keys, value: object) -> Json:
    if not isinstance(value, list):
        reader.refuse(keys, 'must be a list, such as ["queues.orders", "functions.mail"]')
    return [
        _SUBSCRIPTION(reader, keys, one) if isinstance(one, dict) else {"to": _text(reader, keys, one)} for one in value
    ]


_subscriptions: Final = Check(
    _read_subscriptions, {"type": "array", "items": {"anyOf": [_text.schema, _SUBSCRIPTION.schema]}}
)

TABLES: Final[dict[str, Check]] = {
    "queues": _table(
        {
            "fifo": _truth, "deduplication": _truth, "visibility_timeout": _number, "delay": _number,
            "retention": _number, "receive_wait": _number,
            "redrive": _table({"queue": _text, "receives": _number}, "queue"),
        }
    ),
    "tables": _table({"hash": _text, "range": _text, "ttl": _text, "indexes": _named(_INDEX)}, "hash"),
    "topics": _table({"fifo": _truth, "deduplication": _truth, "subscriptions": _subscriptions}),
    "buckets": _table({}),
    "schedules": _table(
        {
            "expression": _text, "timezone": _text, "target": _text, "input": _anything, "window_minutes": _number,
            "enabled": _truth, "retries": _number, "dead_letters": _text,
        },
        "expression", "target",
    ),
    "functions": _table(
        {
            "timeout": _number, "memory": _number, "environment": _texts, "concurrency": _number, "runtime": _text,
            "retries": _number, "on_success": _text, "on_failure": _text,
            "mapping": _table(
                {
                    "queue": _text, "batch_size": _number, "window": _number, "concurrency": _number,
                    "report_failures": _truth, "filter": _anything,
                },
                "queue",
            ),
        }
    ),
    "machines": _table(
        {
            "type": _one_of("STANDARD", "EXPRESS"), "logging": _one_of("ALL", "ERROR", "FATAL", "OFF"),
            "log_group": _text, "log_data": _truth, "substitutions": _texts, "tags": _texts,
            "max_concurrent_executions": _number, "max_starts_per_second": _rate,
        }
    ),
}  # fmt: skip
"""The keys of `[queues.NAME]` and similar tables, by the table's name."""
PROJECT: Final = _table({"name": _text, "template": _text, "stage": _text, "parameters": _texts, "exclude": _list})
"""The keys of `[project]`."""


def checked_tables(reader: Reader, section: str, value: object) -> dict[str, JsonObject]:
    """The tables of one kind, by name. `buckets` may be a list of names. Raises: ConfigError."""
    if section == "buckets" and isinstance(value, list):
        return {name: {} for name in _list(reader, (section,), value)}
    found: dict[str, JsonObject] = _named(TABLES[section])(reader, (section,), value)
    return found


def checked_project(reader: Reader, value: object) -> ProjectSettings:
    """`[project]`. Raises: ConfigError."""
    return ProjectSettings(**PROJECT(reader, ("project",), value))
