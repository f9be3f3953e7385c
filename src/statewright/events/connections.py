"""Connections and API destinations: credentials for HTTP endpoints, and the endpoints that rules reach with them.

Owns both kinds of entries, what may be shown of them, and a connection's meaning as settings of HTTP requests. Sending
requests is the business of `integrations`. Credentials are stored with the entry, as secrets are.

Source: EventBridge API reference; texts of refusals are Statewright's own where no client reports them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final, Generic, TypeVar

from statewright import chance
from statewright.clock import Clock
from statewright.config import Config
from statewright.config import Connection as Settings
from statewright.errors import ApiError
from statewright.payload import Json, JsonMapping, JsonObject
from statewright.stores.entries import Entries, EntryKind
from statewright.stores.protocol import CatalogueStore

MOST_PER_SECOND: Final = 300
"""Source: API reference, CreateApiDestination, `InvocationRateLimitPerSecond`: the default."""
_PARAMETERS: Final = {
    "BASIC": "BasicAuthParameters",
    "API_KEY": "ApiKeyAuthParameters",
    "OAUTH_CLIENT_CREDENTIALS": "OAuthParameters",
}
_SECRETS: Final = frozenset({"Password", "ApiKeyValue", "ClientSecret"})
_LISTS: Final = ("HeaderParameters", "QueryStringParameters", "BodyParameters")


@dataclass(frozen=True, slots=True)
class Connection:
    """A connection. `parameters` are its `AuthParameters`, with their secrets."""

    name: str
    id: str
    kind: str
    created_ms: int
    modified_ms: int
    parameters: JsonMapping = field(default_factory=dict, repr=False)
    description: str | None = None
    stored: int = 0

    def arn(self, config: Config) -> str:
        """Its ARN."""
        return config.arn("events", f"connection/{self.name}/{self.id}")


@dataclass(frozen=True, slots=True)
class ApiDestination:
    """An HTTP endpoint that rules may have as a target; `*` in it stands for path parameters."""

    name: str
    id: str
    connection_arn: str
    endpoint: str
    method: str
    created_ms: int
    modified_ms: int
    rate: int = MOST_PER_SECOND
    description: str | None = None
    stored: int = 0

    def arn(self, config: Config) -> str:
        """Its ARN."""
        return config.arn("events", f"api-destination/{self.name}/{self.id}")


CONNECTION: Final = EntryKind("connection", Connection, lambda one: one.name)
API_DESTINATION: Final = EntryKind("apiDestination", ApiDestination, lambda one: one.name)
T = TypeVar("T", Connection, ApiDestination)


class _Named(Generic[T]):
    """The entries of one kind by name, with the service's refusals."""

    def __init__(self, catalogue: CatalogueStore, kind: EntryKind[T], words: tuple[str, str]) -> None:
        self._entries: Entries[T] = Entries(catalogue, kind)
        self._what, self._one = words

    async def get(self, name: str) -> T:
        """Raises: ApiError (`ResourceNotFoundException`)."""
        found = await self._entries.get(name)
        if found is None:
            text = f"Failed to describe the {self._what}(s). {self._one} '{name}' does not exist."
            raise ApiError("ResourceNotFoundException", text)
        return found

    async def all(self, prefix: str) -> list[T]:
        """Those whose names begin with a prefix, by name."""
        return sorted(
            (one for one in await self._entries.all() if one.name.startswith(prefix)), key=lambda one: one.name
        )

    async def add(self, made: T) -> T:
        """Raises: ApiError (`ResourceAlreadyExistsException`)."""
        if await self._entries.get(made.name) is not None:
            raise ApiError("ResourceAlreadyExistsException", f"{self._one} '{made.name}' already exists.")
        return await self.write(made)

    async def write(self, made: T) -> T:
        """Store an entry anew."""
        return await self._entries.write(made)

    async def delete(self, name: str) -> T:
        """Raises: ApiError (`ResourceNotFoundException`)."""
        found = await self.get(name)
        await self._entries.delete(found)
        return found


