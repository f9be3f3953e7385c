"""From a request to a plan: the template's text, parameters with their stored values, exports of other stacks.

Owns where templates come from, and that long work on them leaves the loop.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote, urlsplit

from statewright.background import in_thread
from statewright.clock import Clock
from statewright.config import Config
from statewright.errors import ApiError
from statewright.payload import JsonMapping
from statewright.projects.cloudformation import Identity
from statewright.projects.expansion import SERVERLESS
from statewright.stacks.errors import capabilities_lacking, invalid
from statewright.stacks.index import GONE, Index
from statewright.stacks.planning.includes import Includes
from statewright.stacks.planning.objects import TooLong, object_text
from statewright.stacks.planning.parameters import stored_names, values_of
from statewright.stacks.planning.plans import Circumstances, Plan, plan_of
from statewright.stacks.planning.templates import (
    EXTENSIONS,
    INCLUDE,
    MOST_BODY,
    MOST_BYTES,
    Template,
    read_template,
)
from statewright.stacks.records import STACK, STACK_TEMPLATE, Source, StackEntry, TemplateEntry
from statewright.stacks.threads import Invoke
from statewright.stores.entries import Entries
from statewright.stores.protocol import CatalogueStore

_HOST: Final = re.compile(
    r"(?:(?P<bucket>[a-z0-9][a-z0-9.\-]{1,61}?[a-z0-9])\.)??(?:s3[.-](?:[a-z0-9.\-]+\.)?amazonaws\.com(?:\.cn)?"
    r"|(?:s3\.)?localhost(?:\.localstack\.cloud)?|127\.0\.0\.1|\[::1\])(?::[0-9]+)?",
    re.IGNORECASE,
)
TRANSFORMS: Final = (SERVERLESS, EXTENSIONS, INCLUDE)
"""The transforms that are carried out here."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A template with everything that a stack is made from."""

    template: Template
    source: Source
    entry: TemplateEntry


