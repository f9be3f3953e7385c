"""What pages of services show of users' data under the patterns of the settings, and with hidden payloads."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from statewright.console.redaction import MASK, Redactor
from statewright.console.services import call_answers
from statewright.console.services.call_answers import with_start_key
from statewright.console.services.hidden_places import MOST, HiddenPlaces
from statewright.console.services.shown_data import described, is_secret, items, lines, named
from statewright.errors import ApiError
from statewright.settings.server import ConsoleSettings

HIDDEN = Redactor(ConsoleSettings(payloads="hidden"))
PLAIN = Redactor()


def redacted(redactor: Redactor, service: str, operation: str, answer: Any) -> Any:
    return call_answers.redacted(redactor, HiddenPlaces(), service, operation, answer)


def redactor(*patterns: str) -> Redactor:
    return Redactor(ConsoleSettings(redact=patterns))


def test_items_hide_what_is_at_a_path_without_the_names_of_types():
    item: dict[str, Any] = {
        "k": {"S": "a"},
        "card": {"M": {"number": {"S": "4111111111111111"}, "name": {"S": "Ada"}, "open": {"BOOL": False}}},
        "list": {"L": [{"N": "12345678901234567890.5"}, {"M": {"number": {"N": "77777777"}}}, {"NULL": True}]},
        "said": {"S": "it was 4111111111111111"},
        "set": {"SS": ["4111111111111111", "b"]},
        "text": {"S": '{"card": {"number": "4111111111111111"}}'},
    }
    assert items(redactor("card.number"), [item, {"k": {"S": "b"}}]) == [
        {
            **item,
            "card": {"M": {**item["card"]["M"], "number": MASK}},
            "said": {"S": f"it was {MASK}"},
            "set": {"SS": [MASK, "b"]},
            "text": {"S": json.dumps({"card": {"number": MASK}}, ensure_ascii=False, separators=(",", ":"))},
        },
        {"k": {"S": "b"}},
    ]
    assert items(redactor("**.list.number"), [item])[0] == {
        **item, "list": {"L": [item["list"]["L"][0], {"M": {"number": MASK}}, {"NULL": True}]},
    }  # fmt: skip
    assert items(redactor("card"), [item])[0]["card"] == MASK
    assert items(PLAIN, [item]) == [item]
    assert items(HIDDEN, [item]) == [dict.fromkeys(item, MASK)]


@pytest.mark.parametrize(
    ("name", "value", "secret"),
    [
        ("DB_PASSWORD", "x", True),
        ("STRIPE_KEY", "x", True),
        ("DATABASE_URL", "postgres://app:hunter2@db/shop", True),
        ("REDIS_URL", "redis://:hunter2@cache:6379", True),
        ("DATABASE_URL", "postgres://app@db:5432/shop", False),
        ("STAGE", "prod", False),
    ],
)
def test_variables_that_are_secrets(name, value, secret):
    assert is_secret(name, value) is secret


def test_a_value_is_a_member_of_the_name_beside_it():
    assert named(redactor("**.email"), "email", "ada@example.com") == MASK
    assert named(redactor("**.email"), "stage", "prod") == "prod"
    assert named(HIDDEN, "stage", "prod") == MASK


def test_variables_of_jobs_are_without_secrets():
    job = {"container": {"environment": [{"name": "TOKEN", "value": "x"}, {"name": "MAIL", "value": "a@b"}], "n": 1}}
    shown = [{"name": "TOKEN", "value": MASK}, {"name": "MAIL", "value": MASK}]
    assert described(redactor("**.mail"), job) == {"container": {"environment": shown, "n": 1}}
    assert described(PLAIN, job)["container"]["environment"][1]["value"] == "a@b"
    assert described(HIDDEN, job) == MASK


def test_each_line_of_a_text_is_a_document():
    text = '{"password": "hunter2!", "n": 1}\nplain\n{"n": 2}'
    assert lines(redactor("**.password"), text) == f'{{"password":"{MASK}","n":1}}\nplain\n{{"n": 2}}'
    assert lines(HIDDEN, text) == MASK


def packed(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def opened(answer: Any, member: str) -> str:
    return base64.b64decode(answer[member]).decode()


def test_the_result_and_the_log_of_an_invocation_are_redacted():
    line = '{"password": "hunter2!"}'
    answer = {"StatusCode": 200, "Payload": packed('{"password": "hunter2!", "n": 1}'), "LogResult": packed(line)}
    shown = redacted(redactor("**.password"), "lambda", "Invoke", answer)
    assert json.loads(opened(shown, "Payload")) == {"password": MASK, "n": 1}
    assert json.loads(opened(shown, "LogResult")) == {"password": MASK}
    assert redacted(PLAIN, "lambda", "Invoke", answer) == answer
    hidden = redacted(HIDDEN, "lambda", "Invoke", answer)
    assert (opened(hidden, "Payload"), opened(hidden, "LogResult")) == (f'"{MASK}"', MASK)


def test_answers_with_items_lines_and_outputs():
    found = {"Items": [{"k": {"S": "a"}}], "LastEvaluatedKey": {"k": {"S": "a"}}, "Count": 1}
    assert redacted(PLAIN, "dynamodb", "Scan", found) == found
    assert redacted(PLAIN, "dynamodb", "GetItem", {"Item": None}) == {"Item": None}
    events = {"events": [{"message": "plain", "timestamp": 1}], "nextToken": "t"}
    assert redacted(HIDDEN, "logs", "FilterLogEvents", events)["events"] == [{"message": MASK, "timestamp": 1}]
    stack = {"StackName": "s", "Outputs": [{"OutputKey": "Password", "OutputValue": "hunter2!"}], "Parameters": []}
    (shown,) = redacted(redactor("**.password"), "cloudformation", "DescribeStacks", {"Stacks": [stack]})["Stacks"]
    assert shown["Outputs"] == [{"OutputKey": "Password", "OutputValue": MASK}]


@pytest.mark.parametrize(
    ("hidden", "items"),
    [
        (redactor("card"), [{"card": {"S": "4111111111111111"}, "n": {"N": "1"}}]),
        (redactor("card"), []),
        (redactor("secret"), [{"card": {"S": "4111111111111111"}, "secret": {"S": "4111111111111111"}}]),
        (HIDDEN, [{"card": {"S": "4111111111111111"}}]),
    ],
)
def test_the_place_after_a_page_of_items_shows_no_key_that_is_hidden(hidden, items):
    key, places = {"card": {"S": "4111111111111111"}}, HiddenPlaces()
    answer = {"Items": items, "LastEvaluatedKey": key, "Count": len(items)}
    shown = call_answers.redacted(hidden, places, "dynamodb", "Scan", answer)
    assert "4111" not in json.dumps(shown)
    again = {"TableName": "t", "ExclusiveStartKey": json.loads(json.dumps(shown["LastEvaluatedKey"]))}
    assert with_start_key(places, again) == {"TableName": "t", "ExclusiveStartKey": key}
    with pytest.raises(ApiError, match="begin with the first page"):
        with_start_key(HiddenPlaces(), again)


def test_places_that_are_hidden_are_bounded():
    places = HiddenPlaces()
    first, second = places.ticket(1), places.ticket(2)
    for number in range(MOST - 2):
        places.ticket(number)
    assert places.place(first) == 1
    places.ticket(3)
    assert places.place(first) == 1
    with pytest.raises(ApiError):
        places.place(second)
