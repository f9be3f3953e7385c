"""Parameters of Systems Manager: values by name and path, their versions and labels.

A parameter's row has its newest value; older ones are rows of their own. SecureString values are stored in plain
text: there is no key service. They are returned only to requests with decryption.

Source: Systems Manager user guide, "Parameter Store"; API reference, errors of PutParameter and GetParameter.
"""

from __future__ import annotations

import asyncio
import base64
import re
from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from statewright.clock import Clock
from statewright.config import Config
from statewright.errors import ApiError
from statewright.payload import JsonMapping
from statewright.query.linear_regex import RegexSyntaxError, compile_regex
from statewright.records.entries import PARAMETER, PARAMETER_VERSION, Parameter, ParameterVersion
from statewright.stores.entries import Entries, Place
from statewright.stores.protocol import CatalogueStore
from statewright.tags import retagged, tags_by_key

MOST_VERSIONS: Final = 100
MOST_LABELS: Final = 10
DEEPEST: Final = 15
CHARACTERS: Final = {"Standard": 4_096, "Advanced": 8_192}
"""Longest values by tier. Source: user guide, "Managing parameter tiers"."""
_NAME: Final = re.compile(r"[a-zA-Z0-9_.\-/]+")
_LABEL: Final = re.compile(r"(?!aws|ssm)[a-zA-Z_.\-][a-zA-Z0-9_.\-]{0,99}", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Found:
    """A version of a parameter. `selector` is the suffix of the requested name: `:3`, `:live`."""

    of: Parameter | ParameterVersion
    selector: str | None = None

    @property
    def sealed(self) -> str:
        """The placeholder for a SecureString's value in answers without decryption; it cannot be decrypted."""
        return base64.b64encode(f"not decrypted: {self.of.name}:{self.of.version}".encode()).decode()


class Parameters:
    """The parameters of the account."""

    def __init__(self, catalogue: CatalogueStore, clock: Clock, config: Config) -> None:
        self._catalogue = catalogue
        self._clock = clock
        self._config = config
        self._parameters = Entries(catalogue, PARAMETER)
        self._versions = Entries(catalogue, PARAMETER_VERSION)
        self._change = asyncio.Lock()

    def arn(self, name: str) -> str:
        """The ARN of a parameter."""
        slash = "" if name.startswith("/") else "/"
        return self._config.arn("ssm", f"parameter{slash}{name}")

    # -------------------------------------------------------------- reading

    async def get(self, name: str) -> Parameter:
        """A parameter's row, by its name or ARN. Raises: ApiError (`ParameterNotFound`)."""
        for candidate in () if self._config.is_elsewhere(name) else _candidates(name):
            found = await self._parameters.get(candidate)
            if found is not None:
                return found
        raise ApiError("ParameterNotFound", f"Parameter {name} not found.")

    async def selected(self, text: str) -> Found:
        """The version that `name`, `name:3` or `name:label` means. Raises: ApiError."""
        start = text.find(":parameter") + len(":parameter") if text.startswith("arn:") else 0
        end = text.find(":", start)
        selector = text[end + 1 :] if end >= 0 else ""
        entry = await self.get(text[:end] if end >= 0 else text)
        if not selector:
            return Found(entry)
        version = int(selector) if selector.isdigit() else entry.labels.get(selector)
        older = await self._versions.get(_version_key(entry.name, version)) if version is not None else None
        if version == entry.version:
            return Found(entry, f":{selector}")
        if older is None:
            what = "version" if selector.isdigit() else "label"
            raise ApiError(
                "ParameterVersionNotFound",
                f"Systems Manager could not find {what} {selector} of {entry.name}. Verify the {what} and try again.",
            )
        return Found(older, f":{selector}")

    async def history(self, name: str, after: Place | None, limit: int) -> tuple[list[Found], Parameter, Place | None]:
        """Versions, oldest first, the parameter with its labels, and the place of the next page. Raises: ApiError."""
        entry = await self.get(name)
        found, place = await self._versions.page(entry.name, after, limit)
        return [Found(one) for one in found], entry, place

    async def below(self, prefix: str, after: str | None) -> AsyncIterator[Parameter]:
        """Yield the parameters whose names have a prefix, by name, behind one of them."""
        start = (0, after or prefix) if after or prefix else None
        async for entry in self._parameters.walk("", start):
            if not entry.name.startswith(prefix):
                return
            yield entry

    # -------------------------------------------------------------- writing

    async def put(self, request: JsonMapping) -> Parameter:
        """Create a parameter, or its next version. Raises: ApiError."""
        name = request["Name"]
        if name.startswith("arn:"):
            name = (await self.get(name)).name
        _check_name(name)
        tags = tags_by_key(request.get("Tags"))
        async with self._change:
            before = await self._parameters.get(name)
            if before is not None and not request.get("Overwrite"):
                raise ApiError(
                    "ParameterAlreadyExists",
                    "The parameter already exists. To overwrite this value, set the overwrite option in the request "
                    "to true.",
                )
            if before is not None and tags:
                raise _invalid(
                    "Invalid request: tags and overwrite can't be used together. To create a parameter with tags, "
                    "please remove overwrite flag. To update tags for an existing parameter, please use "
                    "AddTagsToResource or RemoveTagsFromResource."
                )
            entry = self._changed(request, before or Parameter(name, "", "", 0, 0, tags=tags))
            gone = await self._displaced(entry) if before is not None else ()
            version = {one: getattr(entry, one) for one in ParameterVersion.__slots__ if one != "stored"}
            row = PARAMETER_VERSION.row(ParameterVersion(**version))
            return await self._parameters.write(entry, also=[row], delete=gone)

    def _changed(self, request: JsonMapping, old: Parameter) -> Parameter:
        """Apply a request to a parameter; a new one has no type yet, and the version 0. Raises: ApiError."""
        kind = request.get("Type") or old.type
        if not kind:
            raise _invalid("A parameter type is required when you create a parameter.")
        value, pattern = request["Value"], request.get("AllowedPattern")
        tier = _tier(request, old, value)
        _check_pattern(pattern, value)
        return replace(
            old,
            type=kind,
            value=value,
            version=old.version + 1,
            modified_ms=self._clock.now_ms(),
            description=request.get("Description", old.description),
            pattern=pattern,
            tier=tier,
            key_id=request.get("KeyId", "alias/aws/ssm") if kind == "SecureString" else None,
            data_type=request.get("DataType", old.data_type),
            policies=request.get("Policies"),
        )

    async def _displaced(self, entry: Parameter) -> tuple[tuple[str, str], ...]:
        """The key of the version that a new one displaces. Raises: ApiError if it has a label."""
        oldest = entry.version - MOST_VERSIONS
        if oldest < 1:
            return ()
        if oldest in entry.labels.values():
            raise ApiError(
                "ParameterMaxVersionLimitExceeded",
                f"You attempted to create a new version of {entry.name} by calling the PutParameter API with the "
                f"overwrite flag. Version {oldest}, the oldest version, can't be deleted because it has a label "
                "associated with it. Move the label to another version of the parameter, and try again.",
            )
        return ((PARAMETER_VERSION.name, _version_key(entry.name, oldest)),)

    async def delete(self, name: str) -> None:
        """Delete a parameter with its versions. Raises: ApiError (`ParameterNotFound`)."""
        async with self._change:
            entry = await self.get(name)
            versions = await self._versions.names(entry.name)
            await self._catalogue.write([], [PARAMETER.name_of(entry), *versions])

    async def tag(self, name: str, put: Mapping[str, str], drop: Iterable[str] = ()) -> None:
        """Add tags to a parameter and remove others. Raises: ApiError."""
        async with self._change:
            found = await self.get(name)
            await self._parameters.write(replace(found, tags=retagged(found.tags, put, drop)))

    async def label(self, name: str, version: int | None, labels: Iterable[str]) -> tuple[int, list[str]]:
        """Add labels to a version, by default the newest; returns it, and the invalid labels. Raises: ApiError."""
        async with self._change:
            entry = await self.get(name)
            number = version if version is not None else entry.version
            await self._check_version(entry, number)
            wanted = list(labels)
            bad = [one for one in wanted if not _LABEL.fullmatch(one)]
            put = {**entry.labels, **{one: number for one in wanted if one not in bad}}
            if sum(one == number for one in put.values()) > MOST_LABELS:
                raise ApiError(
                    "ParameterVersionLabelLimitExceeded",
                    f"A parameter version can have a maximum of {MOST_LABELS} labels.",
                )
            await self._parameters.write(replace(entry, labels=put))
            return number, bad

    async def unlabel(self, name: str, version: int, labels: Iterable[str]) -> tuple[list[str], list[str]]:
        """Remove labels from a version; returns those removed, and those it does not have. Raises: ApiError."""
        async with self._change:
            entry = await self.get(name)
            await self._check_version(entry, version)
            has = entry.labels
            taken = [one for one in labels if has.get(one) == version]
            left = {key: number for key, number in has.items() if key not in taken}
            await self._parameters.write(replace(entry, labels=left))
            return taken, [one for one in labels if one not in taken]

    async def _check_version(self, entry: Parameter, number: int) -> None:
        if await self._versions.get(_version_key(entry.name, number)) is None:
            raise ApiError(
                "ParameterVersionNotFound",
                f"Systems Manager could not find version {number} of {entry.name}. Verify the version and try again.",
            )


def _version_key(name: str, version: int | None) -> str:
    return f"{name}:{version}"


def _tier(request: JsonMapping, old: Parameter, value: str) -> str:
    """The tier of a value. Raises: ApiError for one that is too long."""
    asked = request.get("Tier", old.tier)
    long = len(value) > CHARACTERS["Standard"] or bool(request.get("Policies"))
    tier: str = ("Advanced" if long or old.tier == "Advanced" else "Standard") if asked != "Advanced" else asked
    if asked == "Standard" and tier == "Advanced" and old.tier != "Advanced":
        raise _invalid(
            "Standard tier parameters support a maximum parameter value of 4096 characters. To create a larger "
            "parameter value, upgrade the parameter to use the advanced-parameter tier. For more information, see "
            "https://docs.aws.amazon.com/systems-manager/latest/userguide/parameter-store-advanced-parameters.html"
        )
    if len(value) > CHARACTERS[tier]:
        raise _invalid("Advanced tier parameters support a maximum parameter value of 8192 characters.")
    return tier


def _check_pattern(pattern: str | None, value: str) -> None:
    if not pattern:
        return
    try:
        matches = compile_regex(pattern).fullmatch(value)
    except RegexSyntaxError as problem:
        raise ApiError(
            "InvalidAllowedPatternException",
            f"Statewright does not support the allowed pattern: {problem}",
        ) from None
    if not matches:
        raise ApiError(
            "ParameterPatternMismatchException",
            f"Parameter value, cannot be validated against allowedPattern: {pattern}",
        )


def _check_name(name: str) -> None:
    if not _NAME.fullmatch(name) or name.endswith("/") or "//" in name:
        raise _invalid(
            'Parameter name: can\'t be prefixed with "ssm" (case-insensitive). If formed as a path, it can consist of '
            "sub-paths divided by slash symbol; each sub-path can be formed as a mix of letters, numbers and the "
            "following 3 symbols .-_"
        )
    if "/" in name and not name.startswith("/"):
        raise _invalid("Parameter name must be a fully qualified name.")
    first = name.lstrip("/").lower()
    if first.startswith(("aws", "ssm")):
        raise ApiError("AccessDeniedException", f"No access to reserved parameter name: {name}.", status=400)
    if name.count("/") > DEEPEST:
        raise ApiError(
            "HierarchyLevelLimitExceededException",
            f"The hierarchy can have a maximum of {DEEPEST} levels: {name} has {name.count('/')}.",
        )


def _candidates(name: str) -> tuple[str, ...]:
    """Names that an ARN may mean: there, a name without a path follows a slash."""
    if not name.startswith("arn:"):
        return (name,)
    path = name.partition(":parameter")[2]
    return (path, path[1:])


def _invalid(text: str) -> ApiError:
    return ApiError("ValidationException", text)
