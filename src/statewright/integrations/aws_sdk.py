"""Services at configured endpoints: every `aws-sdk:*` and every optimised integration that is not ours.

Owns clients, requests and the words of failures in both dialects; what goes in and out of single values is in
`members.py`, names are in `service_names.py`, jobs that `.sync` waits for in `jobs.py`.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping
from typing import Any, Final

import botocore.session
from botocore.config import Config as ClientConfig
from botocore.exceptions import BotoCoreError, ClientError

from statewright.arn import parse_arn
from statewright.config import Config, Endpoint
from statewright.engine.dispatch import Failed, ScheduledCall, Succeeded, TaskResult
from statewright.integrations.members import ForeignMembers, from_api, sdk_members, to_api
from statewright.integrations.patterns import (
    NOT_CONFIGURED,
    answered,
    bad_parameters,
    no_endpoint_text,
    not_here_yet,
    refused_how,
)
from statewright.integrations.service_names import Api, UnknownApi, api_of
from statewright.payload import Json, JsonTextError, dump_json, parse_json

CONNECT_SECONDS: Final = 5
READ_SECONDS: Final = 70
FUNCTION_SECONDS: Final = 910
"""A function may run for 15 minutes. Source: Lambda quotas."""


_BUSY: Final = frozenset(
    {"Throttling", "ThrottlingException", "ThrottledException", "RequestLimitExceeded", "TooManyRequestsException"}
)
"""Codes of a service that has too much to do. Source: botocore's table of retries."""


class NoEndpoint(Exception):
    """A service that is nowhere; the text says how to configure it."""


class Clients:
    """botocore's clients, one for each API and endpoint; used from many threads."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._clients: dict[tuple[str, str], Any] = {}
        self._lock = threading.Lock()
        # The files and the profile of whoever started the server are none of its business.
        self._session = botocore.session.Session(
            session_vars={
                "profile": (None, None, None, None),
                "config_file": (None, None, os.devnull, None),
                "credentials_file": (None, None, os.devnull, None),
            }
        )

    def endpoint_of(self, api: Api) -> Endpoint:
        """Where an API is, by the name in resource ARNs, by botocore's, or by default.

        Raises: NoEndpoint.
        """
        endpoints = self._config.endpoints
        for name in (api.service, api.model.service_name, "default"):
            if name in endpoints:
                return endpoints[name]
        raise NoEndpoint(no_endpoint_text(api.service))

    def client(self, api: Api) -> Any:
        """The client of an API. Raises: NoEndpoint."""
        endpoint = self.endpoint_of(api)
        key = (api.model.service_name, endpoint.url)
        with self._lock:
            found = self._clients.get(key)
            if found is None:
                found = self._clients[key] = self._make(api.model.service_name, endpoint)
        return found

    def _make(self, name: str, endpoint: Endpoint) -> Any:
        return self._session.create_client(
            name,
            region_name=endpoint.region or self._config.region,
            endpoint_url=endpoint.url,
            aws_access_key_id=endpoint.access_key,
            aws_secret_access_key=endpoint.secret_key,
            config=ClientConfig(
                connect_timeout=CONNECT_SECONDS,
                read_timeout=FUNCTION_SECONDS if name == "lambda" else READ_SECONDS,
                # A task is repeated by its own retrier alone.
                retries={"total_max_attempts": 1},
                # The service's own words about a bad request are better than botocore's.
                parameter_validation=False,
                inject_host_prefix=False,
                s3={"addressing_style": "path"},
            ),
        )


def call_service(clients: Clients, task: ScheduledCall) -> TaskResult:
    """Make the call of a service integration. Blocks."""
    if task.resource.kind == "lambda":
        return _call_function(clients, task)
    try:
        api = api_of(task.resource)
    except UnknownApi as unknown:
        if task.resource.resource_type.startswith("aws-sdk:"):
            return bad_parameters(task, str(unknown))
        return not_here_yet(task)
    if not isinstance(task.parameters, dict):
        return bad_parameters(task, "the parameters must be an object")
    try:
        request = to_api(api.operation.input_shape, task.parameters, api.dialect)
    except ForeignMembers as foreign:
        return bad_parameters(
            task, *(f'The field "{name}" is not supported by Step Functions' for name in foreign.names)
        )
    if api.dialect == "optimised":
        _complete(task, request)
    try:
        answer = send(clients, api, request)
    except Refusal as refusal:
        how = refused_how(task)
        return Failed(refusal.error, refusal.cause, "failed" if refusal.error == NOT_CONFIGURED else how)
    finish = _FINISH.get((api.service, api.operation.name)) if api.dialect == "optimised" else None
    result = from_api(api.operation.output_shape, answer, api.dialect)
    if finish is not None:
        failed = finish(result)
        if failed is not None:
            return failed
    if api.dialect == "optimised":
        result.update(sdk_members(answer.get("ResponseMetadata", {})))
        result = dict(sorted(result.items()))
    return answered(task, result)


class Refusal(Exception):
    """A call without an answer, as the task's error and cause."""

    def __init__(self, error: str, cause: str, *, may_pass: bool = False) -> None:
        super().__init__(error, cause)
        self.error = error
        self.cause = cause
        self.may_pass = may_pass
        """Whether it may be worth while to ask again: nobody answered, or somebody with too much to do."""


