"""Waits of a running system are shortened, not its timeouts; the scale is set by option, variable, file and request."""

from __future__ import annotations

import json

import pytest

from statewright.cli.output import Stop
from statewright.cli.serving.serve import config_of
from statewright.clock import Pauses
from statewright.config import Config, read_config
from statewright.settings.reader import ConfigError
from statewright.virtual import Model, VirtualSystem
from tests.unit.virtual.building import FUNCTION, counts, machine, queue, start

RETRY = [{"ErrorEquals": ["States.ALL"], "IntervalSeconds": 100, "MaxAttempts": 1}]


def took_seconds(scale: float, states: dict[str, object], *, express: bool = False) -> float:
    with VirtualSystem(config=Config(time_scale=scale)) as system:
        system.model("fails", Model(duration="2s", failure_rate=1.0))
        system.model("slow", Model(duration="50s"))
        before = system.now_ms
        definition = {"StartAt": "One", "States": states}
        if express:
            made = system.client("stepfunctions").create_state_machine(
                name="express", definition=json.dumps(definition), roleArn="arn:aws:iam::000000000000:role/r",
                type="EXPRESS",
            )  # fmt: skip
            system.client("stepfunctions").start_sync_execution(stateMachineArn=made["stateMachineArn"])
        else:
            start(system, machine(system, definition), "one")
            system.run_until_idle()
        return (system.now_ms - before) / 1000


WAIT = {"One": {"Type": "Wait", "Seconds": 200, "End": True}}
BACK_OFF = {"One": {"Type": "Task", "Resource": FUNCTION + "fails", "Retry": RETRY, "End": True}}
TIMEOUT = {"One": {"Type": "Task", "Resource": FUNCTION + "slow", "TimeoutSeconds": 30, "End": True}}


@pytest.mark.parametrize("express", [False, True], ids=["STANDARD", "EXPRESS"])
@pytest.mark.parametrize(
    ("scale", "states", "seconds"),
    [
        (1.0, WAIT, 200), (0.01, WAIT, 2), (0.0, WAIT, 0), (1.2, WAIT, 240),
        (1.0, BACK_OFF, 104), (0.1, BACK_OFF, 14), (0.0, BACK_OFF, 4),
        (0.01, TIMEOUT, 30),
    ],
)  # fmt: skip
def test_what_is_scaled(scale, states, seconds, express):
    assert took_seconds(scale, states, express=express) == pytest.approx(seconds, abs=20.5 if states is TIMEOUT else 0)


def test_delays_of_messages_and_repeats_of_events_are_scaled():
    with VirtualSystem(config=Config(time_scale=0.1)) as system:
        url = queue(system, "later", DelaySeconds="100")
        system.call("sqs", "SendMessage", {"QueueUrl": url, "MessageBody": "m"})
        system.call("sqs", "SendMessage", {"QueueUrl": url, "MessageBody": "n", "DelaySeconds": 200})
        system.advance(10)
        assert counts(system, url) == (1, 0, 1)
        system.advance(10)
        assert counts(system, url) == (2, 0, 0)
        system.model("fails", Model(failure_rate=1.0))
        before = system.now_ms
        system.client("lambda").invoke(FunctionName="fails", InvocationType="Event", Payload=b"{}")
        system.run_until_idle()
        assert system.now_ms - before == 6_000 + 12_000


def test_what_is_past_stays_past():
    pauses = Pauses(0.5)
    assert [pauses.due_ms(100, due) for due in (50, 100, 101, 300)] == [50, 100, 100, 200]


def test_options_come_before_variables_and_these_before_the_file(tmp_path, monkeypatch):
    file = tmp_path / "statewright.toml"
    file.write_text("time_scale = 0.5\n")
    assert config_of(str(file), None).time_scale == 0.5
    monkeypatch.setenv("WAIT_TIME_SCALE", "0.25")
    assert config_of(str(file), None).time_scale == 0.25
    monkeypatch.setenv("SFN_WAIT_SCALE", "0")
    assert config_of(str(file), None).time_scale == 0
    assert config_of(str(file), None, 0.1).time_scale == 0.1
    for wrong in ("soon", "-1", "nan", "1e9"):
        monkeypatch.setenv("STATEWRIGHT_TIME_SCALE", wrong)
        with pytest.raises(Stop, match="STATEWRIGHT_TIME_SCALE"):
            config_of(str(file), None)
    file.write_text("time_scale = true\n")
    with pytest.raises(ConfigError, match="time_scale"):
        read_config(file)


def request(system: VirtualSystem, method: str, body: bytes = b"", **headers: str) -> tuple[int, bytes]:
    """An unsigned request at `/time-scale`."""
    from botocore.awsrequest import AWSPreparedRequest

    asked = AWSPreparedRequest(method, "http://localhost/time-scale", headers, body, False)
    answer = system._answer(asked)
    return answer.status_code, answer.content


def test_it_is_shown_and_set_while_the_system_runs():
    with VirtualSystem() as system:
        assert request(system, "GET") == (200, b'{"scale":1.0}\n')
        assert request(system, "PUT", b'{"scale": 0.01}') == (200, b'{"scale":0.01}\n')
        execution = start(system, machine(system, {"StartAt": "One", "States": WAIT}), "one")
        system.advance(2)
        shown = system.client("stepfunctions").describe_execution(executionArn=execution)
        assert shown["status"] == "SUCCEEDED"
        for wrong in (b"", b"0.5", b'{"scale": "fast"}', b'{"scale": -1}', b'{"scale": true}'):
            assert request(system, "PUT", wrong)[0] == 400
        assert request(system, "PUT", b'{"scale": 1}', origin="https://elsewhere.example")[0] == 403
        assert system.parts.app.clock.pauses.scale == 0.01
