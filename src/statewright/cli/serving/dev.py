"""`statewright dev DIR`: the server, and the project of a folder in it, deployed anew where it changes.

Owns when resources are deployed, and how that is reported. The server runs as `statewright serve` does; projects are
read, watched and deployed by `projects`.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from statewright.cli.client import DEFAULT_ENDPOINT, command_words
from statewright.cli.extensions import extensions_option
from statewright.cli.output import FAILED, NOT_FOUND, OK, Printer, Stop, finding_json, stdout
from statewright.cli.serving.project_lines import FUNCTION, MACHINE, ProjectLines
from statewright.cli.serving.project_problems import ProjectProblems

if TYPE_CHECKING:
    import asyncio

    from statewright.config import Config
    from statewright.hosting.options import Ready
    from statewright.projects.deploy.calls import Call
    from statewright.projects.deploy.deployment import Deployment, Result
    from statewright.projects.resources import Finding, Project, Resource

DATA_FOLDER: Final = ".statewright"
SETTINGS_FILE: Final = "statewright.toml"
PATIENCE_SECONDS: Final = 5.0


@click.command(short_help="Serve a project and reload it when it changes.")
@click.argument("folder", metavar="[DIR]", default=".")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=4566,
    show_default=True,
    help="Port to listen on; 0 picks a free one.",
)
@click.option("--data", metavar="DIR", help=f"Data folder; default: {DATA_FOLDER} in the project's folder.")
@click.option(
    "--store", type=click.Choice(["sqlite", "memory"]), default="sqlite", show_default=True, help="Store, as for serve."
)
@click.option("--express", multiple=True, metavar="NAME", help="Create this machine as EXPRESS; repeatable.")
@click.option("--stage", metavar="NAME", help="The stage, for projects that have stages.")
@click.option("--parameter", "parameters", multiple=True, metavar="KEY=VALUE", help="A parameter; repeatable.")
@click.option("--limits", type=click.Choice(["aws", "open"]), help="The service's limits (default), or none of them.")
@click.option("--time-scale", type=float, metavar="N", help="Waits and back-offs take N times as long; 0 skips them.")
@click.option(
    "--config", "settings", metavar="FILE", help=f"Settings file; default: {SETTINGS_FILE} of the folder, if it exists."
)
@click.option(
    "--isolation",
    type=click.Choice(["auto", "none", "hardened", "namespaces"]),
    help="Isolation of handlers: none, hardened, namespaces, or the highest that this machine has (auto).",
)
@click.option(
    "--log-level",
    type=click.Choice(["debug", "info", "warning", "error"]),
    default="warning",
    show_default=True,
    help="The server's log level, on standard error.",
)
@click.option(
    "-o",
    "--output",
    "form",
    type=click.Choice(["table", "json"]),
    default="table",
    help="Output format: for people, or one JSON object per line.",
)
@extensions_option
def dev(
    folder: str, host: str, port: int, data: str | None, store: str, express: tuple[str, ...], stage: str | None,
    parameters: tuple[str, ...], limits: str | None, time_scale: float | None, settings: str | None,
    isolation: str | None, log_level: str, form: str,
) -> int:  # fmt: skip
    """Serve the API with the project of a folder: of a SAM template, a CDK app's output or a serverless.yml, else with
    every *.asl.json, *.asl.yaml and *.asl.yml below it as a state machine, every function below it, and the queues,
    tables and other things that its statewright.toml names.

    The machine of order.asl.json is called order. A file that changes becomes a new revision; running executions keep
    theirs. A file with errors is reported, and its last good revision stays.

    functions/price.py is the function price if it holds a handler or lambda_handler, and so is a folder
    functions/price/ with such a module. Other modules in functions/ can be imported by all of them.

    \b
    Examples:
      statewright dev
      statewright dev workflows --port 4600 --express price
      statewright dev --parameter Stage=test --stage test
    """
    from statewright.cli.serving import logs
    from statewright.cli.serving.deploy import parameters_of
    from statewright.cli.serving.serve import config_of, timeouts_of_environment, warn_of_readers
    from statewright.errors import StoreError
    from statewright.hosting.options import CannotServe, ServerOptions
    from statewright.server import serve as run_server

    root = Path(folder)
    _refuse_other_than_a_folder(root)
    own = root / SETTINGS_FILE
    config = config_of(settings or (str(own) if own.is_file() else None), limits, time_scale, isolation)
    logs.configure("text", log_level)
    warn_of_readers(config, Path(settings) if settings is not None else own)
    place = Path(data) if data is not None else root / DATA_FOLDER
    loader = Loader(
        root, config, frozenset(express), as_json=form == "json", stage=stage, parameters=parameters_of(parameters),
        data=place,
    )  # fmt: skip
    timeouts, board = timeouts_of_environment(), loader.problems.board
    options = ServerOptions(host, port, place, store, config, timeouts=timeouts, project=board)
    try:
        run_server(options, lambda ready: loader.ready(ready, store))
    except CannotServe as problem:
        raise Stop(FAILED, str(problem)) from None
    except StoreError as problem:
        raise Stop(FAILED, f"the store in {options.data} cannot be opened: {problem}") from None
    finally:
        loader.stop()
    return OK


def _refuse_other_than_a_folder(root: Path) -> None:
    if not root.is_dir():
        hint = f"to serve the folder it is in: statewright dev {root.parent}" if root.is_file() else None
        raise Stop(NOT_FOUND, f"There is no folder '{root}'.", hint)


class Loader:
    """Keeps the resources of a server in step with the project of a folder.

    Works in a thread of its own, through the API.
    """

    def __init__(
        self, root: Path, config: Config, express: frozenset[str], *, as_json: bool = False, stage: str | None = None,
        parameters: Mapping[str, str] | None = None, data: Path | None = None,
    ) -> None:  # fmt: skip
        self.root = root
        self.config = config
        self.express = express
        self.as_json = as_json
        self.stage = stage
        self.parameters = parameters or {}
        self.data = data
        self.lines = ProjectLines(root, lambda: self.printer)
        self.problems = ProjectProblems(self.lines)
        self._calls: Any = None
        self._named_endpoint: str | None = None
        self._deployment: Deployment | None = None
        self._project: Project | None = None
        self._shown_findings: frozenset[Finding] = frozenset()
        self._reading: Project | None = None
        self._quiet: frozenset[str] = frozenset()
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._watching: asyncio.Task[None] | None = None
        self._stopping = threading.Event()

    @property
    def printer(self) -> Printer:
        """The printer of the lines about loaded resources."""
        return stdout()

    def tell(self, event: str, **members: object) -> bool:
        """Print an event as a line of JSON, if JSON is wanted; returns False if the caller must print text instead."""
        if self.as_json:
            printer = self.printer
            printer.json({"event": event, **members}, compact=True)
            printer.flush()
        return self.as_json

    # ------------------------------------------------------------------ thread

    def ready(self, ready: Ready, store: str) -> None:
        """Report that the server has started, and begin to load the project."""
        where = {"endpoint": ready.endpoint, "console": ready.console, "data": str(self.data), "store": store}
        if not self.tell("ready", **where):
            for line in ready.lines:
                self.printer.line(line)
            self.printer.flush()
        self.start(ready.endpoint)

    def start(self, endpoint: str) -> None:
        """Start, with the server's address."""
        from statewright.cli.serving.server_calls import ServerCalls

        self._named_endpoint = endpoint if endpoint != DEFAULT_ENDPOINT else None
        self._calls = ServerCalls(endpoint, _identity(self.config))
        self.attach(self._calls, endpoint)
        self._thread = threading.Thread(target=self._work, name="loader", daemon=True)
        self._thread.start()

    def attach(self, calls: Call, endpoint: str = "") -> None:
        """Set the calls that deploy the project, and the server's address, if users are shown addresses."""
        from statewright.projects.deploy.deployment import Deployment
        from statewright.projects.deploy.record import Record

        self._deployment = Deployment(
            calls, self.config.account, self.config.region, Record(self.root.name), goes_on=True, endpoint=endpoint,
            tell=self._report,
        )  # fmt: skip

    def stop(self) -> None:
        """Stop watching and release the connections."""
        self._stopping.set()
        loop, task = self._loop, self._watching
        if loop is not None and task is not None and not loop.is_closed():
            loop.call_soon_threadsafe(task.cancel)
        if self._thread is not None:
            self._thread.join(PATIENCE_SECONDS)
        if self._calls is not None:
            self._calls.close()

    def _work(self) -> None:
        import asyncio

        try:
            asyncio.run(self._load_and_watch())
        except asyncio.CancelledError:
            pass
        except Stop as problem:
            if not self._stopping.is_set() and not self.tell("stopped", reason=problem.message):
                self.printer.line((f"✗ {problem.message}", "fail"))
        finally:
            self.printer.flush()

    async def _load_and_watch(self) -> None:
        import asyncio

        from statewright.clock import RealClock
        from statewright.projects.watch import Watch, watch_files

        self._loop = asyncio.get_running_loop()
        self._read()
        watch = Watch(self._files)
        self.load_all()
        if not self.tell("watching", folder=str(self.root)):
            self.printer.line((f"Watching {self.root} for changes. Ctrl+C ends.", "idle"))
            self.printer.flush()
        self._watching = asyncio.create_task(watch_files(watch, RealClock(), self.changed))
        if self._stopping.is_set():
            self._watching.cancel()
        await self._watching

    # ------------------------------------------------------------------ the project

    def load_all(self) -> None:
        """Deploy the whole project."""
        project = self._read()
        if project is None:
            self.problems.publish()
            return
        if not project.resources and not self.tell("empty", folder=str(self.root)):
            self.printer.line(
                ("There is no *.asl.json, *.asl.yaml or *.asl.yml here yet, and no functions/NAME.py.", "wait")
            )
        self._deployed().run(project, looks_back=False)
        self._say_findings(project, frozenset())
        self._project = project
        self.problems.publish(project)

    def changed(self, paths: Collection[Path]) -> None:
        """Deploy the resources that changed files concern, and report those that were removed."""
        from statewright.projects.found import affected, users_of

        project = self._read()
        if project is None:
            self.problems.publish()
            return
        before, deployment = self._project, self._deployed()
        touched = frozenset(paths)
        if before is not None and before.resources and _is_broken(project):
            self._say_findings(project, touched)
            if not self.tell("failed", folder=str(self.root), reason="the project cannot be read", stays=True):
                self.printer.line(("✗ ", "fail"), "the project cannot be read; the last good one stays in use")
                self.printer.flush()
            self.problems.publish(project, stays=True)
            return
        concerned = affected(before, project, touched)
        # Who uses a changed resource may change with it; what failed is tried again.
        wider = users_of(project, concerned | (deployment.failed() & project.resources.keys()))
        self._quiet = wider - concerned
        deployment.run(project, only=wider, looks_back=False)
        self._quiet = frozenset()
        self._say_findings(project, touched)
        for key, resource in (before.resources if before is not None else {}).items():
            if key not in project.resources:
                self._gone(key, resource)
        self._project = project
        self.problems.publish(project)
        self.printer.flush()

    def _read(self) -> Project | None:
        """The current project; a file that cannot be read is reported, and the last good project stays in use."""
        from statewright.functions.node_sdk import node_sdk
        from statewright.projects.found import find_project
        from statewright.projects.imports.findings import with_missing_imports
        from statewright.projects.resources import ProjectError

        try:
            project = find_project(
                self.root, self._settings(), parameters=self.parameters, stage=self.stage, express=self.express
            )
            project = with_missing_imports(project, self.config.account, node_sdk(self.config, self.data))
        except (ProjectError, Stop, OSError) as problem:
            reason = problem.message if isinstance(problem, Stop) else str(problem)
            self.problems.unreadable(reason, stays=self._project is not None)
            if not self.tell("failed", folder=str(self.root), reason=reason, stays=self._project is not None):
                stays = "; the last good project stays in use" if self._project is not None else ""
                self.printer.line(("✗ ", "fail"), f"{reason}{stays}")
                self.printer.flush()
            return None
        self._reading = project
        return project

    def _settings(self) -> Config:
        """The settings with the tables as they are now; what the server was started with stays. Raises: Stop."""
        from dataclasses import replace

        from statewright.cli.serving.serve import config_of

        path = self.root / SETTINGS_FILE
        now = config_of(str(path), None) if path.is_file() else None
        return self.config if now is None else replace(self.config, tables=now.tables, project=now.project)

    def _files(self) -> list[Path]:
        from statewright.projects.found import project_files

        settings = self.root / SETTINGS_FILE
        own = [settings] if settings.is_file() else []
        return list(dict.fromkeys([*own, *(project_files(self._reading) if self._reading is not None else ())]))

    def _deployed(self) -> Deployment:
        assert self._deployment is not None, "attach comes first"
        return self._deployment

    # ------------------------------------------------------------------ words

    def _say_findings(self, project: Project, touched: frozenset[Path]) -> None:
        from statewright.projects.plain import SAME_NAME

        before, self._shown_findings = self._shown_findings, frozenset(project.findings)
        lead = SAME_NAME.partition("{}")[0]
        for one in project.findings:
            if one in before and not any(one.place.path in (path, *path.parents) for path in touched):
                continue
            if one.message.startswith(lead):
                same = one.message.removeprefix(lead).removesuffix(SAME_NAME.partition("{}")[2])
                if self.tell("leftOut", file=self.lines.shown(one.place.path), sameNameAs=same):
                    continue
            elif self.tell("finding", **self.lines.finding_json(one)):
                continue
            self.lines.finding(one)

    def _report(self, result: Result) -> None:
        self.problems.note(result)
        if result.id in self._quiet and result.outcome in ("unchanged", "noted", "failed", "skipped"):
            return
        if not self.as_json:
            self.lines.result(result)
            self.printer.flush()
            return
        member = {MACHINE: "machine", FUNCTION: "function"}.get(result.type, "name")
        told: dict[str, Any] = {member: result.name}
        if member == "name":
            told["type"] = result.type
        place = result.at or result.place
        file = self.lines.shown(result.place.path) if result.place is not None else None
        if result.outcome in ("failed", "skipped"):
            at_line = {"line": place.line} if place is not None and place.line else {}
            where = f"{self.lines.where(place)}: " if place is not None and result.type != MACHINE else ""
            findings = [finding_json(str(self.lines.source(result)), one) for one in result.diagnostics]
            self.tell(
                "failed", **told, file=file, reason=f"{where}{result.message}", stays=result.stays, **at_line,
                **({"findings": findings} if findings else {}),
            )  # fmt: skip
        elif result.outcome == "noted":
            self.tell("leftOut", **told, file=file, reason=result.message)
        else:
            more = {"warnings": len(result.diagnostics)} if member == "machine" else {}
            self.tell("loaded", **told, outcome=result.outcome, file=file, **more, **self._type_of(result))

    def _type_of(self, result: Result) -> dict[str, str]:
        """STANDARD or EXPRESS, of a machine."""
        resource = self._known_resource(result.id)
        if result.type != MACHINE or resource is None:
            return {}
        return {"type": str(resource.properties.get("StateMachineType", "STANDARD"))}

    def _known_resource(self, key: str) -> Resource | None:
        return self._reading.resources.get(key) if self._reading is not None else None

    def _gone(self, key: str, resource: Resource) -> None:
        from statewright.projects.deploy.deployment import short_ref
        from statewright.projects.deploy.registry import kind_of

        self.problems.forget(key)
        known = self._deployed().record.resources.pop(key, None)
        name = key.partition(".")[2] if known is None else short_ref(known.ref).rpartition(":")[2]
        file = self.lines.shown(resource.place.path)
        member = {MACHINE: "machine", FUNCTION: "function"}.get(resource.type, "name")
        if self.tell("gone", **{member: name}, file=file, stays=known is not None):
            return
        noun = {MACHINE: "machine"}.get(resource.type, kind_of(resource.type).noun)
        gone = "no longer has a handler" if resource.type == FUNCTION and resource.place.line == 0 else "is gone"
        if resource.place.line:
            gone = f"no longer has {key}"
        how = {
            MACHINE: f"machine delete {name}",
            FUNCTION: f"aws lambda delete-function --function-name {name}",
        }.get(resource.type, "")
        how = f" until: {command_words(how, self._named_endpoint)}" if how else ""
        stays = f"; the {noun} stays{how}" if known is not None else ""
        self.printer.line(("○ ", "idle"), (name, "strong"), f"  {file} {gone}{stays}")


def _is_broken(project: Project) -> bool:
    """True if a project's file is so broken that no resource can be read from it."""
    return not project.resources and any(one.severity == "ERROR" for one in project.findings)


def _identity(config: Config) -> tuple[str, str, str]:
    key, secret = next(iter(config.credentials.items()), ("test", "test"))
    return key, secret, config.region
