"""The tables of `statewright.toml` about the server: `[console]`, `[jobs]`, `[http]`, `[ray]` and `[logs]`.

Owns their settings and the checks of these. Leaves what a pattern of redaction hides to `console/redaction.py`, who
signs in to `console/signing_in/sign_in.py`, and the server's other settings to `config.py`.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit

from statewright.payload import JsonMapping, JsonObject
from statewright.settings.reader import Keys, Reader

# ---------------------------------------------------------------------- the console

LOGINS: Final = ("auto", "always")
"""When the console asks users to sign in."""
_HEADER: Final = re.compile(r"[A-Za-z0-9-]+")
_TAKEN_HEADERS: Final = frozenset({"authorization", "cookie", "host", "origin", "referer", "user-agent"})
"""Headers that browsers send themselves."""
PAYLOADS: Final = ("shown", "hidden")
MOST_PATTERNS: Final = 100
MOST_STEPS: Final = 20
_STEP: Final = re.compile(r"\*\*|[^.\[\]\s\x00-\x1f\x7f]{1,200}")


@dataclass(frozen=True, slots=True)
class ConsoleSettings:
    """`login` is one of `LOGINS`: `auto` asks users to sign in on servers with credentials.

    `trust_header` is a header that names the user whom a proxy has signed in, in lower case; empty for none. It is
    believed from this machine and `proxies`, which are addresses and networks. `redact` are patterns of members whose
    values are shown as dots; with `payloads` `hidden` no payload is shown.
    """

    login: str = "auto"
    trust_header: str = ""
    proxies: tuple[str, ...] = ()
    redact: tuple[str, ...] = ()
    payloads: str = "shown"


def steps_of(pattern: str) -> tuple[str, ...]:
    """The steps of a pattern: names, in which `*` stands for any characters, and `**` for any number of steps.

    Raises: ValueError, which says what is wrong.
    """
    if not pattern:
        raise ValueError("it is empty")
    steps = tuple(pattern.split("."))
    if len(steps) > MOST_STEPS:
        raise ValueError(f"it has more than {MOST_STEPS} steps")
    for step in steps:
        if not step:
            raise ValueError("a step between its dots is empty")
        if _STEP.fullmatch(step) is None:
            raise ValueError(f"{step!r} is no name: lists need no brackets, their items have the path of the list")
        if "**" in step and step != "**":
            raise ValueError(f"'**' stands alone between dots, not within {step!r}")
    if set(steps) == {"**"}:
        raise ValueError('it would hide everything: payloads = "hidden" does that')
    return steps


def checked_console(reader: Reader, value: object) -> ConsoleSettings:
    """`[console]`. Raises: ConfigError, which names a pattern that is malformed."""
    table: JsonObject = reader.table(("console",), value, ("login", "trust_header", "proxies", "redact", "payloads"))
    patterns = reader.list_of_texts(("console", "redact"), table.get("redact", []))
    if len(patterns) > MOST_PATTERNS:
        reader.refuse(("console", "redact"), f"has {len(patterns)} patterns, of at most {MOST_PATTERNS}")
    for pattern in patterns:
        try:
            steps_of(pattern)
        except ValueError as problem:
            reader.refuse(("console", "redact"), f'has the pattern "{pattern[:200]}", which cannot be used: {problem}')
    payloads = table.get("payloads", "shown")
    if not isinstance(payloads, str) or payloads not in PAYLOADS:
        reader.refuse(("console", "payloads"), f"must be {' or '.join(PAYLOADS)}")
    login = table.get("login", "auto")
    if not isinstance(login, str) or login not in LOGINS:
        reader.refuse(("console", "login"), f"must be one of {', '.join(LOGINS)}")
    proxies = _networks(reader, ("console", "proxies"), table.get("proxies", []), "10.0.0.7")
    return ConsoleSettings(login, _header(reader, table), tuple(proxies), tuple(patterns), payloads)


def _header(reader: Reader, table: JsonObject) -> str:
    header = table.get("trust_header", "")
    is_usable = isinstance(header, str) and (not header or _HEADER.fullmatch(header))
    header = str(header).lower()
    if not is_usable or header in _TAKEN_HEADERS or header.startswith("sec-"):
        reader.refuse(("console", "trust_header"), 'must be a header that the proxy sets, such as "X-Forwarded-User"')
    return header


# ---------------------------------------------------------------------- jobs and HTTP

ORIGIN: Final = re.compile(r"https?://([^/@:\[\]]+|\[[0-9a-fA-F:.]+\])(?::[0-9]{1,5})?")
"""An origin as browsers write it."""


@dataclass(frozen=True, slots=True)
class JobSettings:
    """How ECS tasks and Batch jobs run.

    `engine` is a container engine's command; empty, and the commands of containers run as processes, in the folder
    that `images` has for their image, or in one of their own. `backend`, one of `BACKENDS`, is the place of these
    processes. `slots` is how many Batch jobs run at once; 0 means one for each processor, at least two, and on Ray 100.
    """

    engine: str = ""
    slots: int = 0
    images: Mapping[str, str] = field(default_factory=dict)
    backend: str = "local"


@dataclass(frozen=True, slots=True)
class HttpSettings:
    """Exceptions to what is refused over HTTP.

    `origins` are those of web pages that may call the server. `allow` are addresses and networks that the server may
    send requests to for its callers, although they are link-local.
    """

    origins: frozenset[str] = frozenset()
    allow: tuple[str, ...] = ()


def checked_jobs(reader: Reader, value: object) -> JobSettings:
    """`[jobs]`. Raises: ConfigError."""
    table = reader.table(("jobs",), value, ("engine", "slots", "images", "backend"))
    backend = reader.text(("jobs", "backend"), table.get("backend", "local"))
    if backend not in BACKENDS:
        reader.refuse(("jobs", "backend"), f"must be one of {', '.join(BACKENDS)}")
    engine = reader.text(("jobs", "engine"), table.get("engine", ""), 'a command such as "docker"')
    if engine and backend == "ray":
        reader.refuse(
            ("jobs", "engine"), 'cannot be used with backend = "ray": Ray nodes run the commands of containers as '
            "processes, and no images",
        )  # fmt: skip
    slots = table.get("slots", 0)
    if isinstance(slots, bool) or not isinstance(slots, int) or slots < 0:
        reader.refuse(("jobs", "slots"), "must be a whole number; 0 means one per processor")
    images = reader.texts(("jobs", "images"), table.get("images", {}))
    return JobSettings(engine, slots, images, backend)


def checked_http(reader: Reader, value: object) -> HttpSettings:
    """`[http]`. Raises: ConfigError."""
    table = reader.table(("http",), value, ("origins", "allow"))
    origins = reader.list_of_texts(("http", "origins"), table.get("origins", []))
    for origin in origins:
        if not ORIGIN.fullmatch(origin):
            reader.refuse(("http", "origins"), f'must be origins such as "http://localhost:3000", not {origin!r}')
    allow = _networks(reader, ("http", "allow"), table.get("allow", []), "169.254.170.2")
    return HttpSettings(frozenset(origins), tuple(allow))


def _networks(reader: Reader, keys: Keys, value: object, example: str) -> list[str]:
    networks = reader.list_of_texts(keys, value)
    for network in networks:
        try:
            ipaddress.ip_network(network, strict=False)
        except ValueError:
            reader.refuse(keys, f'must be addresses or networks such as "{example}", not {network!r}')
    return networks


# ---------------------------------------------------------------------- Ray

BACKENDS: Final = ("local", "ray")
"""Places of handlers and jobs: processes of this machine, or those of a Ray cluster."""
DEFAULT_FOLDER: Final = "/tmp/statewright-ray"
_ADDRESS: Final = re.compile(r"auto|local|(ray://)?([A-Za-z0-9._-]+|\[[0-9a-fA-F:.]+\]):[0-9]{1,5}")
_NEEDS: Final = ("num_cpus", "num_gpus", "memory", "resources")
_ENDPOINT: Final = re.compile(r"https?://[^/\s]+/?")


@dataclass(frozen=True, slots=True)
class RayNeeds:
    """The share of a node that one worker holds: CPUs, GPUs, MiB of memory, and resources of the cluster's own."""

    num_cpus: float = 1.0
    num_gpus: float = 0.0
    memory: int = 0
    resources: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RaySettings:
    """The cluster, and the needs of functions by name; `needs` are those of all others, and of jobs that say none.

    `address` is `auto` (the cluster of this machine), `local` (one that ends with the server), `HOST:PORT` or
    `ray://HOST:PORT`. `python` is the interpreter that has Ray; empty for the server's own. `folder` is where nodes
    keep code. `endpoint` is the address at which handlers reach this server; empty for its own.
    """

    address: str = "auto"
    folder: str = DEFAULT_FOLDER
    endpoint: str = ""
    python: str = ""
    needs: RayNeeds = RayNeeds()
    functions: Mapping[str, RayNeeds] = field(default_factory=dict)

    def needs_of(self, function: str) -> RayNeeds:
        """The needs of one function."""
        return self.functions.get(function, self.needs)


