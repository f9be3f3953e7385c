from __future__ import annotations

import json

import pytest

from statewright.events.pipes.inputs import input_of

BODY = '{"id": 7, "name": "a \\"b\\"", "parts": [{"n": 1}]}'
RECORD = {"messageId": "1", "body": BODY, "attributes": {"SentTimestamp": "5"}}
NAMES = {"aws.pipes.pipe-name": "orders"}


@pytest.mark.parametrize(
    ("template", "value"),
    [
        ("", RECORD),
        ('{"order": <$.body>}', {"order": {"id": 7, "name": 'a "b"', "parts": [{"n": 1}]}}),
        ('{"id": <$.body.id>, "text": "number <$.body.id>"}', {"id": 7, "text": "number 7"}),
        ('{"name": "<$.body.name>", "n": <$.body.parts[0].n>}', {"name": 'a "b"', "n": 1}),
        ('{"name": <$.body.name>}', {"name": 'a "b"'}),
        ('{"missing": <$.body.none>, "text": "<$.body.none>"}', {"missing": "", "text": ""}),
        ('{"sent": <$.attributes.SentTimestamp>, "by": "<aws.pipes.pipe-name>"}', {"sent": "5", "by": "orders"}),
        ("<aws.pipes.event.json>", RECORD),
        ('"constant"', "constant"),
    ],
)
def test_a_template_is_filled_for_each_message(template: str, value: object) -> None:
    assert json.loads(input_of([RECORD, RECORD], template, NAMES)) == [value, value]


def test_a_body_that_is_no_json_is_a_text() -> None:
    records = [{"body": "hello"}, {"body": "{"}, {"body": "5"}]
    assert json.loads(input_of(records, "<$.body>", {})) == ["hello", "{", 5]
