"""The region of a bucket: where a new one is, and the application of that region.

Names of buckets are global, and every region has the same buckets; what a bucket notifies is in its own region.

Source: API reference, CreateBucket; texts observed.
"""

from __future__ import annotations

from functools import cache
from typing import Final

from statewright.api.models import load_model
from statewright.api.operations import App, Call
from statewright.api.routing import signing_scope
from statewright.errors import ApiError
from statewright.objects import faults
from statewright.objects.records import EUROPE, Bucket

FIRST_REGION: Final = "us-east-1"


def region_of_new(app: App, call: Call, given: str | None) -> str:
    """The region of a new bucket, from its location constraint and the region that the call was signed for, if any.

    Raises: ApiError (`InvalidLocationConstraint`, `IllegalLocationConstraintException`).
    """
    endpoint = signing_scope(call.query, call.headers)[0]
    if endpoint == "":
        region = given or app.config.region
    elif endpoint == FIRST_REGION:
        region = given or FIRST_REGION
    elif given is None or (given != endpoint and (given, endpoint) != ("EU", EUROPE)):
        raise faults.illegal_location(given or "unspecified")
    else:
        return given
    if given is not None and ((given == FIRST_REGION and endpoint != "") or given not in (*_locations(), FIRST_REGION)):
        raise faults.invalid_location(given)
    _check(app, region)
    return region


def _check(app: App, region: str) -> None:
    """Refuse a location that the settings exclude. Raises: ApiError (`InvalidLocationConstraint`)."""
    place = EUROPE if region == "EU" else region
    if app.regions is None or place == app.config.region:
        return
    try:
        app.regions.check(place)
    except ApiError:
        raise faults.invalid_location(region) from None


@cache
def _locations() -> frozenset[str]:
    model = load_model("s3")
    assert model is not None
    return frozenset(model["shapes"]["BucketLocationConstraint"]["enum"])


async def app_of_bucket(app: App, bucket: Bucket) -> App:
    """The application of a bucket's region, which is started with its first call. Raises: ApiError, StoreError."""
    if app.regions is None or bucket.place == app.config.region:
        return app
    return await app.regions.app_of(bucket.place)
