"""Results of authorizers in memory: their time, their bound, and what tells identities apart."""

from __future__ import annotations

from statewright.apis.authorizers.results import Results, key_of
from statewright.apis.authorizers.verdicts import Verdict
from tests.unit.apis.authorizers.test_issuers import Moved


def test_a_result_ends_with_its_time():
    clock = Moved()
    results = Results(clock)  # type: ignore[arg-type]
    key, verdict = key_of("api", "dev", "door", [["ada"]]), Verdict(is_allowed=True)
    results.put(key, verdict, 300)
    clock.now += 299
    assert results.get(key) is verdict
    clock.now += 1
    assert results.get(key) is None
    assert len(results) == 0


def test_memory_is_bounded():
    results = Results(Moved(), most_bytes=10_000)  # type: ignore[arg-type]
    keys = [key_of("api", "dev", "door", [[str(number)]]) for number in range(100)]
    for key in keys:
        results.put(key, Verdict(size_bytes=1_000), 60_000)
    assert 1 <= len(results) <= 10
    assert results.get(keys[-1]) is not None
    assert results.get(keys[0]) is None
    results.put(keys[0], Verdict(size_bytes=20_000), 60_000)
    assert len(results) == 0, "one that is larger than all memory is not kept"


def test_keys_tell_everything_apart():
    identities: list[list[list[str]]] = [
        [["a", "b"]], [["a"], ["b"]], [["a,b"]], [["b", "a"]], [["ab"]], [], [[]],
    ]  # fmt: skip
    found = {
        key_of(api, stage, authorizer, identity)
        for api in ("a", "b")
        for stage in ("x", "y")
        for authorizer in ("1", "2")
        for identity in identities
    }
    assert len(found) == 2 * 2 * 2 * 7


def test_a_stage_is_flushed_alone():
    results = Results(Moved())  # type: ignore[arg-type]
    one, other = key_of("api", "dev", "door", [["a"]]), key_of("api", "prod", "door", [["a"]])
    for key in (one, other):
        results.put(key, Verdict(), 60_000)
    results.flush("api", "dev")
    assert results.get(one) is None
    assert results.get(other) is not None
