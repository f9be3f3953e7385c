"""What `api/http/` and `virtual/port.py` take from uvicorn: a new version that has changed it fails here.

uvicorn promises none of this, so its minor is pinned (`docs/decisions/0012`). After a new version has been read beside
our classes, the tables below are brought up to date with the pin.
"""

from __future__ import annotations

import hashlib
import inspect
import re
from collections.abc import Callable
from typing import Any

import pytest
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import Server, ServerState

from statewright.api.http.connections import Connections, GuardedProtocol
from statewright.api.http.listening import Listener
from statewright.virtual.port import _Connection

OVERRIDDEN: dict[type, dict[str, str]] = {
    Connections: {"__init__": "self"},
    GuardedProtocol: {
        "connection_made": "self, transport",
        "connection_lost": "self, exc",
        "data_received": "self, data",
        "on_message_begin": "self",
        "on_header": "self, name, value",
        "on_headers_complete": "self",
        "on_body": "self, body",
        "on_message_complete": "self",
        "on_response_complete": "self",
        "send_400_response": "self, msg",
        "_unsupported_upgrade_warning": "self",
    },
    _Connection: {"on_response_complete": "self"},
    Listener: {
        "__init__": "self, config",
        "startup": "self, sockets",
        "on_tick": "self, counter",
        "shutdown": "self, sockets",
        "capture_signals": "self",
    },
}
"""Each class of ours, and what it overrides with the parameters that uvicorn calls it with."""

CALLED: dict[tuple[type, str], str] = {
    (HttpToolsProtocol, "__init__"): "self, config, server_state, app_state, _loop",
    (HttpToolsProtocol, "_unset_keepalive_if_required"): "self",
    (RequestResponseCycle, "send"): "self, message",
    (FlowControl, "pause_reading"): "self",
    (FlowControl, "resume_reading"): "self",
    (Server, "serve"): "self, sockets",
}
"""What ours call, with its parameters."""

USED: dict[type, set[str]] = {
    HttpToolsProtocol: {"app", "config", "cycle", "pipeline", "server_state", "transport"},
    RequestResponseCycle: {
        "body", "chunked_encoding", "default_headers", "disconnected", "flow", "keep_alive", "message_event",
        "more_body", "on_response", "response_complete", "response_started", "scope", "transport",
        "waiting_for_100_continue",
    },
    FlowControl: {"write_paused"},
    ServerState: {"connections"},
    Server: {"force_exit", "server_state", "should_exit", "started"},
}  # fmt: skip
"""Attributes that ours read or set."""

IMITATED: dict[tuple[type, str], tuple[str, str]] = {
    (RequestResponseCycle, "send"): ("written_whole", "d744b2b1d727a88b"),
    (RequestResponseCycle, "receive"): ("Gathering.take", "e7a392a4367ad55b"),
    (HttpToolsProtocol, "on_body"): ("GuardedProtocol.on_body", "a02fa52bdf33060a"),
    (HttpToolsProtocol, "on_header"): ("GuardedProtocol.on_header", "b89cbbc6db2adf3a"),
    (HttpToolsProtocol, "_start_asgi_task"): ("GuardedProtocol._answer", "c8c773c7e2d04cb1"),
    (Server, "shutdown"): ("Listener.shutdown", "b4f26fef06163b1d"),
}
"""What ours do in uvicorn's stead in the common case, as it does it: our function, and the digest of its text."""


def parameters(function: Callable[..., Any]) -> str:
    return ", ".join(inspect.signature(function).parameters)


def of_uvicorn(owner: type, name: str, use: str) -> Callable[..., Any]:
    found: Callable[..., Any] | None = getattr(owner, name, None)
    assert found is not None, f"uvicorn has no {owner.__name__}.{name} any more, which ours {use}"
    return found


def digest(function: Callable[..., Any]) -> str:
    """Of the text without comments and white space."""
    text = re.sub(r"#.*", "", inspect.getsource(function))
    return hashlib.sha256("".join(text.split()).encode()).hexdigest()[:16]


def bases(ours: type) -> list[type]:
    return [base for base in ours.__mro__ if base.__module__.startswith("uvicorn")]


@pytest.mark.parametrize("ours", OVERRIDDEN)
def test_overridden_methods_are_unchanged(ours: type) -> None:
    theirs = bases(ours)[0]
    for name, known in OVERRIDDEN[ours].items():
        found = parameters(of_uvicorn(theirs, name, f"override in {ours.__name__}"))
        assert found == known, f"uvicorn's {theirs.__name__}.{name}, which {ours.__name__} overrides, takes ({found})"


@pytest.mark.parametrize("ours", OVERRIDDEN)
def test_nothing_else_is_overridden(ours: type) -> None:
    own = {name for name in vars(ours) if not name.startswith("__")} | {"__init__"} & set(vars(ours))
    own |= set(inspect.get_annotations(ours)) - {"server_state"}
    theirs = {name for base in bases(ours) for name in vars(base)}
    theirs |= {name for base in bases(ours) for name in re.findall(r"self\.(\w+)", inspect.getsource(base))}
    found = own & theirs
    assert found == set(OVERRIDDEN[ours]), f"uvicorn and {ours.__name__} use the same names: list or rename them"


@pytest.mark.parametrize(("owner", "name"), CALLED)
def test_called_methods_are_unchanged(owner: type, name: str) -> None:
    found = parameters(of_uvicorn(owner, name, "call"))
    assert found == CALLED[owner, name], f"uvicorn's {owner.__name__}.{name} takes ({found})"


@pytest.mark.parametrize("owner", USED)
def test_used_attributes_exist(owner: type) -> None:
    gone = USED[owner] - set(re.findall(r"self\.(\w+)", inspect.getsource(owner)))
    assert not gone, f"uvicorn's {owner.__name__} no longer has {sorted(gone)}, which ours read or set"


@pytest.mark.parametrize(("owner", "name"), IMITATED)
def test_imitated_code_is_unchanged(owner: type, name: str) -> None:
    ours, known = IMITATED[owner, name]
    found = digest(of_uvicorn(owner, name, f"imitate in {ours}"))
    assert found == known, (
        f"uvicorn's {owner.__name__}.{name} has changed: read it beside our {ours}, then put '{found}' here"
    )
