"""ETL with a distributed Map: it reads a bucket of the test's own system; its child executions are mocked by item."""

import pytest


@pytest.fixture
def sales(sfn):
    buckets = sfn.client("s3")
    buckets.create_bucket(Bucket="sales")
    for number in range(10):
        buckets.put_object(Bucket="sales", Key=f"2026-03-02/{number}.csv", Body=b"...")
    buckets.put_object(Bucket="sales", Key="2026-03-03/0.csv", Body=b"...")
    machine = sfn.load("sales-import.asl.yaml")
    machine.mock("Import").returns_payload({"rows": 100}, delay="30s")
    machine.mock("Report").returns({"MessageId": "m-1"})
    return machine


DAY = {"bucket": "sales", "day": "2026-03-02"}


def test_every_file_of_the_day(sales):
    run = sales.run(DAY)
    run.assert_succeeded(output={"rows": 1000, "files": 10})
    assert run.visits("Import").count == 10
    assert run.visits("Import").requests[3]["Payload"] == {"key": "2026-03-02/3.csv"}
    assert run.duration >= 90  # ten files, four at a time


def test_two_bad_files_are_tolerated(sales):
    sales.mock("Import", iteration="3,7").throws("BadFile", "no header")
    sales.run(DAY).assert_succeeded(output_contains={"files": 8})


def test_three_are_too_many(sales):
    sales.mock("Import", iteration="3-5").throws("BadFile")
    sales.run(DAY).assert_failed("ImportFailed")


def test_a_throttled_import_is_tried_again(sales):
    sales.mock("Import", iteration=3, attempt=0).throws("Lambda.TooManyRequestsException")
    run = sales.run(DAY).assert_succeeded(output_contains={"rows": 1000})
    assert run.visits("Import").attempts == 11
