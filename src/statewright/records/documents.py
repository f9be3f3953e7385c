"""Policy documents: parses and checks them, so that malformed ones are refused. They are not enforced."""

from __future__ import annotations

from typing import Final

from statewright.errors import ApiError
from statewright.payload import Json, JsonObject, JsonTextError, parse_json

VERSIONS: Final = ("2008-10-17", "2012-10-17")
_PRINCIPALS: Final = ("Principal", "NotPrincipal")
_RESOURCES: Final = ("Resource", "NotResource")
_ACTIONS: Final = ("Action", "NotAction")


def check_permissions(text: str) -> None:
    """Refuse a text that is not an identity policy. Raises: ApiError (`MalformedPolicyDocument`)."""
    for statement in _statements(text):
        if any(name in statement for name in _PRINCIPALS):
            raise malformed("Policy document should not specify a principal.")
        if not any(name in statement for name in _ACTIONS):
            raise malformed("Policy statement must contain actions.")
        if not any(name in statement for name in _RESOURCES):
            raise malformed("Policy statement must contain resources.")


def check_trust(text: str) -> None:
    """Refuse a text that is not a role's trust policy. Raises: ApiError (`MalformedPolicyDocument`)."""
    for statement in _statements(text):
        for name in _RESOURCES:
            if name in statement:
                raise malformed(f"Has prohibited field {name}")
        if not any(name in statement for name in _PRINCIPALS):
            raise malformed("Missing required field Principal")
        if not any(name in statement for name in _ACTIONS):
            raise malformed("Missing required field Action")


def malformed(text: str) -> ApiError:
    """The error for a document that is not a policy."""
    return ApiError("MalformedPolicyDocument", text)


def _statements(text: str) -> list[JsonObject]:
    try:
        document: Json = parse_json(text)
    except JsonTextError:
        raise malformed("This policy contains invalid Json") from None
    if not isinstance(document, dict):
        raise malformed("Syntax errors in policy.")
    version = document.get("Version", VERSIONS[0])
    if version not in VERSIONS:
        raise malformed("The policy must contain a valid version string")
    given = document.get("Statement")
    statements = [given] if isinstance(given, dict) else given
    if not isinstance(statements, list) or not statements or not all(isinstance(one, dict) for one in statements):
        raise malformed("Syntax errors in policy.")
    if any(one.get("Effect") not in ("Allow", "Deny") for one in statements):
        raise malformed("Syntax errors in policy.")
    return statements
