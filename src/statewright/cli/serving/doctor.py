"""`statewright doctor`: the version, abilities and problems of this installation.

Owns the command, and the checks of the installation, the server and the settings; those of the data folder are in
`data_checks.py`. No check changes anything.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from statewright import __version__
from statewright.cli.client import ENDPOINT_VARIABLES, endpoint_of, endpoint_option, serve_hint
from statewright.cli.output import FAILED, OK, Stop, Tone, count_words, stdout
from statewright.cli.serving.checks import Check
from statewright.cli.serving.data_checks import check_data, check_privacy

if TYPE_CHECKING:
    from statewright.config import Config

DATA_FOLDER: Final = ".statewright"
SETTINGS_FILE: Final = "statewright.toml"
OLDEST_PYTHON: Final = (3, 11)
HEALTH_SECONDS: Final = 2.0
NODES_SECONDS: Final = 10.0
"""For a node to answer which nodes there are: longer than the home takes to move."""
MOST_CLOCK_MS: Final = 500
"""By which the clock of a node may differ from the database's without a word."""

_MARKS: Final[dict[str, tuple[str, Tone]]] = {"ok": ("✓", "ok"), "note": ("○", "wait"), "problem": ("✗", "fail")}


@click.command(short_help="Check this installation and report problems.")
@click.option("--data", metavar="DIR", default=DATA_FOLDER, show_default=True, help="The server's data folder.")
@click.option(
    "--config", "settings", metavar="FILE", help=f"Settings file; default: {SETTINGS_FILE} here, if it exists."
)
@click.option("-o", "--output", "form", type=click.Choice(["table", "json"]), default="table", help="Output format.")
@endpoint_option
def doctor(data: str, settings: str | None, form: str, endpoint: str | None) -> int:
    """Check Python, packages, the data folder, the server, the settings, and what is served here.

    \b
    Examples:
      statewright doctor
      statewright doctor --data /var/lib/statewright -o json

    Exit code: 0 nothing is in the way, 1 something is.
    """
    checks = list(examine(Path(data), settings, endpoint))
    problems = sum(check.status == "problem" for check in checks)
    printer = stdout()
    if form == "json":
        shown = [
            {"name": one.name, "status": one.status, "message": one.message, "hint": one.hint, **one.facts}
            for one in checks
        ]
        printer.json({"version": __version__, "healthy": not problems, "checks": shown})
    else:
        width = max(len(one.name) for one in checks)
        for one in checks:
            mark, tone = _MARKS[one.status]
            printer.folded([(f"{mark} ", tone), (f"{one.name:<{width}}  ", "strong"), one.message], " " * (width + 4))
            if one.hint:
                indent = " " * (width + 4)
                printer.wrapped(one.hint, indent + "      ", "idle", first=f"{indent}hint: ")
        printer.line()
        words = f"{count_words(problems, 'problem')} found." if problems else "No problems found."
        printer.line((words, "fail" if problems else "ok"))
    return FAILED if problems else OK


def examine(data: Path, settings: str | None, endpoint: str | None) -> Iterator[Check]:
    """Every check, in the order in which one goes wrong because of another."""
    yield check_python()
    yield check_packages()
    yield check_sqlite()
    yield check_data(data)
    yield check_privacy(data)
    config: Config | None = None
    try:
        config = _config(settings)
    except Stop as problem:
        yield Check("settings", "problem", problem.message, f"correct {settings or SETTINGS_FILE}")
    server = check_server(endpoint)
    yield server
    if server.facts.get("node"):
        yield check_nodes(endpoint, server.facts["node"])
    if config is not None:
        yield check_settings(config, settings)
        yield check_credentials(config, Path(settings or SETTINGS_FILE))
        yield check_isolation(config)
        if config.jobs.backend == "ray":
            yield check_jobs(config)
        yield check_node_sdk(config, data)
        yield check_policies()
    yield check_environment()
    yield check_operations()
    if config is not None:
        yield check_integrations(config)
    if server.facts.get("invented"):
        yield check_invented(server.facts["invented"])
    if server.facts.get("lagging"):
        yield check_lagging(server.facts["lagging"])
    if server.facts.get("ray"):
        yield check_ray(server.facts["ray"])
    if server.facts.get("logExport"):
        yield check_log_export(server.facts["logExport"])
    yield check_aws_cli()


