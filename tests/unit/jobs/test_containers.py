"""From a definition to what is run, on this machine and in an engine."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from statewright.config import Config, parse_config
from statewright.jobs.containers import Container, Machine
from statewright.jobs.processes import ProcessRequest
from statewright.jobs.sizes import Sizes
from statewright.settings.reader import ConfigError
from statewright.settings.server import JobSettings, RayNeeds, RaySettings


def request_of(container: Container, **settings) -> Callable[[Path], ProcessRequest]:
    machine = Machine(Config(jobs=JobSettings(**settings)), lambda: "http://127.0.0.1:1")
    return asyncio.run(machine.request(container, "id", "unique"))


def test_a_command_runs_here_in_a_folder_of_its_own(tmp_path):
    container = Container("c", "image", ["/bin/sh"], ["-c", "x"], {"A": "1", "AWS_REGION": "eu-west-1"})
    request = request_of(container)(tmp_path)
    assert request.argv == ["/bin/sh", "-c", "x"]
    assert (request.cwd, request.env["HOME"], request.stop_seconds) == (str(tmp_path), str(tmp_path), 30)
    assert request.env["A"] == "1"
    assert (request.env["AWS_REGION"], request.env["AWS_DEFAULT_REGION"]) == ("eu-west-1", "us-east-1")
    assert request.env["PATH"].endswith(str(Path(sys.executable).parent))
    assert request.kill is None


def test_an_image_may_stand_for_a_folder(tmp_path):
    found = request_of(Container("c", "mine:1", (), ["x"]), images={"mine:1": str(tmp_path)})
    assert found(tmp_path / "work").cwd == str(tmp_path)


def test_an_engine_gets_the_image_and_no_value_among_its_arguments(tmp_path):
    container = Container("c", "image", ["a", "b"], ["c"], {"SECRET": "s3cr3t"}, "/src", "nobody")
    request = request_of(container, engine="docker")(tmp_path)
    assert request.argv[:4] == ["docker", "run", "--rm", "--name"]
    assert request.argv[-3:] == ["image", "b", "c"]
    for name, value in (("--entrypoint", "a"), ("--workdir", "/src"), ("--user", "nobody"), ("--name", "unique")):
        assert request.argv[list(request.argv).index(name) + 1] == value
    assert "SECRET" in request.argv
    assert "s3cr3t" not in " ".join(request.argv)
    assert request.env["SECRET"] == "s3cr3t"
    assert request.kill == ["docker", "kill", "unique"]


def test_an_image_without_a_command_cannot_run_here(tmp_path):
    with pytest.raises(OSError, match="neither command nor entryPoint"):
        request_of(Container("c", "image"))(tmp_path)


def on_ray(container: Container, tmp_path: Path, **settings) -> ProcessRequest:
    ray = RaySettings(needs=RayNeeds(0.5, 0, 100, {"disk": 1}))
    config = Config(jobs=JobSettings(backend="ray", **settings), ray=ray)
    machine = Machine(config, lambda: "http://127.0.0.1:1", is_on_ray=True)
    return asyncio.run(machine.request(container, "id", "unique"))(tmp_path)


def test_a_node_adds_its_own_path_and_folder(tmp_path):
    container = Container("c", "image", ["/bin/sh"], ["-c", "x"], {"A": "1"}, "/srv", sizes=lambda: Sizes(2, None, 1))
    request = on_ray(container, tmp_path)
    assert (request.argv, request.cwd, request.cwd_of) == (["/bin/sh", "-c", "x"], "/srv", "")
    assert request.needs == RayNeeds(2, 1, 100, {"disk": 1})
    assert request.env["A"] == "1"
    assert {"PATH", "HOME"}.isdisjoint(request.env)
    found = on_ray(Container("c", "mine:1", (), ["x"]), tmp_path, images={"mine:1": str(tmp_path)})
    assert (found.cwd, found.cwd_of) == (str(tmp_path), "mine:1")
    assert found.needs == RayNeeds(0.5, 0, 100, {"disk": 1})


def wrong() -> Sizes:
    raise ValueError("cpu is large, which is no number of its kind")


@pytest.mark.parametrize(
    ("container", "words"),
    [
        (Container("c", "image"), "neither command nor entryPoint.*because Ray nodes run no images"),
        (Container("c", "image", (), ["x"], sizes=wrong), "the container c cannot be placed: cpu is large"),
    ],
)
def test_what_ray_cannot_run(tmp_path, container, words):
    with pytest.raises(OSError, match=words):
        on_ray(container, tmp_path)


def test_settings_are_read():
    found = parse_config('[jobs]\nengine = "podman"\nslots = 3\n[jobs.images]\n"a:1" = "./a"\n').jobs
    assert found == JobSettings("podman", 3, {"a:1": "./a"})


@pytest.mark.parametrize(
    ("text", "said"),
    [("[jobs]\nslots = -1", "jobs.slots must be"), ("[jobs]\nengine = 1", "jobs.engine"), ("[jobs]\nx = 1", "jobs.x")],
)
def test_invalid_settings_are_refused(text, said):
    with pytest.raises(ConfigError, match=said):
        parse_config(text)
