"""Search expressions: which metrics they mean."""

from __future__ import annotations

import pytest

from statewright.metrics.expressions import ExpressionError
from statewright.metrics.recorder import Recorder
from statewright.metrics.search import read_search
from statewright.virtual_clock import VirtualClock, run_virtual

METRICS = [
    ("AWS/SQS", "NumberOfMessagesSent", {"QueueName": "orders"}),
    ("AWS/SQS", "NumberOfMessagesSent", {"QueueName": "orders-dead"}),
    ("AWS/SQS", "SentMessageSize", {"QueueName": "orders"}),
    ("AWS/Lambda", "Errors", {"FunctionName": "resize"}),
    ("AWS/Lambda", "Errors", {"FunctionName": "resize", "Resource": "resize:live"}),
    ("AWS/Lambda", "Errors", {}),
]


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("{AWS/SQS,QueueName}", [0, 1, 2]),
        ('{AWS/SQS,QueueName} MetricName="NumberOfMessagesSent"', [0, 1]),
        ('{AWS/SQS,QueueName} MetricName="NumberOfMessagesSent" QueueName="orders"', [0]),
        ('{AWS/SQS,QueueName} QueueName=("orders" OR "orders-dead") AND MetricName="SentMessageSize"', [2]),
        ("{AWS/SQS,QueueName} Sent orders", [0, 1, 2]),
        ("{AWS/SQS,QueueName} dead", [1]),
        ("{AWS/Lambda,FunctionName} Errors", [3]),
        ("{AWS/Lambda,FunctionName,Resource}", [4]),
        ("{AWS/Lambda} Errors", [5]),
        ('Namespace="AWS/Lambda"', [5, 3, 4]),
        ("nothing", []),
    ],
)
def test_a_search_finds(text: str, places: list[int]) -> None:
    async def main(clock: VirtualClock) -> None:
        recorder = Recorder(clock)
        for namespace, name, dimensions in METRICS:
            recorder.counter(namespace, name, dimensions).add()
        found = [(one.id.namespace, one.id.name, dict(one.id.dimensions)) for one in read_search(text).find(recorder)]
        assert found == [METRICS[place] for place in places]

    run_virtual(main)


@pytest.mark.parametrize("text", ["a OR b", "NOT a", "(a OR b)", 'MetricName="a'])
def test_a_search_that_is_not_read_says_so(text: str) -> None:
    with pytest.raises(ExpressionError):
        read_search(text)