class Planner:
    """Reads templates and makes plans of them, for the stacks of one region."""

    def __init__(self, catalogue: CatalogueStore, clock: Clock, config: Config, invoke: Invoke) -> None:
        self._clock = clock
        self._config = config
        self._invoke = invoke
        self._stacks = Entries(catalogue, STACK)
        self.index: Final = Index(catalogue)
        self._templates = Entries(catalogue, STACK_TEMPLATE)

    async def text_of(self, request: JsonMapping) -> str | None:
        """The text of the template that a request gives, or names in a bucket; `None` if neither. Raises: ApiError."""
        body, url = request.get("TemplateBody"), request.get("TemplateURL")
        if body is not None and url is not None:
            raise invalid("Either Template URL or Template Body must be specified, not both.")
        if body is not None:
            if len(body.encode()) > MOST_BODY:
                shown = body if len(body) <= 100 else f"{body[:100]}..."
                raise invalid(
                    f"1 validation error detected: Value '{shown}' at 'templateBody' failed to satisfy constraint: "
                    f"Member must have length less than or equal to {MOST_BODY}"
                )
            return str(body)
        return await self.at_url(url) if url is not None else None

    async def at_url(self, url: str) -> str:
        """The text of an object of this server. Raises: ApiError."""
        place = object_of(url)
        if place is None:
            raise invalid("TemplateURL must be a supported URL.")
        bucket, key = place
        try:
            return await object_text(self._invoke, bucket, key)
        except ApiError as error:
            raise invalid(
                f"S3 error: {error.message}\nFor more information check "
                "http://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html"
            ) from None
        except TooLong:
            raise invalid(f"Template may not exceed {MOST_BYTES} bytes in size.") from None
        except UnicodeDecodeError:
            raise invalid("Template format error: unsupported structure.") from None

    async def read(self, text: str) -> Template:
        """A template whose form is right. Raises: ApiError."""
        return await in_thread(self._clock, lambda: read_template(text))

    async def template(self, key: str) -> Template:
        """The template of a stack or change set, by its key."""
        entry = await self._templates.get(key)
        assert entry is not None, f"the template {key} is missing"
        return await self.read(entry.text)

    async def entry(self, key: str) -> TemplateEntry:
        """The stored text of a template."""
        entry = await self._templates.get(key)
        assert entry is not None, f"the template {key} is missing"
        return entry

    async def prepared(
        self, stack: StackEntry, text: str, request: JsonMapping, before: Source | None, *, is_reviewed: bool = False
    ) -> Prepared:
        """The source of a stack, from a request. Raises: ApiError.

        A change set `is_reviewed` before it is executed, so that it needs no consent to transforms. Source: API
        reference, CreateChangeSet, Capabilities.
        """
        template = await self.read(text)
        capabilities = tuple(request.get("Capabilities") or ())
        _check_transforms(template, capabilities, is_reviewed=is_reviewed)
        parameters = values_of(template, request.get("Parameters"), before.parameters if before is not None else None)
        resolved = await self._stored(stored_names(template, parameters))
        id_ = hashlib.sha256(text.encode()).hexdigest()[:32]
        tags = request.get("Tags")
        source = Source(
            f"{stack.id}/{id_}",
            parameters,
            resolved,
            capabilities,
            dict(before.tags)
            if tags is None and before is not None
            else {one["Key"]: one["Value"] for one in tags or ()},
            request.get("RoleARN") or (before.role if before is not None else None),
            tuple(request.get("NotificationARNs") or (before.notified if before is not None else ())),
        )
        return Prepared(template, source, TemplateEntry(stack.id, id_, text))

    async def plan(self, stack: StackEntry, source: Source, template: Template | None = None) -> Plan:
        """The plan of a source. Raises: ApiError."""
        chosen = template or await self.template(source.template)
        identity = Identity(stack.name, self._config.account, self._config.region, stack.arn, tuple(source.notified))
        exports: dict[str, str] = {}
        looked_up: set[str] = set()
        includes = Includes(self._invoke, self._clock)
        while True:
            # Names of exports may derive from other exports, so that they are known only by evaluation.
            imports: dict[str, None] = {}
            given = Circumstances(identity, source.parameters, source.resolved, exports, imports, includes.load)
            plan: Plan | ApiError
            try:
                plan = await in_thread(self._clock, lambda given=given: plan_of(chosen, given))  # type: ignore[misc]
            except ApiError as error:
                plan = error
            if await includes.read():
                continue
            new = [name for name in imports if name not in looked_up]
            if not new and isinstance(plan, Plan):
                return plan
            if not new and isinstance(plan, ApiError):
                raise plan
            for name in new:
                looked_up.add(name)
                found = await self.index.export(name, besides=stack.id)
                if found is not None:
                    exports[name] = found[1]

    async def exports(self) -> Mapping[str, tuple[StackEntry, str]]:
        """The exports of all stacks, with the stack of each, by name."""
        found: dict[str, tuple[StackEntry, str]] = {}
        async for stack in self._stacks.walk():
            if stack.status != GONE:
                for output in stack.outputs:
                    if output.export is not None:
                        found[output.export] = stack, output.value
        return dict(sorted(found.items()))

    async def check_exports(self, stack: StackEntry) -> None:
        """Refuse the deletion of a stack whose exports others use. Raises: ApiError."""
        for output in stack.outputs:
            users = await self.index.users_of(output.export, stack.id) if output.export else []
            if users:
                raise invalid(f"Export {output.export} cannot be deleted as it is in use by {' and '.join(users)}")

    async def _stored(self, names: Mapping[str, str]) -> dict[str, str]:
        """The values of parameters that the parameter store has. Raises: ApiError."""
        found: dict[str, str] = {}
        lacking = []
        for parameter, name in names.items():
            try:
                answer = await self._invoke("ssm", "GetParameter", {"Name": name, "WithDecryption": False})
            except ApiError:
                lacking.append(name)
                continue
            found[parameter] = answer["Parameter"]["Value"]
        if lacking:
            raise invalid(f"Unable to fetch parameters [{','.join(lacking)}] from parameter store for this account.")
        return found


def object_of(url: str) -> tuple[str, str] | None:
    """The bucket and key of an object's address; `None` for an address that is none."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return None
    host = _HOST.fullmatch(parts.netloc) if parts.scheme in ("http", "https") else None
    if host is None:
        return None
    path = unquote(parts.path).lstrip("/")
    if host["bucket"]:
        return (host["bucket"], path) if path else None
    bucket, _, key = path.partition("/")
    return (bucket, key) if bucket and key else None


def _check_transforms(template: Template, capabilities: tuple[str, ...], *, is_reviewed: bool) -> None:
    """Raises: ApiError."""
    transforms = template.transforms
    if not is_reviewed and transforms and "CAPABILITY_AUTO_EXPAND" not in capabilities:
        raise capabilities_lacking(["CAPABILITY_AUTO_EXPAND"])
    needed, _ = template.capabilities()
    if needed and not set(capabilities) & {"CAPABILITY_NAMED_IAM", *needed}:
        raise capabilities_lacking(needed)
    for name in (*transforms, *template.inner_transforms()):
        if name not in TRANSFORMS:
            raise invalid(
                f"Transform {name} is not carried out here: macros are not supported. Transforms that are: "
                f"{', '.join(TRANSFORMS)}."
            )
