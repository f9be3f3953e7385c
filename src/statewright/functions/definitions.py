"""Definitions of functions: creating, changing, describing and deleting them.

Owns `$LATEST` and everything common to all versions (tags, reserved concurrency, recursion setting). Versions and
aliases are in `versions.py`, layers in `layers.py`, the rules for settings in `settings.py`.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Protocol

from statewright.clock import Clock
from statewright.config import Config
from statewright.errors import ApiError, Unavailable
from statewright.functions import names
from statewright.functions.code.packages import ZIPPED_BYTES, Packages, decoded_zip
from statewright.functions.concurrency import Concurrency
from statewright.functions.names import LATEST, function_arn, invalid, not_found, refusal
from statewright.functions.records import (
    FUNCTION,
    VERSION,
    Configuration,
    Function,
    FunctionEntries,
)
from statewright.functions.settings import checked_layers, merged
from statewright.limits import FUNCTION_CONCURRENCY, FUNCTION_UNRESERVED
from statewright.payload import JsonMapping
from statewright.query.scope import Entropy
from statewright.stores.store import Store
from statewright.tags import TagRule, retagged

log = logging.getLogger("statewright.functions")

ReadObject = Callable[[str, str], Awaitable[bytes]]
"""Reads the bytes of an object by bucket and key. Raises: ApiError."""


def _bad_tag_key(key: str) -> ApiError:
    return invalid(f"The tag key {key[:140]!r} is not valid: 1 to 128 characters that do not begin with aws:.")


TAGS: Final = TagRule(
    lambda _: invalid("Number of tags exceeds resource tag limit."), bad_key=_bad_tag_key, reserved=_bad_tag_key
)


class OnChange(Protocol):
    """Called when a function, or what one of its qualifiers resolves to, has changed."""

    def __call__(self, name: str, *, latest: bool, everything: bool = False) -> None:
        """`latest`: `$LATEST` has new code or settings; `everything`: the function is deleted."""


@dataclass(frozen=True, slots=True)
class Code:
    """Source of a function's code: a zip, or an object."""

    zip: bytes | None = None
    bucket: str | None = None
    key: str | None = None


@dataclass(frozen=True, slots=True)
class View:
    """One version of a function; `qualifier` is the one that the caller named."""

    function: Function
    version: str
    settings: Configuration
    qualifier: str | None = None


