"""The programs of workers and jobs as one zip, named by its content: each Ray node gets it before it runs any.

Packages of code travel the same way, under their own SHA-256. Loaded by the server and by `ray_bridge.py`, which make
the same zip from the same files; it uses the standard library alone.
"""

from __future__ import annotations

import hashlib
import io
import zipfile
from pathlib import Path

_HERE = Path(__file__).parent
_FILES = (
    *(_HERE / name for name in ("zygote.py", "python_worker.py", "runtime_api.py", "confinement.py")),
    *(_HERE / name for name in ("node_worker.mjs", "node_imports.mjs", "node_packages.cjs", "node_endpoint.cjs")),
    _HERE.parent / "workers" / "processes.py",
    _HERE.parents[1] / "jobs" / "runner.py",
)
_INSTANT = (1980, 1, 1, 0, 0, 0)


def programs() -> tuple[str, bytes]:
    """The name and the bytes of the zip with the programs of workers and jobs."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in _FILES:
            archive.writestr(zipfile.ZipInfo(path.name, _INSTANT), path.read_bytes(), zipfile.ZIP_DEFLATED)
    data = packed.getvalue()
    return hashlib.sha256(data).hexdigest(), data


def place_of(folder: str, name: str) -> str:
    """The path of an unpacked parcel on every Ray node, below the folder of the settings."""
    return f"{folder}/{name}"
