"""Policies of uploads by a form: who signed them, and whether a form stays within its policy.

A form is checked as it will be carried out: names of fields in lower case, `${filename}` replaced.

Source: user guide, "Creating an HTML form (using AWS Signature Version 4)", "Creating a POST policy", "Authenticating
requests in browser-based uploads using POST"; texts of refusals are observed.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

from statewright.api.auth import ALGORITHM, signing_key
from statewright.errors import ApiError
from statewright.objects import faults
from statewright.payload import Json, JsonTextError, dump_json, parse_json

_V4: Final = ("X-Amz-Algorithm", "X-Amz-Credential", "X-Amz-Date", "X-Amz-Signature")
_V2: Final = ("AWSAccessKeyId", "Signature")
_UNCHECKED: Final = frozenset({"x-amz-signature", "signature", "awsaccesskeyid", "file", "policy"})
"""Fields that need no condition, besides those that begin with `x-ignore-`."""
EXACTLY, BEGINS, LENGTH = "eq", "starts-with", "content-length-range"


@dataclass(frozen=True, slots=True)
class Policy:
    """The conditions of a policy: operator, field in lower case and text, in their order. Lengths are in bytes."""

    conditions: Sequence[tuple[str, str, str]] = ()
    least: int = 0
    most: int | None = None
    expires_ms: int | None = None
    is_open: bool = True
    """True for a form without a policy."""
    names: Mapping[str, str] = field(default_factory=dict)
    """The fields' names as the policy has them, for refusals."""

    def check(self, fields: Mapping[str, str], bucket: str, now_ms: int) -> None:
        """Refuse a form that is not within the policy. Raises: ApiError (`AccessDenied`)."""
        if self.is_open:
            return
        if self.expires_ms is not None and self.expires_ms < now_ms:
            raise _denied("Policy expired.")
        given = {**fields, "bucket": bucket}
        for operator, name, text in self.conditions:
            if not _holds(operator, name, text, given.get(name, "")):
                shown = ", ".join(dump_json(one) for one in (operator, f"${self.names.get(name, name)}", text))
                raise _denied(f"Policy Condition failed: [{shown}]")
        named = {name for _, name, _ in self.conditions}
        extra = [name for name in given if name not in named and not _needs_none(name)]
        if extra:
            raise _denied(f"Extra input fields: {extra[0][:200]}")


def _needs_none(name: str) -> bool:
    return name in _UNCHECKED or name.startswith("x-ignore-")


def _holds(operator: str, name: str, text: str, value: str) -> bool:
    if operator == EXACTLY:
        return value == text
    if name == "content-type":
        # A list of types: each has to begin so.
        return all(one.strip().startswith(text) for one in value.split(","))
    return value.startswith(text)


def check_signature(fields: Mapping[str, str], secrets: Mapping[str, str] | None) -> str | None:
    """Refuse a form that is not signed as it should be; without `secrets` only its completeness is checked.

    Returns the access key of its signer, if that was checked.

    Raises: ApiError (`InvalidArgument` for a missing field, `AccessDenied`, `InvalidAccessKeyId`,
        `SignatureDoesNotMatch`).
    """
    is_older = any(name.lower() in fields for name in _V2)
    is_newer = any(name.lower() in fields for name in _V4)
    if not (is_older or is_newer or "policy" in fields):
        if secrets is not None:
            raise ApiError("AccessDenied", "Access Denied", status=403)
        return None
    for name in (*(_V4 if is_newer else _V2), "Policy"):
        if not fields.get(name.lower()):
            raise missing_field(name)
    if secrets is None:
        return None
    policy = fields["policy"].encode()
    if is_newer:
        key = fields["x-amz-credential"].rsplit("/", 4)[0]
        expected, given = _newer_signature(fields, policy, secrets), fields["x-amz-signature"]
    else:
        key = fields["awsaccesskeyid"]
        mac = hmac.new(_secret(secrets, key).encode(), policy, hashlib.sha1).digest()
        expected, given = base64.b64encode(mac).decode(), fields["signature"]
    if not hmac.compare_digest(expected.encode(), given.encode()):
        raise ApiError("InvalidSignatureException", "The request signature we calculated does not match.")
    return key


