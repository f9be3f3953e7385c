"""A polling job, as people write it: submit, wait, look, count the looks."""

import pytest


@pytest.fixture
def transcode(sfn):
    machine = sfn.load("transcode.asl.json")
    machine.mock("Submit").returns({"Job": {"Id": "j-1"}})
    machine.mock(resource="lambda:publish").returns("published")
    return machine


def statuses(*words: str) -> list[dict[str, dict[str, str]]]:
    return [{"Job": {"Status": word}} for word in words]


def test_a_job_that_takes_three_looks(transcode):
    running, complete = statuses("PROGRESSING", "COMPLETE")
    transcode.mock("Look").returns(running, times=2).then.returns(complete)
    run = transcode.run({"settings": {}}).assert_succeeded("published")
    assert run.visits("Wait") == 3
    assert run.duration == 90
    assert run.visits("Look").requests == [{"Id": "j-1"}] * 3


def test_a_job_that_fails(transcode):
    running, broken = statuses("PROGRESSING", "ERROR")
    transcode.mock("Look").returns(running).then.returns(broken)
    transcode.run({"settings": {}}).assert_failed("TranscodingFailed")


def test_a_job_without_end(transcode):
    transcode.mock("Look").returns(statuses("PROGRESSING")[0])
    run = transcode.run({"settings": {}}).assert_failed("TooLong")
    assert run.duration == 600


def test_a_throttled_look(transcode):
    transcode.mock("Look", visit=0, attempt=0).throws("MediaConvert.TooManyRequestsException")
    transcode.mock("Look").returns(statuses("COMPLETE")[0])
    run = transcode.run({"settings": {}}).assert_succeeded()
    assert run.visits("Look").attempts == 2
    assert run.duration == 34
