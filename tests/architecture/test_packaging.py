"""The files that run the server elsewhere: Dockerfile, compose.yaml, action.yml, the unit for systemd.

No container engine, no systemd and no runner of workflows is needed here: what the files name must exist in the
repository, options must be those of the command, and no server may run as root.
"""

from __future__ import annotations

import ast
import configparser
import json
import os
import re
import shlex
import shutil
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest
import yaml

from statewright.cli.commands import commands
from statewright.config import DEFAULT_PORT
from tests.deadlines import completed

ROOT = Path(__file__).parents[2]
IMAGES = re.compile(r"(python:3\.(11|12|13)-slim|postgres:1[4-7])")
"""Images with a tag, which exist for amd64 and arm64."""
Instruction = tuple[str, str]


def dockerfile() -> list[Instruction]:
    """The instructions of the Dockerfile, with continued lines joined."""
    text = "\n".join(line for line in (ROOT / "Dockerfile").read_text().splitlines() if not line.startswith("#"))
    found = [line.split(maxsplit=1) for line in re.sub(r"\\\n\s*", " ", text).splitlines() if line.strip()]
    return [(name, " ".join(rest.split())) for name, rest in found]


def last(name: str) -> str:
    """The last instruction of a name, which is the one that counts."""
    return [rest for one, rest in dockerfile() if one == name][-1]


def parsed(arguments: list[str]) -> dict[str, Any]:
    """The options of a command line of `statewright`. Raises: click.UsageError."""
    command = commands.commands[arguments[0]]
    return dict(command.make_context(arguments[0], arguments[1:]).params)


def compose() -> dict[str, Any]:
    document: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text())
    return document


def action() -> dict[str, Any]:
    document: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text())
    return document


# ---------------------------------------------------------------------- Dockerfile


def test_the_image_has_a_base_with_a_tag_and_no_root() -> None:
    bases = [rest.split()[0] for name, rest in dockerfile() if name == "FROM"]
    assert all(IMAGES.fullmatch(base) for base in bases), bases
    user, _, group = last("USER").partition(":")
    assert int(user) > 0
    assert int(group) > 0
    order = [name for name, _ in dockerfile()]
    assert not {"RUN", "COPY"} & set(order[order.index("USER") :])