def _newer_signature(fields: Mapping[str, str], policy: bytes, secrets: Mapping[str, str]) -> str:
    key, *scope = fields["x-amz-credential"].rsplit("/", 4)
    is_scope = len(scope) == 4 and scope[2:] == ["s3", "aws4_request"] and fields["x-amz-date"].startswith(scope[0])
    if not is_scope or fields["x-amz-algorithm"] != ALGORITHM:
        raise faults.invalid_argument(
            "The Credential must have the form <key>/<date>/<region>/s3/aws4_request, and the algorithm be "
            f"{ALGORITHM}.", "X-Amz-Credential", fields["x-amz-credential"][:200],
        )  # fmt: skip
    return hmac.new(signing_key(_secret(secrets, key), *scope[:3]), policy, hashlib.sha256).hexdigest()


def _secret(secrets: Mapping[str, str], key: str) -> str:
    found = secrets.get(key)
    if found is None:
        raise ApiError("UnrecognizedClientException", "The security token included in the request is invalid.")
    return found


def read_policy(text: str | None) -> Policy:
    """Read the field `policy`; none leaves everything open. Raises: ApiError (`InvalidPolicyDocument`)."""
    if text is None:
        return Policy()
    try:
        document = parse_json(base64.b64decode(text, validate=True).decode())
    except (ValueError, binascii.Error, JsonTextError):
        raise _invalid("Invalid JSON.") from None
    if not isinstance(document, dict):
        raise _invalid("Invalid JSON.")
    if not isinstance(document.get("expiration"), str):
        raise _invalid("Policy missing expiration.")
    if not isinstance(document.get("conditions"), list):
        raise _invalid("Policy missing conditions.")
    conditions: list[tuple[str, str, str]] = []
    names: dict[str, str] = {}
    least, most = 0, None
    for condition in document["conditions"]:
        for operator, first, second in _triples(condition):
            if operator == LENGTH:
                low, high = _bytes(first), _bytes(second)
                least, most = max(least, low), high if most is None else min(most, high)
                continue
            names[first.lower()] = first
            conditions.append((operator, first.lower(), second))
    return Policy(conditions, least, most, _instant_ms(document["expiration"]), is_open=False, names=names)


def _triples(condition: Json) -> list[tuple[str, Json, Json]]:
    if isinstance(condition, dict) and condition:
        found = [(EXACTLY, name, text) for name, text in condition.items()]
    elif isinstance(condition, list) and len(condition) == 3 and isinstance(condition[0], str):
        operator, first, second = condition
        if operator.lower() == LENGTH:
            return [(LENGTH, first, second)]
        if not isinstance(first, str) or not first.startswith("$"):
            raise _invalid("Invalid Condition: the field must begin with $.")
        found = [(operator.lower(), first[1:], second)]
    else:
        raise _invalid("Invalid Condition: it must be an object, or a list of three.")
    for operator, _, text in found:
        if operator not in (EXACTLY, BEGINS) or not isinstance(text, str):
            raise _invalid("Invalid Condition: eq, starts-with and content-length-range compare with a text.")
    return found


def _bytes(value: Json) -> int:
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 19:
        return int(value)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise _invalid("Invalid content-length-range.")
    return value


def _instant_ms(text: str) -> int:
    try:
        found = datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        raise _invalid(f"Invalid 'expiration' value: '{text[:100]}'") from None
    return int((found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp() * 1000)


def missing_field(name: str) -> ApiError:
    """The error for a form without a field that it needs in front of the file."""
    said = (
        f"Bucket POST must contain a field named '{name}'.  If it is specified, please check the order of the fields."
    )
    return faults.invalid_argument(said, name, "")


def _denied(why: str) -> ApiError:
    return ApiError("AccessDenied", f"Invalid according to Policy: {why}", status=403)


def _invalid(why: str) -> ApiError:
    return ApiError("InvalidPolicyDocument", f"Invalid Policy: {why}", status=400)
