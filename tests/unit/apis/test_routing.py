"""The router: which route answers, and that its cost does not grow with the number of routes."""

from __future__ import annotations

import sys

import pytest

from statewright.apis.routing import Router


def router(*keys: str) -> Router[str]:
    made: Router[str] = Router()
    for key in keys:
        method, path = key.split(" ")
        made.add(method, path, key)
    return made


@pytest.mark.parametrize(
    ("path", "key", "values"),
    [
        ("/", "GET /", {}),
        ("/a/b", "GET /a/b", {}),
        ("/a/%62", "GET /a/b", {}),
        ("/a/x", "GET /a/{id}", {"id": "x"}),
        ("/a/x%2Fy", "GET /a/{id}", {"id": "x%2Fy"}),
        ("/a/x/c", "GET /a/{other}/c", {"other": "x"}),
        ("/a/b/d", "GET /a/{rest+}", {"rest": "b/d"}),
        ("/a//b", "GET /a/{rest+}", {"rest": "/b"}),
        ("/a/b/", "GET /a/{rest+}", {"rest": "b/"}),
        ("/z/y", "ANY /{all+}", {"all": "z/y"}),
    ],
)
def test_the_most_specific_route_is_found(path, key, values):
    made = router("GET /", "GET /a/b", "GET /a/{id}", "GET /a/{other}/c", "GET /a/{rest+}", "ANY /{all+}")
    found = made.find("GET", path)
    assert found is not None
    assert (found.target, found.parameters) == (key, values)


def test_a_route_without_the_method_gives_way():
    made = router("GET /a/b", "POST /a/{rest+}", "ANY /{all+}")
    for method, path, key in (("POST", "/a/b", "POST /a/{rest+}"), ("PUT", "/a/b", "ANY /{all+}")):
        found = made.find(method, path)
        assert found is not None
        assert found.target == key
    assert router("GET /a/b").find("POST", "/a/b") is None
    assert router("GET /{all+}").find("GET", "/") is None


def test_steps_do_not_grow_with_the_number_of_routes():
    def steps(made: Router[str]) -> int:
        count = 0

        def note(*_: object) -> None:
            nonlocal count
            count += 1

        sys.setprofile(note)
        try:
            found = made.find("GET", "/v1/r7/x/items/y")
        finally:
            sys.setprofile(None)
        assert found is not None
        return count

    few = router(*(f"GET /v1/r{n}/{{id}}/items/{{item}}" for n in range(10)))
    many = router(*(f"GET /v1/r{n}/{{id}}/items/{{item}}" for n in range(10_000)))
    assert steps(few) == steps(many)


def test_a_route_with_thousands_of_segments_is_not_found() -> None:
    router: Router[str] = Router()
    deep = "/a" * 5_000
    router.add("GET", deep, "deep")
    router.add("GET", "/a/b", "b")
    assert router.find("GET", deep) is None
    found = router.find("GET", "/a/b")
    assert found is not None
    assert found.target == "b"
