"""Functions: the façade for the API, integrations, event sources and the simulator.

`definitions`, `versions`, `layers`, `invoke_settings` and `access` are the catalogue; `invoke` runs. Nothing is
started, and no process made, before the first invocation, except for provisioned concurrency.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Final, Literal

from statewright import chance
from statewright.clock import Clock
from statewright.config import Config
from statewright.credentials import Issue, dummies
from statewright.errors import ApiError
from statewright.functions.access.policies import Policies
from statewright.functions.access.urls import Urls
from statewright.functions.async_queue import AsyncQueue, Deliver
from statewright.functions.code.packages import Packages
from statewright.functions.concurrency import Concurrency
from statewright.functions.definitions import Definitions, ReadObject
from statewright.functions.invoke import AroundInvocation, Invocation, Invoker, decoded_context
from statewright.functions.invoke_settings import EventSettings
from statewright.functions.layers import Layers
from statewright.functions.logs import Logs
from statewright.functions.names import parse_name
from statewright.functions.node_sdk import node_sdk
from statewright.functions.outcomes import Invoked
from statewright.functions.provisioned import ProvisionedConcurrency
from statewright.functions.versions import Aliases, Versions
from statewright.functions.workers.models import Model, ModelRunner
from statewright.metrics.recorder import Recorder
from statewright.query.scope import Entropy
from statewright.stores.store import Store

Kind = Literal["RequestResponse", "Event", "DryRun"]
CODE: Final = "functions/code"
LOGS: Final = "functions/logs"

__all__ = ["Functions", "Invoked", "Kind"]


class Functions:
    """The functions of one store.

    `data` is the folder for code and logs; `None` keeps them in a temporary one. `endpoint` gives the server's own
    address, for handlers. `read_object` reads code from buckets; `deliver` hands reports on Event invocations to
    targets that are not functions; `issue` issues credentials of their roles; `around` may run invocations elsewhere.
    """

    def __init__(
        self,
        store: Store,
        clock: Clock,
        config: Config,
        data: Path | None,
        *,
        endpoint: Callable[[], str],
        read_object: ReadObject | None = None,
        deliver: Deliver | None = None,
        recorder: Recorder | None = None,
        issue: Issue = dummies,
        around: AroundInvocation | None = None,
    ) -> None:
        sdk = node_sdk(config, data)
        self._temporary: tempfile.TemporaryDirectory[str] | None = None
        if data is None:
            self._temporary = tempfile.TemporaryDirectory(prefix="statewright-functions-")
            data = Path(self._temporary.name)
        entropy = Entropy(chance.random_bytes(32))
        self.clock = clock
        self.config = config
        self.logs = Logs(data / LOGS, clock)
        packages = Packages((data / CODE).absolute(), store.blobs)
        concurrency = Concurrency(recorder)
        self.definitions = Definitions(store, clock, config, packages, entropy, concurrency, read_object)
        self.layers = Layers(self.definitions)
        self.versions = Versions(self.definitions)
        self.aliases = Aliases(self.definitions)
        self.event_settings = EventSettings(self.definitions)
        self.policies = Policies(self.definitions)
        self.urls = Urls(self.definitions, endpoint)
        self.invoker = Invoker(
            clock, config, self.definitions, concurrency, self.logs, endpoint, issue, sdk, around, store.lease_end
        )
        self.provisioned = ProvisionedConcurrency(self.definitions, self.invoker)
        self._entropy = entropy
        self._deliver_elsewhere = deliver
        self.events = AsyncQueue(store.catalogue, clock, self.invoker, self.event_settings, self._deliver)

    def model_with(self, name: str, model: Model | None) -> None:
        """Run a model in place of the handler of a function, which need not exist yet; `None` ends that.

        Raises: ValueError for an invalid model.
        """
        if model is None:
            self.invoker.models.pop(name, None)
        else:
            self.invoker.models[name] = ModelRunner(model)

    async def start(self) -> None:
        """Recover packages, reservations, provisioned workers and waiting Event invocations."""
        await self.definitions.start_packages()
        for function in await self.definitions.records.functions.all():
            if function.reserved is not None:
                self.invoker.concurrency.reserve(function.name, function.reserved)
            await self.provisioned.start(function)
        await self.events.start()

    async def stop(self) -> None:
        """End every worker; waiting Event invocations stay in the store."""
        await self.events.stop()
        await self.provisioned.stop()
        self.invoker.close()
        if self._temporary is not None:
            self._temporary.cleanup()

    async def _deliver(self, arn: str, body: bytes, attributes: dict[str, tuple[str, str]]) -> None:
        """Deliver a report to a target. Raises: ApiError, the target's own."""
        if arn.split(":")[2] == "lambda":
            await self.invoke(arn, body, kind="Event")
        elif self._deliver_elsewhere is None:
            raise ApiError("NotConfigured", "this server has no targets to deliver to")
        else:
            await self._deliver_elsewhere(arn, body, attributes)

    async def invoke(
        self,
        name_or_arn: str,
        payload: bytes,
        *,
        qualifier: str | None = None,
        kind: Kind = "RequestResponse",
        client_context: str | None = None,
        log_tail: bool = False,
        request_id: str | None = None,
        trace_header: str | None = None,
    ) -> Invoked:
        """Invoke a function by name, partial ARN or ARN. The payload is JSON text.

        A function's own error is an answer, not an exception. Raises: ApiError (`ResourceNotFoundException`,
        `TooManyRequestsException`, `RequestTooLargeException`, `InvalidRequestContentException` ...).
        """
        target = await self.invoker.resolve(name_or_arn, qualifier)
        if request_id is None:
            request_id = self._entropy.uuid4()
        if kind == "DryRun":
            return Invoked(204, b"", None, None, target.version, request_id)
        context = decoded_context(client_context) if client_context else None
        if kind == "Event":
            named = parse_name(name_or_arn, qualifier, self.config)
            await self.events.accept(
                named.name, named.qualifier, payload, request_id=request_id, context=context, trace=trace_header
            )
            return Invoked(202, b"", None, None, target.version, request_id)
        return await self.invoker.run(target, Invocation(payload, request_id, context, trace_header, log_tail))
