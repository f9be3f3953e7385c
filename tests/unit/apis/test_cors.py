"""How far a configuration of CORS lets pages in: an origin that is named, wildcards, and all others."""

from __future__ import annotations

import pytest

from statewright.apis.cors import Cors


@pytest.mark.parametrize(
    ("allowed", "origin", "shared"),
    [
        ("https://a.example", "https://a.example", "named"), ("https://A.example", "https://a.EXAMPLE", "named"),
        ("https://a.example", "http://a.example", "no"), ("https://a.example", "https://b.a.example", "no"),
        ("*", "https://a.example", "everyone"), ("https://*", "https://a.example", "everyone"),
        ("https://*", "http://a.example", "no"),
    ],
)  # fmt: skip
def test_only_an_origin_in_full_is_named(allowed: str, origin: str, shared: str) -> None:
    cors = Cors.of({"AllowOrigins": [allowed]})
    assert cors is not None
    assert (cors.shares_with(origin), cors.allows(origin)) == (shared, shared != "no")


def test_a_configuration_without_members_is_none() -> None:
    assert Cors.of({}) is Cors.of(None) is None
