"""`[ray]`: the Ray cluster on which handlers run, and what each of them takes of its nodes.

Leaves reporting a mistake with its line to `config.py`, and the cluster to `functions/workers/ray_link.py`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from statewright.config_tables import Keys, Reader
from statewright.payload import JsonMapping

BACKENDS: Final = ("local", "ray")
"""Where handlers run: in processes of this machine, or in those of a Ray cluster."""
DEFAULT_FOLDER: Final = "/tmp/statewright-ray"
_ADDRESS: Final = re.compile(r"auto|local|(ray://)?([A-Za-z0-9._-]+|\[[0-9a-fA-F:.]+\]):[0-9]{1,5}")
_NEEDS: Final = ("num_cpus", "num_gpus", "memory", "resources")
_ENDPOINT: Final = re.compile(r"https?://[^/\s]+/?")


@dataclass(frozen=True, slots=True)
class RayNeeds:
    """What one worker takes of a node while it lives: CPUs, GPUs, MiB of memory, and resources of the cluster's own."""

    num_cpus: float = 1.0
    num_gpus: float = 0.0
    memory: int = 0
    resources: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RaySettings:
    """The cluster, and the needs of functions by name; `needs` are those of all others.

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
    if not _ADDRESS.fullmatch(address):
        reader.refuse(("ray", "address"), f'must be "auto", "local", "HOST:PORT" or "ray://HOST:PORT", not {address!r}')
    folder = reader.text(("ray", "folder"), table.get("folder", DEFAULT_FOLDER)).rstrip("/")
    if not folder.startswith("/"):
        reader.refuse(("ray", "folder"), f"must be an absolute path on the Ray nodes, not {folder!r}")
    endpoint = reader.text(("ray", "endpoint"), table.get("endpoint", ""))
    if endpoint and not _ENDPOINT.fullmatch(endpoint):
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
