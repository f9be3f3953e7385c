"""A shell in a folder of its own, with a terminal, that runs the commands of one page one after the other.

The page's server runs on a port of its own: `statewright dev` and `serve` are started with it and left running until
the page's end, and commands that name the usual port get that one.
"""

from __future__ import annotations

import fcntl
import os
import pty
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import termios
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tests.deadlines import PATIENCE_SECONDS, started
from tests.docs.blocks import ROOT, block_of

FILES: Final = Path(__file__).parent / "files"
_USUAL_PORT: Final = "4566"
_SERVERS: Final = re.compile(r"^statewright (?:dev|serve)\b(?!.*--help)")
_ENDLESS: Final = re.compile(r"^(?:statewright (?:function|machine) logs|tail) .*-f\b")
"""Commands that follow until they are interrupted."""
_ID: Final = re.compile(r"\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b")
"""The name that an execution was given: in a command, that of the newest such execution."""
_MARK: Final = "\x02"
_SHARED: Final = (
    ("order.asl.json", "docs/cases.md", '{\n  "StartAt": "Reserve"'),
    ("order.cases.yaml", "docs/cases.md", "input: {order: 7}                     #"),
    ("mocks.yaml", "docs/cli.md", "mocks:"),
    ("MockConfigFile.json", "docs/mocks.md", '{\n  "StateMachines"'),
)
"""The definition that the pages speak of, and its files, as blocks of the pages have them."""
_PRELUDE: Final = r"""
set +e; set -o pipefail
__server=
__serve() {
  __stop; : >server.log
  "$@" >server.log 2>&1 </dev/null &
  __server=$!
  while ! grep -qE "Watching|no project|is ready on.*" server.log; do
    kill -0 $__server 2>/dev/null || { cat server.log; return 1; }
    sleep 0.05
  done
  case "$2" in dev) while ! grep -q Watching server.log; do sleep 0.05; done;; esac
  cat server.log
}
__newest() { statewright execution list -o json | grep -oE '[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}' | sed -n 1p; }
__for_a_while() { timeout -s INT 3 "$@"; case $? in 0|124|130) true;; *) false;; esac; }
__stop() { [ -z "$__server" ] || { kill $__server 2>/dev/null; wait $__server 2>/dev/null; __server=; }; }
trap __stop EXIT
"""


@dataclass(frozen=True, slots=True)
class Step:
    """A command to run, and its exit status and output once it has run."""

    text: str
    status: int | None = None
    printed: str = ""


@dataclass
class Shell:
    """Collects the commands of a page, then runs them all: `run`. `folder` is where they run."""

    folder: Path
    page: str
    has_server: bool
    port: int = field(default_factory=lambda: _free_port())
    _steps: list[str] = field(default_factory=list)

    def prepare(self) -> None:
        """Put the files in place that the page speaks of."""
        for name, page, beginning in _SHARED:
            (self.folder / name).write_text(block_of(page, beginning).text, encoding="utf-8")
        shutil.copytree(ROOT / "examples", self.folder / "examples", ignore=shutil.ignore_patterns(".*", "__pycache__"))
        own = FILES / self.page.removesuffix(".md").replace("/", "-")
        if own.is_dir():
            shutil.copytree(own, self.folder, dirs_exist_ok=True)
        if self.has_server and (own / "before.sh").exists():
            self._steps.append(". ./before.sh")

    def add(self, command: str) -> int:
        """Run a command after those before it; returns its number."""
        if _SERVERS.match(command):
            command = f"__serve {command} --port {self.port}"
        elif _ENDLESS.match(command):
            command = f"__for_a_while {command}"
        command = _ID.sub("$(__newest)", command)
        self._steps.append(command.replace(_USUAL_PORT, str(self.port)))
        return len(self._steps) - 1

    def run(self) -> list[Step]:
        """Run the commands, and say how each ended. Raises: AssertionError if they hang."""
        script = [_PRELUDE]
        if self.has_server:
            script.append(f"__serve statewright serve --data .statewright --port {self.port} >/dev/null 2>&1")
        for number, text in enumerate(self._steps):
            script += [f"printf '{_MARK}%s\\n' {number}", text, f"printf '{_MARK}=%s\\n' $?"]
        file = self.folder / ".page.sh"
        file.write_text("\n".join(script) + "\n", encoding="utf-8")
        return self._steps_of(self._output(file))

    def _output(self, file: Path) -> str:
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 140, 0, 0))
        process = started(
            ["bash", str(file)], cwd=self.folder, env=self._environment(), stdin=subprocess.DEVNULL, stdout=theirs,
            stderr=theirs, start_new_session=True,
        )  # fmt: skip
        os.close(theirs)
        pieces: list[bytes] = []
        reader = threading.Thread(target=_drain, args=(ours, pieces), daemon=True)
        reader.start()
        try:
            process.wait(PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            shown = b"".join(pieces).decode("utf-8", "replace")
            raise AssertionError(f"the commands of {self.page} did not end; so far:\n{shown[-3_000:]}") from None
        finally:
            reader.join(5)
            os.close(ours)
        return b"".join(pieces).decode("utf-8", "replace")

    def _environment(self) -> dict[str, str]:
        home = self.folder / ".home"
        home.mkdir(exist_ok=True)
        kept = {name: os.environ[name] for name in ("TMPDIR", "STATEWRIGHT_ISOLATION") if name in os.environ}
        return kept | {
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "HOME": str(home), "LC_ALL": "C.UTF-8",
            "TERM": "xterm", "NO_COLOR": "1", "AWS_PAGER": "", "PYTHONPYCACHEPREFIX": str(home / "cache"),
            "STATEWRIGHT_ENDPOINT": f"http://127.0.0.1:{self.port}",
        }  # fmt: skip

    def _steps_of(self, output: str) -> list[Step]:
        found = [Step(text) for text in self._steps]
        number = -1
        for part in output.replace("\r\n", "\n").split(_MARK)[1:]:
            head, _, printed = part.partition("\n")
            if head.startswith("="):
                last = found[number]
                found[number] = Step(last.text, int(head[1:]), last.printed)
            else:
                number = int(head)
                found[number] = Step(found[number].text, None, printed)
        return found


def _drain(terminal: int, pieces: list[bytes]) -> None:
    try:
        while piece := os.read(terminal, 65_536):
            pieces.append(piece)
    except OSError:
        # The other side of the terminal is closed: the shell has ended.
        return


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