def test_what_is_copied_is_there_and_in_the_context() -> None:
    kept = [line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")]
    for name, rest in dockerfile():
        if name == "COPY" and not rest.startswith("--from"):
            for source in rest.split()[:-1]:
                assert (ROOT / source).exists(), source
                assert any(fnmatch(source, pattern) for pattern in kept), f"{source} is not in the context"
    assert (ROOT / ".dockerignore").read_text().startswith("*\n")


def test_the_image_serves_and_keeps_everything_in_its_volume() -> None:
    assert json.loads(last("ENTRYPOINT")) == ["statewright"]
    options = parsed(json.loads(last("CMD")))
    assert (options["host"], options["data"], options["port"]) == ("0.0.0.0", last("VOLUME"), int(last("EXPOSE")))
    assert int(last("EXPOSE")) == DEFAULT_PORT


def test_its_health_check_asks_the_server() -> None:
    checked = json.loads(last("HEALTHCHECK").partition("CMD ")[2])
    assert checked[:2] == ["python", "-c"]
    ast.parse(checked[2])
    assert f"http://127.0.0.1:{last('EXPOSE')}/health" in checked[2]


# ---------------------------------------------------------------------- compose.yaml


def test_compose_starts_two_servers_on_one_database_and_one_volume() -> None:
    services = compose()["services"]
    servers = [services["server"], services["standby"]]
    for server in servers:
        options = parsed(server["command"])
        assert options["standby"] is True
        assert re.fullmatch(r"postgresql://(\w+)@postgres/(\w+)", options["store"])
        assert server["volumes"] == [f"data:{options['data']}"]
        assert (options["data"], options["host"]) == (last("VOLUME"), "0.0.0.0")
        assert (ROOT / server["build"] / "Dockerfile").is_file()
        assert server["depends_on"] == {"postgres": {"condition": "service_healthy"}}
        (port,) = server["ports"]
        assert port.startswith("127.0.0.1:")
        assert port.endswith(f":{last('EXPOSE')}")
        assert server["configs"][0]["target"] == f"{last('WORKDIR')}/statewright.toml"
        assert {server["configs"][0][key] for key in ("uid", "gid")} == set(last("USER").split(":"))
        assert server["configs"][0]["mode"] == 0o400
        assert "user" not in server
    assert len({server["ports"][0] for server in servers}) == 2


def test_what_compose_names_it_declares() -> None:
    document = compose()
    services = document["services"]
    mounted = {volume.split(":")[0] for service in services.values() for volume in service["volumes"]}
    assert mounted == set(document["volumes"])
    assert {one["source"] for name in ("server", "standby") for one in services[name]["configs"]} == set(
        document["configs"]
    )
    database = services["postgres"]
    assert IMAGES.fullmatch(database["image"])
    store = parsed(services["server"]["command"])["store"]
    user, name = re.findall(r"//(\w+)@postgres/(\w+)", store)[0]
    assert (database["environment"]["POSTGRES_USER"], database["environment"]["POSTGRES_DB"]) == (user, name)
    assert database["environment"]["POSTGRES_PASSWORD"] == services["server"]["environment"]["PGPASSWORD"]


def test_secrets_of_compose_come_from_outside_and_are_asked_for() -> None:
    text = (ROOT / "compose.yaml").read_text()
    asked = set(re.findall(r"\$\{(\w+):\?", text))
    assert asked == set(re.findall(r"\$\{(\w+)", text))
    documented = (ROOT / "docs" / "install.md").read_text()
    assert all(f"{name}=" in documented for name in asked)


# ---------------------------------------------------------------------- action.yml


def test_the_action_starts_the_script_with_every_input() -> None:
    document = action()
    (step,) = document["runs"]["steps"]
    assert (document["runs"]["using"], step["shell"]) == ("composite", "bash")
    path = re.findall(r"\$GITHUB_ACTION_PATH/([\w/-]+)", step["run"])[0]
    script = ROOT / path
    assert os.access(script, os.X_OK)
    given = {f"INPUT_{name.upper().replace('-', '_')}": f"${{{{ inputs.{name} }}}}" for name in document["inputs"]}
    assert step["env"] == given
    text = script.read_text()
    assert all(name in text for name in given)
    for name, output in document["outputs"].items():
        assert output["value"] == f"${{{{ steps.{step['id']}.outputs.{name} }}}}"
        assert f"{name}=%s" in text
    assert completed(["bash", "-n", script]).stderr == ""
    line = re.findall(r"statewright\" (serve [^$]*--port).*?(--data)", text)[0]
    assert parsed(shlex.split(f"{line[0]} 0 {line[1]} x"))["data"] == "x"


def test_the_example_workflow_uses_what_is_there() -> None:
    workflow = yaml.safe_load((ROOT / "packaging" / "workflow.yml").read_text())
    steps = workflow["jobs"]["test"]["steps"]
    (ours,) = [step for step in steps if "/statewright@" in step.get("uses", "")]
    assert ours["with"].keys() <= action()["inputs"].keys()
    parsed(["serve", *shlex.split(ours["with"]["options"])])
    lines = [line for step in steps for line in step.get("run", "").splitlines() if line.startswith("statewright ")]
    assert len(lines) == 4
    for line in lines:
        parsed(shlex.split(line)[1:])
    documented = (ROOT / "docs" / "install.md").read_text()
    assert all(f"| `{name}` |" in documented for name in action()["inputs"])


# ---------------------------------------------------------------------- systemd


def unit() -> configparser.ConfigParser:
    found = configparser.ConfigParser(strict=True, interpolation=None)
    found.optionxform = str  # type: ignore[assignment,method-assign]
    found.read(ROOT / "packaging" / "statewright.service")
    return found


def test_the_unit_runs_the_server_as_a_user_of_its_own_that_writes_its_state_alone() -> None:
    service = unit()["Service"]
    options = parsed(shlex.split(service["ExecStart"])[1:])
    assert options["data"] == f"/var/lib/{service['StateDirectory']}"
    assert service["WorkingDirectory"] == f"/etc/{service['ConfigurationDirectory']}"
    assert service["User"] not in ("root", "0", "nobody")
    assert (service["StateDirectoryMode"], service["UMask"]) == ("0700", "0077")
    assert int(service["TimeoutStopSec"]) > 30
    hardened = {"NoNewPrivileges": "yes", "ProtectSystem": "strict", "ProtectHome": "yes", "PrivateTmp": "yes"}
    assert {name: service[name] for name in hardened} == hardened
    assert service["CapabilityBoundingSet"] == ""
    # The isolation of handlers needs these.
    assert {"user", "mnt", "pid"} <= set(service["RestrictNamespaces"].split())
    assert not {"ProtectKernelTunables", "ProtectKernelLogs", "ProtectProc", "SystemCallFilter"} & set(service)


def documented(beginning: str) -> str:
    """The block of docs/high-availability.md that begins so, without its indent."""
    page = (ROOT / "docs" / "high-availability.md").read_text()
    (found,) = (block for block in re.split(r"\n(?=\S)", page) if beginning in block)
    lines = [line[4:] for line in found.splitlines() if line.startswith("    ") or not line.strip()]
    return "\n".join(lines).strip() + "\n"


def test_the_drop_in_of_a_standby_replaces_the_command_of_the_unit() -> None:
    drop_in = documented("ExecStart=\n    ExecStart=/opt")
    lines = [line for line in re.sub(r"\\\n\s*", "", drop_in).splitlines() if line.startswith("ExecStart=")]
    assert lines[0] == "ExecStart="
    options = parsed(shlex.split(lines[1].partition("=")[2])[1:])
    assert options["standby"]
    # Of all else the unit lets the server write nothing.
    assert f"ReadWritePaths={options['data']}" in drop_in.splitlines()


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="there is no systemd-analyze")
@pytest.mark.parametrize("is_standby", [False, True])
def test_systemd_understands_the_unit(tmp_path: Path, is_standby: bool) -> None:
    # The program and the user are made by the installation.
    def installed(text: str) -> str:
        return text.replace("/opt/statewright/bin/statewright", "/bin/true").replace("=statewright\n", "=daemon\n", 2)

    unit = tmp_path / "statewright.service"
    unit.write_text(installed((ROOT / "packaging" / "statewright.service").read_text()))
    if is_standby:
        folder = tmp_path / "statewright.service.d"
        folder.mkdir()
        (folder / "standby.conf").write_text(installed(documented("ExecStart=\n    ExecStart=/opt")))
    # Drop-ins are read from the folders of the manager alone.
    environment = {**os.environ, "SYSTEMD_UNIT_PATH": f"{tmp_path}:"}
    done = completed(["systemd-analyze", "verify", "statewright.service"], env=environment, cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


# ---------------------------------------------------------------------- the proxy in front of two servers


def test_the_proxy_of_compose_is_added_to_the_services_that_it_names() -> None:
    added = yaml.safe_load(documented("# compose.proxy.yaml"))["services"]
    assert not added.keys() & compose()["services"].keys()
    page = (ROOT / "docs" / "high-availability.md").read_text()
    named = re.findall(r"`server (?:one|two) (\w+):4566 check`", page)
    assert set(named) == {name for name, one in compose()["services"].items() if "--standby" in one.get("command", ())}


@pytest.mark.skipif(shutil.which("haproxy") is None, reason="there is no haproxy")
def test_haproxy_understands_its_configuration(tmp_path: Path) -> None:
    (tmp_path / "haproxy.cfg").write_text(documented("# /etc/haproxy/haproxy.cfg"))
    done = completed(["haproxy", "-c", "-f", tmp_path / "haproxy.cfg"])
    assert done.returncode == 0, done.stdout + done.stderr
