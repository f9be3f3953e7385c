"""Layers: packages shared by several functions, in numbered versions.

A layer is unpacked once, beside the functions. `workers/plans.py` says by which paths workers reach it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace

from statewright.config import Config
from statewright.functions.definitions import Code, Definitions
from statewright.functions.names import layer_arn, refusal
from statewright.functions.records import LAYER, LAYER_VERSION, Layer, LayerVersion
from statewright.stores.entries import Place

Fitting = Callable[[LayerVersion], bool]
"""Predicate of the versions that a list shows."""


def fitting(runtime: str | None, architecture: str | None) -> Fitting:
    """Versions that were published for a runtime and an architecture; `None` accepts all."""
    return lambda version: (
        (runtime is None or runtime in version.runtimes)
        and (architecture is None or architecture in version.architectures)
    )


class Layers:
    """The layers of one catalogue."""

    def __init__(self, definitions: Definitions) -> None:
        self.definitions = definitions
        self.records = definitions.records

    async def publish(
        self, name_or_arn: str, code: Code, *, description: str = "", runtimes: Sequence[str] = (),
        architectures: Sequence[str] = (), license: str | None = None,
    ) -> LayerVersion:  # fmt: skip
        """Publish a package as the next version of a layer. Raises: ApiError (`InvalidParameterValueException`)."""
        name = layer_name(name_or_arn, self.definitions.config)
        definitions = self.definitions
        data = await definitions.zip_bytes(code)
        with definitions.clock.busy():
            kept, sha256, size = await asyncio.to_thread(definitions.packages.put, data)
        async with definitions.changing:
            layer = await self.records.layers.get(name) or Layer(name, 0)
            layer = replace(layer, last_version=layer.last_version + 1)
            version = LayerVersion(
                name, layer.last_version, definitions.clock.now_ms(), kept, sha256, size, description, list(runtimes),
                list(architectures), license,
            )  # fmt: skip
            await self.records.write(LAYER.row(layer), LAYER_VERSION.row(version))
        return version

    async def get(self, name_or_arn: str, number: int) -> LayerVersion:
        """One version. Raises: ApiError (`ResourceNotFoundException`)."""
        name = layer_name(name_or_arn, self.definitions.config)
        found = await self.records.layer_versions.get(f"{name}:{number}")
        if found is None:
            raise refusal("ResourceNotFoundException", f"Layer version {self.arn(name, number)} does not exist.")
        return found

    async def by_arn(self, arn: str) -> LayerVersion:
        """One version by its ARN. Raises: ApiError (`ResourceNotFoundException`, `ValidationException`)."""
        parts = arn.split(":")
        if len(parts) != 8 or not parts[7].isdigit() or self.definitions.config.is_elsewhere(arn):
            raise refusal(
                "ValidationException",
                f"1 validation error detected: Value '{arn}' at 'arn' is not one of a layer version",
            )
        return await self.get(parts[6], int(parts[7]))

    async def versions(
        self, name_or_arn: str, after: Place | None, limit: int, fits: Fitting
    ) -> tuple[list[LayerVersion], Place | None]:
        """Versions of a layer that fit, newest first, and the start of the next page."""
        name = layer_name(name_or_arn, self.definitions.config)
        found: list[LayerVersion] = []
        async for version in self.records.layer_versions.walk(name, after, newest_first=True):
            if not fits(version):
                continue
            if len(found) == limit:
                return found, (found[-1].number, f"{name}:{found[-1].number}")
            found.append(version)
        return found, None

    async def newest(self, after: Place | None, limit: int, fits: Fitting) -> tuple[list[LayerVersion], Place | None]:
        """The newest version that fits of every layer that has one, by the layers' names; the next page's start."""
        found: list[LayerVersion] = []
        async for layer in self.records.layers.walk("", after):
            versions, _ = await self.versions(layer.name, None, 1, fits)
            if versions and len(found) == limit:
                return found, (0, found[-1].name)
            found += versions
        return found, None

    async def delete(self, name_or_arn: str, number: int) -> None:
        """Delete a version; functions that use it keep it until they change. Harmless if it does not exist."""
        found = await self.records.layer_versions.get(f"{layer_name(name_or_arn, self.definitions.config)}:{number}")
        if found is not None:
            await self.records.layer_versions.delete(found)

    def arn(self, name: str, number: int | None = None) -> str:
        """ARN of a layer or one of its versions."""
        return layer_arn(self.definitions.config, name, number)


def layer_name(name_or_arn: str, config: Config) -> str:
    """The bare name of a layer. An ARN of another region stays as it is: no layer has such a name."""
    is_here = name_or_arn.startswith("arn:") and not config.is_elsewhere(name_or_arn)
    return name_or_arn.split(":")[6] if is_here else name_or_arn
