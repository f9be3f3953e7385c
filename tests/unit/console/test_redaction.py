"""Redaction: no value at a path of a pattern is shown, in whatever it is wrapped."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from statewright.config import parse_config
from statewright.console.payloads import payload, rows
from statewright.console.redaction import MASK, Redactor, RunRedaction
from statewright.interpreter.history import HistoryEvent
from statewright.settings.reader import ConfigError
from statewright.settings.server import ConsoleSettings
from tests.thoroughness import examples, scaled

SECRET = 'hunter2-ÿ"\\'
PATTERNS = ("**.password", "**.card.number", "top", "**.x-*-token")


def redactor(*patterns: str, payloads: str = "shown") -> Redactor:
    return Redactor(ConsoleSettings(redact=patterns or PATTERNS, payloads=payloads))


def event(number: int, type: str = "PassStateEntered", **details: Any) -> HistoryEvent:
    return HistoryEvent(number, number - 1, 1_000 + number, type, details)


@pytest.mark.parametrize(
    "value",
    [
        {"password": SECRET},
        {"a": [{"Password": {"deep": [SECRET]}}]},
        {"card": {"number": SECRET, "name": "Ada"}},
        {"card": [[{"number": SECRET}]]},
        {"top": SECRET},
        {"X-Auth-Token": SECRET},
        {"body": json.dumps({"password": SECRET})},
        {"body": json.dumps([json.dumps({"top": SECRET})])},
        [json.dumps({"card": {"number": SECRET}}, ensure_ascii=False)],
    ],
)
def test_a_value_at_a_path_is_hidden(value):
    shown = redactor().text(json.dumps(value))
    assert "hunter2" not in shown
    assert MASK in json.dumps(json.loads(shown), ensure_ascii=False)


@pytest.mark.parametrize("value", [{"within": {"top": "shown"}}, {"number": "shown"}, {"passwords": "shown"}, "top", 5])
def test_what_no_pattern_names_is_the_same(value):
    text = json.dumps(value, indent=1)
    assert redactor().text(text) is text


def test_names_may_be_written_with_escapes():
    assert "hunter2" not in redactor().text('{"\\u0070assword": "hunter2"}')


def test_a_document_that_was_cut_is_hidden_whole():
    assert redactor().text('{"a": 1, "password": "hunt') == MASK
    assert redactor().text('{"a": 1, "b": "hunt') == '{"a": 1, "b": "hunt'


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("login failed: password=hunter2 (ada)\nat line 2", f"login failed: password={MASK}\nat line 2"),
        ("Password: hunter2 with spaces", f"Password: {MASK}"),
        ("X-Auth-Token: Bearer hunter2", f"X-Auth-Token: {MASK}"),
        ("answered {'password': 'hunter2'}", f"answered {{'password': {MASK}"),
        ('INFO {"password": "hunter2"}', f'INFO {{"password": {MASK}'),
        ('INFO {\\"password\\": \\"hunter2\\"}', f'INFO {{\\"password\\": {MASK}'),
        ('INFO {"password": {\n  "deep": "hunter2"\n}}', f'INFO {{"password": {MASK}'),
        ("<password>hunter2</password>", f"<password>{MASK}"),
        ("password:\n  hunter2\nnext", f"password:\n  {MASK}\nnext"),
        ('password="one\nhunter2"\nnext', f"password={MASK}\nnext"),
        ("GET /?password=hunter2&n=1", f"GET /?password={MASK}"),
        ("SecretString=hunter2", f"SecretString={MASK}"),
    ],
)
def test_what_follows_a_name_in_a_text_is_hidden(text, shown):
    assert redactor().text(text) == shown
    assert json.loads(redactor().text(json.dumps({"errorMessage": text}))) == {"errorMessage": shown}


@pytest.mark.parametrize("text", ["the password is wrong", "my_password=x", "passwords: 3", "password=", "stop=1"])
def test_a_text_without_a_value_of_a_name_is_the_same(text):
    assert redactor().text(text) is text


@pytest.mark.parametrize(
    "text", ["token " * 20_000, "token" * 40_000, "x-" * 100_000 + "-token", "password" + " " * 100_000]
)
def test_long_texts_are_looked_through_once(text):
    assert redactor("**.password", "**.*token*", "**.x-*-token").text(text) is text


def test_values_that_are_found_everywhere_are_hidden_at_their_paths_alone():
    given = (json.dumps({"password": "", "top": 1}), '{"a":11}', "E1", "no password")
    empty = json.dumps({"password": MASK, "top": MASK}, ensure_ascii=False, separators=(",", ":"))
    assert redactor().texts(given) == [empty, *given[1:]]
    answer = {"input": '{"password":""}', "cause": "abc", "status": "FAILED"}
    assert redactor().answer(answer) == {**answer, "input": f'{{"password":"{MASK}"}}'}


def test_what_secrets_manager_answers_is_always_hidden():
    shown = Redactor().text(json.dumps({"Name": "n", "SecretString": json.dumps({"key": SECRET})}))
    assert json.loads(shown) == {"Name": "n", "SecretString": MASK}


def test_a_value_is_hidden_wherever_its_history_has_it():
    quoted = json.dumps(SECRET)
    events = [
        event(1, "ExecutionStarted", input=json.dumps({"password": SECRET, "pin": 1}), name="e"),
        event(2, name="A", input=json.dumps({"renamed": SECRET})),
        event(3, "TaskFailed", error="Refused", cause=f"login failed with {SECRET}!"),
        event(4, output=quoted, assignedVariables={"password": quoted, "v": f"[{quoted}]"}),
        event(5, name="password", output='{"fine": true}'),
    ]  # fmt: skip
    shown = redactor().events(events)
    assert "hunter2" not in json.dumps([one.details for one in shown], ensure_ascii=False)
    assert (shown[2].details or {})["cause"] == f"login failed with {MASK}!"
    assert shown[4] is events[4]
    assert "hunter2" in (events[0].details or {})["input"]


def test_a_history_that_grows_hides_what_later_events_reveal():
    redaction = RunRedaction(redactor())
    first = redaction.note([event(1, input='{"a": "hunter2-plain"}'), event(2, input="{}")])
    assert "hunter2" in str(first[0].details)
    redaction.note([event(3, input='{"password": "hunter2-plain"}')])
    assert redaction.has_more
    again = redaction.again(first)
    assert "hunter2" not in str(again[0].details)
    assert again[1] is first[1]
    assert redaction.note([event(4, output='"hunter2-plain"')])[0].details == {"output": f'"{MASK}"'}
    assert not redaction.has_more


def test_numbers_are_hidden_by_value_too():
    events = [event(1, input='{"card": {"number": 4111111111111111}}'), event(2, input="[4111111111111111, 4]")]
    assert [(one.details or {})["input"] for one in redactor().events(events)] == [
        f'{{"card":{{"number":"{MASK}"}}}}', f'["{MASK}",4]',
    ]  # fmt: skip


def test_payload_pages_and_searches_have_nothing_of_it():
    shown = redactor().events([event(1, input=json.dumps({"a": {"password": SECRET}}))])
    assert payload(shown, 1, "input", "/a/password", 0)["text"] == json.dumps(MASK, ensure_ascii=False)
    assert rows(shown, 1, "hunter2")["rows"] == []


def test_payloads_may_be_hidden_altogether():
    hidden = redactor(payloads="hidden")
    (shown,) = hidden.events([event(1, "TaskFailed", error="E", cause="why", input='{"a": 1}', name="A")])
    assert shown.details == {"error": "E", "cause": MASK, "input": f'"{MASK}"', "name": "A"}
    assert hidden.text("[1]") == f'"{MASK}"'
    answer = {"input": '{"a": 1}', "definition": '{"StartAt": "A"}', "name": "n"}
    assert hidden.answer(answer) == {**answer, "input": MASK}


DOCUMENTS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text("ab:é\\", max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["a", "card", "password", "number", "top", "x-a-token"]), inner, max_size=3)
        | inner.map(json.dumps)
    ),
    max_leaves=12,
)


def planted(value: Any, where: str = "") -> Any:
    """The value with a secret in place of every member called `password`, also within texts."""
    if isinstance(value, dict):
        return {name: SECRET if name == "password" else planted(member) for name, member in value.items()}
    if isinstance(value, list):
        return [planted(item) for item in value]
    if isinstance(value, str) and value[:1] in ("{", "["):
        return json.dumps(planted(json.loads(value)))
    return value


@scaled
@settings(max_examples=examples(200), deadline=None)
@given(DOCUMENTS)
def test_no_hidden_value_is_left_anywhere(value):
    shown = redactor("**.password").text(json.dumps(planted(value)))
    assert "hunter2" not in shown


@scaled
@settings(max_examples=examples(200), deadline=None)
@given(DOCUMENTS)
def test_redaction_twice_is_redaction_once(value):
    once = redactor().text(json.dumps(value))
    assert redactor().text(once) == once


@pytest.mark.parametrize(
    ("patterns", "words"),
    [
        ('["a..b"]', "empty"), ('[""]', "empty"), ('["a[0]"]', "no name"), ('["a**"]', "stands alone"),
        ('["**"]', "hide everything"), ('[1]', "list of strings"),
    ],
)  # fmt: skip
def test_a_malformed_pattern_is_refused_by_name(patterns, words):
    with pytest.raises(ConfigError, match=rf"statewright.toml:2: console.redact .*{words}"):
        parse_config(f"[console]\nredact = {patterns}\n")


def test_settings():
    config = parse_config('[console]\nredact = ["**.password"]\npayloads = "hidden"\n')
    assert config.console == ConsoleSettings(redact=("**.password",), payloads="hidden")
    with pytest.raises(ConfigError, match=r"console\.payloads must be shown or hidden"):
        parse_config('[console]\npayloads = "some"\n')
