"""Large items under long expressions: read and filtered beside the event loop, bounded where an update makes more."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from statewright.errors import ApiError
from statewright.tables.expressions import parser
from statewright.tables.expressions.bindings import Bindings
from statewright.tables.expressions.updates import PARAMETER, Update
from statewright.tables.values import item_size
from tests.attack.holding import MOST_REFERENCES, Held, Holding
from tests.thoroughness import slow

MANY = 130_000
LONG: dict[str, Any] = {"k": {"S": "x"}, "l": {"L": [{"N": "1"}] * MANY}}
TEXT = "a" * 400_000


@pytest.fixture(scope="module")
def holding(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Holding]:
    made = Holding(tmp_path_factory.mktemp("holding"))
    ask(
        made, "CreateTable", BillingMode="PAY_PER_REQUEST", AttributeDefinitions=[{"AttributeName": "k",
        "AttributeType": "S"}], KeySchema=[{"AttributeName": "k", "KeyType": "HASH"}],
    )  # fmt: skip
    yield made
    made.close()


def ask(holding: Holding, operation: str, **members: Any) -> Held:
    held = holding.json(f"DynamoDB_20120810.{operation}", json.dumps({"TableName": "table", **members}).encode())
    assert held.status == 200, held.body[:200]
    return held


@slow
def test_a_large_item_is_checked_beside_the_loop(holding: Holding) -> None:
    assert ask(holding, "PutItem", Item=LONG).references < MOST_REFERENCES
    batch = {"table": [{"PutRequest": {"Item": {**LONG, "k": {"S": "x"}}}}]}
    assert ask(holding, "BatchWriteItem", RequestItems=batch).references < MOST_REFERENCES
    actions = [{"Put": {"TableName": "table", "Item": LONG}}]
    assert ask(holding, "TransactWriteItems", TransactItems=actions).references < MOST_REFERENCES


@slow
@pytest.mark.parametrize("operation", ["Scan", "Query"])
def test_large_items_are_filtered_beside_the_loop(holding: Holding, operation: str) -> None:
    for name in "xyz":
        ask(holding, "PutItem", Item={"k": {"S": name}, "t": {"S": TEXT}})
    values = {f":{number}": {"S": "a" * 50 + str(number)} for number in range(150)}
    members: dict[str, Any] = {"FilterExpression": " OR ".join(f"contains(t, {name})" for name in values)}
    if operation == "Query":
        members["KeyConditionExpression"], values[":k"] = "k = :k", {"S": "x"}
    held = ask(holding, operation, ExpressionAttributeValues=values, **members)
    assert json.loads(held.body)["Count"] == 0
    assert held.references < MOST_REFERENCES


def updated(text: str, item: dict[str, Any], values: dict[str, Any] | None = None) -> dict[str, Any]:
    return Update(parser.update(PARAMETER, text), Bindings(None, values, {PARAMETER: text}), ["k"])(item)


def doubled(depth: int) -> str:
    return "l" if depth == 0 else f"list_append({doubled(depth - 1)}, {doubled(depth - 1)})"


@pytest.mark.parametrize(
    "text", ["SET l = " + doubled(7), "SET " + ", ".join(f"a{number} = list_append(l, l)" for number in range(150))]
)
def test_an_update_puts_no_more_together_than_an_item_can_hold(text: str) -> None:
    with pytest.raises(ApiError, match="Item size to update has exceeded"):
        updated(text, LONG)
    assert len(updated("SET l = list_append(l, l)", LONG)["l"]["L"]) == 2 * MANY


def test_an_update_is_bounded_each_time_it_is_carried_out() -> None:
    text = "SET l = list_append(l, l)"
    update = Update(parser.update(PARAMETER, text), Bindings(None, None, {PARAMETER: text}), ["k"])
    for _ in range(10):
        assert len(update(LONG)["l"]["L"]) == 2 * MANY


def test_the_size_of_an_item_is_counted_no_further_than_its_bound() -> None:
    class Read(dict[str, Any]):
        times = 0

        def items(self) -> Any:
            Read.times += 1
            return super().items()

    item: dict[str, Any] = {str(number): Read(S="a" * 100) for number in range(100)}
    assert item_size(item, 1_000) > 1_000
    assert Read.times == 10
    assert item_size(item) == 100 * 100 + 190


def test_a_set_is_added_to_by_looking_each_element_up() -> None:
    class Text(str):
        __slots__ = ()
        hashed = 0

        def __hash__(self) -> int:
            Text.hashed += 1
            return super().__hash__()

    there: list[Any] = [Text(number) for number in range(500)]
    values = {":v": {"NS": [str(-number) for number in range(1, 500)]}}
    assert len(updated("ADD s :v", {"s": {"NS": there}}, values)["s"]["NS"]) == 999
    assert Text.hashed <= 1_000
