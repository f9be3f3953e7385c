"""A saga: whatever was booked is cancelled, in the opposite order, when a later part fails."""

import pytest


@pytest.fixture
def trip(sfn):
    """The machine with every part free; a test says what is not."""
    machine = sfn.load("trip.asl.yaml")
    machine.mock("Book Flight").returns_payload({"reference": "F-1"})
    machine.mock("Book Hotel").returns_payload({"reference": "H-1"})
    machine.mock("Hire Car").returns_payload({"reference": "C-1"})
    machine.mock("Cancel*").returns_payload({})
    return machine


def test_all_is_free(trip):
    run = trip.run({"trip": 7})
    run.assert_succeeded(output={"flight": "F-1", "hotel": "H-1", "car": "C-1"})
    run.assert_path("Book Flight", "Book Hotel", "Hire Car", "Booked")


def test_no_hotel(trip):
    trip.mock("Book Hotel").throws("Full", "no room left")
    run = trip.run({"trip": 7})
    run.assert_failed("TripNotBooked")
    run.assert_path("Book Flight", "Book Hotel", "Cancel Flight", "Not Booked")
    assert run.visits("Cancel Flight").requests[0]["Payload"] == {"reference": "F-1"}


def test_a_car_hire_that_never_answers(trip):
    trip.mock("Hire Car").hangs()
    run = trip.run({"trip": 7})
    run.assert_failed("TripNotBooked")
    run.assert_path_contains("Hire Car", "Cancel Hotel", "Cancel Flight")
    assert run.duration == 30


def test_a_busy_airline_is_asked_again(trip):
    trip.mock("Book Flight").throws("AirlineBusy", times=2).then.returns_payload({"reference": "F-2"})
    run = trip.run({"trip": 7})
    run.assert_succeeded(output_contains={"flight": "F-2"})
    assert run.visits("Book Flight").attempts == 3
    assert run.duration == 5 + 10


def test_cancelling_goes_on_until_it_works(trip):
    trip.mock("Hire Car").throws("Full")
    trip.mock("Cancel Hotel").throws("Unavailable", times=2).then.returns_payload({})
    run = trip.run({"trip": 7})
    run.assert_failed("TripNotBooked")
    assert run.visits("Cancel Hotel").retries == 2


def test_no_flight_means_nothing_to_cancel(trip):
    trip.mock("Book Flight").throws("SoldOut")
    trip.run({"trip": 7}).assert_failed("TripNotBooked").assert_path("Book Flight", "Not Booked")
