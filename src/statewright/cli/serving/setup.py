"""`statewright setup node-sdk`: the SDK for JavaScript, which the cloud's Node.js runtimes bring.

Owns the command and its refusals. Fetching is `sdk_fetching.py`'s; the folder is `functions/node_sdk.py`'s.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import click

from statewright.cli.output import FAILED, USAGE, Stop, reason_of, stdout

DATA_FOLDER: Final = ".statewright"
SETTINGS_FILE: Final = "statewright.toml"
SCOPE: Final = "@aws-sdk/"


@click.group(short_help="Fetch what functions need from elsewhere.")
def setup() -> None:
    """Fetch what functions need from elsewhere.

    \b
    Examples:
      statewright setup node-sdk
      statewright setup node-sdk --package @aws-sdk/client-textract
    """


@setup.command("node-sdk", short_help="Fetch the SDK for JavaScript that Node.js runtimes bring.")
@click.option("--data", metavar="DIR", default=DATA_FOLDER, show_default=True, help="The server's data folder.")
@click.option(
    "--config", "settings", metavar="FILE", help=f"Settings file; default: {SETTINGS_FILE} here, if it exists."
)
@click.option(
    "--package",
    "packages",
    multiple=True,
    metavar="NAME",
    help=f"Another package of version 3, {SCOPE}...; repeatable.",
)
@click.option("--only", type=click.Choice(["v3", "v2"]), help="Fetch this version alone.")
@click.option("--force", is_flag=True, help="Fetch again what is there.")
def node_sdk(data: str, settings: str | None, packages: tuple[str, ...], only: str | None, force: bool) -> None:
    """Fetch the SDK for JavaScript through npm, into the data folder: version 3 for functions of nodejs18.x and later,
    version 2 for earlier runtimes, together some 180 MB.

    The cloud's runtimes include it, so functions import it without having it in their package. Version 3 comes with
    the clients of the services that Statewright serves, and its helpers; --package adds another, which stays. A
    function's own packages and layers go before it. Versions are pinned; what is there already is not fetched again.

    \b
    Examples:
      statewright setup node-sdk
      statewright setup node-sdk --only v3 --data /var/lib/statewright
      statewright setup node-sdk --package @aws-sdk/client-textract
    """
    import shutil

    from statewright.cli.serving.sdk_fetching import Order
    from statewright.cli.serving.serve import config_of
    from statewright.files.data_folder import keep_private
    from statewright.functions.node_sdk import VERSIONS, node_sdk

    for name in packages:
        if not re.fullmatch(rf"{SCOPE}[a-z0-9-]+", name):
            raise Stop(USAGE, f"--package {name} is no package of the SDK.", f"name it in full: {SCOPE}client-textract")
    if packages and only == "v2":
        raise Stop(USAGE, "--package adds to version 3 of the SDK; version 2 is one package.")
    sdk = node_sdk(config_of(settings, None), Path(data))
    if sdk.is_plain:
        words = f"The setting node_modules of [functions] names {sdk.folder}, a folder of your own."
        raise Stop(USAGE, words, f"install there what functions need: npm install --prefix {sdk.folder.parent} aws-sdk")
    npm = shutil.which("npm")
    if npm is None:
        raise Stop(
            FAILED,
            "There is no npm on the PATH, which fetches the SDK for JavaScript.",
            "install Node.js 20 or newer, which comes with npm; or name a folder that has the SDK: node_modules under "
            f"[functions] in {SETTINGS_FILE}",
        )
    keep_private()
    for version in (only,) if only else VERSIONS:
        order = Order(npm, sdk.folder, version, tuple(sorted(packages)) if version == "v3" else ())
        try:
            order.carry_out(force=force)
        except OSError as problem:
            raise Stop(FAILED, f"{problem.filename or sdk.folder}: {reason_of(problem)}") from None
    stdout().line(f"Functions find it in {sdk.folder}, also those of a server that is running.")
