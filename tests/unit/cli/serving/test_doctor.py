from __future__ import annotations

import asyncio
import http.server
import threading
from pathlib import Path

import pytest

from statewright import __version__
from statewright.cli.client import ENDPOINT_VARIABLES
from statewright.cli.serving import doctor
from statewright.cli.serving.checks import Check
from statewright.cli.serving.data_checks import check_data
from statewright.config import Config, Endpoint
from statewright.stores.sqlite.store import SqliteStore
from tests.unit.cli.conftest import Run

NOBODY = "http://127.0.0.1:1"


@pytest.fixture(autouse=True)
def clean(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*ENDPOINT_VARIABLES, "AWS_PROFILE", "AWS_DISABLE_HOST_PREFIX_INJECTION"):
        monkeypatch.delenv(name, raising=False)


def test_nothing_is_in_the_way(statewright: Run):
    result = statewright("doctor", "--endpoint", NOBODY, "-o", "json")
    assert result.code == 0
    assert result.json["healthy"] is True
    checks = {one["name"]: one for one in result.json["checks"]}
    assert checks["python"]["status"] == "ok"
    assert checks["data"]["message"].startswith(".statewright does not exist yet")
    assert (checks["server"]["status"], checks["server"]["hint"]) == ("note", "start one: statewright serve --port 1")
    assert checks["operations"]["missingOperations"] == []
    assert "botocore" in checks["packages"]["packages"]
    table = statewright("doctor", "--endpoint", NOBODY).out
    assert table.endswith("\nNo problems found.\n")


def test_settings_with_a_mistake_are_a_problem(statewright: Run, folder: Path):
    (folder / "statewright.toml").write_text("regoin = 1\n")
    result = statewright("doctor", "--endpoint", NOBODY)
    assert result.code == 1
    assert "✗ settings" in result.out
    assert "1 problem found." in result.out


def test_who_has_the_data_folder(tmp_path: Path):
    async def look() -> list[Check]:
        store = SqliteStore(tmp_path / "data")
        await store.open("a test")
        while_open = check_data(tmp_path / "data")
        await store.close()
        return [while_open, check_data(tmp_path / "data")]

    held, free = asyncio.run(look())
    assert held.status == "ok"
    assert str(held.facts["inUseBy"]).endswith("(a test)")
    assert (free.facts["inUseBy"], free.facts["executions"]) == (None, 0)


def test_the_folder_of_a_server_on_postgresql_has_its_logs(tmp_path: Path):
    assert check_data(tmp_path).message == f"{tmp_path} is empty"
    (tmp_path / "store-id").write_text(f"{'0' * 32}\n")
    found = check_data(tmp_path)
    assert (found.status, found.facts["ofDatabase"]) == ("ok", True)
    assert "of a server on PostgreSQL: its logs are here alone" in found.message


@pytest.mark.parametrize(("state", "status"), [("exporting", "ok"), ("away", "problem"), ("refused", "problem")])
def test_the_export_of_logs(state: str, status: str):
    assert doctor.check_log_export(state).status == status


@pytest.mark.parametrize(("content", "said"), [(b"x" * 5000, "damaged"), (None, "is a file")])
def test_data_that_cannot_be_used(tmp_path: Path, content: bytes | None, said: str):
    folder = tmp_path / "data"
    if content is None:
        folder.write_text("")
    else:
        folder.mkdir()
        (folder / "statewright.db").write_bytes(content)
    found = check_data(folder)
    assert (found.status, said in found.message) == ("problem", True)


def test_a_server_that_is_not_ours():
    class Other(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"{}")

        def log_message(self, *_: object) -> None: ...

    with http.server.HTTPServer(("127.0.0.1", 0), Other) as server:
        thread = threading.Thread(target=server.handle_request)
        thread.start()
        found = doctor.check_server(f"http://127.0.0.1:{server.server_port}")
        thread.join()
    assert (found.status, "another form" in found.message) == ("problem", True)
    assert doctor.check_server("nonsense").status == "problem"


@pytest.mark.parametrize(
    ("status", "store", "shown", "said"),
    [
        ("ready", "sound", "ok", "ready"),
        ("standby", "unchecked", "note", "standby: another server has the store"),
        ("standby", "unavailable", "note", "standby: the store does not answer"),
        ("no lease", "sound", "problem", "it cannot prove that it has the store"),
    ],
)
def test_a_server_and_its_standby(monkeypatch: pytest.MonkeyPatch, status: str, store: str, shown: str, said: str):
    health = {"version": __version__, "status": status, "operations": {}, "store": store}
    monkeypatch.setattr(doctor, "_health", lambda _: health)
    found = doctor.check_server(NOBODY)
    assert (found.status, found.facts["status"]) == (shown, status)
    assert found.message.endswith(said)


def node(name: str, **more: object) -> dict[str, object]:
    return {"name": name, "address": f"http://{name}:4566", "isHome": name == "a", "cells": 16, **more}


