"""Settings of a bucket other than its tags: their subjects, as its row keeps them, and the values allowed for each.

Owns the service's rules on these settings. Those that change nothing for a single trusted user (encryption, policies,
public access, access logs, CORS) are stored and returned, and have no other effect.

Source: service API reference, the operations named as the subjects are; refusals that it does not list are observed.
"""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from typing import Final

import orjson

from statewright.errors import ApiError
from statewright.objects import faults
from statewright.payload import Json, JsonMapping, JsonObject, JsonTextError, parse_json

PUBLIC_ACCESS: Final = "publicAccess"
POLICY: Final = "policy"
OWNERSHIP: Final = "ownership"
LOGGING: Final = "logging"
CORS: Final = "cors"

POLICY_BYTES: Final = 20_480
CORS_RULES: Final = 100
BLOCKS: Final = ("BlockPublicAcls", "IgnorePublicAcls", "BlockPublicPolicy", "RestrictPublicBuckets")
_METHODS: Final = ("GET", "PUT", "HEAD", "POST", "DELETE")
_VERSIONS: Final = ("2012-10-17", "2008-10-17")
_RESOURCE: Final = re.compile(r"arn:aws[a-z-]*:s3:::([^/]*)(/.*)?", re.ASCII | re.DOTALL)
_PRINCIPALS: Final = frozenset({"AWS", "Service", "Federated", "CanonicalUser"})


def of_new_bucket(ownership: str | None) -> JsonObject:
    """The settings of a new bucket, by subject; `ownership` is the rule that its creator names."""
    return {
        OWNERSHIP: {"Rules": [{"ObjectOwnership": ownership or "BucketOwnerEnforced"}]},
        PUBLIC_ACCESS: dict.fromkeys(BLOCKS, True),
    }


def check_encryption(given: JsonMapping) -> None:
    """Refuse encryption rules that the service refuses. Raises: ApiError (`MalformedXML`, `InvalidArgument`)."""
    if len(given["Rules"]) != 1:
        raise faults.malformed_xml()
    default = given["Rules"][0].get("ApplyServerSideEncryptionByDefault") or {}
    key = default.get("KMSMasterKeyID")
    if key and not default["SSEAlgorithm"].startswith("aws:kms"):
        raise faults.invalid_argument(
            "a KMSMasterKeyID is not applicable if the default sse algorithm is not aws:kms or aws:kms:dsse",
            "KMSMasterKeyID",
            key,
        )


def check_ownership(given: JsonMapping) -> None:
    """Refuse anything but one rule. Raises: ApiError (`MalformedXML`)."""
    if len(given["Rules"]) != 1:
        raise faults.malformed_xml()


def check_cors(given: JsonMapping) -> None:
    """Refuse CORS rules that the service refuses. Raises: ApiError (`MalformedXML`, `InvalidRequest`)."""
    rules = given["CORSRules"]
    if not 0 < len(rules) <= CORS_RULES:
        raise faults.malformed_xml()
    for rule in rules:
        if not rule["AllowedMethods"] or not rule["AllowedOrigins"]:
            raise faults.malformed_xml()
        for method in rule["AllowedMethods"]:
            if method not in _METHODS:
                raise faults.invalid_request(
                    f"Found unsupported HTTP method in CORS config. Unsupported method is {method}"
                )
        for name in ("AllowedOrigin", "AllowedHeader"):
            for value in rule.get(f"{name}s") or ():
                if value.count("*") > 1:
                    raise faults.invalid_request(f'{name} "{value}" can not have more than one wildcard.')


def check_policy(bucket: str, text: str) -> None:
    """Refuse a text that is not a policy of this bucket. Raises: ApiError (`MalformedPolicy`)."""
    try:
        policy = parse_json(text) if text.startswith("{") else None
    except JsonTextError:
        policy = None
    if not isinstance(policy, dict):
        raise _malformed("Policies must be valid JSON and the first byte must be '{'")
    if len(orjson.dumps(policy)) > POLICY_BYTES:
        raise _malformed(f"Normalized policy document exceeds the maximum allowed size of {POLICY_BYTES} bytes.")
    if policy.get("Version", _VERSIONS[0]) not in _VERSIONS:
        raise _malformed("The policy must contain a valid version string")
    if "Statement" not in policy:
        raise _malformed("Missing required field Statement")
    for statement in _statements(policy):
        _check_statement(bucket, statement)


def _check_statement(bucket: str, statement: Json) -> None:
    if not isinstance(statement, dict):
        raise _malformed("Policies must be valid JSON and the first byte must be '{'")
    if "Effect" not in statement:
        raise _malformed("Missing required field Effect")
    if statement["Effect"] not in ("Allow", "Deny"):
        raise _malformed(f"Invalid effect: {statement['Effect']}")
    for name in ("Principal", "Action", "Resource"):
        if name not in statement and f"Not{name}" not in statement:
            raise _malformed(f"Missing required field {name}")
    if not _is_principal(statement.get("Principal", statement.get("NotPrincipal"))):
        raise _malformed("Invalid principal in policy")
    for action in _listed(statement.get("Action", statement.get("NotAction"))):
        if not isinstance(action, str) or not (action == "*" or action.lower().startswith("s3:")):
            raise _malformed("Policy has invalid action")
    for resource in _listed(statement.get("Resource", statement.get("NotResource"))):
        found = _RESOURCE.fullmatch(resource) if isinstance(resource, str) else None
        if resource != "*" and (found is None or not fnmatchcase(bucket, found[1])):
            raise _malformed("Policy has invalid resource")


def is_public(text: str) -> bool:
    """True if a policy makes its bucket public: it allows something to every principal, without a condition."""
    return any(
        statement["Effect"] == "Allow" and not statement.get("Condition") and _is_anyone(statement.get("Principal"))
        for statement in _statements(parse_json(text))
    )


def _statements(policy: Json) -> list[Json]:
    return _listed(policy["Statement"])


def _is_principal(value: Json) -> bool:
    if isinstance(value, str):
        return value == "*"
    if not isinstance(value, dict) or not value or not value.keys() <= _PRINCIPALS:
        return False
    return all(isinstance(one, str) and one for of in value.values() for one in _listed(of))


def _is_anyone(value: Json) -> bool:
    return value == "*" or (isinstance(value, dict) and "*" in _listed(value.get("AWS", [])))


def _listed(value: Json) -> list[Json]:
    return value if isinstance(value, list) else [value]


def _malformed(message: str) -> ApiError:
    return ApiError("MalformedPolicy", message, status=400)