def _config(settings: str | None) -> Config:
    from statewright.cli.serving.serve import config_of

    return config_of(settings, None)


# ------------------------------------------------------------------ this installation


def check_python() -> Check:
    """The interpreter's version."""
    version = ".".join(map(str, sys.version_info[:3]))
    facts = {"version": version, "executable": sys.executable}
    if sys.version_info < OLDEST_PYTHON:
        wanted = ".".join(map(str, OLDEST_PYTHON))
        return Check("python", "problem", f"{version} is too old", f"install Python {wanted} or newer", facts)
    return Check("python", "ok", f"{version} ({sys.executable})", facts=facts)


def check_packages(requires: Callable[[], list[str]] | None = None) -> Check:
    """The dependencies of Statewright on this platform."""
    from importlib.metadata import PackageNotFoundError, version
    from importlib.metadata import requires as requires_of

    try:
        wanted = requires() if requires is not None else requires_of("statewright") or []
    except PackageNotFoundError:
        return Check("packages", "note", "Statewright is not installed as a package, so its dependencies are unknown")
    found: dict[str, str | None] = {}
    for requirement in wanted:
        text, _, marker = requirement.partition(";")
        if "extra" in marker or ("win32" in marker and sys.platform == "win32"):
            continue
        name = text.strip()
        for stop in "<>=!~[ (":
            name = name.partition(stop)[0]
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = None
    missing = [name for name, installed in found.items() if installed is None]
    facts = {"packages": found}
    if missing:
        hint = "install Statewright again: python -m pip install --force-reinstall statewright"
        return Check("packages", "problem", f"missing: {', '.join(missing)}", hint, facts)
    return Check("packages", "ok", ", ".join(f"{name} {number}" for name, number in found.items()), facts=facts)


def check_sqlite() -> Check:
    """The SQLite that Python was built with."""
    import sqlite3

    from statewright.stores.sqlite.file import OLDEST_SQLITE

    version = sqlite3.sqlite_version
    if sqlite3.sqlite_version_info < OLDEST_SQLITE:
        wanted = ".".join(map(str, OLDEST_SQLITE))
        hint = f"a store on disk needs {wanted}: use a newer Python, or --store memory"
        return Check("sqlite", "problem", f"{version} is too old", hint, {"version": version})
    return Check("sqlite", "ok", version, facts={"version": version})


def check_aws_cli() -> Check:
    """Check that the AWS CLI is installed, which `statewright aws` runs."""
    from statewright.cli.env import _aws_cli

    try:
        return Check("aws cli", "ok", _aws_cli())
    except Stop:
        return Check("aws cli", "note", "not installed; only statewright aws needs it", "pip install awscli")


# ------------------------------------------------------------------ the server and its settings


def check_server(option: str | None) -> Check:
    """Check that a Statewright server answers at the endpoint."""
    endpoint, source = endpoint_of(option)
    facts: dict[str, Any] = {"endpoint": endpoint, "endpointFrom": source, "serverVersion": None}
    where = endpoint if source == "default" else f"{endpoint} (from {source})"
    from statewright.integrations.http_requests import NoAnswer

    try:
        found = _health(endpoint)
    except (NoAnswer, ValueError) as failed:
        problem = failed.cause if isinstance(failed, NoAnswer) else failed
        if isinstance(problem, ConnectionRefusedError):
            return Check("server", "note", f"no server listens at {where}", serve_hint(endpoint), facts)
        return Check("server", "problem", f"{where} is not a Statewright server: {problem}", facts=facts)
    facts["serverVersion"] = found.get("version")
    facts["status"] = found["status"]
    facts["store"] = found.get("store")
    facts["bucket"] = found.get("bucket")
    facts["invented"] = found.get("invented", [])
    facts["lagging"] = found.get("lagging", [])
    facts["ray"] = found.get("ray")
    facts["logExport"] = found.get("log_export")
    facts["node"] = found.get("node")
    if found.get("store") == "damaged":
        return Check("server", "problem", f"{where}: its store is damaged", "stop it and restore a backup", facts)
    if found["status"] == "no lease":
        other = "another node" if found.get("node") else "the standby"
        hint = f"see whether PostgreSQL answers; {other} takes over meanwhile"
        return Check("server", "problem", f"{where}: it cannot prove that it has the store", hint, facts)
    if found.get("bucket") == "unavailable":
        hint = "see the server's log for the reason; calls that need bytes of the bucket get 503 meanwhile"
        return Check("server", "problem", f"{where}: it cannot use its bucket", hint, facts)
    words = f"{where}, version {found.get('version')}, {found['status']}"
    if found.get("node"):
        words += f", node {found['node']} of a cluster"
    if found["status"] == "no home":
        hint = "another node takes it within seconds; if none does, see the logs of the nodes"
        return Check("server", "problem", f"{words}: no node has the home", hint, facts)
    if found["status"] == "standby":
        waits = "the store does not answer" if found.get("store") == "unavailable" else "another server has the store"
        return Check("server", "note", f"{words}: {waits}", "name the other server: --endpoint", facts)
    if found.get("version") != __version__:
        return Check("server", "note", words, f"these commands are of version {__version__}", facts)
    return Check("server", "ok", words, facts=facts)