def send(clients: Clients, api: Api, request: Mapping[str, Any]) -> Mapping[str, Any]:
    """Send a request in botocore's names. Raises: Refusal. Blocks."""
    try:
        client = clients.client(api)
    except NoEndpoint as nowhere:
        raise Refusal(NOT_CONFIGURED, str(nowhere)) from None
    try:
        answer: Mapping[str, Any] = client._make_api_call(api.operation.name, dict(request))
    except ClientError as refusal:
        raise _refusal_of(api, refusal.response) from None
    except BotoCoreError as problem:
        raise Refusal(
            f"{api.prefix}.SdkClientException", f"Unable to execute HTTP request: {problem}", may_pass=True
        ) from None
    except (KeyError, TypeError, ValueError, AttributeError) as problem:
        # The serialiser meets a value that its shape does not allow.
        raise Refusal(f"{api.prefix}.SdkClientException", f"Unable to marshall request: {problem!r}") from None
    return answer


def _refusal_of(api: Api, response: Mapping[str, Any]) -> Refusal:
    error, metadata = response.get("Error", {}), response.get("ResponseMetadata", {})
    code = str(error.get("Code", "Unknown"))
    cause = api.cause(
        code,
        str(error.get("Message", "")),
        metadata.get("HTTPStatusCode", 400),
        metadata.get("RequestId", ""),
        metadata.get("HostId"),
    )
    status = metadata.get("HTTPStatusCode", 400)
    return Refusal(api.error_name(code), cause, may_pass=status >= 500 or status == 429 or code in _BUSY)


# ------------------------------------------------------------------ what single integrations do besides


def _complete(task: ScheduledCall, request: dict[str, Any]) -> None:
    """What optimised integrations add to the parameters."""
    name = (task.resource.resource_type, task.resource.action.partition(".")[0])
    if name == ("lambda", "invoke"):
        # Any JSON value is a payload, a text too; without one, nothing is sent (observed: the function sees {}).
        request.pop("Payload", None)
        if task.parameters.get("Payload") is not None:
            request["Payload"] = dump_json(task.parameters["Payload"]).encode()
    elif name == ("events", "putEvents"):
        machine = parse_arn(task.execution_arn).machine
        for entry in request.get("Entries", ()):
            if isinstance(entry, dict):
                entry["Resources"] = [*entry.get("Resources", ()), task.execution_arn, machine]
    elif name == ("ecs", "runTask"):
        request.setdefault("startedBy", "AWS Step Functions")


def _finish_function(result: dict[str, Json]) -> Failed | None:
    payload = result.get("Payload")
    if "FunctionError" in result:
        return _function_failed(str(payload))
    if isinstance(payload, str):
        result["Payload"] = _value(payload)
    return None


def _function_failed(payload: str) -> Failed:
    value = _value(payload)
    kind = value.get("errorType") if isinstance(value, dict) else None
    return Failed(kind if isinstance(kind, str) and kind else "Lambda.Unknown", payload)


def _finish_events(result: dict[str, Json]) -> Failed | None:
    if result.get("FailedEntryCount"):
        return Failed("EventBridge.FailedEntry", dump_json(result))
    return None


_FINISH: Final[dict[tuple[str, str], Callable[[dict[str, Json]], Failed | None]]] = {
    ("lambda", "Invoke"): _finish_function,
    ("events", "PutEvents"): _finish_events,
}


def _value(text: str) -> Json:
    try:
        return parse_json(text)
    except JsonTextError:
        return text


def _call_function(clients: Clients, task: ScheduledCall) -> TaskResult:
    """A function named by its ARN: the input is the payload, the payload the result."""
    from statewright.integrations.service_names import optimised_api

    api = optimised_api("lambda", "invoke")
    request = {"FunctionName": task.resource.arn, "Payload": dump_json(task.parameters).encode()}
    try:
        answer = from_api(api.operation.output_shape, send(clients, api, request), api.dialect)
    except Refusal as refusal:
        return Failed(refusal.error, refusal.cause)
    payload = str(answer.get("Payload", ""))
    if "FunctionError" in answer:
        return _function_failed(payload)
    return Succeeded(_value(payload) if payload else None)