class Definitions:
    """The catalogue of functions of one store. Changes are serialised."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        config: Config,
        packages: Packages,
        entropy: Entropy,
        concurrency: Concurrency,
        read_object: ReadObject | None,
    ) -> None:
        self.store = store
        self.clock = clock
        self.config = config
        self.packages = packages
        self.entropy = entropy
        self.records = FunctionEntries(store.catalogue)
        self.changing = asyncio.Lock()
        self._concurrency = concurrency
        self._subscribers: list[OnChange] = []
        self._read_object: Final = read_object

    def subscribe(self, on_change: OnChange) -> None:
        """Call `on_change` after every change of a function or of what its qualifiers resolve to."""
        self._subscribers.append(on_change)

    def announce(self, name: str, *, latest: bool, everything: bool = False) -> None:
        """Notify the subscribers of a change. See `OnChange`."""
        for on_change in self._subscribers:
            on_change(name, latest=latest, everything=everything)

    # ------------------------------------------------------------------ finding

    async def function(self, name: str) -> Function | None:
        """A function by its bare name."""
        return await self.records.functions.get(name)

    async def existing(self, name_or_arn: str, qualifier: str | None = None) -> tuple[Function, str | None]:
        """A function and the qualifier of its name. Raises: ApiError (`ResourceNotFoundException`)."""
        named = names.parse_name(name_or_arn, qualifier, self.config)
        function = await self.function(named.name)
        if function is None:
            raise not_found(function_arn(self.config, named.name, named.qualifier))
        return function, named.qualifier

    async def settings_of(self, function: Function, version: str) -> Configuration | None:
        """Configuration of a version; of `$LATEST` the current one."""
        if version == LATEST:
            return function.latest
        found = await self.records.versions.get(f"{function.name}:{int(version)}")
        return None if found is None else found.configuration

    async def view(self, name_or_arn: str, qualifier: str | None = None) -> View:
        """The version that a name, qualifier or ARN resolves to. Raises: ApiError (`ResourceNotFoundException`)."""
        function, named = await self.existing(name_or_arn, qualifier)
        version = named or LATEST
        if version != LATEST and not names.is_version(version):
            alias = await self.records.aliases.get(f"{function.name}:{version}")
            if alias is None:
                raise not_found(function_arn(self.config, function.name, named))
            version = alias.version
        settings = await self.settings_of(function, version)
        if settings is None:
            raise not_found(function_arn(self.config, function.name, named))
        return View(function, version, settings, named)

    async def page(self, after: tuple[int, str] | None, limit: int) -> tuple[list[Function], tuple[int, str] | None]:
        """Functions by name, and where the next page starts."""
        return await self.records.functions.page("", after=after, limit=limit)

    # ------------------------------------------------------------------ creating and changing

    async def create(
        self, name_or_arn: str, settings: JsonMapping, code: Code, *, tags: Mapping[str, str] | None = None
    ) -> Function:
        """Create a function; it can be invoked immediately. `settings` have the service's member names.

        Raises: ApiError (`InvalidParameterValueException`, `ResourceConflictException`).
        """
        named = names.parse_name(name_or_arn, None, self.config)
        if settings.get("PackageType", "Zip") != "Zip":
            raise invalid("This version of Statewright does not run container images (PackageType Image).")
        runtime = settings.get("Runtime")
        if not runtime or (not settings.get("Handler") and not runtime.startswith("provided")):
            raise invalid("Runtime and Handler are mandatory parameters for functions created with deployment packages")
        blank = Configuration(None, "", None, "", "", 0, 0, "")
        checked = await self._with_layers(merged(blank, settings), settings)
        kept = TAGS.put({}, tags or {})
        packed = await self._packed(checked, code)
        async with self.changing:
            if await self.function(named.name) is not None:
                raise refusal("ResourceConflictException", f"Function already exist: {named.name}")
            number = await self.store.catalogue.next_number("function")
            function = Function(named.name, number, self.clock.now_ms(), self._stamped(packed), tags=kept)
            await self.records.write(FUNCTION.row(function))
        self.announce(named.name, latest=True)
        return replace(function, stored=1)

    async def update_code(
        self, name_or_arn: str, code: Code, *, revision_id: str | None = None, dry_run: bool = False,
        architectures: list[str] | None = None,
    ) -> Function:  # fmt: skip
        """Replace the code of `$LATEST`. Raises: ApiError (also `PreconditionFailedException`)."""
        async with self.changing:
            function = await self._changeable(name_or_arn, revision_id)
            packed = await self._packed(function.latest, code)
            if architectures:
                packed = replace(packed, shown={**packed.shown, "Architectures": architectures})
            if dry_run:
                return replace(function, latest=packed)
            function = replace(function, latest=self._stamped(packed))
            await self.records.write(FUNCTION.row(function))
        self.announce(function.name, latest=True)
        return function

    async def update_configuration(
        self, name_or_arn: str, settings: JsonMapping, *, revision_id: str | None = None
    ) -> Function:
        """Change settings of `$LATEST`. Raises: ApiError (also `PreconditionFailedException`)."""
        async with self.changing:
            function = await self._changeable(name_or_arn, revision_id)
            after = await self._with_layers(merged(function.latest, settings), settings)
            function = replace(function, latest=self._stamped(after))
            await self.records.write(FUNCTION.row(function))
        self.announce(function.name, latest=True)
        return function

    async def delete(self, name_or_arn: str, qualifier: str | None = None) -> None:
        """Delete a function with everything that belongs to it, or one version that no alias names.

        Raises: ApiError (`InvalidParameterValueException`, `ResourceConflictException`, `ResourceNotFoundException`).
        """
        async with self.changing:
            function, named = await self.existing(name_or_arn, qualifier)
            if named is not None:
                await self._delete_version(function, named)
            else:
                everything = [FUNCTION.name_of(function), *await self.records.below(function.name)]
                await self.store.catalogue.write([], everything)
                self._concurrency.reserve(function.name, None)
        self.announce(function.name, latest=named is None, everything=named is None)
        await self.forget_packages()

    async def _delete_version(self, function: Function, version: str) -> None:
        if not names.is_version(version):
            raise invalid("$LATEST version cannot be deleted without deleting the function." if version == LATEST
                          else "Deletion of aliases is not currently supported.")  # fmt: skip
        for alias in await self.records.aliases.all(function.name):
            if version == alias.version or version in alias.weights:
                arn = function_arn(self.config, function.name, alias.alias)
                raise refusal(
                    "ResourceConflictException",
                    f"Version {version} of the function cannot be deleted because it is referenced by [{arn}]",
                )
        found = await self.records.versions.get(f"{function.name}:{int(version)}")
        if found is not None:
            await self.records.remove(VERSION.name_of(found))

    async def forget_packages(self) -> None:
        """Delete the packages that no version and no layer uses any more, unless they came within the last hour."""
        needed = await self._needed_packages()
        with self.clock.busy():
            await asyncio.to_thread(self.packages.keep_only, needed)

    async def start_packages(self) -> None:
        """Prepare the cache of packages, if the store has them; nothing runs in it yet.

        Those that an older version left in the folder alone are moved into the store: they stay in the folder, too.
        """
        if not self.packages.is_cache:
            return
        with self.clock.busy():
            try:
                left = await asyncio.to_thread(self.packages.missing_in_store)
            except Unavailable as problem:
                # A bucket, without which the server can start: see `stores/bucket/database.py`.
                log.warning("%s: packages are not compared with those of the folder before the next start", problem)
                return
            needed = left & await self._needed_packages() if left else left
            if needed:
                log.info("moving %d packages of functions and layers into the store", len(needed))
                await asyncio.to_thread(self.packages.move_into_store, needed)
            await asyncio.to_thread(self.packages.shrink)

    async def zip_uri(self, name: str) -> str:
        """The address of a package's zip on this machine, where it is brought if need be. Raises: StoreError."""
        zipped = self.packages.zip_of(name)
        if not zipped.exists():
            # A package that is lost has an address, too.
            with self.clock.busy(), contextlib.suppress(OSError):
                await asyncio.to_thread(self.packages.fetched, name)
        return zipped.as_uri()

    async def _needed_packages(self) -> set[str]:
        """The packages that a version or a layer uses."""
        needed = set()
        for function in await self.records.functions.all():
            frozen = [version.configuration for version in await self.records.versions.all(function.name)]
            for settings in (function.latest, *frozen):
                needed.add(settings.code)
                # Functions keep using a deleted layer version until they change.
                needed |= set(settings.layers.values())
        for layer in await self.records.layers.all():
            needed |= {one.code for one in await self.records.layer_versions.all(layer.name)}
        return needed - {""}

    # ------------------------------------------------------------------ settings of all versions

    async def reserve(self, name_or_arn: str, most: int | None) -> None:
        """Set or remove the reserved concurrency. Raises: ApiError (`InvalidParameterValueException`)."""
        async with self.changing:
            function, _ = await self.existing(name_or_arn)
            if most is not None:
                left = FUNCTION_CONCURRENCY - (self._concurrency.total_reserved - (function.reserved or 0)) - most
                if left < FUNCTION_UNRESERVED:
                    raise invalid(
                        "Specified ReservedConcurrentExecutions for function decreases account's "
                        f"UnreservedConcurrentExecution below its minimum value of [{FUNCTION_UNRESERVED}]."
                    )
            await self.records.write(FUNCTION.row(replace(function, reserved=most)))
            self._concurrency.reserve(function.name, most)
        self.announce(function.name, latest=False)

    async def set_recursion(self, name_or_arn: str, recursion: str) -> None:
        """Store the recursion setting; Statewright does not detect recursive loops."""
        async with self.changing:
            function, _ = await self.existing(name_or_arn)
            await self.records.write(FUNCTION.row(replace(function, recursion=recursion)))

    async def tag(self, arn: str, tags: Mapping[str, str]) -> None:
        """Add tags to a function. Raises: ApiError."""
        async with self.changing:
            function = await self.tagged(arn)
            await self.records.write(FUNCTION.row(replace(function, tags=TAGS.put(function.tags, tags))))

    async def untag(self, arn: str, keys: list[str]) -> None:
        """Remove tags. Raises: ApiError."""
        async with self.changing:
            function = await self.tagged(arn)
            await self.records.write(FUNCTION.row(replace(function, tags=retagged(function.tags, {}, keys))))

    async def tagged(self, arn: str) -> Function:
        """The function whose tags an ARN stands for. Raises: ApiError."""
        function, qualifier = await self.existing(arn)
        if qualifier is not None:
            raise invalid("Tags on function aliases and versions are not supported. Please specify a function ARN.")
        return function

    # ------------------------------------------------------------------ parts of the above

    async def _changeable(self, name_or_arn: str, revision_id: str | None) -> Function:
        function, qualifier = await self.existing(name_or_arn)
        if qualifier not in (None, LATEST):
            raise invalid("This operation is permitted on Lambda functions only. Aliases and versions do not support this operation. Please specify either a function name or an unqualified function ARN.")  # fmt: skip # noqa: E501
        check_revision(revision_id, function.latest.revision_id)
        return function

    def _stamped(self, settings: Configuration) -> Configuration:
        return replace(settings, modified_ms=self.clock.now_ms(), revision_id=self.entropy.uuid4())

    async def _with_layers(self, settings: Configuration, given: JsonMapping) -> Configuration:
        if given.get("Layers") is None:
            return settings
        return replace(settings, layers=await self._layer_packages(checked_layers(given["Layers"])))

    async def _layer_packages(self, arns: Sequence[str]) -> dict[str, str]:
        """Package names by the ARNs of layer versions. Raises: ApiError (`InvalidParameterValueException`)."""
        found = {}
        for arn in arns:
            parts = arn.split(":")
            known = len(parts) == 8 and parts[7].isdigit() and not self.config.is_elsewhere(arn)
            version = await self.records.layer_versions.get(f"{parts[6]}:{parts[7]}") if known else None
            if version is None:
                raise invalid(f"Layer version {arn} does not exist.")
            found[arn] = version.code
        # The version of the layer may be deleted before the function names its package.
        with self.clock.busy():
            await asyncio.to_thread(self.packages.renew, found.values())
        return found

    async def _packed(self, settings: Configuration, code: Code) -> Configuration:
        data = await self.zip_bytes(code)
        with self.clock.busy():
            name, sha256, size = await asyncio.to_thread(self.packages.put, data)
        return replace(settings, code=name, code_sha256=sha256, code_size=size)

    async def zip_bytes(self, code: Code) -> bytes:
        """The zip that a caller gave or named. Raises: ApiError (`InvalidParameterValueException`)."""
        if code.zip is not None:
            data = decoded_zip(code.zip)
            if len(data) > ZIPPED_BYTES:
                raise refusal(
                    "RequestEntityTooLargeException",
                    f"Zipped size must be smaller than {ZIPPED_BYTES} bytes",
                    status=413,
                )
            return data
        if code.bucket is None or code.key is None:
            raise invalid("Please provide a source for function code.")
        if self._read_object is None:
            raise invalid("This server has no buckets to read code from: pass the code as ZipFile.")
        try:
            return await self._read_object(code.bucket, code.key)
        except ApiError as problem:
            raise invalid(
                f"Error occurred while GetObject. S3 Error Code: {problem.code}. S3 Error Message: {problem.message}"
            ) from None


def check_revision(given: str | None, present: str) -> None:
    """Refuse a change that names an outdated revision. Raises: ApiError (`PreconditionFailedException`)."""
    if given is not None and given != present:
        raise refusal(
            "PreconditionFailedException",
            "The Revision Id provided does not match the latest Revision Id. Call the GetFunction/GetAlias API to "
            "retrieve the latest Revision Id",
        )