def check_nodes(option: str | None, asked: str) -> Check:
    """Check the nodes of the cluster: whether each answers the home, and whether its clock is right."""
    from statewright.cli.client import OWN_SERVICE, Server

    try:
        with Server(option, service=OWN_SERVICE, answer_seconds=NODES_SECONDS) as server:
            found = server.call("list_nodes")["nodes"]
    except Stop as problem:
        words = f"the node {asked} does not say which nodes there are: {problem.message}"
        return Check("nodes", "problem", words, problem.hint, {"nodes": []})
    facts = {"nodes": found}
    versions = {one["version"] for one in found if "version" in one}
    words = "; ".join(
        f"{one['name']} at {one['address']}, {count_words(one['cells'], 'cell')}"
        + (", the home" if one["isHome"] else "")
        + (f", version {one['version']}" if len(versions) > 1 and "version" in one else "")
        + (f", clock {one['clockAheadMs']:+,} ms" if "clockAheadMs" in one else "")
        for one in found
    )
    silent = [one["name"] for one in found if not one.get("isAnswering", True)]
    if silent:
        hint = "see whether the node with the home reaches their addresses: --advertise"
        return Check("nodes", "problem", f"{words}; no answer from {', '.join(silent)}", hint, facts)
    wrong = [one["name"] for one in found if abs(one.get("clockAheadMs", 0)) > MOST_CLOCK_MS]
    if wrong:
        hint = "set them, with NTP for example: nodes refuse calls of others that differ by more than 30 s"
        return Check("nodes", "note", f"{words}; the clocks of {', '.join(wrong)} are wrong", hint, facts)
    if len(versions) > 1:
        hint = "to end the upgrade, stop the nodes of the old version: docs/cluster.md"
        return Check("nodes", "note", f"{words}; an upgrade is under way", hint, facts)
    return Check("nodes", "ok", words, facts=facts)


def _health(endpoint: str) -> dict[str, Any]:
    """The answer of `/health`. Raises: NoAnswer; ValueError for another program's answer."""
    import json
    from urllib.parse import urlsplit

    from statewright.integrations.http_client import HttpClient
    from statewright.integrations.http_requests import Request

    parts = urlsplit(endpoint)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("an endpoint is an address such as http://127.0.0.1:4566")
    request = Request("GET", f"{parts.scheme}://{parts.netloc}/health", {}, None)
    answer = json.loads(HttpClient().send(request, 65_536, HEALTH_SECONDS).body)
    if not isinstance(answer, dict) or "status" not in answer or "operations" not in answer:
        raise ValueError("its /health has another form")
    return answer


def check_settings(config: Config, settings: str | None) -> Check:
    """Which settings are in force."""
    path = Path(settings or SETTINGS_FILE)
    facts = {
        "file": str(path) if path.is_file() else None, "account": config.account, "region": config.region,
        "limits": config.limits.profile, "connections": sorted(config.connections),
    }  # fmt: skip
    words = f"account {config.account}, region {config.region}, limits {config.limits.profile}"
    return Check("settings", "ok", f"{path}: {words}" if path.is_file() else f"defaults: {words}", facts=facts)


