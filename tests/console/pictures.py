"""Takes the pictures of every page, in both themes, with the shop of `examples/console.py`: `make console-pictures`.

    python -m tests.console.pictures [FOLDER] [--only NAME,NAME]

Pictures are of 128 colours, which halves their size, if Pillow is there.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.console.conftest import BROWSER, HERE, MODULES
from tests.deadlines import PATIENCE_SECONDS, until

EXAMPLES = HERE.parent.parent / "examples"
FOLDER = HERE.parent.parent / "docs" / "images" / "console"
ORDERS = 80
COLOURS = 128


def pages(shown: dict[str, str], machines: dict[str, str]) -> list[dict[str, Any]]:
    """Every page that is on a picture: its name, address, and what has to be there."""
    run = {name: f"/console/execution/{arn}" for name, arn in shown.items()}
    machine = machines["order-fulfilment"]
    row = "tbody tr"
    return [
        {"name": "overview", "path": "/console", "wait": "main h1"},
        {"name": "execution", "path": f"{run['retried']}?state=Charge+card&tab=changes", "wait": ".node.selected"},
        {"name": "scrubbed", "path": f"{run['retried']}?at=18", "wait": ".node.selected"},
        {"name": "evaluated", "path": f"{run['retried']}?state=Price+order&tab=evaluated", "wait": ".node.selected"},
        {"name": "failed", "path": run["failed"], "wait": ".banner.fail"},
        {"name": "waiting", "path": run["waiting"], "wait": ".node.selected"},
        {"name": "compare", "path": f"/console/compare?a={shown['retried']}&b={shown['failed']}", "wait": "main h1"},
        {"name": "what-if", "path": f"/console/what-if/{shown['failed']}", "wait": "main h1"},
        {"name": "map-run", "path": f"/console/map-run/{shown['run']}", "wait": "main h1"},
        {"name": "executions", "path": "/console/executions?q=input.customer.name+~+%22hopper%22", "wait": row},
        {"name": "machines", "path": "/console/machines", "wait": row},
        {"name": "machine", "path": f"/console/machine/{machine}?tab=graph", "wait": "main h1"},
        {"name": "heat", "path": f"/console/heat/{machine}", "wait": "main h1"},
        {"name": "start", "path": f"/console/start/{machine}?like={shown['retried']}", "wait": "main h1"},
        {"name": "waits", "path": "/console/waiting", "wait": row},
        {"name": "limits", "path": "/console/limits", "wait": "main h1"},
        {"name": "functions", "path": "/console/functions", "wait": row},
        {"name": "queues", "path": "/console/queues", "wait": row},
        {"name": "schedules", "path": "/console/schedules", "wait": row},
        {"name": "topics", "path": "/console/topics", "wait": row},
        {"name": "tables", "path": "/console/tables", "wait": row},
        {"name": "objects", "path": "/console/objects", "wait": "main h1"},
        {"name": "jobs", "path": "/console/jobs", "wait": "main h1"},
        {"name": "flow", "path": "/console/flow", "wait": "main svg"},
        {"name": "events", "path": "/console/events", "wait": "main h1"},
        {"name": "workbench", "path": "/console/workbench", "wait": "main svg", "rest": 3000},
        {"name": "simulations", "path": "/console/simulations", "wait": "main h1"},
        {"name": "import", "path": "/console/import", "wait": "main h1"},
        {"name": "settings", "path": "/console/settings", "wait": "main h1"},
    ]


def compress(folder: Path) -> None:
    """Write pictures with fewer colours, if Pillow is there."""
    if importlib.util.find_spec("PIL") is None:
        print("Pillow is not there: the pictures keep all of their colours.")
        return
    from PIL import Image

    for path in folder.glob("*.png"):
        with Image.open(path) as picture:
            small = picture.convert("RGB").quantize(COLOURS, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
        small.save(path, optimize=True)


def main() -> None:
    """Serve the shop, and take the pictures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, default=FOLDER)
    parser.add_argument("--only", default="", help="names of pages, with commas between them")
    given = parser.parse_args()
    if not BROWSER or not MODULES.is_dir():
        raise SystemExit("The pictures need a browser and the packages of tests/console: make console-pictures")
    sys.path.insert(0, str(EXAMPLES))
    console = importlib.import_module("console")
    with tempfile.TemporaryDirectory() as place, console.server(f"{place}/data") as running:
        shop = console.Shop(running)
        shown = shop.open(ORDERS)
        sfn = running.client("stepfunctions")
        until(lambda: sfn.describe_execution(executionArn=shown["retried"])["status"] == "SUCCEEDED")
        until(lambda: sfn.describe_execution(executionArn=shown["failed"])["status"] == "FAILED")
        until(lambda: sfn.describe_execution(executionArn=shown["map"])["status"] != "RUNNING")
        shown["run"] = sfn.list_map_runs(executionArn=shown["map"])["mapRuns"][0]["mapRunArn"]
        wanted = [one for one in pages(shown, shop.machines) if not given.only or one["name"] in given.only.split(",")]
        given.folder.mkdir(parents=True, exist_ok=True)
        work = Path(place) / "work"
        work.mkdir()
        (work / "node_modules").symlink_to(MODULES)
        (work / "package.json").write_text('{"type": "module"}')
        shutil.copy(HERE / "pictures.js", work)
        command = ["node", "pictures.js", BROWSER, running.endpoint, str(given.folder), json.dumps(wanted)]
        subprocess.run(command, cwd=work, check=True, timeout=10 * PATIENCE_SECONDS)
    compress(given.folder)


if __name__ == "__main__":
    main()
