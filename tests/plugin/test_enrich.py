"""Parallel enrichment: branches with mocks of their own, a Map in one of them, a table of the system."""

import pytest

ORDER = {"customer": "c-1", "lines": [{"sku": "a"}, {"sku": "b"}, {"sku": "c"}]}


@pytest.fixture
def enrich(sfn):
    machine = sfn.load("enrich.asl.yaml")
    machine.mock("Customer").returns({"Item": {"name": {"S": "Ada"}}})
    machine.mock("Score").returns_payload(80, delay="2s")
    machine.mock("Price").handles(lambda line, _: ord(line["sku"]), delay="1s")
    return machine


def test_everything_is_there(enrich):
    run = enrich.run(ORDER).assert_succeeded({"customer": "Ada", "score": 80, "prices": [97, 98, 99]})
    assert run.duration == 2


def test_an_unknown_customer_is_no_failure(enrich):
    enrich.mock("Customer").throws("DynamoDB.ResourceNotFoundException")
    run = enrich.run(ORDER).assert_succeeded(output_contains={"customer": "unknown"})
    assert run.visits("Unknown Customer") == 1


def test_a_score_that_hangs_once(enrich):
    enrich.mock("Score").hangs().then.returns_payload(70)
    enrich.run(ORDER).assert_succeeded(output_contains={"score": 70})


def test_a_price_that_fails_stops_the_others_and_all_is_tried_again(enrich):
    enrich.mock("Price", iteration=1, visit=0).throws("NoPrice")
    run = enrich.run(ORDER).assert_succeeded(output_contains={"score": 80})
    assert run.visits("Sources") == 2
    assert run.visits("Later") == 1


def test_with_a_table_of_the_system(sfn, enrich):
    sfn.client("dynamodb").create_table(
        TableName="customers",
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
    )
    sfn.client("dynamodb").put_item(TableName="customers", Item={"id": {"S": "c-1"}, "name": {"S": "Grace"}})
    enrich.mock(resource="dynamodb:*").runs()
    enrich.mock("Customer").runs()
    enrich.run(ORDER).assert_succeeded(output_contains={"customer": "Grace"})