def check_credentials(config: Config, settings: Path) -> Check:
    """Check the access keys: which callers and addresses are accepted, and who can read the secrets."""
    from statewright.files.data_folder import is_open

    count = len(config.credentials)
    facts = {"accessKeys": sorted(config.credentials), "hosts": "any" if count else "loopback"}
    if count:
        words = (
            f"{count_words(count, 'access key')}: every signature is verified, and the server may listen on any address"
        )
        if is_open(settings):
            words = f"other users of this machine can read the secrets in {settings}"
            return Check("credentials", "problem", words, f"chmod 600 {settings}", facts)
    else:
        words = "none: any credentials are accepted, and the server listens only on loopback addresses"
    return Check("credentials", "ok", words, facts=facts)


def check_isolation(config: Config) -> Check:
    """Check how handlers are kept from the server and the machine, and why they are not kept better."""
    from statewright.functions.workers.isolation import CannotIsolate, isolation
    from statewright.functions.workers.ray_link import NoRay, check_installed

    if config.functions.backend == "ray":
        try:
            check_installed(config.ray)
        except NoRay as problem:
            return Check("isolation", "problem", str(problem), facts={"level": None})
        words = f"handlers run on the Ray cluster at {config.ray.address}, not fenced by namespaces"
        return Check("isolation", "note", words, facts={"level": "ray"})
    try:
        found = isolation(config.functions.isolation)
    except CannotIsolate as problem:
        return Check("isolation", "problem", str(problem), facts={"level": None})
    facts = {"level": found.level, "reason": found.reason or None}
    words = f"handlers run at the level {found.level}" + (f" ({found.reason})" if found.reason else "")
    if os.geteuid() == 0:
        hint = "run the server as a user of its own: handlers that break out of their isolation are root here"
        return Check("isolation", "note", words, hint, facts)
    return Check("isolation", "note" if found.reason else "ok", words, facts=facts)


def check_jobs(config: Config) -> Check:
    """Check that jobs can run on Ray, as the settings say."""
    from statewright.functions.workers.ray_link import NoRay, check_installed

    try:
        check_installed(config.ray)
    except NoRay as problem:
        return Check("jobs", "problem", str(problem))
    return Check("jobs", "ok", f"ECS tasks and Batch jobs run on the Ray cluster at {config.ray.address}")


def check_node_sdk(config: Config, data: Path) -> Check:
    """Look for Node.js and the SDK for JavaScript, which the cloud's Node.js runtimes bring."""
    import shutil

    from statewright.functions.node_sdk import VERSIONS, node_sdk

    sdk, node = node_sdk(config, data), shutil.which("node")
    found = sdk.versions()
    facts = {"node": node, "folder": str(sdk.folder), "versions": found}
    if node is None:
        return Check("node", "note", "no node on the PATH: functions for Node.js cannot run", facts=facts)
    shown = ", ".join(f"version {version[1:]} ({number})" for version, number in found.items())
    if sdk.is_plain:
        words = f"functions for Node.js find {shown or 'no SDK'} in {sdk.folder}"
        return Check("node", "ok" if found else "note", words, facts=facts)
    missing = [version for version in VERSIONS if version not in found]
    if not missing:
        return Check("node", "ok", f"the SDK for functions of Node.js: {shown}", facts=facts)
    words = "the SDK for JavaScript, which the cloud's runtimes bring, is not there"
    if found:
        words = f"of the SDK for JavaScript, which the cloud's runtimes bring, there is only {shown}"
    return Check("node", "note", words, f"fetch it: {sdk.command}", facts)


def check_policies() -> Check:
    """State that policies are not enforced."""
    words = "roles and policies are kept and shown, never enforced: every accepted caller may do everything"
    return Check("policies", "ok", words, facts={"enforced": False})


def check_environment() -> Check:
    """Variables that lead AWS tools elsewhere, or to an address that does not exist."""
    endpoint = next((name for name in ENDPOINT_VARIABLES[1:] if os.environ.get(name)), None)
    prefix = os.environ.get("AWS_DISABLE_HOST_PREFIX_INJECTION", "").lower() == "true"
    facts = {
        "endpointVariable": endpoint, "hostPrefixDisabled": prefix, "profile": os.environ.get("AWS_PROFILE"),
    }  # fmt: skip
    if endpoint is None:
        words = "AWS tools in this shell do not use this server"
        return Check("environment", "note", words, 'to change that: eval "$(statewright env)"', facts)
    if not prefix:
        words = f"{endpoint} is set, but StartSyncExecution and TestState would go to a host that does not exist"
        return Check("environment", "note", words, 'set the rest, too: eval "$(statewright env)"', facts)
    if facts["profile"]:
        hint = "unset AWS_PROFILE: its settings may override the variables"
        return Check(
            "environment", "note", f"AWS tools use this server, with the profile {facts['profile']}", hint, facts
        )
    return Check("environment", "ok", f"AWS tools use this server ({endpoint})", facts=facts)


