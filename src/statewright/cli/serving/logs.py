"""How the server logs: one line for each record, as text for people or as JSON for machines.

Never a payload, but in the history events of a machine whose loggingConfiguration includes execution data.
"""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime
from typing import Final

_EXTRAS: Final = ("execution_arn", "status", "error", "request_id", "code", "milliseconds", "event")
"""Attributes that log records may carry beside their message."""


class TextFormatter(logging.Formatter):
    """`12:00:01.234 info  executions  SUCCEEDED execution_arn=...`."""

    def format(self, record: logging.LogRecord) -> str:
        """One line, and a traceback below it if there is one."""
        extras = "".join(f" {name}={value}" for name, value in extras_of(record).items())
        at = _instant(record).strftime("%H:%M:%S.%f")[:-3]
        line = f"{at} {record.levelname.lower():7} {record.name.removeprefix('statewright.')}  {record.getMessage()}"
        trace = f"\n{self.formatException(record.exc_info)}" if record.exc_info else ""
        return f"{line}{extras}{trace}"


class JsonFormatter(logging.Formatter):
    """One JSON object on one line."""

    def format(self, record: logging.LogRecord) -> str:
        """The object."""
        shown = {
            "time": _instant(record).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **extras_of(record),
        }
        if record.exc_info:
            shown["exception"] = self.formatException(record.exc_info)
        return json.dumps(shown, default=str)


def extras_of(record: logging.LogRecord) -> dict[str, object]:
    """The attributes that a record carries beside its message."""
    found = ((name, getattr(record, name, None)) for name in _EXTRAS)
    return {name: value for name, value in found if value is not None}


def configure(form: str, level: str) -> None:
    """Send records of a level and above to the standard error stream."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter() if form == "json" else TextFormatter())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    logging.getLogger("statewright").setLevel(level.upper())
    # The library logs a malformed header of another server with a traceback.
    logging.getLogger("urllib3").setLevel(logging.ERROR)


def _instant(record: logging.LogRecord) -> datetime:
    return datetime.fromtimestamp(record.created, UTC)
