"""Tokens and key sets for tests."""

from __future__ import annotations

import json
from typing import Any

from joserfc import jws
from joserfc.jwk import RSAKey

from statewright.virtual_clock import VIRTUAL_START_MS

ISSUER = "https://issuer.example"
NOW_MS = VIRTUAL_START_MS


class Signer:
    """A key of an issuer."""

    def __init__(self, key_id: str) -> None:
        self.key_id = key_id
        self._key = RSAKey.generate_key(2048)
        self.jwk: dict[str, Any] = {**self._key.as_dict(private=False), "kid": key_id}
        self.public_pem = self._key.as_pem(private=False)

    def sign(self, claims: dict[str, Any], **header: Any) -> str:
        """A token with these claims."""
        given = {"alg": "RS256", "kid": self.key_id, **header}
        text: str = jws.serialize_compact(given, json.dumps(claims), self._key, algorithms=[given["alg"]])
        return text


def key_set(*signers: Signer) -> dict[str, Any]:
    """The public keys of signers."""
    return {"keys": [one.jwk for one in signers]}