def checked_ray(reader: Reader, value: object) -> RaySettings:
    """`[ray]`. Raises: ConfigError."""
    table = reader.table(("ray",), value, ("address", "folder", "endpoint", "python", "functions", *_NEEDS))
    address = reader.text(("ray", "address"), table.get("address", "auto"))
    port = address.rpartition(":")[2]
    if not _ADDRESS.fullmatch(address) or (port.isdecimal() and not 0 < int(port) < 65536):
        reader.refuse(("ray", "address"), f'must be "auto", "local", "HOST:PORT" or "ray://HOST:PORT", not {address!r}')
    folder = reader.text(("ray", "folder"), table.get("folder", DEFAULT_FOLDER)).rstrip("/")
    if not folder.startswith("/"):
        reader.refuse(("ray", "folder"), f"must be an absolute path on the Ray nodes, not {folder!r}")
    endpoint = reader.text(("ray", "endpoint"), table.get("endpoint", ""))
    if endpoint and not (_ENDPOINT.fullmatch(endpoint) and is_web_address(endpoint)):
        reader.refuse(("ray", "endpoint"), f'must be an address such as "http://10.0.0.5:4566", not {endpoint!r}')
    python = reader.text(("ray", "python"), table.get("python", ""))
    if python and not python.startswith("/"):
        reader.refuse(("ray", "python"), f"must be the absolute path of an interpreter, not {python!r}")
    needs = _needs(reader, ("ray",), {name: table[name] for name in _NEEDS if name in table}, RayNeeds())
    functions = reader.table(("ray", "functions"), table.get("functions", {}))
    own = {}
    for name, given in functions.items():
        keys = ("ray", "functions", name)
        own[name] = _needs(reader, keys, reader.table(keys, given, _NEEDS), needs)
    return RaySettings(address, folder, endpoint.rstrip("/"), python, needs, own)


