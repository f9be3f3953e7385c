"""Tokens: which are genuine, and what forged ones are refused with."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import sys
from typing import Any

import pytest

from statewright.apis.authorizers.tokens import (
    LONGEST_TOKEN,
    LibraryMissing,
    Token,
    TokenRefused,
    check_claims,
    check_signature,
    claims_as_texts,
    scopes_of,
)
from tests.unit.apis.authorizers.signing import ISSUER, NOW_MS, Signer

SIGNER = Signer("one")
CLAIMS: dict[str, Any] = {"iss": ISSUER, "aud": "shop", "exp": NOW_MS // 1000 + 60}


def checked(text: str, signer: Signer = SIGNER) -> Token:
    token = Token.of(text)
    check_signature(token, signer.jwk)
    check_claims(token, ISSUER, ("shop",), NOW_MS)
    return token


@pytest.mark.parametrize("algorithm", ["RS256", "RS384", "RS512"])
def test_a_genuine_token(algorithm):
    token = checked(SIGNER.sign(CLAIMS, alg=algorithm))
    assert (token.claims["aud"], token.key_id) == ("shop", "one")


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"exp": NOW_MS // 1000}, "the token has expired"),
        ({"exp": None}, "no valid exp"),
        ({"exp": "4000000000"}, "no valid exp"),
        ({"exp": True}, "no valid exp"),
        ({"exp": 10**400}, "no valid exp"),
        ({"exp": float("inf")}, "malformed"),
        ({"nbf": NOW_MS // 1000 + 61}, "not valid yet"),
        ({"iat": NOW_MS // 1000 + 61}, "not valid yet"),
        ({"iss": "https://other.example"}, "valid issuer"),
        ({"iss": ISSUER + "/"}, "valid issuer"),
        ({"iss": [ISSUER]}, "valid issuer"),
        ({"aud": "other"}, "valid audience"),
        ({"aud": ["other", 1]}, "valid audience"),
        ({"aud": []}, "valid audience"),
        ({"aud": "other", "client_id": "shop"}, "valid audience"),
        ({"aud": None, "client_id": "shop"}, "valid audience"),
        ({"aud": {"shop": 1}}, "valid audience"),
    ],
)
def test_claims_that_are_refused(changes, why):
    with pytest.raises(TokenRefused, match=why):
        checked(SIGNER.sign({**CLAIMS, **changes}))


def test_claims_that_pass():
    own = {name: value for name, value in CLAIMS.items() if name != "aud"}
    checked(SIGNER.sign({**own, "client_id": "shop"}))
    checked(SIGNER.sign({**CLAIMS, "aud": ["other", "shop"]}))
    checked(SIGNER.sign({**CLAIMS, "nbf": NOW_MS // 1000 + 60, "iat": NOW_MS // 1000 + 60}))


def part(value: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()


@pytest.mark.parametrize("algorithm", ["none", "None", "NONE", "", "HS256", "ES256", "PS256", None, 1, ["RS256"]])
def test_other_algorithms_are_refused_before_a_key_is_looked_for(algorithm):
    for signature in ("", "AAAA"):
        with pytest.raises(TokenRefused, match="signing method"):
            Token.of(f"{part({'alg': algorithm, 'kid': 'one'})}.{part(CLAIMS)}.{signature}")


def test_a_token_signed_with_the_public_key_as_a_secret():
    head = f"{part({'alg': 'HS256', 'kid': 'one'})}.{part(CLAIMS)}"
    mac = hmac.new(SIGNER.public_pem, head.encode(), hashlib.sha256).digest()
    with pytest.raises(TokenRefused, match="signing method HS256 is invalid"):
        checked(f"{head}.{base64.urlsafe_b64encode(mac).rstrip(b'=').decode()}")


def test_forged_parts():
    text = SIGNER.sign(CLAIMS)
    head, claims, signature = text.split(".")
    other = part({**CLAIMS, "sub": "root"})
    for forged in (f"{head}.{other}.{signature}", f"{head}.{claims}.", f"{head}.{claims}.{signature[:-4]}AAAA",
                   f"{part({'alg': 'RS512', 'kid': 'one'})}.{claims}.{signature}"):  # fmt: skip
        with pytest.raises(TokenRefused, match="invalid signature"):
            checked(forged)
    with pytest.raises(TokenRefused, match="invalid signature"):
        checked(text, Signer("one"))


@pytest.mark.parametrize(
    "text",
    ["", "a", "a.b", "a.b.c.d", "a.b.c.d.e", "é.é.é", "." * 2, "!.!.!", f"{part([])}.{part({})}.x",
     "A" * LONGEST_TOKEN + "..", f"{part({'alg': 'RS256', 'crit': ['b64'], 'b64': False})}.{part({})}.x",
     f"{'e30' * 1000}.e30.x"],
)  # fmt: skip
def test_texts_that_are_no_tokens(text):
    with pytest.raises(TokenRefused):
        Token.of(text)


def test_a_nested_token_is_refused_in_time():
    deep = base64.urlsafe_b64encode(b'{"alg":' + b"[" * 5_000 + b"]" * 5_000 + b"}").decode()
    with pytest.raises(TokenRefused, match="malformed"):
        Token.of(f"{deep}.e30.x")


@pytest.mark.parametrize("kid", [None, "", 1, ["one"]])
def test_a_token_without_a_key_id(kid):
    with pytest.raises(TokenRefused, match="no kid"):
        _ = Token.of(f"{part({'alg': 'RS256', 'kid': kid})}.{part({})}.x").key_id


@pytest.mark.parametrize(
    "change", [{"use": "enc"}, {"alg": "RS512"}, {"kty": "oct", "k": "AAAA"}, {"n": "!"}, {"e": 3}]
)
def test_keys_that_are_not_for_signatures(change):
    with pytest.raises(TokenRefused):
        check_signature(Token.of(SIGNER.sign(CLAIMS)), {**SIGNER.jwk, **change})


def test_without_the_library_nothing_is_checked(monkeypatch):
    token = Token.of(SIGNER.sign(CLAIMS))
    monkeypatch.setitem(sys.modules, "joserfc", None)
    with pytest.raises(LibraryMissing):
        check_signature(token, SIGNER.jwk)


def test_scopes_and_claims_as_texts():
    assert scopes_of({"scope": "a b", "scp": ["c", 1]}) == ["a", "b", "c"]
    assert scopes_of({"scope": 1}) == []
    shown = claims_as_texts({"n": 17, "f": 1.5, "t": True, "l": ["a", 1], "d": {"k": "v"}, "s": "x"})
    assert shown == {"n": "17", "f": "1.5", "t": "true", "l": "[a 1]", "d": "map[k:v]", "s": "x"}