@pytest.mark.parametrize(
    ("nodes", "status", "said"),
    [
        (
            [node("a", isAnswering=True, clockAheadMs=-500), node("b", isAnswering=True)],
            "ok",
            "a at http://a:4566, 16 cells, the home, clock -500 ms; b at http://b:4566, 16 cells",
        ),
        ([node("a", clockAheadMs=501), node("b", clockAheadMs=-501)], "note", "; the clocks of a, b are wrong"),
        (
            [node("a", version="0.1.0"), node("b", version="0.2.0")],
            "note",
            "the home, version 0.1.0; b at http://b:4566, 16 cells, version 0.2.0; an upgrade is under way",
        ),
        ([node("a", clockAheadMs=900), node("b", isAnswering=False)], "problem", "; no answer from b"),
    ],
)
def test_the_nodes_of_a_cluster(monkeypatch: pytest.MonkeyPatch, nodes: object, status: str, said: str):
    monkeypatch.setattr("statewright.cli.client.Server.call", lambda *_: {"nodes": nodes})
    found = doctor.check_nodes(NOBODY, "a")
    assert (found.status, found.message.endswith(said), found.facts["nodes"]) == (status, True, nodes)


def test_a_node_whose_cluster_has_no_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    health = {"version": __version__, "status": "no home", "operations": {}, "node": "a", "cells": 1, "home": None}
    monkeypatch.setattr(doctor, "_health", lambda _: health)
    found = {one.name: one for one in doctor.examine(tmp_path, None, NOBODY)}
    assert found["server"].status == found["nodes"].status == "problem"
    assert found["server"].message.endswith("no home, node a of a cluster: no node has the home")
    assert found["nodes"].message.startswith("the node a does not say which nodes there are: No Statewright server")


def test_a_node_without_a_lease(monkeypatch: pytest.MonkeyPatch):
    health = {"version": __version__, "status": "no lease", "operations": {}, "node": "a", "cells": 1, "home": None}
    monkeypatch.setattr(doctor, "_health", lambda _: health)
    found = doctor.check_server(NOBODY)
    assert (found.status, found.hint) == (
        "problem",
        "see whether PostgreSQL answers; another node takes over meanwhile",
    )


def test_a_server_that_cannot_use_its_bucket(monkeypatch: pytest.MonkeyPatch):
    health = {"version": __version__, "status": "ok", "operations": {}, "store": "sound", "bucket": "ok"}
    monkeypatch.setattr(doctor, "_health", lambda _: health)
    assert (doctor.check_server(NOBODY).status, doctor.check_server(NOBODY).facts["bucket"]) == ("ok", "ok")
    health["bucket"] = "unavailable"
    found = doctor.check_server(NOBODY)
    assert found.status == "problem"
    assert found.message.endswith("it cannot use its bucket")


def test_services_that_moto_played(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    health = {"version": __version__, "status": "ok", "operations": {}, "store": "sound"}
    monkeypatch.setattr(doctor, "_health", lambda _: health)
    assert "invented" not in [one.name for one in doctor.examine(tmp_path / "data", None, NOBODY)]
    monkeypatch.setattr(doctor, "_health", lambda _: {**health, "invented": ["athena", "glue"]})
    (found,) = [one for one in doctor.examine(tmp_path / "data", None, NOBODY) if one.name == "invented"]
    assert (found.status, found.facts) == ("note", {"services": ["athena", "glue"]})
    assert found.message.startswith("moto has played athena, glue: ")


def test_mappings_that_are_behind_their_stream(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    lagging = [{"mapping": "5f0c", "behindSeconds": 75}]
    health = {"version": __version__, "status": "ok", "operations": {}, "store": "sound", "lagging": lagging}
    monkeypatch.setattr(doctor, "_health", lambda _: health)
    (found,) = [one for one in doctor.examine(tmp_path / "data", None, NOBODY) if one.name == "streams"]
    assert (found.status, found.facts) == ("note", {"mappings": lagging})
    assert found.message == "the mapping 5f0c is 75 s behind its stream"


def test_packages_that_are_missing():
    found = doctor.check_packages(lambda: ["click>=8", "no-such-package>=1; extra == 'dev'", "nor-this>=2"])
    assert (found.status, found.message) == ("problem", "missing: nor-this")


def test_the_environment(monkeypatch: pytest.MonkeyPatch):
    assert "do not use this server" in doctor.check_environment().message
    monkeypatch.setenv("AWS_ENDPOINT_URL", NOBODY)
    assert "a host that does not exist" in doctor.check_environment().message
    monkeypatch.setenv("AWS_DISABLE_HOST_PREFIX_INJECTION", "true")
    assert doctor.check_environment().status == "ok"
    monkeypatch.setenv("AWS_PROFILE", "work")
    assert doctor.check_environment().status == "note"


def test_what_is_configured():
    config = Config(credentials={"AKID": "s"}, endpoints={"sqs": Endpoint("http://q:1")})
    assert doctor.check_credentials(config, Path("none")).facts == {"accessKeys": ["AKID"], "hosts": "any"}
    assert "sqs at http://q:1" in doctor.check_integrations(config).message


def test_what_is_served_and_who_plays_the_rest():
    served = doctor.check_operations()
    assert served.message.startswith("Step Functions 37 of 37, ")
    assert served.facts["services"]["sqs"] == {"served": 23, "known": 23}
    moto = doctor.check_integrations(Config())
    assert "activities, http, states" in moto.message
    assert "lambda" in moto.message
    assert moto.message.endswith("others: moto, whose results are invented and whose state is volatile")
    alone = doctor.check_integrations(Config(volatile=False))
    assert alone.status == "note"
    assert alone.message.endswith("others: none, their tasks fail")
    assert doctor.check_integrations(Config(endpoints={"default": Endpoint("http://d:1")})).hint is None
