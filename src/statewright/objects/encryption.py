"""Which encryption objects show: the one that their request names, else that of their bucket.

Nothing is encrypted here: these are members that the service shows, and that clients compare.

Source: user guide, "Setting default server-side encryption behavior for Amazon S3 buckets"; key ARNs are observed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Final

from statewright.config import Config
from statewright.payload import JsonMapping, JsonObject

ENCRYPTION: Final = "encryption"
"""The subject among a bucket's settings."""
ALGORITHM: Final = "ServerSideEncryption"
KEY: Final = "SSEKMSKeyId"
BUCKET_KEY: Final = "BucketKeyEnabled"
OWN: Final = "AES256"
_KMS: Final = "aws:kms"

DEFAULT: Final[JsonObject] = {
    "Rules": [{"ApplyServerSideEncryptionByDefault": {"SSEAlgorithm": OWN}, "BucketKeyEnabled": False}]
}
"""The default encryption of a bucket for which none was set."""


def applied(given: Mapping[str, str], settings: JsonMapping, config: Config) -> Mapping[str, str]:
    """The members that an object shows, given those of its request and the settings of its bucket."""
    if ENCRYPTION not in settings and not given:
        return given
    rule = settings.get(ENCRYPTION, DEFAULT)["Rules"][0]
    default = rule.get("ApplyServerSideEncryptionByDefault") or {}
    found = dict(given)
    if ALGORITHM not in found and default.get("SSEAlgorithm", OWN) != OWN:
        found[ALGORITHM] = default["SSEAlgorithm"]
        if default.get("KMSMasterKeyID"):
            found.setdefault(KEY, default["KMSMasterKeyID"])
    if not found.get(ALGORITHM, OWN).startswith(_KMS):
        return {name: value for name, value in found.items() if name == ALGORITHM}
    found[KEY] = key_arn(found.get(KEY), config)
    if found[ALGORITHM] == _KMS and rule.get("BucketKeyEnabled"):
        found.setdefault(BUCKET_KEY, str(True))
    if found.get(BUCKET_KEY) == str(False):
        del found[BUCKET_KEY]
    return found


def key_arn(named: str | None, config: Config) -> str:
    """The ARN of a key by its id, alias or ARN; without a name, of the account's own key for objects."""
    if named is None:
        made = hashlib.blake2b(f"{config.account} {config.region} aws/s3".encode(), digest_size=16).hexdigest()
        return config.arn("kms", f"key/{made[:8]}-{made[8:12]}-{made[12:16]}-{made[16:20]}-{made[20:]}")
    if named.startswith("arn:"):
        return named
    return config.arn("kms", named if named.startswith("alias/") else f"key/{named}")
