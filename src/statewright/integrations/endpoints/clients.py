"""botocore's clients of services at endpoints: the endpoint of an API, and requests to it."""

from __future__ import annotations

import os
import threading
from typing import Final, Protocol

import botocore.session
from botocore.config import Config as ClientConfig
from botocore.exceptions import BotoCoreError, ClientError

from statewright.config import Config, Endpoint
from statewright.integrations.api_values import ApiMapping, ApiObject
from statewright.integrations.endpoints.unplayed import refusal_text
from statewright.integrations.endpoints.volatile import VolatileServices
from statewright.integrations.patterns import NOT_CONFIGURED, no_endpoint_text
from statewright.integrations.service_calls import Refusal, refusal_of
from statewright.integrations.service_names import Api, model_loader

CONNECT_SECONDS: Final = 5
READ_SECONDS: Final = 70
FUNCTION_SECONDS: Final = 910
"""A function may run for 15 minutes. Source: Lambda quotas."""


class NoEndpoint(Exception):
    """A service has no endpoint; the message says how to configure one."""


class Client(Protocol):
    """The part of botocore's clients that is used here."""

    def _make_api_call(self, operation_name: str, api_params: ApiObject) -> ApiObject:
        """Send a request and return the answer. Raises: ClientError, BotoCoreError."""


class Clients:
    """botocore's clients, one for each API and endpoint; used from many threads."""

    def __init__(self, config: Config, volatile: VolatileServices | None = None) -> None:
        self._config = config
        self._volatile = volatile
        self._clients: dict[tuple[str, str], Client] = {}
        self._lock = threading.Lock()
        # The AWS profile and configuration files of the user who started the server must not apply.
        self._session = botocore.session.Session(
            session_vars={
                "profile": (None, None, None, None),
                "config_file": (None, None, os.devnull, None),
                "credentials_file": (None, None, os.devnull, None),
            }
        )
        # A model that was read to check a request need not be read again for its client.
        self._session.register_component("data_loader", model_loader())

    def endpoint_of(self, api: Api) -> Endpoint:
        """The endpoint of an API: by the name in resource ARNs, by botocore's, the default, or moto's process.

        Raises: NoEndpoint.
        """
        endpoints = self._config.endpoints
        for name in (api.service, api.model.service_name, "default"):
            if name in endpoints:
                return endpoints[name]
        for name in (api.service, api.model.service_name):
            if (why := refusal_text(name)) is not None:
                raise NoEndpoint(why)
        found = self._volatile_endpoint(api.service)
        if found is None:
            raise NoEndpoint(no_endpoint_text(api.service))
        return found

    def _volatile_endpoint(self, service: str) -> Endpoint | None:
        if self._volatile is None:
            return None
        try:
            return self._volatile.endpoint(service)
        except OSError as problem:
            raise NoEndpoint(str(problem)) from None

    def client(self, api: Api) -> Client:
        """The client of an API. Raises: NoEndpoint."""
        endpoint = self.endpoint_of(api)
        key = (api.model.service_name, endpoint.url)
        with self._lock:
            found = self._clients.get(key)
            if found is None:
                found = self._clients[key] = self._make(api.model.service_name, endpoint)
        return found

    def send(self, api: Api, request: ApiMapping) -> ApiMapping:
        """Send a request in botocore's names. Raises: Refusal. Blocks."""
        try:
            client = self.client(api)
        except NoEndpoint as nowhere:
            raise Refusal(NOT_CONFIGURED, str(nowhere)) from None
        try:
            answer: ApiMapping = client._make_api_call(api.operation.name, dict(request))
        except ClientError as refusal:
            raise refusal_of(api, refusal.response) from None
        except BotoCoreError as problem:
            raise Refusal(
                f"{api.prefix}.SdkClientException", f"Unable to execute HTTP request: {problem}", may_pass=True
            ) from None
        except (KeyError, TypeError, ValueError, AttributeError) as problem:
            # The serialiser meets a value that its shape does not allow.
            raise Refusal(f"{api.prefix}.SdkClientException", f"Unable to marshall request: {problem!r}") from None
        return answer

    def _make(self, name: str, endpoint: Endpoint) -> Client:
        made: Client = self._session.create_client(
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
        return made