def _needs(reader: Reader, keys: Keys, given: JsonMapping, default: RayNeeds) -> RayNeeds:
    def number(where: Keys, value: object) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e9:
            reader.refuse(where, "must be a number, 0 or more")
        return float(value)

    cpus = number((*keys, "num_cpus"), given.get("num_cpus", default.num_cpus))
    gpus = number((*keys, "num_gpus"), given.get("num_gpus", default.num_gpus))
    memory = given.get("memory", default.memory)
    if isinstance(memory, bool) or not isinstance(memory, int) or memory < 0:
        reader.refuse((*keys, "memory"), "must be a whole number of MiB")
    resources = given.get("resources", default.resources)
    if "resources" in given:
        table = reader.table((*keys, "resources"), resources)
        resources = {name: number((*keys, "resources", name), amount) for name, amount in table.items()}
        taken = {"CPU": "num_cpus", "GPU": "num_gpus", "memory": "memory"}
        for name in resources:
            if name in taken:
                reader.refuse((*keys, "resources", name), f"has a key of its own: {taken[name]}")
    return RayNeeds(cpus, gpus, memory, resources)


# ---------------------------------------------------------------------- logs

FROM_ENVIRONMENT: Final = "environment"
"""The value of `otlp` that lets the variables of OpenTelemetry say where logs are exported to."""
_HEADER_VALUE: Final = re.compile(r"[\t\x20-\x7e\x80-\xff]*")
_OWN_HEADERS: Final = frozenset({"content-type", "content-encoding", "content-length", "transfer-encoding", "host"})


@dataclass(frozen=True, slots=True)
class LogExportSettings:
    """The export of logs by OTLP: the address of a collector, or `FROM_ENVIRONMENT`; empty for none. And headers."""

    otlp: str = ""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)


def is_web_address(text: str) -> bool:
    """True for an address over HTTP without a user, a query or a fragment."""
    try:
        parts = urlsplit(text)
        return (
            parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0 and parts.username is None
            and not parts.query and not parts.fragment and text.isprintable() and " " not in text
        )  # fmt: skip
    except ValueError:
        return False


def is_header(name: str, value: str) -> bool:
    """True for a header that requests to a collector may have beside those that they need."""
    is_free = bool(_HEADER.fullmatch(name)) and name.lower() not in _OWN_HEADERS
    return is_free and bool(_HEADER_VALUE.fullmatch(value))


def checked_logs(reader: Reader, value: object) -> LogExportSettings:
    """`[logs]`. Raises: ConfigError."""
    table = reader.table(("logs",), value, ("otlp", "headers"))
    address = reader.text(("logs", "otlp"), table.get("otlp", ""), 'an address such as "http://collector:4318"')
    if address not in ("", FROM_ENVIRONMENT) and not is_web_address(address):
        reader.refuse(
            ("logs", "otlp"),
            f'must be an address such as "http://collector:4318", or "{FROM_ENVIRONMENT}", not {address!r}',
        )
    headers = reader.texts(("logs", "headers"), table.get("headers", {}))
    for name, given in headers.items():
        if not is_header(name, given):
            reader.refuse(("logs", "headers", name), "is no header that requests to a collector may have")
    if headers and not address:
        reader.refuse(("logs", "headers"), 'need the address of a collector: otlp = "http://collector:4318"')
    return LogExportSettings(address.rstrip("/"), headers)
