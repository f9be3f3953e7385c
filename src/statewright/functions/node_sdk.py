"""The SDK for JavaScript, which every Node.js runtime of the cloud brings: its folder, and what handlers see of it.

1. The folder is `node-sdk` in the data folder, made by `statewright setup node-sdk`, or the one that the setting
   `node_modules` of `[functions]` names.
2. It holds `v3/node_modules` for nodejs18.x and later, and `v2/node_modules` for earlier runtimes. A folder that is
   itself called `node_modules` serves all of them.
3. `runtimes/node_packages.cjs` looks there last: a function's own packages and its layers win.
4. Workers in namespaces see the folder read-only at `IN_NAMESPACES`, also if it is made while the server runs.

Leaves fetching to `cli/serving/setup.py`.
"""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from statewright.config import Config

FOLDER: Final = "node-sdk"
DEFAULT_DATA: Final = ".statewright"
"""Data folder of servers that keep everything in memory, as far as the SDK goes."""
VERSIONS: Final = ("v3", "v2")
LAST_WITH_V2: Final = 16
"""Source: Lambda developer guide, "Runtime-included SDK versions"."""
PACKAGES: Final = "node_modules"
IN_NAMESPACES: Final = "/var/sdk"
_HOME: Final = "STATEWRIGHT_NODE_SDK"
_COMMAND: Final = "STATEWRIGHT_NODE_SDK_COMMAND"
_NAMES: Final = {"v3": "@aws-sdk/client-sfn", "v2": "aws-sdk"}
"""A package that each version certainly has."""


@dataclass(frozen=True, slots=True)
class NodeSdk:
    """The SDK's folder; it need not exist."""

    folder: Path

    @property
    def is_plain(self) -> bool:
        """True for a folder `node_modules` that serves all runtimes."""
        return self.folder.name == PACKAGES

    @property
    def command(self) -> str:
        """The command that fetches the SDK into this folder; for one that is plain, to be completed by a package."""
        data = self.folder.parent
        if self.is_plain:
            return f"npm install --prefix {shlex.quote(str(data))}"
        if self.folder.name != FOLDER or data == Path(DEFAULT_DATA).absolute():
            return "statewright setup node-sdk"
        return f"statewright setup node-sdk --data {shlex.quote(str(data))}"

    def command_for(self, package: str, runtime: str) -> str:
        """The command that adds a package of the SDK, which is not there."""
        if self.is_plain:
            return f"{self.command} {package}"
        return f"{self.command} --package {package}" if version_for(runtime) in self.versions() else self.command

    def home(self, runtime: str | None, root: str | None = None) -> str:
        """The folder whose `node_modules` serves a runtime; `root` is where workers see the SDK's folder."""
        if self.is_plain:
            return root or str(self.folder.parent)
        return f"{root or self.folder}/{version_for(runtime)}"

    def variables(self, runtime: str | None, root: str | None = None) -> dict[str, str]:
        """For the preloaded module: the folder of `home`, and the command that fetches the SDK."""
        return {_HOME: self.home(runtime, root), _COMMAND: self.command}

    def binding(self) -> tuple[str, str] | None:
        """The existing folder, and the path at which workers in namespaces see it; `None` if there is no folder."""
        if not self.folder.is_dir():
            return None
        return str(self.folder), f"{IN_NAMESPACES}/{PACKAGES}" if self.is_plain else IN_NAMESPACES

    def versions(self) -> dict[str, str]:
        """The versions of the SDK that are there: of `aws-sdk`, and of the Step Functions client of version 3."""
        found = {}
        for version, name in _NAMES.items():
            home = self.folder if self.is_plain else self.folder / version / PACKAGES
            try:
                found[version] = str(json.loads((home / name / "package.json").read_text("utf-8"))["version"])
            except (OSError, ValueError, KeyError, TypeError):
                continue
        return found

    def has(self, package: str, runtime: str | None) -> bool:
        """True if a package is there for handlers of a runtime."""
        return (Path(self.home(runtime)) / PACKAGES / package / "package.json").is_file()


def node_sdk(config: Config, data: Path | None) -> NodeSdk:
    """The SDK for the functions of a server with these settings and this data folder."""
    named = config.functions.node_modules
    return NodeSdk(Path(named) if named else (data or Path(DEFAULT_DATA)).absolute() / FOLDER)


def version_for(runtime: str | None) -> str:
    """The version of the SDK that a runtime brings, `v2` or `v3`."""
    number = re.match(r"nodejs(\d*)", runtime or "")
    if number is None:
        return "v3"
    # `nodejs` alone is the first runtime.
    return "v2" if int(number[1] or 0) <= LAST_WITH_V2 else "v3"
