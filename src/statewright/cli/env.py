"""`statewright env`: the variables that point AWS SDKs, the AWS CLI and Terraform at the server."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import click

import statewright
from statewright.cli.client import DEFAULT_ENDPOINT, command_words, endpoint_of
from statewright.cli.output import FAILED, OK, Stop, stderr, stdout

NOTES = (
    "JavaScript v3: make SFNClient with disableHostPrefix: true, for StartSyncExecution and TestState",
    "JavaScript v2 does not read AWS_ENDPOINT_URL, nor do programs with it, as the Serverless Framework 3: --node",
    "AWS CLI v1 ignores AWS_ENDPOINT_URL for SQS: statewright aws sqs ..., or --endpoint-url",
)
"""Clients that need more than these variables; `docs/clients.md` has all that were tried."""
_PRELOAD: Final = Path(statewright.__file__).parent / "functions" / "runtimes" / "node_endpoint.cjs"
SHELLS = ("sh", "fish", "powershell", "dotenv", "json")


def variables(endpoint: str, settings: str | None = None) -> dict[str, str]:
    """The variables to set. Credentials are the first that are configured, else dummies.

    SDKs put `sync-` in front of the endpoint's host for StartSyncExecution and TestState, a name that does not
    resolve. `AWS_DISABLE_HOST_PREFIX_INJECTION` stops that in recent versions of botocore and of the AWS CLI; `NOTES`
    says what other clients need.
    """
    from statewright.cli.serving.serve import config_of
    from statewright.credentials import endpoint_variables

    config = config_of(settings, None)
    key, secret = next(iter(config.credentials.items()), ("test", "test"))
    return {
        **endpoint_variables(endpoint),
        "AWS_ACCESS_KEY_ID": key,
        "AWS_SECRET_ACCESS_KEY": secret,
        "AWS_REGION": config.region,
        "AWS_DEFAULT_REGION": config.region,
        "AWS_EC2_METADATA_DISABLED": "true",
    }


def node_options(others: str) -> str:
    """The value of NODE_OPTIONS that gives the endpoint to version 2 of the JavaScript SDK, behind other options."""
    own = f'--require "{_PRELOAD.as_posix()}"'
    return others if own in others else f"{others} {own}".strip()


def default_endpoint() -> str:
    """The default address of the server."""
    return os.environ.get("STATEWRIGHT_ENDPOINT", DEFAULT_ENDPOINT)


@click.command(short_help="Print the variables that point AWS tools here.")
@click.option(
    "--endpoint",
    metavar="URL",
    help=f"Server address; default: STATEWRIGHT_ENDPOINT, {DEFAULT_ENDPOINT}.",
)
@click.option("--config", "settings", metavar="FILE", help="Settings file with the credentials to use.")
@click.option("--node", is_flag=True, help="Also set NODE_OPTIONS, for programs with version 2 of the JavaScript SDK.")
@click.option("--shell", type=click.Choice(SHELLS), default="sh", show_default=True, help="Output format.")
def env(endpoint: str | None, settings: str | None, node: bool, shell: str) -> None:
    """Print what to set so that AWS SDKs, the AWS CLI and Terraform talk to the server.

    \b
    Examples:
      statewright env --shell dotenv > .env
      eval "$(statewright env)"
      eval "$(statewright env --node)" && serverless deploy

    On a terminal, it also says which clients need more than variables.
    """
    named = variables(endpoint or default_endpoint(), settings)
    if node:
        named["NODE_OPTIONS"] = node_options(os.environ.get("NODE_OPTIONS", ""))
    printer = stdout()
    printer.plain(written(named, shell) + "\n")
    if printer.is_terminal:
        noted = stderr()
        if shell == "sh":
            noted.line((f'To set them in this shell: eval "$({command_words("env", endpoint)})"', "idle"))
        noted.line(("Some clients need more:", "idle"))
        for note in NOTES:
            noted.wrapped(note, "    ", "idle", first="  - ")


def written(named: Mapping[str, str], shell: str) -> str:
    """The variables in a shell's own syntax."""
    if shell == "json":
        import json

        return json.dumps(dict(named), indent=2)
    lines = {
        "sh": lambda name, value: f"export {name}={shlex.quote(value)}",
        "fish": lambda name, value: f"set -gx {name} {shlex.quote(value)}",
        "powershell": lambda name, value: "$env:{} = '{}'".format(name, value.replace("'", "''")),
        "dotenv": lambda name, value: f"{name}={value}",
    }
    return "\n".join(lines[shell](name, value) for name, value in named.items())


@click.command(
    short_help="Run the AWS CLI against the server.",
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
    add_help_option=False,
    options_metavar="",
)
@click.argument("arguments", metavar="AWS-COMMAND...", nargs=-1, type=click.UNPROCESSED)
@click.pass_context
def aws(context: click.Context, arguments: tuple[str, ...]) -> int:
    """Run the AWS CLI with the variables of `statewright env`. Everything after `aws` goes to the AWS CLI.

    \b
    Examples:
      statewright aws stepfunctions list-state-machines
      statewright aws s3 cp orders.csv s3://data/
      statewright aws help

    The server is where STATEWRIGHT_ENDPOINT, else AWS_ENDPOINT_URL says, else at http://127.0.0.1:4566. Exit code: the
    AWS CLI's.
    """
    if not arguments or arguments[0] in ("-h", "--help"):
        stdout().plain(context.get_help() + "\n")
        return OK
    program = _aws_cli()
    endpoint, _ = endpoint_of(None)
    environment = {**os.environ, **variables(endpoint)}
    # A profile of the real service would win over the credentials above.
    environment.pop("AWS_PROFILE", None)
    environment.pop("AWS_SESSION_TOKEN", None)
    import subprocess

    return subprocess.call([program, *addressed(arguments, endpoint), *arguments], env=environment)


def addressed(arguments: tuple[str, ...], endpoint: str) -> list[str]:
    """Options that the AWS CLI needs besides the variables: version 1 has addresses of its own for some services."""
    if arguments[:1] == ("sqs",) and "--endpoint-url" not in arguments:
        return ["--endpoint-url", endpoint]
    return []


def _aws_cli() -> str:
    import shutil
    import sys
    from pathlib import Path

    beside = Path(sys.executable).parent
    found = shutil.which("aws") or shutil.which("aws", path=str(beside))
    if found is None:
        raise Stop(FAILED, "the AWS CLI is not installed", "pip install awscli, or see https://aws.amazon.com/cli/")
    return found
