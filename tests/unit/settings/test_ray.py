"""`[ray]`, and what else chooses the place of handlers."""

from __future__ import annotations

import pytest

from statewright.config import parse_config
from statewright.settings.reader import ConfigError
from statewright.settings.server import RayNeeds


def test_a_ray_cluster():
    found = parse_config(
        """
        [functions]
        backend = "ray"
        [ray]
        address = "ray://head.example:10001"
        endpoint = "http://10.0.0.5:4566/"
        num_cpus = 0.5
        resources = { disk = 1 }
        [ray.functions.score]
        num_gpus = 1
        memory = 2048
        resources = {}
        """
    )
    assert found.functions.backend == "ray"
    assert (found.ray.address, found.ray.endpoint) == ("ray://head.example:10001", "http://10.0.0.5:4566")
    assert found.ray.needs_of("other") == RayNeeds(0.5, resources={"disk": 1.0})
    assert found.ray.needs_of("score") == RayNeeds(0.5, 1.0, 2048)
    assert (parse_config("").functions.backend, parse_config("").jobs.backend) == ("local", "local")
    assert parse_config('[jobs]\nbackend = "ray"').jobs.backend == "ray"


@pytest.mark.parametrize(
    ("text", "where", "what"),
    [
        ('[functions]\nbackend = "dask"', "2:", "must be one of local, ray"),
        ('[functions]\nbackend = "ray"\nisolation = "namespaces"', "3:", "not fenced by namespaces"),
        ('[jobs]\nbackend = "kubernetes"', "2:", "must be one of local, ray"),
        ('[jobs]\nbackend = "ray"\nengine = "docker"', "3:", "and no images"),
        ('[ray]\naddress = "somewhere"', "2:", 'must be "auto", "local", "HOST:PORT" or "ray://HOST:PORT"'),
        ('[ray]\naddress = "head:65536"', "2:", 'must be "auto", "local", "HOST:PORT" or "ray://HOST:PORT"'),
        ('[ray]\nendpoint = "http://10.0.0.7:65536"', "2:", "must be an address such as"),
        ('[ray]\nfolder = "here"', "2:", "must be an absolute path on the Ray nodes"),
        ('[ray]\nendpoint = "10.0.0.5"', "2:", "must be an address such as"),
        ('[ray]\npython = "python3"', "2:", "must be the absolute path of an interpreter"),
        ("[ray]\nnum_cpus = -1", "2:", "must be a number, 0 or more"),
        ("[ray]\nnum_gpus = true", "2:", "must be a number, 0 or more"),
        ("[ray]\nmemory = 1.5", "2:", "must be a whole number of MiB"),
        ("[ray]\nresources = { GPU = 1 }", "2:", "has a key of its own: num_gpus"),
        ("[ray.functions.f]\ncpus = 1", "2:", "is not a setting; did you mean num_cpus?"),
    ],
)
def test_wrong_settings_of_ray_are_refused(text, where, what):
    with pytest.raises(ConfigError) as refused:
        parse_config(text, "f.toml")
    assert str(refused.value).startswith(f"f.toml:{where}")
    assert what in str(refused.value)
