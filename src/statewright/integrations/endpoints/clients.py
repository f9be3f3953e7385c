"""botocore's clients of services at endpoints: which endpoint an API has, and sending a request there."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from typing import Any, Final

import botocore.session
from botocore.config import Config as ClientConfig
from botocore.exceptions import BotoCoreError, ClientError

from statewright.config import Config, Endpoint
from statewright.integrations.endpoints.volatile import VolatileServices
from statewright.integrations.patterns import NOT_CONFIGURED, no_endpoint_text
from statewright.integrations.service_calls import Refusal, refusal_of
from statewright.integrations.service_names import Api

CONNECT_SECONDS: Final = 5
READ_SECONDS: Final = 70
FUNCTION_SECONDS: Final = 910
"""A function may run for 15 minutes. Source: Lambda quotas."""


class NoEndpoint(Exception):
    """A service that is nowhere; the text says how to configure it."""


class Clients:
    """botocore's clients, one for each API and endpoint; used from many threads."""

    def __init__(self, config: Config, volatile: VolatileServices | None = None) -> None:
        self._config = config
        self._volatile = volatile
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
        """Where an API is: by the name in resource ARNs, by botocore's, by default, or in moto's process.

        Raises: NoEndpoint.
        """
        endpoints = self._config.endpoints
        for name in (api.service, api.model.service_name, "default"):
            if name in endpoints:
                return endpoints[name]
        found = self._volatile_endpoint()
        if found is None:
            raise NoEndpoint(no_endpoint_text(api.service))
        return found

    def _volatile_endpoint(self) -> Endpoint | None:
        if self._volatile is None:
            return None
        try:
            return self._volatile.endpoint()
        except OSError as problem:
            raise NoEndpoint(str(problem)) from None

    def client(self, api: Api) -> Any:
        """The client of an API. Raises: NoEndpoint."""
        endpoint = self.endpoint_of(api)
        key = (api.model.service_name, endpoint.url)
        with self._lock:
            found = self._clients.get(key)
            if found is None:
                found = self._clients[key] = self._make(api.model.service_name, endpoint)
        return found

    def send(self, api: Api, request: Mapping[str, Any]) -> Mapping[str, Any]:
        """Send a request in botocore's names. Raises: Refusal. Blocks."""
        try:
            client = self.client(api)
        except NoEndpoint as nowhere:
            raise Refusal(NOT_CONFIGURED, str(nowhere)) from None
        try:
            answer: Mapping[str, Any] = client._make_api_call(api.operation.name, dict(request))
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
