"""Invocations: resolving the version that a name means, and running it on a worker.

Owns the resolution of names, and the course of one invocation. Definitions come from the catalogue
(`definitions.py`), limits from `concurrency.py`, processes from `workers/pools.py`; Event invocations wait in
`async_queue.py`.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Protocol

import orjson

from statewright import chance
from statewright.clock import Clock
from statewright.config import Config
from statewright.credentials import Issue, RoleCredentials
from statewright.errors import ApiError
from statewright.functions import names
from statewright.functions.concurrency import Concurrency
from statewright.functions.definitions import Definitions
from statewright.functions.logs import Logs
from statewright.functions.meter import FunctionMeter
from statewright.functions.names import LATEST
from statewright.functions.node_sdk import NodeSdk
from statewright.functions.outcomes import Invoked, Outcome, answer_of, last_lines
from statewright.functions.records import Configuration
from statewright.functions.scratch import Scratch
from statewright.functions.workers import plans, ray_link
from statewright.functions.workers.fork_servers import Confinement, ForkServer, ForkServers
from statewright.functions.workers.isolation import HARDENED, NAMESPACES, NONE, CannotIsolate, Isolation, isolation
from statewright.functions.workers.models import ModelRunner
from statewright.functions.workers.pools import Pool, Pools
from statewright.functions.workers.ray_link import RayLink
from statewright.lease_end import LeaseEnd
from statewright.limits import (
    FUNCTION_EVENT_BYTES,
    FUNCTION_INIT_MS,
    FUNCTION_REQUEST_BYTES,
)
from statewright.payload import JsonObject
from statewright.query.scope import Entropy
from statewright.virtual_clock import VirtualClock

_KNOWN: Final = 10_000
"""Resolved names held in memory."""


@dataclass(frozen=True, slots=True)
class Invocation:
    """Input of an invocation. With `log_tail` the answer includes the last lines of its log."""

    payload: bytes
    request_id: str
    client_context: JsonObject | None = None
    trace_header: str | None = None
    log_tail: bool = False


@dataclass(frozen=True, slots=True)
class Target:
    """The version of a function to run, and the ARN by which the caller named it."""

    name: str
    version: str
    settings: Configuration
    arn: str
    timeout_ms: int
    start_line: bytes


@dataclass(frozen=True, slots=True)
class Resolution:
    """The version that a name resolves to, or two of which the second gets `share` of the calls."""

    first: Target
    second: Target | None = None
    share: float = 0.0
    has_reservation: bool = False
    """True if the function has concurrency of its own."""
    found_ms: int = 0
    turn: int = 0
    """How often `resolve_again` had been called when it was begun."""


class AroundInvocation(Protocol):
    """Runs an invocation at this process, by `run`, or at another one. Raises: ApiError, StoreError."""

    def __call__(
        self, target: Target, call: Invocation, run: Callable[[], Awaitable[Invoked]], /
    ) -> Awaitable[Invoked]:
        """The answer."""


class Invoker:
    """Runs invocations. `endpoint` gives the server's own address at the time a worker starts; `around` may run an
    invocation elsewhere.
    """

    def __init__(
        self,
        clock: Clock,
        config: Config,
        definitions: Definitions,
        concurrency: Concurrency,
        logs: Logs,
        endpoint: Callable[[], str],
        issue: Issue,
        sdk: NodeSdk,
        around: AroundInvocation | None = None,
        lease_end: LeaseEnd | None = None,
    ) -> None:
        self._around = around
        self._has_lease = lease_end is not None
        self.clock = clock
        self.config = config
        self.definitions = definitions
        self.logs = logs
        self.endpoint = endpoint
        self.issue = issue
        self.sdk = sdk
        self.concurrency = concurrency
        self.pools = Pools(clock)
        self.runtimes = plans.Runtimes()
        self.models: dict[str, ModelRunner] = {}
        """Models by function name; the handlers of these functions do not run."""
        self._entropy = Entropy(chance.random_bytes(32))
        self._fork_servers = ForkServers(lease_end)
        self._scratch = Scratch(definitions.packages.folder.parent / "tmp")
        is_on_ray = config.functions.backend == "ray" and not isinstance(clock, VirtualClock)
        self.ray = RayLink(clock, config.ray, self.pools.free_place) if is_on_ray else None
        """The link to the Ray cluster on which handlers run; `None` if they run on this machine."""
        self.known_for_ms: int | None = None
        """How long a resolution holds, where functions are changed by another process; `None`: until they change."""
        self._known: dict[tuple[str, str | None], Resolution] = {}
        self._turn = 0
        self._opening: dict[tuple[str, str], asyncio.Lock] = {}
        definitions.subscribe(self.changed)

    @property
    def meter(self) -> FunctionMeter | None:
        """The meter of invocations, if the server records metrics."""
        return self.concurrency.meter

    def close(self) -> None:
        """End every worker."""
        self.pools.close()
        if self.ray is not None:
            self.ray.close()
        self._fork_servers.close()
        self._scratch.close()
        self.logs.flush()

    def changed(self, name: str, *, latest: bool, everything: bool = False) -> None:
        """Forget the resolutions of a changed function; retire its pools if it has new code."""
        self._known.clear()
        if everything:
            self.pools.retire(name)
        elif latest:
            self.pools.retire(name, LATEST)

    def resolve_again(self) -> None:
        """Forget the resolutions, also those that are under way: another process has changed functions."""
        self._turn += 1

    # ------------------------------------------------------------------ resolving names

    async def resolve(self, name_or_arn: str, qualifier: str | None) -> Target:
        """The version to run; an alias with weights chooses at random. Raises: ApiError."""
        found = await self._resolution(name_or_arn, qualifier)
        if found.second is not None and self._entropy.uniform() < found.share:
            return found.second
        return found.first

    async def has_reservation(self, name_or_arn: str, qualifier: str | None = None) -> bool:
        """True if a function has concurrency of its own. Raises: ApiError."""
        return (await self._resolution(name_or_arn, qualifier)).has_reservation

    async def _resolution(self, name_or_arn: str, qualifier: str | None) -> Resolution:
        found = self._known.get((name_or_arn, qualifier))
        if found is None or self._is_old(found):
            found = await self._resolved(name_or_arn, qualifier)
            if len(self._known) > _KNOWN:
                self._known.clear()
            self._known[name_or_arn, qualifier] = found
        return found

    def _is_old(self, found: Resolution) -> bool:
        if found.turn != self._turn:
            return True
        return self.known_for_ms is not None and self.clock.now_ms() - found.found_ms >= self.known_for_ms

    async def _resolved(self, name_or_arn: str, qualifier: str | None) -> Resolution:
        turn = self._turn
        named = names.parse_name(name_or_arn, qualifier, self.config)
        function = await self.definitions.function(named.name)
        arn = names.function_arn(self.config, named.name, named.qualifier)
        if function is None:
            # An invocation without a qualifier is one of $LATEST, and its refusal says so (observed).
            raise names.not_found(names.function_arn(self.config, named.name, named.qualifier or LATEST))

        async def target(version: str) -> Target:
            settings = await self.definitions.settings_of(function, version)
            if settings is None:
                raise names.not_found(arn)
            return Target(
                function.name, version, settings, arn, settings.timeout * 1000, f" Version: {version}\n".encode()
            )

        now_ms, is_reserved = self.clock.now_ms(), function.reserved is not None
        if named.qualifier is None or named.qualifier == LATEST or names.is_version(named.qualifier):
            return Resolution(await target(named.qualifier or LATEST), None, 0.0, is_reserved, now_ms, turn)
        alias = await self.definitions.records.aliases.get(f"{named.name}:{named.qualifier}")
        if alias is None:
            raise names.not_found(arn)
        first = await target(alias.version)
        for version, share in alias.weights.items():
            return Resolution(first, await target(version), share, is_reserved, now_ms, turn)
        return Resolution(first, None, 0.0, is_reserved, now_ms, turn)

    # ------------------------------------------------------------------ one invocation

    async def run(self, target: Target, call: Invocation) -> Invoked:
        """Run an invocation. Raises: ApiError (`TooManyRequestsException`, `InvalidRuntimeException`)."""
        try:
            self.concurrency.enter(target.name)
        except ApiError:
            if self.meter is not None:
                self.meter.throttled(target.name, target.arn, target.version)
            raise
        try:
            return await self.run_admitted(target, call)
        finally:
            self.concurrency.leave(target.name)

    async def run_admitted(self, target: Target, call: Invocation) -> Invoked:
        """Run an invocation that the caller has entered in `concurrency`. Raises: ApiError, StoreError."""
        if self._around is None or self._stays_here(target):
            return await self.run_here(target, call)
        return await self._around(target, call, lambda: self.run_here(target, call))

    def _stays_here(self, target: Target) -> bool:
        """True for handlers on Ray, which are spread already, for a function whose reservation excludes others, and for
        a version with workers of provisioned concurrency.
        """
        if self.ray is not None or target.name in self.concurrency.reserved:
            return True
        pool = self.pools.get(target.name, target.version)
        return pool is not None and pool.kept > 0

    async def run_here(self, target: Target, call: Invocation) -> Invoked:
        """Run an invocation on a worker of this process. Raises: ApiError, StoreError."""
        model = self.models.get(target.name)
        if model is not None:
            outcome = await model.run(self.clock, call.payload, target.timeout_ms)
            answer, error = self._answer(target, outcome, call.request_id)
            return Invoked(200, answer, error, b"" if call.log_tail else None, target.version, call.request_id)
        pool = self._current_pool(target) or await self.pool_of(target)
        header: JsonObject = {
            "t": "invoke",
            "id": call.request_id,
            "arn": target.arn,
            "timeout_ms": target.timeout_ms,
        }
        if call.client_context is not None:
            header["client_context"] = call.client_context
        header["trace"] = call.trace_header or trace_of(call.request_id, self.clock.now_ms())
        start = b"START RequestId: " + call.request_id.encode() + target.start_line
        outcome, worker = await pool.run(call.request_id, orjson.dumps(header), call.payload, target.timeout_ms, start)
        if outcome.kind == "unstartable":
            raise ApiError("ServiceException", f"No worker can be started: {outcome.body.decode()}", status=500)
        answer, error = self._answer(target, outcome, call.request_id)
        if outcome.kind == "lost" and self.ray is not None:
            self.ray.status.invocations_lost += 1
        tail = None
        if worker is not None:
            init_ms, worker.init_ms = worker.init_ms, None
            worker.log.end(
                last_lines(
                    outcome, call.request_id, timeout_seconds=target.settings.timeout, memory=target.settings.memory,
                    init_ms=init_ms, now_ms=self.clock.now_ms(),
                )
            )  # fmt: skip
            tail = worker.log.tail if call.log_tail else None
        elif call.log_tail:
            tail = b""
        if outcome.kind == "lost":
            # The service's words for a failure that is its own: clients repeat the call, and so does a usual Retry.
            raise ApiError("ServiceException", f"The handler was lost: {outcome.body.decode()}", status=500)
        return Invoked(200, answer, error, tail, target.version, call.request_id)

    def _answer(self, target: Target, outcome: Outcome, request_id: str) -> tuple[bytes, str | None]:
        answer, error = answer_of(outcome, request_id, target.settings.timeout)
        if self.meter is not None:
            duration_ms = round(outcome.duration_ns / 1e6, 2)
            self.meter.ended(target.name, target.arn, target.version, duration_ms, failed=error is not None)
        return answer, error

    async def pool_of(self, target: Target) -> Pool:
        """The workers of a version. Raises: ApiError."""
        lock = self._opening.setdefault((target.name, target.version), asyncio.Lock())
        async with lock:
            found = self._current_pool(target)
            if found is None:
                self.pools.retire(target.name, target.version)
                found = await self._new_pool(target)
                self.pools.add(target.name, target.version, found)
            return found

    def _ends_with_lease(self, name: str) -> bool:
        """True for a function with a reservation, if another process can have the store: it would not know of handlers
        that this one has left behind.
        """
        return self._has_lease and self.ray is None and name in self.concurrency.reserved

    def _current_pool(self, target: Target) -> Pool | None:
        """The pool of a version, if there is one and no other process has changed the version since it was made."""
        found = self.pools.get(target.name, target.version)
        if found is None:
            return None
        if found.plan.spawn_message.get("ends_with_lease", False) != self._ends_with_lease(target.name):
            return None
        if self.known_for_ms is None:
            return found
        return found if found.plan.settings == target.settings else None

    async def _new_pool(self, target: Target) -> Pool:
        plan = await (self._local_plan(target) if self.ray is None else self._ray_plan(target, self.ray))
        day = datetime.fromtimestamp(self.clock.now_ms() / 1000, UTC).strftime("%Y/%m/%d")
        return Pool(self.pools, plan, f"{day}/[{target.version}]")

    async def _ray_plan(self, target: Target, link: RayLink) -> plans.WorkerPlan:
        settings, packages = target.settings, self.definitions.packages
        runtime = ray_link.runtime_of(settings.runtime)
        codes = [settings.code, *reversed(settings.layers.values())]
        root = await asyncio.to_thread(packages.unpacked, settings.code)
        layers = [await asyncio.to_thread(packages.unpacked, code) for code in codes[1:]]
        zips = [(code, await asyncio.to_thread(packages.fetched, code)) for code in codes]
        has_libraries = await asyncio.to_thread(plans.has_libraries, root, layers)
        preload = ("boto3",) if runtime.kind == "python" and plans.mentions_boto3(root) else ()
        folders = ray_link.folders_of(link, settings)
        variables = plans.environment(
            self.config, target.name, target.version, settings, folders, runtime,
            link.settings.endpoint or self.endpoint(), ray_link.MACHINE,
        )  # fmt: skip
        spawn = plans.spawn_message_of(runtime, settings, folders, variables, plans.Unpacked("", has_libraries))
        message = ray_link.message_of(
            link, spawn, runtime, settings, zips, link.settings.needs_of(target.name), preload,
            self.config.functions.isolation,
        )  # fmt: skip
        plan = self._plan(target, message, link.server, runtime)
        return replace(plan, is_remote=True)

    async def _local_plan(self, target: Target) -> plans.WorkerPlan:
        settings = target.settings
        # Looking for an interpreter runs it: time that a virtual clock must not jump over.
        with self.clock.busy():
            runtime = await self.runtimes.find(settings.runtime)
        if runtime is None:
            raise ApiError(
                "InvalidRuntimeException",
                f"The runtime {settings.runtime} cannot be run on this machine: the program for it is not installed.",
                status=502,
                details={"Type": "User"},
            )
        with self.clock.busy():
            isolation = await asyncio.to_thread(self._isolation)
            root, folders, unpacked = await asyncio.to_thread(self._folders, settings, isolation.level)
            preload = ("boto3",) if runtime.kind == "python" and plans.mentions_boto3(root) else ()
        if isinstance(self.clock, VirtualClock):
            preload = ("worker_time", *preload)
        variables = plans.environment(
            self.config, target.name, target.version, settings, folders, runtime, self.endpoint()
        )
        variables |= plans.node_sdk_variables(self.sdk, runtime, settings, folders)
        program = runtime.program if runtime.kind == "python" else plans.own_python()
        confinement = self._confinement(isolation.level)

        def fork_server() -> ForkServer:
            # The SDK may be fetched while the server runs: workers that are started later see it.
            seen = self.sdk.binding() if isolation.level == NAMESPACES and runtime.kind == "node" else None
            return self._fork_servers.get(program, preload, replace(confinement, sdk=seen))

        spawn = plans.spawn_message_of(
            runtime, settings, folders, variables, unpacked, ends_with_lease=self._ends_with_lease(target.name)
        )
        scratch = self._scratch.folder if isolation.level == HARDENED else None
        return replace(
            self._plan(target, spawn, fork_server, runtime), isolation=isolation.level, scratch=scratch,
            virtual_time=isinstance(self.clock, VirtualClock),
        )  # fmt: skip

    def _plan(
        self, target: Target, spawn: JsonObject, fork_server: Callable[[], ForkServer], runtime: plans.Runtime
    ) -> plans.WorkerPlan:
        """The part of a plan that does not depend on the place of the workers."""
        settings = target.settings
        return plans.WorkerPlan(
            settings=settings,
            spawn_message=spawn,
            fork_server=fork_server,
            credentials=RoleCredentials(self.issue, self.clock, settings.role, target.name),
            open_log=lambda stream: self.logs.stream(target.name, stream),
            remark=f"INIT_START {runtime.remark}\n".encode(),
            memory_bytes=settings.memory * 1024 * 1024,
            start_ms=FUNCTION_INIT_MS + target.timeout_ms,
        )

    def _isolation(self) -> Isolation:
        wanted = self.config.functions.isolation
        if wanted == "auto" and isinstance(self.clock, VirtualClock):
            # Tests may share files with handlers.
            wanted = HARDENED if sys.platform == "linux" else NONE
        try:
            return isolation(wanted)
        except CannotIsolate as problem:
            raise ApiError("ServiceException", str(problem), status=500) from None

    def _folders(self, settings: Configuration, level: str) -> tuple[Path, plans.Folders, plans.Unpacked]:
        """Folder of the code, the folders that a worker sees, and what they hold."""
        packages = self.definitions.packages
        root = packages.unpacked(settings.code)
        # Of files with the same name, that of the last layer counts.
        layers = [packages.unpacked(code) for code in reversed(settings.layers.values())]
        has_libraries = plans.has_libraries(root, layers)
        if level == NAMESPACES:
            merged = packages.merged(list(settings.layers.values()))
            return root, plans.IN_NAMESPACES, plans.Unpacked(merged, has_libraries)
        shown = plans.Folders(str(root), tuple(str(layer) for layer in layers))
        return root, shown, plans.Unpacked("", has_libraries)

    def _confinement(self, level: str) -> Confinement:
        if level != NAMESPACES:
            return Confinement(level, "")
        code = self.definitions.packages.folder
        return Confinement(level, str(code), plans.visible_folders(self.config), (str(code.parents[1]),))


def trace_of(request_id: str, now_ms: int) -> str:
    """The trace header of an invocation without one, not sampled; its parts derive from the request id.

    Source: Lambda developer guide, "_X_AMZN_TRACE_ID"; X-Ray developer guide, "Tracing header".
    """
    digits = request_id.replace("-", "")
    return f"Root=1-{now_ms // 1000:08x}-{digits[:24]};Parent={digits[-16:]};Sampled=0"


def check_size(payload: bytes, kind: str) -> None:
    """Check the size of a payload. Raises: ApiError (`RequestTooLargeException`)."""
    most = FUNCTION_EVENT_BYTES if kind == "Event" else FUNCTION_REQUEST_BYTES
    if len(payload) > most:
        raise names.refusal(
            "RequestTooLargeException",
            f"{len(payload)} byte payload is too large for the {kind} invocation type (limit {most} bytes)",
        )


def json_fault(payload: bytes) -> str | None:
    """Why a payload is no JSON text; None if it is one. Nothing else runs in this process meanwhile."""
    try:
        orjson.loads(payload)
    except orjson.JSONDecodeError as problem:
        return str(problem)
    return None


def no_json(fault: str) -> ApiError:
    """The refusal of a payload that is no JSON text."""
    return names.refusal(
        "InvalidRequestContentException",
        f"Could not parse request body into json: Could not parse payload into json: {fault}",
    )


def decoded_context(text: str | None) -> JsonObject | None:
    """Decode the client context of a header: JSON in base64. Raises: ApiError (`InvalidRequestContentException`)."""
    if not text:
        return None
    try:
        found = orjson.loads(base64.b64decode(text, validate=True))
    except (binascii.Error, ValueError):
        found = None
    if not isinstance(found, dict):
        raise names.refusal("InvalidRequestContentException", "Client context must be a JSON object in base64.")
    return found
