"""The destination of logs: from the settings alone, or from the environment where they ask for it."""

from __future__ import annotations

import pytest

from statewright.config import parse_config
from statewright.log_export.settings import CannotExport, Destination, destination_of
from statewright.settings.reader import ConfigError
from statewright.settings.server import LogExportSettings

ENVIRONMENT = {
    "OTEL_EXPORTER_OTLP_ENDPOINT": "http://any:4318/otlp/",
    "OTEL_EXPORTER_OTLP_HEADERS": "a=1,api-key=x%20y",
    "OTEL_SERVICE_NAME": "orders",
    "OTEL_RESOURCE_ATTRIBUTES": "deployment.environment.name=prod,service.name=other",
}
FROM_ENVIRONMENT = LogExportSettings("environment")


@pytest.mark.parametrize(
    "address", ["http://collector:4318", "http://collector:4318/", "http://collector:4318/v1/logs"]
)
def test_the_path_is_added_to_an_address(address: str) -> None:
    settings = parse_config(f'[logs]\notlp = "{address}"\nheaders = {{ api-key = "k" }}').logs
    assert destination_of(settings, ENVIRONMENT) == Destination("http://collector:4318/v1/logs", {"api-key": "k"})


def test_nothing_is_exported_because_of_the_environment() -> None:
    assert destination_of(LogExportSettings(), ENVIRONMENT) is None


def test_the_environment_says_where_if_the_settings_ask_for_it() -> None:
    found = destination_of(FROM_ENVIRONMENT, ENVIRONMENT)
    assert found is not None
    assert (found.url, found.headers) == ("http://any:4318/otlp/v1/logs", {"a": "1", "api-key": "x y"})
    assert found.attributes == {"deployment.environment.name": "prod", "service.name": "orders"}
    own = {"OTEL_EXPORTER_OTLP_LOGS_ENDPOINT": "https://logs/in", "OTEL_EXPORTER_OTLP_LOGS_HEADERS": "a=2"}
    found = destination_of(FROM_ENVIRONMENT, {**ENVIRONMENT, **own})
    assert found is not None
    assert (found.url, found.headers["a"]) == ("https://logs/in", "2")


@pytest.mark.parametrize(
    ("variables", "said"),
    [
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": ""}, "needs the address of a collector"),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "collector:4317"}, "must be an address such as"),
        ({"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, "not gRPC"),
        ({"OTEL_EXPORTER_OTLP_HEADERS": "secret"}, "must have the form key=value"),
        ({"OTEL_EXPORTER_OTLP_HEADERS": "a=x%0d%0aHost: b"}, "cannot be sent"),
    ],
)
def test_variables_that_cannot_be_used_are_refused(variables: dict[str, str], said: str) -> None:
    with pytest.raises(CannotExport, match=said) as refusal:
        destination_of(FROM_ENVIRONMENT, {**ENVIRONMENT, **variables})
    assert "secret" not in str(refusal.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('otlp = "collector:4318"', 'must be an address such as "http://collector:4318"'),
        ('otlp = "grpc://collector:4317"', "must be an address"),
        ('otlp = "http://user:secret@collector"', "must be an address"),
        ("otlp = true", "must be an address"),
        ('otlp = "http://collector:99999"', "must be an address"),
        ('otpl = "http://collector"', "did you mean otlp"),
        ('headers = { a = "1" }', "need the address of a collector"),
        ('otlp = "http://collector"\nheaders = { Host = "x" }', "is no header"),
    ],
)
def test_settings_that_cannot_be_used_are_refused(text: str, said: str) -> None:
    with pytest.raises(ConfigError) as refusal:
        parse_config(f"[logs]\n{text}", "f.toml")
    assert said in str(refusal.value)
    assert str(refusal.value).startswith("f.toml:")