class Connections:
    """The connections and API destinations of one store. Nothing is held in memory."""

    def __init__(self, catalogue: CatalogueStore, clock: Clock, config: Config) -> None:
        self._clock = clock
        self._config = config
        self.connections: Final = _Named(catalogue, CONNECTION, ("connection", "Connection"))
        self.destinations: Final = _Named(catalogue, API_DESTINATION, ("api-destination", "Destination"))

    async def create(self, request: JsonMapping) -> Connection:
        """Create a connection. The request has the members of CreateConnection. Raises: ApiError."""
        now_ms = self._clock.now_ms()
        parameters = _checked(request["AuthorizationType"], request["AuthParameters"])
        return await self.connections.add(
            Connection(
                request["Name"], chance.uuid4(), request["AuthorizationType"], now_ms, now_ms, parameters,
                request.get("Description"),
            )
        )  # fmt: skip

    async def update(self, request: JsonMapping) -> Connection:
        """Change a connection; secrets that are not given stay. Raises: ApiError."""
        found = await self.connections.get(request["Name"])
        kind = request.get("AuthorizationType") or found.kind
        given = request.get("AuthParameters")
        parameters: JsonMapping = found.parameters
        if given is not None or kind != found.kind:
            merged: JsonObject = {**(found.parameters if kind == found.kind else {}), **(given or {})}
            name = _PARAMETERS[kind]
            merged[name] = {**(found.parameters.get(name) or {}), **(merged.get(name) or {})}
            parameters = _checked(kind, merged)
        return await self.connections.write(
            replace(
                found, kind=kind, parameters=parameters, description=request.get("Description", found.description),
                modified_ms=self._clock.now_ms(),
            )
        )  # fmt: skip

    async def create_destination(self, request: JsonMapping) -> ApiDestination:
        """Create an API destination. The request has the members of CreateApiDestination. Raises: ApiError."""
        await self.connections.get(name_in(request["ConnectionArn"], self._config))
        now_ms = self._clock.now_ms()
        return await self.destinations.add(
            ApiDestination(
                request["Name"], chance.uuid4(), request["ConnectionArn"], request["InvocationEndpoint"],
                request["HttpMethod"], now_ms, now_ms, request.get("InvocationRateLimitPerSecond", MOST_PER_SECOND),
                request.get("Description"),
            )
        )  # fmt: skip

    async def update_destination(self, request: JsonMapping) -> ApiDestination:
        """Change an API destination. Raises: ApiError."""
        found = await self.destinations.get(request["Name"])
        if request.get("ConnectionArn"):
            await self.connections.get(name_in(request["ConnectionArn"], self._config))
        return await self.destinations.write(
            replace(
                found, connection_arn=request.get("ConnectionArn", found.connection_arn),
                endpoint=request.get("InvocationEndpoint", found.endpoint),
                method=request.get("HttpMethod", found.method),
                rate=request.get("InvocationRateLimitPerSecond", found.rate),
                description=request.get("Description", found.description), modified_ms=self._clock.now_ms(),
            )
        )  # fmt: skip


def name_in(arn: str, config: Config) -> str:
    """The name in the ARN of a connection or an API destination (`...:connection/<name>/<id>`); a name as it is.

    An ARN of another region stays as it is: no resource has such a name.
    """
    if config.is_elsewhere(arn):
        return arn
    return arn.rpartition(":")[2].partition("/")[2].partition("/")[0] if "/" in arn else arn


def shown_parameters(connection: Connection) -> JsonObject:
    """The parameters of a connection without its secrets."""
    found: JsonObject = _without_secrets(connection.parameters)
    return found


def _without_secrets(value: Json) -> Json:
    if isinstance(value, list):
        return [_without_secrets(one) for one in value]
    if not isinstance(value, dict):
        return value
    is_secret = value.get("IsValueSecret") is True
    return {
        name: _without_secrets(part)
        for name, part in value.items()
        if name not in _SECRETS and not (is_secret and name == "Value")
    }


def settings_of(connection: Connection) -> Settings:
    """A connection as the settings of HTTP requests. Its name there changes with each update, as its tokens must."""
    given = connection.parameters
    name = f"{connection.name}/{connection.id}/{connection.stored}"
    headers, query, body = _lists(given.get("InvocationHttpParameters"))
    if connection.kind == "BASIC":
        basic = given["BasicAuthParameters"]
        return Settings(
            name, "basic", user=basic["Username"], password=basic["Password"], headers=headers, query=query, body=body
        )
    if connection.kind == "API_KEY":
        key = given["ApiKeyAuthParameters"]
        return Settings(
            name, "api-key", header=key["ApiKeyName"], value=key["ApiKeyValue"], headers=headers, query=query, body=body
        )
    oauth = given["OAuthParameters"]
    token_headers, token_query, token_body = _lists(oauth.get("OAuthHttpParameters"))
    return Settings(
        name, "oauth", client_id=oauth["ClientParameters"]["ClientID"],
        client_secret=oauth["ClientParameters"]["ClientSecret"], token_url=oauth["AuthorizationEndpoint"],
        token_method=oauth.get("HttpMethod", "POST"), token_headers=token_headers, token_query=token_query,
        token_body=token_body, headers=headers, query=query, body=body,
    )  # fmt: skip


def _lists(given: Json) -> tuple[Mapping[str, str], Mapping[str, str], Mapping[str, str]]:
    """The three lists of parameters of a connection, each as an object."""
    members = given if isinstance(given, Mapping) else {}
    headers, query, body = ({one["Key"]: one.get("Value", "") for one in members.get(name) or ()} for name in _LISTS)
    return headers, query, body


def _checked(kind: str, parameters: JsonMapping) -> JsonObject:
    """The parameters of a connection, if they have what its kind needs. Raises: ApiError (`ValidationException`)."""
    name = _PARAMETERS[kind]
    given = parameters.get(name)
    needed = {
        "BASIC": ("Username", "Password"),
        "API_KEY": ("ApiKeyName", "ApiKeyValue"),
        "OAUTH_CLIENT_CREDENTIALS": ("ClientParameters", "AuthorizationEndpoint", "HttpMethod"),
    }[kind]
    missing = [one for one in needed if not isinstance(given, Mapping) or not given.get(one)]
    if missing:
        text = f"Parameter AuthParameters is not valid. Reason: {name} of {kind} needs {', '.join(missing)}."
        raise ApiError("ValidationException", text)
    return {key: value for key, value in parameters.items() if key in (name, "InvocationHttpParameters")}
