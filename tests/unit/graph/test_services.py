"""What a Task calls and how it waits, and their icons and colours."""

from __future__ import annotations

import pytest

from statewright.graph.display import display_list
from statewright.graph.layout import layout
from statewright.graph.model import build_graph
from statewright.graph.palette import ICONS, PALETTES, icon_of, tone_of
from statewright.graph.services import SERVICE_ICONS, SERVICE_TONES, service_of, waiting_of
from statewright.graph.svg import render_svg

STATES = "arn:aws:states:::"


@pytest.mark.parametrize(
    ("resource", "service", "waiting"),
    [
        (f"{STATES}lambda:invoke", "lambda", ""),
        ("arn:aws:lambda:us-east-1:123456789012:function:f", "lambda", ""),
        (f"{STATES}sqs:sendMessage.waitForTaskToken", "sqs", "token"),
        (f"{STATES}aws-sdk:s3:getObject", "s3", ""),
        (f"{STATES}batch:submitJob.sync", "containers", "sync"),
        (f"{STATES}states:startExecution.sync:2", "states", "sync"),
        (f"{STATES}aws-sdk:sfn:startExecution", "states", ""),
        ("arn:aws:states:us-east-1:123456789012:activity:Approve", "activity", ""),
        (f"{STATES}glue:startJobRun", "other", ""),
        ("arn:aws-cn:states:::http:invoke", "http", ""),
        ("${Function}", None, ""),
        (["arn"], None, ""),
    ],
)
def test_the_service_of_a_task(resource, service, waiting):
    state = {"Type": "Task", "Resource": resource}
    assert (service_of(state), waiting_of(state)) == (service, waiting)


@pytest.mark.parametrize("state", [None, [], {"Type": "Pass", "Resource": f"{STATES}lambda:invoke"}, {"Type": "Task"}])
def test_what_calls_no_service(state):
    assert (service_of(state), waiting_of(state)) == (None, "")


def test_every_service_has_an_icon_and_a_colour():
    assert set(SERVICE_ICONS) == set(SERVICE_TONES)
    assert len(set(SERVICE_ICONS.values())) == len(SERVICE_ICONS)
    for palette in PALETTES.values():
        for tone in SERVICE_TONES.values():
            assert _contrast(palette[tone], palette[f"{tone}-fill"]) >= 4.5


def test_a_state_without_a_service_has_the_icon_of_its_type():
    (node,) = build_graph({"StartAt": "A", "States": {"A": {"Type": "Pass", "End": True}}}).nodes()
    assert (icon_of(node), tone_of(node)) == (ICONS["Pass"], "idle")


def test_marks_stand_side_by_side():
    resource = f"{STATES}sqs:sendMessage.waitForTaskToken"
    state = {"Type": "Task", "Resource": resource, "Retry": [{"ErrorEquals": ["States.ALL"]}], "End": True}
    graph = build_graph({"StartAt": "Ask", "States": {"Ask": state}})
    (shape,) = display_list(layout(graph)).states
    assert shape.retry is not None
    assert shape.waiting is not None
    assert shape.retry[0] - shape.waiting[0] >= 16
    drawn = render_svg(graph)
    assert "Waits for an answer by its task token" in drawn
    assert SERVICE_ICONS["sqs"] in drawn


def _contrast(one: str, other: str) -> float:
    low, high = sorted((_luminance(one), _luminance(other)))
    return (high + 0.05) / (low + 0.05)


def _luminance(colour: str) -> float:
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
