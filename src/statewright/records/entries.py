"""Entries of the small services: identities, policies, secrets, parameters, image repositories, log groups, dashboards.

Owns the entries, their keys and formats. Leaves operations on them to the module of each service.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from statewright.payload import JsonObject
from statewright.stores.entries import EntryKind, Form

HOUR_SECONDS: Final = 3600


# ------------------------------------------------------------------ IAM


@dataclass(frozen=True, slots=True)
class Identity:
    """A role, user or group. `inline` are documents by name, `attached` ARNs; only roles have `trust`."""

    name: str
    path: str
    id: str
    created_ms: int
    inline: Mapping[str, str] = field(default_factory=dict)
    attached: Sequence[str] = ()
    tags: Mapping[str, str] = field(default_factory=dict)
    trust: str = ""
    description: str | None = None
    longest_seconds: int = HOUR_SECONDS
    """The longest life of a role's credentials."""
    boundary: str | None = None
    groups: Sequence[str] = ()
    """The names of a user's groups."""
    stored: int = 0


@dataclass(frozen=True, slots=True)
class AccountAlias:
    """The alias of the account."""

    name: str
    stored: int = 0


@dataclass(frozen=True, slots=True)
class PolicyVersion:
    """A version of a managed policy."""

    document: str
    created_ms: int


@dataclass(frozen=True, slots=True)
class Policy:
    """A managed policy. `default` names the version in effect, `last` is the number of the newest."""

    name: str
    path: str
    id: str
    created_ms: int
    updated_ms: int
    versions: Mapping[str, PolicyVersion]
    default: str = "v1"
    last: int = 1
    description: str | None = None
    tags: Mapping[str, str] = field(default_factory=dict)
    stored: int = 0


@dataclass(frozen=True, slots=True)
class Attachment:
    """The attachment of a managed policy to an identity: the word of its kind, its name and id."""

    policy: str
    kind: str
    name: str
    id: str
    stored: int = 0


def _identities(word: str) -> EntryKind[Identity]:
    return EntryKind(f"iam-{word}", Identity, lambda one: one.name.lower())


IDENTITIES: Final = {word: _identities(word) for word in ("role", "user", "group")}
ALIAS: Final = EntryKind("iam-alias", AccountAlias, lambda _: "")
POLICY: Final = EntryKind("iam-policy", Policy, lambda policy: policy.name.lower())
ATTACHMENT: Final = EntryKind(
    "iam-attached",
    Attachment,
    lambda one: f"{one.policy} {one.kind} {one.name}",
    parent=lambda one: one.policy,
    columns={"policy": lambda record: record.parent},
)


# ------------------------------------------------------------------ STS


@dataclass(frozen=True, slots=True)
class SessionKey:
    """The key that seals session tokens; empty if it must be replaced."""

    key: bytes
    stored: int = 0


def _without_key(members: JsonObject) -> JsonObject:
    # Programs that wrote format 1 left the data folder readable for every user of the machine.
    return {**members, "key": ""}


SESSION_KEY: Final = EntryKind("session-key", SessionKey, lambda _: "", form=Form(2, upgrades={1: _without_key}))


# ------------------------------------------------------------------ Secrets Manager


@dataclass(frozen=True, slots=True)
class SecretVersion:
    """A version of a secret: its staging labels; the value is an entry of its own."""

    stages: Sequence[str]
    created_ms: int


@dataclass(frozen=True, slots=True)
class Secret:
    """A secret. If it was marked for deletion at `marked_ms`, it is erased at `deleted_ms`."""

    name: str
    arn: str
    created_ms: int
    changed_ms: int
    description: str | None = None
    kms: str | None = None
    tags: Mapping[str, str] = field(default_factory=dict)
    deleted_ms: int | None = None
    marked_ms: int | None = None
    policy: str | None = None
    versions: Mapping[str, SecretVersion] = field(default_factory=dict)
    stored: int = 0