# ------------------------------------------------------------------ what is served


def check_operations() -> Check:
    """Which operations of each service are served, and which of Step Functions are not."""
    from statewright.api import operations, shapes
    from statewright.api.services import SERVICES

    served = {one.name: operations.registered(one.name) for one in SERVICES}
    counts = {
        name: {"served": len(found), "known": len(shapes.operation_names(name))} for name, found in served.items()
    }
    missing = sorted(set(shapes.operation_names("states")) - set(served["states"]))
    facts = {"operations": served["states"], "missingOperations": missing, "services": counts}
    words = ", ".join(f"{one.title} {counts[one.name]['served']} of {counts[one.name]['known']}" for one in SERVICES)
    if missing:
        return Check("operations", "note", f"{words}; missing: {', '.join(missing)}", facts=facts)
    return Check("operations", "ok", words, facts=facts)


def check_invented(services: list[str]) -> Check:
    """The services that moto has played for the running server."""
    words = f"moto has played {', '.join(services)}: results of jobs, queries and models are invented"
    hint = f"for real ones, name their endpoints in {SETTINGS_FILE}: see [endpoints]"
    return Check("invented", "note", words, hint, {"services": services})


def check_lagging(found: list[dict[str, Any]]) -> Check:
    """The event source mappings of streams that are behind."""
    said = [f"the mapping {one['mapping']} is {one['behindSeconds']} s behind its stream" for one in found]
    hint = f"look at it: statewright aws lambda get-event-source-mapping --uuid {found[0]['mapping']}"
    return Check("streams", "note", "; ".join(said), hint, {"mappings": found})


def check_ray(found: dict[str, Any]) -> Check:
    """The Ray cluster on which the server runs handlers or jobs."""
    if found["state"] == "lost":
        hint = "invocations fail and jobs wait until it is back; the server tries again by itself"
        return Check("ray", "problem", found.get("problem", "the Ray cluster is lost"), hint, found)
    if found["state"] != "connected":
        return Check("ray", "note", f"the server connects to the Ray cluster at {found['address']}", facts=found)
    words = f"{found['nodes']} nodes with {found['cpus']:g} CPUs at {found['address']}, Ray {found['ray']}"
    return Check("ray", "ok", words, facts=found)


def check_log_export(state: str) -> Check:
    """The export of logs by OTLP."""
    facts = {"state": state}
    if state == "away":
        hint = "see the server's log for the reason; events wait in their files until these are rotated"
        return Check("log export", "problem", "the collector does not answer, or is overloaded", hint, facts)
    if state == "refused":
        hint = "see the server's log for the reason, which may be the address or the headers under [logs]"
        return Check("log export", "problem", "the collector refuses log records, and they are dropped", hint, facts)
    return Check("log export", "ok", "the collector accepts log records", facts=facts)


def check_integrations(config: Config) -> Check:
    """The tasks that run here, those that go to another endpoint, and the stand-in for all other services."""
    from importlib.util import find_spec

    from statewright.api.services import SERVICES
    from statewright.api.states.service import SERVICE as STATES

    own = [one.name for one in SERVICES if one is not STATES]
    endpoints = {name: endpoint.url for name, endpoint in sorted(config.endpoints.items())}
    played = config.volatile and find_spec("moto") is not None
    facts = {
        "local": ["activities", "http", "states", "aws-sdk:sfn", *own], "endpoints": endpoints, "volatile": played,
    }  # fmt: skip
    here = f"here: activities, http, states, {', '.join(own)}"
    if endpoints:
        here += "; elsewhere: " + ", ".join(f"{name} at {url}" for name, url in endpoints.items())
    if "default" in endpoints:
        return Check("integrations", "ok", here, facts=facts)
    if played:
        return Check(
            "integrations",
            "ok",
            f"{here}; others: moto, whose results are invented and whose state is volatile",
            facts=facts,
        )
    hint = f"install moto (pip install 'statewright[aws]'), or name an endpoint in {SETTINGS_FILE}: see [endpoints]"
    return Check("integrations", "note", f"{here}; others: none, their tasks fail", hint, facts)
