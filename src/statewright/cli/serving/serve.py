"""`statewright serve`: the server in the foreground, until a signal stops it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from statewright.cli.extensions import extensions_option
from statewright.cli.output import FAILED, NOT_FOUND, OK, USAGE, Stop, stdout

if TYPE_CHECKING:
    from collections.abc import Sequence

    from statewright.api.http.connections import ConnectionTimeouts
    from statewright.assembly import System
    from statewright.config import Config
    from statewright.hosting.options import NodeOptions, Ready, ServerOptions
    from statewright.hosting.standby import Waiting

SETTINGS_FILE = "statewright.toml"
ISOLATIONS = ("auto", "none", "hardened", "namespaces")
"""`config.ISOLATIONS`, without importing that module before it is needed."""
MOST_CELLS = 512
"""`stores.ids.MOST_CELLS`, likewise."""
SCALES = ("STATEWRIGHT_TIME_SCALE", "SFN_WAIT_SCALE", "WAIT_TIME_SCALE")
"""Variables that set the scale of waits, the first that is set; people know the others from other tools."""

BUCKET = "STATEWRIGHT_BUCKET"
"""The variable that names the bucket where the command line does not."""


def _store_name(_context: click.Context, _parameter: click.Parameter, value: str) -> str:
    if value not in ("sqlite", "memory") and not value.startswith(("postgresql://", "postgres://")):
        # An address may have a password.
        shown = "this address" if "@" in value else repr(value)
        raise click.BadParameter(f"{shown} is not one of sqlite, memory, postgresql://...")
    return value


@click.command(short_help="Run the server with durable storage.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=4566,
    show_default=True,
    help="Port to listen on; 0 picks a free one.",
)
@click.option("--data", metavar="DIR", default=".statewright", show_default=True, help="Data folder.")
@click.option(
    "--store",
    callback=_store_name,
    metavar="STORE",
    default="sqlite",
    show_default=True,
    help="Where executions are kept: sqlite, postgresql://USER:PASSWORD@HOST/DATABASE, or memory, which forgets them.",
)
@click.option(
    "--bucket",
    metavar="ADDRESS",
    help="With PostgreSQL: the S3-compatible bucket that has large objects and code, s3://NAME[/PREFIX]"
    "[?endpoint=http://HOST:PORT&region=NAME], with credentials of the environment.",
)
@click.option(
    "--limits",
    type=click.Choice(["aws", "open"]),
    help="The service's quotas (aws), or none of those that only protect the service (open).",
)
@click.option(
    "--config", "settings", metavar="FILE", help=f"Settings file; default: {SETTINGS_FILE} here, if it exists."
)
@click.option(
    "--mock-config",
    metavar="FILE",
    help="A MockConfigFile.json: a start of ARN#TestCase has its tasks answered by the mocks of the test case.",
)
@click.option(
    "--standby",
    is_flag=True,
    help="Of two servers on one PostgreSQL: wait while the other has the store, take over, wait again when it is lost.",
)
@click.option(
    "--node",
    "node_name",
    metavar="NAME",
    help="Be one of several servers on one PostgreSQL, by this name: any of them answers any call.",
)
@click.option(
    "--advertise",
    metavar="URL",
    help="With --node: the address at which the other nodes reach this one; default: that of its port.",
)
@click.option(
    "--cells",
    type=click.IntRange(2, MOST_CELLS),
    metavar="N",
    default=32,
    show_default=True,
    help="With --node: the number of cells of a cluster that this node begins, which is fixed from then on.",
)
@click.option("--time-scale", type=float, metavar="N", help="Waits and back-offs take N times as long; 0 skips them.")
@click.option(
    "--origin",
    "origins",
    multiple=True,
    metavar="URL",
    help="Origin of web pages that may call, as scheme://host[:port]; the server's own pages always may.",
)
@click.option(
    "--isolation",
    type=click.Choice(ISOLATIONS),
    help="Isolation of handlers: none, hardened, namespaces, or the highest that this machine has (auto).",
)
@click.option(
    "--log",
    "log_format",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="Log format, on standard error.",
)
@click.option(
    "--log-level",
    type=click.Choice(["debug", "info", "warning", "error"]),
    default="info",
    show_default=True,
    help="debug logs every call and every change of an execution.",
)
@click.option(
    "-o",
    "--output",
    "form",
    type=click.Choice(["table", "json"]),
    default="table",
    help="On standard output: lines for people, or one JSON object for each change.",
)
@extensions_option
def serve(
    host: str,
    port: int,
    data: str,
    store: str,
    bucket: str | None,
    limits: str | None,
    settings: str | None,
    mock_config: str | None,
    standby: bool,
    node_name: str | None,
    advertise: str | None,
    cells: int,
    time_scale: float | None,
    origins: tuple[str, ...],
    isolation: str | None,
    log_format: str,
    log_level: str,
    form: str,
) -> int:
    """Serve Step Functions and the services that workflows call, behind their own APIs, on one port.

    Everything acknowledged is on disk: a killed server continues where it stopped.

    \b
    Examples:
      statewright serve
      statewright serve --port 0 --store memory
      statewright serve --data /var/lib/statewright --log json
      statewright serve --store postgresql://statewright@db.example/statewright
      statewright serve --store postgresql://statewright@db.example/statewright --standby
      statewright serve --store postgresql://statewright@db.example/statewright --node a --advertise http://10.0.0.5:4566
      statewright serve --store postgresql://statewright@db.example/statewright --bucket s3://name/prefix
      statewright serve --mock-config MockConfigFile.json
    """
    import os

    from statewright.cli.serving import logs
    from statewright.errors import StoreError
    from statewright.hosting.options import CannotServe, ServerOptions
    from statewright.server import serve as run_server

    logs.configure(log_format, log_level)
    lines = _Lines(form == "json")
    check_origins(origins)
    node = node_of(node_name, advertise, cells, mock_config)
    config = config_of(settings, limits, time_scale, isolation)
    warn_of_readers(config, Path(settings or SETTINGS_FILE))
    options = ServerOptions(
        host, port, Path(data), store, config, frozenset(origins), timeouts_of_environment(),
        bucket or os.environ.get(BUCKET) or config.bucket, standby, node,
    )  # fmt: skip
    try:
        run_server(with_mocks(options, mock_config), lines.ready, lines.standby)
    except CannotServe as problem:
        raise Stop(FAILED, str(problem)) from None
    except StoreError as problem:
        where = f"the store in {data} cannot be opened: " if store == "sqlite" else ""
        raise Stop(FAILED, f"{where}{problem}") from None
    return OK


class _Lines:
    """The lines of a server on standard output: for people, or as JSON."""

    def __init__(self, as_json: bool) -> None:
        self._as_json = as_json
        self._printer = stdout()

    def ready(self, ready: Ready) -> None:
        """Report that the server serves."""
        facts = {"endpoint": ready.endpoint, "console": ready.console, "data": ready.place}
        if ready.node is not None:
            facts["node"] = ready.node
        self._print("ready", {**facts, "handlers": ready.isolation, "pid": ready.pid}, ready.lines)

    def standby(self, waiting: Waiting) -> None:
        """Report that the server waits."""
        facts = {"endpoint": waiting.endpoint, "data": waiting.place, "pid": waiting.pid, "owner": waiting.owner}
        self._print("standby", facts, [waiting.line])

    def _print(self, event: str, facts: dict[str, object], lines: Sequence[str]) -> None:
        if self._as_json:
            self._printer.json({"event": event, **facts}, compact=True)
        else:
            for line in lines:
                self._printer.line(line)
        self._printer.flush()


def check_origins(origins: Sequence[str]) -> None:
    """Check the origins of web pages that may call. Raises: Stop."""
    from statewright.api.guard import is_origin

    for origin in origins:
        if not is_origin(origin):
            raise Stop(USAGE, f"--origin {origin} is not an origin such as http://localhost:3000")


def node_of(name: str | None, advertise: str | None, cells: int, mock_config: str | None) -> NodeOptions | None:
    """The options of a node; None for a server that is alone. Raises: Stop."""
    from urllib.parse import urlsplit

    from statewright.hosting.options import NODE_NAME, NodeOptions

    if name is None:
        if advertise is not None:
            raise Stop(USAGE, "--advertise is the address of a node: name it with --node.")
        return None
    if mock_config is not None:
        raise Stop(USAGE, "--mock-config is for a server that is alone, not for a node of a cluster.")
    if not NODE_NAME.fullmatch(name):
        raise Stop(USAGE, f"--node {name!r} is no name for a node: 1 to 63 letters, digits, '-', '_' and '.'.")
    if advertise is not None:
        try:
            url = urlsplit(advertise)
            is_address = url.scheme == "http" and url.hostname is not None and url.port is not None
        except ValueError:
            is_address = False
        if not is_address or url.path.rstrip("/") or url.query or url.username is not None:
            raise Stop(USAGE, f"--advertise {advertise} is not an address such as http://10.0.0.5:4566.")
        advertise = advertise.rstrip("/")
    return NodeOptions(name, advertise, cells)


def with_mocks(options: ServerOptions, mock_config: str | None) -> ServerOptions:
    """The options of a server with the test cases of a mock file, or of one that has none. Raises: Stop."""
    from dataclasses import replace

    if mock_config is None:
        return replace(options, prepare=_without_mocks)
    from statewright.errors import DefinitionError
    from statewright.simulator.mock_config import load_mock_config
    from statewright.simulator.served_mocks import ServedMocks

    path = Path(mock_config)
    try:
        mocks = ServedMocks(load_mock_config(path))
    except FileNotFoundError:
        raise Stop(NOT_FOUND, f"There is no file '{path}'.") from None
    except OSError as problem:
        raise Stop(FAILED, f"{path} cannot be read: {problem.strerror}") from None
    except DefinitionError as wrong:
        found = [f"{path}:{one.line}:{one.column}: {one.message}" for one in wrong.diagnostics]
        raise Stop(FAILED, "\n".join(found)) from None

    async def adopt(system: System) -> None:
        mocks.adopt(system)

    return replace(options, hooks=mocks.hooks, prepare=adopt)


async def _without_mocks(system: System) -> None:
    """Refuse executions of test cases that still run: their tasks would call services. Raises: CannotServe."""
    from statewright.hosting.options import CannotServe
    from statewright.simulator.served_mocks import open_case

    problem = await open_case(system)
    if problem is not None:
        raise CannotServe(problem)


def warn_of_readers(config: Config, settings: Path) -> None:
    """Log a warning if a settings file has secrets that other users can read."""
    import logging

    from statewright.files.data_folder import is_open

    if (config.credentials or config.connections) and is_open(settings):
        logging.getLogger("statewright.server").warning(
            "other users of this machine can read the secrets in %s: chmod 600 %s", settings, settings
        )


def timeouts_of_environment() -> ConnectionTimeouts:
    """The time limits of connections, with those set by `STATEWRIGHT_HEAD_SECONDS` and so on. Raises: Stop."""
    import os

    from statewright.api.http.connections import ConnectionTimeouts

    try:
        return ConnectionTimeouts.of(os.environ)
    except ValueError as problem:
        raise Stop(USAGE, str(problem)) from None


def config_of(
    settings: str | None, limits: str | None, time_scale: float | None = None, isolation: str | None = None
) -> Config:
    """The settings file's configuration, if there is one, with what the command line and the environment chose."""
    from dataclasses import replace

    from statewright.asl import extensions
    from statewright.config import Config, read_config
    from statewright.limits import PROFILES
    from statewright.settings.reader import ConfigError

    path = Path(settings or SETTINGS_FILE)
    if settings is not None and not path.exists():
        raise Stop(NOT_FOUND, f"There is no file '{path}'.")
    try:
        config = read_config(path) if settings is not None or path.is_file() else Config()
    except ConfigError as problem:
        raise Stop(FAILED, str(problem)) from None
    if config.extensions:
        extensions.switch(True)
    if time_scale is None:
        time_scale = time_scale_of_environment()
    if time_scale is not None:
        config = replace(config, time_scale=checked_scale(time_scale, "--time-scale"))
    isolation = isolation or isolation_of_environment()
    if isolation is not None:
        config = replace(config, functions=replace(config.functions, isolation=isolation))
    return config if limits is None else replace(config, limits=PROFILES[limits])


def isolation_of_environment() -> str | None:
    """The level of isolation that `STATEWRIGHT_ISOLATION` names, if any. Raises: Stop."""
    import os

    level = os.environ.get("STATEWRIGHT_ISOLATION") or None
    if level is not None and level not in ISOLATIONS:
        raise Stop(USAGE, f"STATEWRIGHT_ISOLATION is {level!r}; it must be one of {', '.join(ISOLATIONS)}.")
    return level


def time_scale_of_environment() -> float | None:
    """The value of the first of `SCALES` that is set, if any. Raises: Stop."""
    import os

    for name in SCALES:
        text = os.environ.get(name)
        if text:
            try:
                return checked_scale(float(text), name)
            except ValueError:
                raise Stop(USAGE, f"{name} is {text!r}; it must be a number from 0.") from None
    return None


def checked_scale(scale: float, name: str) -> float:
    """A scale that can be. Raises: Stop."""
    from statewright.config import MOST_TIME_SCALE

    if not 0 <= scale <= MOST_TIME_SCALE:
        raise Stop(USAGE, f"{name} is {scale:g}; it must be a number from 0 (no waits) to {MOST_TIME_SCALE}.")
    return scale
