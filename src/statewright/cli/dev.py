"""`statewright dev DIR`: the server, and the machines and functions of a folder in it, loaded anew when they change.

Owns what becomes of a definition: created, updated, left as it was; of functions `dev_functions.py` knows. The server
runs as `statewright serve` does; files are found and watched by `projects`.
"""

from __future__ import annotations

import threading
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

import click

from statewright.cli.client import ApiProblem, Server, machine_of
from statewright.cli.dev_functions import FunctionLoader
from statewright.cli.output import (
    FAILED,
    NOT_FOUND,
    OK,
    Printer,
    Stop,
    count_words,
    finding_json,
    print_findings,
    reason_of,
    stdout,
)

if TYPE_CHECKING:
    import asyncio

    from statewright.config import Config
    from statewright.projects.folder import Folder

DATA_FOLDER: Final = ".statewright"
SETTINGS_FILE: Final = "statewright.toml"
PATIENCE_SECONDS: Final = 5.0


@click.command(short_help="Serve a folder of machines and functions, reloading what changes.")
@click.argument("folder", metavar="[DIR]", default=".")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), default=4566, show_default=True, help="0 picks a free one.")
@click.option("--data", metavar="DIR", help=f"Folder for what must last; {DATA_FOLDER} in the folder by default.")
@click.option(
    "--store", type=click.Choice(["sqlite", "memory"]), default="sqlite", show_default=True, help="As for serve."
)
@click.option("--express", multiple=True, metavar="NAME", help="Make this machine an EXPRESS one; repeatable.")
@click.option("--limits", type=click.Choice(["aws", "open"]), help="The service's limits (default), or none of them.")
@click.option("--config", "settings", metavar="FILE", help=f"Settings; {SETTINGS_FILE} of the folder if there is one.")
@click.option(
    "--log-level",
    type=click.Choice(["debug", "info", "warning", "error"]),
    default="warning",
    show_default=True,
    help="What the server says of itself, on the standard error.",
)
@click.option(
    "-o",
    "--output",
    "form",
    type=click.Choice(["table", "json"]),
    default="table",
    help="How to say what happens: for people, or one JSON object a line.",
)
def dev(
    folder: str, host: str, port: int, data: str | None, store: str, express: tuple[str, ...], limits: str | None,
    settings: str | None, log_level: str, form: str,
) -> int:  # fmt: skip
    """Serve the API with every *.asl.json, *.asl.yaml and *.asl.yml below a folder as a state machine, and with
    the functions below it.

    The machine of order.asl.json is called order. A file that changes becomes a new revision; running executions keep
    theirs. A file with errors is reported, and its last good revision stays.

    functions/price.py is the function price if it holds a handler or lambda_handler, and so is a folder
    functions/price/ with such a module. Other modules in functions/ can be imported by all of them.

    \b
    Examples:
      statewright dev
      statewright dev workflows --port 4600 --express price
    """
    from statewright.cli import logs
    from statewright.cli.serve import config_of
    from statewright.errors import StoreError
    from statewright.server import CannotServe, ServerOptions
    from statewright.server import serve as run_server

    root = Path(folder)
    if not root.is_dir():
        hint = f"to serve the folder it is in: statewright dev {root.parent}" if root.is_file() else None
        raise Stop(NOT_FOUND, f"There is no folder '{root}'.", hint)
    own_settings = root / SETTINGS_FILE
    config = config_of(settings or (str(own_settings) if own_settings.is_file() else None), limits)
    logs.configure("text", log_level)
    loader = Loader(root, config, frozenset(express), as_json=form == "json")
    printer = stdout()

    def announce(line: str) -> None:
        endpoint = line.split()[4]
        if not loader.tell("ready", endpoint=endpoint, data=str(options.data), store=store):
            printer.line(line)
            printer.flush()
        loader.start(endpoint)

    options = ServerOptions(host, port, Path(data) if data is not None else root / DATA_FOLDER, store, config)
    try:
        run_server(options, announce)
    except CannotServe as problem:
        raise Stop(FAILED, str(problem)) from None
    except StoreError as problem:
        raise Stop(FAILED, f"the store in {options.data} cannot be opened: {problem}") from None
    finally:
        loader.stop()
    return OK