@dataclass(frozen=True, slots=True)
class SecretValue:
    """The value of a version: a text or bytes."""

    secret: str
    version: str
    text: str | None = None
    binary: bytes | None = None
    stored: int = 0


SECRET: Final = EntryKind("secret", Secret, lambda secret: secret.name, columns={"name": lambda record: record.key})
SECRET_VALUE: Final = EntryKind(
    "secret-value",
    SecretValue,
    lambda value: f"{value.secret}:{value.version}",
    parent=lambda value: value.secret,
    columns={
        "secret": lambda record: record.parent,
        "version": lambda record: record.key[len(record.parent) + 1 :],
    },
)


# ------------------------------------------------------------------ Systems Manager


@dataclass(frozen=True, slots=True)
class ParameterVersion:
    """A version of a parameter."""

    name: str
    type: str
    value: str
    version: int
    modified_ms: int
    description: str | None = None
    pattern: str | None = None
    tier: str = "Standard"
    key_id: str | None = None
    data_type: str = "text"
    policies: str | None = None
    stored: int = 0


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter: its newest version, the numbers of labelled versions by label, and its tags."""

    name: str
    type: str
    value: str
    version: int
    modified_ms: int
    description: str | None = None
    pattern: str | None = None
    tier: str = "Standard"
    key_id: str | None = None
    data_type: str = "text"
    policies: str | None = None
    labels: Mapping[str, int] = field(default_factory=dict)
    tags: Mapping[str, str] = field(default_factory=dict)
    stored: int = 0


PARAMETER: Final = EntryKind(
    "ssm-parameter", Parameter, lambda parameter: parameter.name, columns={"name": lambda record: record.key}
)
PARAMETER_VERSION: Final = EntryKind(
    "ssm-version",
    ParameterVersion,
    lambda version: f"{version.name}:{version.version}",
    parent=lambda version: version.name,
    sort=lambda version: version.version,
    columns={"name": lambda record: record.parent},
)


# ------------------------------------------------------------------ ECR


@dataclass(frozen=True, slots=True)
class ImageRepository:
    """A repository for images of containers. `settings` are members of its description; policies are JSON texts."""

    name: str
    created_ms: int
    settings: JsonObject = field(default_factory=dict)
    policy: str | None = None
    lifecycle: str | None = None
    tags: Mapping[str, str] = field(default_factory=dict)
    stored: int = 0


IMAGE_REPOSITORY: Final = EntryKind("image-repository", ImageRepository, lambda repository: repository.name)


# ------------------------------------------------------------------ CloudWatch


@dataclass(frozen=True, slots=True)
class LogGroup:
    """A log group. `storage_class` and `kms` are only stored and returned."""

    name: str
    created_ms: int
    retention_days: int | None = None
    tags: Mapping[str, str] = field(default_factory=dict)
    kms: str | None = None
    storage_class: str = "STANDARD"
    stored: int = 0


@dataclass(frozen=True, slots=True)
class LogStream:
    """A stream that was created; a group's name has no colon."""

    group: str
    name: str
    created_ms: int
    stored: int = 0


@dataclass(frozen=True, slots=True)
class Dashboard:
    """A dashboard. `body` is JSON text as it was put."""

    name: str
    body: str
    modified_ms: int
    stored: int = 0


LOG_GROUP: Final = EntryKind(
    "log-group",
    LogGroup,
    lambda group: group.name,
    columns={"name": lambda record: record.key},
    form=Form(names={"storage_class": "class"}),
)
LOG_STREAM: Final = EntryKind(
    "log-stream",
    LogStream,
    lambda stream: f"{stream.group}:{stream.name}",
    parent=lambda stream: stream.group,
    columns={"group": lambda record: record.parent},
)
DASHBOARD: Final = EntryKind(
    "dashboard", Dashboard, lambda dashboard: dashboard.name, columns={"name": lambda record: record.key}
)
