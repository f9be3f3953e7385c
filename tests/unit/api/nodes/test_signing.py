from __future__ import annotations

import hashlib
from typing import Any

import pytest

from statewright.api.nodes.signing import MOST_MS, WINDOW, Refused, Signer, Verifier, is_moved

SECRET = b"secret"


class Hands:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.ms = 1_000_000

    def now_ms(self) -> int:
        return self.ms


def pair(secret: bytes = SECRET) -> tuple[Signer, Verifier, Any]:
    clock: Any = Hands()
    return Signer(secret, "a", clock), Verifier(SECRET, clock), clock


def test_a_call_is_verified_with_its_body():
    signer, verifier, _ = pair()
    signed = verifier.check("POST", "/p?q=1", signer.call("POST", "/p?q=1", b"body"))
    assert (signed.node, signed.client) == ("a", None)
    assert signed.covers(b"body")
    assert not signed.covers(b"bodY")


@pytest.mark.parametrize(("method", "path"), [("PUT", "/p"), ("POST", "/p?q=1"), ("POST", "/P")])
def test_another_method_or_path(method, path):
    signer, verifier, _ = pair()
    with pytest.raises(Refused, match="not that of a node"):
        verifier.check(method, path, signer.call("POST", "/p", b""))


def test_another_secret():
    signer, _, clock = pair()
    with pytest.raises(Refused, match="not that of a node"):
        Verifier(b"other", clock).check("POST", "/p", signer.call("POST", "/p", b""))


@pytest.mark.parametrize("at", range(2))
def test_changed_headers(at):
    signer, verifier, _ = pair()
    headers = signer.call("POST", "/p", b"")
    name, value = headers[at]
    headers[at] = (name, value.replace(b"a", b"b", 1) if b"a" in value else value + b"0")
    with pytest.raises(Refused):
        verifier.check("POST", "/p", headers)


@pytest.mark.parametrize("value", [b"", b".", b"....", b"1.2.3.4.5", b"\xff\xfe", b"." * 5000])
def test_what_is_no_signature(value):
    _, verifier, _ = pair()
    for headers in ([(b"x-statewright-signature", value)], [(b"x-statewright-node", value)], []):
        with pytest.raises(Refused):
            verifier.check("POST", "/p", headers)


def test_a_header_that_is_there_twice():
    signer, verifier, _ = pair()
    headers = signer.call("POST", "/p", b"")
    with pytest.raises(Refused, match="twice"):
        verifier.check("POST", "/p", [*headers, headers[0]])


@pytest.mark.parametrize(("difference", "passes"), [(0, True), (MOST_MS, True), (MOST_MS + 1, False)])
@pytest.mark.parametrize("sign", [1, -1])
def test_clocks(difference, passes, sign):
    signer, verifier, clock = pair()
    headers = signer.call("POST", "/p", b"")
    clock.ms += sign * difference
    if passes:
        verifier.check("POST", "/p", headers)
    else:
        with pytest.raises(Refused, match="clocks"):
            verifier.check("POST", "/p", headers)


def test_a_replay():
    signer, verifier, _ = pair()
    calls = [signer.call("POST", "/p", b"") for _ in range(5)]
    for one in (calls[3], calls[0], calls[4]):
        verifier.check("POST", "/p", one)
    for one in (calls[3], calls[0], calls[4]):
        with pytest.raises(Refused, match="before"):
            verifier.check("POST", "/p", one)
    for one in (calls[1], calls[2]):
        verifier.check("POST", "/p", one)


def test_calls_that_were_overtaken_by_a_window_are_refused():
    signer, verifier, _ = pair()
    first, second = signer.call("POST", "/p", b""), signer.call("POST", "/p", b"")
    for _ in range(WINDOW - 2):
        signer.call("POST", "/p", b"")
    verifier.check("POST", "/p", signer.call("POST", "/p", b""))
    with pytest.raises(Refused, match="before"):
        verifier.check("POST", "/p", first)
    verifier.check("POST", "/p", second)


def test_a_long_gap_forgets_nothing_that_could_come_again():
    signer, verifier, _ = pair()
    old = signer.call("POST", "/p", b"")
    verifier.check("POST", "/p", old)
    signer._count += 10 * WINDOW
    new = signer.call("POST", "/p", b"")
    verifier.check("POST", "/p", new)
    for one in (old, new):
        with pytest.raises(Refused, match="before"):
            verifier.check("POST", "/p", one)


def test_senders_that_have_gone_are_forgotten_and_their_calls_stay_refused():
    _, verifier, clock = pair()
    calls = []
    for _ in range(1000):
        calls.append(Signer(SECRET, "a", clock).call("POST", "/p", b""))
        verifier.check("POST", "/p", calls[-1])
        clock.ms += 1_000
    assert len(verifier._seen) < 200
    for one in calls:
        with pytest.raises(Refused):
            verifier.check("POST", "/p", one)


def test_marks_are_not_calls():
    signer, verifier, _ = pair()
    signed = verifier.check("PUT", "/p", signer.mark("PUT", "/p", ("::1", 80)), is_mark=True)
    assert signed.client == ("::1", 80)
    with pytest.raises(Refused, match="something else"):
        verifier.check("PUT", "/p", signer.mark("PUT", "/p", None))
    with pytest.raises(Refused, match="something else"):
        verifier.check("PUT", "/p", signer.call("PUT", "/p", b""), is_mark=True)
    assert not signed.covers(b"")


def test_moved_is_proved_for_one_call():
    signer, verifier, _ = pair()
    headers = signer.mark("GET", "/p", None)
    asked = dict(headers)[b"x-statewright-signature"]
    proof = verifier.moved(asked)
    assert is_moved(SECRET, asked, [(b"a", b"b"), proof])
    assert not is_moved(SECRET, asked + b"1", [proof])
    assert not is_moved(SECRET, asked, [(proof[0], hashlib.sha256(asked).hexdigest().encode())])
    assert not is_moved(SECRET, asked, [])
