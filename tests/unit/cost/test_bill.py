from __future__ import annotations

from pathlib import Path

import pytest

from statewright.cost.bill import bill
from statewright.cost.prices import PriceTableError, load, names
from statewright.cost.usage import ITEMS, Usage, add_express, add_invocation, chunks

APRIL_2022 = "us-east-1-2022-04"


def used(**quantities: float) -> Usage:
    usage = Usage()
    for item, quantity in quantities.items():
        usage.add(item.replace("__", "."), quantity)
    return usage


def test_a_hundred_thousand_files_at_the_prices_of_2022():
    usage = used(
        s3__put_requests=200_000, s3__get_requests=200_000, s3__gb_months=100, sqs__requests=300_000,
        dynamodb__write_units=200_000, dynamodb__read_units=80_000, kms__requests=400_000, states__transitions=50,
    )  # fmt: skip
    for _ in range(100_000):
        add_invocation(usage, 3_000, 640)
    made = bill(usage, load(APRIL_2022))
    assert [round(made.of(service), 2) for service in ("Lambda", "S3", "SQS", "DynamoDB", "KMS")] == [
        3.15, 1.08, 0.12, 0.27, 1.2,
    ]  # fmt: skip
    assert round(made.usd_a_month, 2) == 2.30
    assert round(made.of("Step Functions"), 3) == 0.001
    assert round(bill(usage, load()).of("DynamoDB"), 2) == 0.14


@pytest.mark.parametrize(("transitions", "usd"), [(81_000, 2.025), (4_050, 0.10125), (1, 0.000025)])
def test_transitions(transitions: int, usd: float):
    assert bill(used(states__transitions=transitions), load()).usd == pytest.approx(usd)


def test_what_is_free_is_taken_off_when_asked_for():
    usage = used(states__transitions=5_000, sqs__requests=900_000)
    assert bill(usage, load(), free_tier=True).usd == pytest.approx(1_000 * 0.025 / 1000)


def test_tiers():
    price = load().prices["states.express_gb_seconds"]
    assert price.of(3_600_000) == pytest.approx(60.012)
    assert price.of(3_600_001) - price.of(3_600_000) == pytest.approx(0.00000833, rel=1e-3)


def test_express_is_billed_by_started_tenths_of_a_second():
    usage = Usage()
    add_express(usage, 101)
    assert usage.quantities == {"states.express_requests": 1, "states.express_gb_seconds": 0.2 * 64 / 1024}


@pytest.mark.parametrize(("size", "count"), [(0, 1), (65_536, 1), (65_537, 2), (262_144, 4)])
def test_payloads_count_by_started_64_kib(size: int, count: int):
    assert chunks(size) == count


def test_an_item_without_a_price_is_named_and_not_summed():
    made = bill(used(scheduler__invocations=5, sqs__requests=1_000_000), load(APRIL_2022))
    assert made.usd == pytest.approx(0.4)
    assert "no price for invocations of EventBridge Scheduler" in made.notes[0]
    assert made.document()["lines"][1]["usd"] is None


def test_tables_are_dated_have_sources_and_know_every_item_by_now():
    assert names() == ["us-east-1-2022-04", "us-east-1-2024-11"]
    newest = load()
    assert newest.name == names()[-1]
    assert newest.date == "2024-11-01"
    assert set(newest.prices) == set(ITEMS)
    assert all(price.source.startswith("https://") for price in newest.prices.values())


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "cannot be read"),
        ("[]", "malformed"),
        ('{"services": {"x": {"source": "s", "prices": {"tea": {"usd": 1, "per": 1}}}}}', "has a price for 'tea'"),
        ('{"services": {"x": {"source": "s", "prices": {"sqs.requests": {"usd": -1, "per": 1}}}}}', "no valid price"),
        ('{"services": {"x": {"source": "s", "prices": {"sqs.requests": {"usd": 1, "per": 0}}}}}', "no valid price"),
    ],
)
def test_tables_of_the_user_are_checked(tmp_path: Path, text: str, said: str):
    file = tmp_path / "mine.json"
    file.write_text(text)
    with pytest.raises(PriceTableError, match=said):
        load(str(file))


def test_a_table_that_is_not_there_is_refused_with_those_that_are():
    with pytest.raises(PriceTableError, match="us-east-1-2024-11"):
        load("mars-1")


def test_unknown_items_are_refused():
    with pytest.raises(KeyError):
        Usage().add("tea", 1)