Outcome = Literal["created", "updated", "unchanged"]


class Loader:
    """Keeps the machines and functions of a server like the files of a folder.

    Works in a thread of its own, through the API.
    """

    def __init__(self, root: Path, config: Config, express: frozenset[str], *, as_json: bool = False) -> None:
        self.root = root
        self.config = config
        self.express = express
        self.as_json = as_json
        self.functions = FunctionLoader(root, config.account, self.tell, lambda: self.printer)
        self._server: Server | None = None
        self._paths: dict[Path, str] = {}
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._watching: asyncio.Task[None] | None = None
        self._stopping = threading.Event()

    @property
    def printer(self) -> Printer:
        """Where it is said what was loaded."""
        return stdout()

    def tell(self, event: str, **members: Any) -> bool:
        """Print an event as a line of JSON, if that is wanted; otherwise the caller has to find words."""
        if self.as_json:
            printer = self.printer
            printer.json({"event": event, **members}, compact=True)
            printer.flush()
        return self.as_json

    # ------------------------------------------------------------------ thread

    def start(self, endpoint: str) -> None:
        """Begin, with the server's address."""
        self._server = Server(endpoint, identity=_identity(self.config))
        self.functions.attach(Server(endpoint, identity=_identity(self.config), service="lambda"))
        self._thread = threading.Thread(target=self._work, name="loader", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End, and let go."""
        self._stopping.set()
        loop, task = self._loop, self._watching
        if loop is not None and task is not None and not loop.is_closed():
            loop.call_soon_threadsafe(task.cancel)
        if self._thread is not None:
            self._thread.join(PATIENCE_SECONDS)
        if self._server is not None:
            self._server.close()
        self.functions.close()

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
        from statewright.projects.functions import function_files
        from statewright.projects.watch import Watch, watch_files
        from statewright.simulator.load import DEFINITION_ENDINGS, files_below

        self._loop = asyncio.get_running_loop()
        watch = Watch(lambda: [*files_below(self.root, DEFINITION_ENDINGS), *function_files(self.root)])
        self.load_all()
        if not self.tell("watching", folder=str(self.root)):
            self.printer.line((f"Watching {self.root} for changes. Ctrl+C ends.", "idle"))
            self.printer.flush()
        self._watching = asyncio.create_task(watch_files(watch, RealClock(), self.changed))
        if self._stopping.is_set():
            self._watching.cancel()
        await self._watching

    # ------------------------------------------------------------------ files

    def load_all(self) -> None:
        """Load every file of the folder: functions first, because machines call them."""
        functions = self.functions.load_all()
        found = self._find()
        if not found.machines and not functions and not self.tell("empty", folder=str(self.root)):
            self.printer.line(
                ("There is no *.asl.json, *.asl.yaml or *.asl.yml here yet, and no functions/NAME.py.", "wait")
            )
        for name, path in found.machines.items():
            self._load(name, path)
        for path, first in found.clashes.items():
            self._clash(path, first)

    def changed(self, paths: Collection[Path]) -> None:
        """Load files that came or changed; say what becomes of those that went."""
        self.functions.changed(paths)
        before = dict(self._paths)
        found = self._find()
        for path in paths:
            name = self._paths.get(path)
            if path in found.clashes:
                self._clash(path, found.clashes[path])
            elif name is not None:
                self._load(name, path)
            elif path in before:
                self._gone(before[path], path)
                successor = found.machines.get(before[path])
                if successor is not None:
                    self._load(before[path], successor)
        self.printer.flush()

    def _gone(self, name: str, path: Path) -> None:
        known = self._described(name) is not None
        if self.tell("gone", machine=name, file=self._shown(path), stays=known):
            return
        stays = f"; the machine stays until: statewright machine delete {name}" if known else ""
        self.printer.line(("○ ", "idle"), (name, "strong"), f"  {self._shown(path)} is gone{stays}")

    def _find(self) -> Folder:
        from statewright.projects.folder import find_machines

        found = find_machines(self.root)
        self._paths = {path: name for name, path in found.machines.items()}
        return found

    def _clash(self, path: Path, first: Path) -> None:
        if self.tell("leftOut", file=self._shown(path), sameNameAs=self._shown(first)):
            return
        self.printer.line(("✗ ", "fail"), f"{self._shown(path)} is left out: {self._shown(first)} has the same name")

    def _load(self, name: str, path: Path) -> None:
        from statewright.errors import DefinitionError
        from statewright.projects.folder import read_definition

        kind: Any = "EXPRESS" if name in self.express else "STANDARD"
        try:
            definition = read_definition(path, kind)
            done = self._put(name, definition.text, kind)
        except DefinitionError as problem:
            reason = count_words(len(problem.diagnostics), "error")
            findings = [finding_json(str(path), found) for found in problem.diagnostics]
            if self._bad(name, path, reason, findings=findings):
                print_findings(self.printer, str(path), problem.diagnostics)
            return
        except ApiProblem as problem:
            if self._bad(name, path, "refused", message=problem.message):
                self.printer.wrapped(problem.message, "  ", "fail")
            return
        except (OSError, UnicodeDecodeError) as problem:
            reason = reason_of(problem) if isinstance(problem, OSError) else "it is not UTF-8"
            self._bad(name, path, reason)
            return
        warnings = len(definition.warnings)
        if self.tell("loaded", machine=name, outcome=done, file=self._shown(path), type=kind, warnings=warnings):
            return
        warned = f", {count_words(len(definition.warnings), 'warning')}" if definition.warnings else ""
        self.printer.line(("✓ ", "ok"), (name, "strong"), f"  {done}", (f" from {self._shown(path)}{warned}", "idle"))

    def _bad(self, name: str, path: Path, reason: str, **more: Any) -> bool:
        """Say that a file was not loaded; whether more may be said in words."""
        known = self._described(name) is not None
        if self.tell("failed", machine=name, file=self._shown(path), reason=reason, stays=known, **more):
            return False
        stays = "; the last good revision stays" if known else ""
        self.printer.line(("✗ ", "fail"), (name, "strong"), f"  {self._shown(path)}: {reason}{stays}")
        return True

    def _put(self, name: str, text: str, kind: str) -> Outcome:
        """Create or update a machine; what was done. Raises: ApiProblem."""
        server = self._api()
        shown = self._described(name)
        if shown is None:
            role = f"arn:aws:iam::{self.config.account}:role/{name}"
            server.call("create_state_machine", name=name, definition=text, roleArn=role, type=kind)
            return "created"
        if shown["type"] != kind:
            arn = shown["stateMachineArn"]
            raise ApiProblem(
                "StateMachineTypeNotSupported",
                f"{machine_of(arn)} is {shown['type']} and cannot become {kind}: statewright machine delete {name}",
            )
        if shown["definition"] == text:
            return "unchanged"
        server.call("update_state_machine", stateMachineArn=shown["stateMachineArn"], definition=text)
        return "updated"

    def _described(self, name: str) -> dict[str, Any] | None:
        arn = f"arn:aws:states:{self.config.region}:{self.config.account}:stateMachine:{name}"
        try:
            return self._api().call("describe_state_machine", stateMachineArn=arn)
        except ApiProblem as problem:
            if problem.code == NOT_FOUND:
                return None
            raise

    def _api(self) -> Server:
        assert self._server is not None, "start comes first"
        return self._server

    def _shown(self, path: Path) -> str:
        return str(path.relative_to(self.root))


def _identity(config: Config) -> tuple[str, str, str]:
    key, secret = next(iter(config.credentials.items()), ("test", "test"))
    return key, secret, config.region
