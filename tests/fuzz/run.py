"""Fuzzes the targets with atheris, each in a process of its own: `python -m tests.fuzz.run SECONDS [TARGET ...]`.

The seconds are shared by all targets. Inputs that reach new code are kept in `.fuzz/`, beside the seeds in
`tests/fuzz/corpus/`; an input that breaks a target stays there, too, and its place is printed.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.fuzz.targets import LONGEST, TARGETS

ROOT = Path(__file__).parents[2]
SEEDS = Path(__file__).parent / "corpus"
SLOWEST_SECONDS = 10
"""An input that takes longer is a finding."""
MOST_MEMORY_MB = 2_048


def fuzz(names: Sequence[str], seconds: float, kept: Path) -> list[str]:
    """Fuzz targets one after the other; returns the names of those that broke."""
    broken = []
    for name in names:
        folder, crashes = kept / name, kept / "crashes" / name
        folder.mkdir(parents=True, exist_ok=True)
        crashes.mkdir(parents=True, exist_ok=True)
        options = [
            f"-max_total_time={max(1, round(seconds / len(names)))}",
            f"-max_len={LONGEST}",
            f"-timeout={SLOWEST_SECONDS}",
            f"-rss_limit_mb={MOST_MEMORY_MB}",
            f"-artifact_prefix={crashes}/",
            "-print_final_stats=0",
            "-verbosity=0",
        ]
        command = [sys.executable, "-m", "tests.fuzz.run", "--one", name, *options, str(folder), str(SEEDS / name)]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, errors="replace", check=False)
        if done.returncode:
            broken.append(name)
            print(f"{name} broke; its input is in {crashes}\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}")
        else:
            print(f"{name}: {len(list(folder.iterdir()))} inputs kept", flush=True)
    return broken


def _one(name: str, options: Sequence[str]) -> None:
    """Fuzz one target in this process, with its code and that of the package instrumented."""
    import atheris

    target = TARGETS[name]
    # The modules are loaded already: their functions are instrumented in place.
    for module in [module for key, module in sorted(sys.modules.items()) if key.startswith("statewright.")]:
        for value in list(vars(module).values()):
            _instrument(atheris, value, module.__name__)
    atheris.Setup([name, *options], target)
    atheris.Fuzz()


def _instrument(atheris: object, value: object, module: str) -> None:
    from types import FunctionType

    functions = [value] if isinstance(value, FunctionType) else []
    if isinstance(value, type) and value.__module__ == module:
        functions = [one for one in vars(value).values() if isinstance(one, FunctionType)]
    for function in functions:
        if function.__module__ == module:
            atheris.instrument_func(function)  # type: ignore[attr-defined]


def main(arguments: Sequence[str]) -> int:
    if arguments[0] == "--one":
        _one(arguments[1], arguments[2:])
        return 0
    names = arguments[1:] or sorted(TARGETS)
    kept = Path(os.environ.get("STATEWRIGHT_FUZZ_FOLDER", ROOT / ".fuzz"))
    return 1 if fuzz(names, float(arguments[0]), kept) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
