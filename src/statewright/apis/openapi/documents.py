"""OpenAPI documents: their text read, their references followed, and their operations listed.

Owns what Swagger 2.0 and OpenAPI 3.0 share, and the limits of a document. What operations mean for an API is left to
`rest.py` and `http.py`.

Source: OpenAPI specifications 2.0 and 3.0.3; API Gateway developer guide, "Amazon API Gateway important notes".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal
from urllib.parse import urlsplit

from statewright.apis.errors import bad_request
from statewright.asl.reader import ReadError, read_document
from statewright.errors import ApiError
from statewright.payload import Json, JsonMapping, JsonObject

MOST_BYTES: Final = 6 << 20
"""Source: API Gateway quotas, size of the definition that is imported."""
MOST_DEPTH: Final = 100
MOST_STEPS: Final = 50
"""References that lead to each other. Ours."""
INVALID: Final = "Invalid OpenAPI input."
ANY_METHOD: Final = "x-amazon-apigateway-any-method"
INTEGRATION: Final = "x-amazon-apigateway-integration"
_METHODS: Final = {
    **{name: name.upper() for name in ("get", "put", "post", "delete", "patch", "options", "head")},
    ANY_METHOD: "ANY",
}
_UNKNOWN_METHODS: Final = ("trace", "connect")
_VARIABLE: Final = re.compile(r"\$\{AWS::(AccountId|Partition|Region)\}")
_NUMBER: Final = re.compile("-?[0-9]{1,15}")
BasePath = Literal["ignore", "prepend", "split"]
_BASE_PATHS: Final[Mapping[str, BasePath]] = {"ignore": "ignore", "prepend": "prepend", "split": "split"}


@dataclass(frozen=True, slots=True)
class Home:
    """The account and region of an API: the values of `${AWS::AccountId}` and its kin in a document."""

    account: str
    region: str

    def filled(self, text: str) -> str:
        """A text with the values of its variables. Source: developer guide, "AWS variables for OpenAPI import"."""
        values = {"AccountId": self.account, "Partition": "aws", "Region": self.region}
        return _VARIABLE.sub(lambda found: values[found[1]], text)


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation of a document: its path with the base path, its method (`ANY` for all), and its parameters."""

    path: str
    method: str
    body: JsonMapping
    parameters: tuple[JsonMapping, ...]


@dataclass(slots=True)
class OpenApi:
    """A document. `warnings` are collected while it is read and turned into rows."""

    value: JsonMapping
    is_swagger: bool
    warnings: list[str] = field(default_factory=list)

    def table(self, name: str) -> JsonMapping:
        """A member that is an object; empty if it is missing. Raises: ApiError."""
        return table_of(self.value.get(name), name)

    @property
    def components(self) -> JsonMapping:
        """The components of OpenAPI 3.0."""
        return self.table("components")

    @property
    def schemas(self) -> JsonMapping:
        """The named schemas."""
        return self.table("definitions") if self.is_swagger else table_of(self.components.get("schemas"), "schemas")

    @property
    def security_schemes(self) -> JsonMapping:
        """The named schemes of security."""
        if self.is_swagger:
            return self.table("securityDefinitions")
        return table_of(self.components.get("securitySchemes"), "securitySchemes")

    def title(self) -> str:
        """The name of the API. One without a name is named after the format."""
        title = self.info("title")
        if not title:
            self.warnings.append("Parse issue: attribute info.title is missing")
        return title or "openapi"

    def info(self, name: str) -> str | None:
        """A member of `info` as text."""
        found = self.table("info").get(name)
        return None if found is None else str(found)

    def followed(self, value: Json) -> Json:
        """A value, or what its `$ref` leads to. Raises: ApiError."""
        reference: Json = ""
        for _ in range(MOST_STEPS):
            reference = value.get("$ref") if isinstance(value, Mapping) else None
            if not isinstance(reference, str):
                return value
            if not reference.startswith("#/"):
                raise bad_request(f"{INVALID} The reference {reference[:200]} leads out of the document.")
            value = self._at(reference)
        raise bad_request(f"{INVALID} The reference {str(reference)[:200]} leads to itself.")

    def _at(self, reference: str) -> Json:
        found: Json = self.value
        for step in reference[2:].split("/"):
            name = step.replace("~1", "/").replace("~0", "~")
            found = found.get(name) if isinstance(found, Mapping) else None
            if found is None:
                raise bad_request(f"{INVALID} The reference {reference[:200]} leads to nothing.")
        return found

    def base_path(self, mode: BasePath) -> str:
        """The path that precedes every path of the document, without a slash at its end."""
        if mode == "ignore":
            return ""
        whole = self._declared_base().strip("/")
        parts = [one for one in whole.split("/") if one]
        if mode == "split":
            parts = parts[1:]
        return "".join(f"/{one}" for one in parts)

    @property
    def servers(self) -> list[JsonMapping]:
        """The servers of OpenAPI 3.0."""
        given = self.value.get("servers")
        return [one for one in given if isinstance(one, Mapping)] if isinstance(given, list) else []

    def _declared_base(self) -> str:
        if self.is_swagger:
            return str(self.value.get("basePath") or "")
        servers = self.servers
        for server in servers:
            variable = table_of(server.get("variables"), "variables").get("basePath")
            if isinstance(variable, Mapping):
                return str(variable.get("default") or "")
        return urlsplit(str(servers[0].get("url") or "")).path if servers else ""

    def operations(self, mode: BasePath) -> Iterator[Operation]:
        """The operations in the order of the document. Raises: ApiError."""
        base = self.base_path(mode)
        for path, given in self.table("paths").items():
            if path.startswith("x-"):
                continue
            if not path.startswith("/"):
                raise bad_request(f"{INVALID} The path {path[:200]} must begin with a slash.")
            item = table_of(self.followed(given), path)
            shared = self._parameters(item.get("parameters"))
            for name, body in item.items():
                if name in _METHODS:
                    operation = table_of(body, f"{path} {name}")
                    own = self._parameters(operation.get("parameters"))
                    merged = {(str(one.get("in")), str(one.get("name"))): one for one in (*shared, *own)}
                    yield Operation((base + path) or "/", _METHODS[name], operation, tuple(merged.values()))
                elif name in _UNKNOWN_METHODS:
                    self.warnings.append(f"The method {name.upper()} of the path {path} is not supported")

    def _parameters(self, given: Json) -> list[JsonMapping]:
        if given is None:
            return []
        if not isinstance(given, list):
            raise bad_request(f"{INVALID} parameters must be a list.")
        return [table_of(self.followed(one), "parameters") for one in given]

    def integration(self, operation: Operation) -> JsonMapping | None:
        """The integration of an operation; `None` if it has none. Raises: ApiError."""
        given = self.followed(operation.body.get(INTEGRATION))
        return None if given is None else table_of(given, INTEGRATION)


def table_of(value: Json, name: str) -> JsonMapping:
    """A value that must be an object; empty if it is missing. Raises: ApiError."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise bad_request(f"{INVALID} {name[:200]} must be an object.")
    return value


def texts_of(value: Json, name: str) -> dict[str, str]:
    """An object whose values are texts, numbers or truth values, as texts. Raises: ApiError."""
    return {key: text_of(one, f"{name}.{key}") for key, one in table_of(value, name).items()}


def text_of(value: Json, name: str) -> str:
    """A scalar as text. Raises: ApiError."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (str, int, float)):
        return str(value)
    raise bad_request(f"{INVALID} {name[:200]} must be a text.")


def number_of(given: JsonMapping, name: str) -> int:
    """A member that is a whole number, perhaps as text. Raises: ApiError."""
    text = str(given[name]).removesuffix(".0")
    if _NUMBER.fullmatch(text) is None:
        raise bad_request(f"{INVALID} {name} must be a number.")
    return int(text)


def list_of(value: Json) -> list[str]:
    """A list of texts; a single value counts as a list of one."""
    return [str(one) for one in value] if isinstance(value, list) else [str(value)]


def base_path_mode(text: str | None) -> BasePath:
    """How a request wants base paths to be taken. Raises: ApiError."""
    mode = _BASE_PATHS.get((text or "ignore").lower())
    if mode is None:
        raise bad_request(f"Invalid value for basepath: {str(text)[:50]}. Valid values are {', '.join(_BASE_PATHS)}")
    return mode


def read_openapi(body: bytes, home: Home) -> OpenApi:
    """Read a document, JSON or YAML. Raises: ApiError (`BadRequestException`)."""
    if len(body) > MOST_BYTES:
        raise bad_request(f"The definition is longer than {MOST_BYTES:,} bytes.")
    try:
        found = read_document(
            home.filled(body.decode("utf-8-sig")), name="openapi", max_characters=MOST_BYTES, max_depth=MOST_DEPTH,
            placeholders=False, template=True, old_words=True,
        ).value  # fmt: skip
    except UnicodeDecodeError:
        raise bad_request(f"{INVALID} It must be UTF-8 text.") from None
    except ReadError as problem:
        raise _unreadable(problem) from None
    if not isinstance(found, dict):
        raise bad_request(INVALID)
    return _versioned(found)


def _unreadable(problem: ReadError) -> ApiError:
    first = problem.diagnostics[0]
    return bad_request(f"{INVALID} Line {first.line}, column {first.column}: {first.message}.")


def _versioned(found: JsonObject) -> OpenApi:
    swagger, openapi = found.get("swagger"), found.get("openapi")
    if swagger is None and openapi is None:
        raise bad_request(INVALID)
    if swagger is not None:
        if not str(swagger).startswith("2"):
            raise bad_request(f"{INVALID} Version {str(swagger)[:20]} of Swagger is not supported: use 2.0.")
        return OpenApi(found, is_swagger=True)
    if not str(openapi).startswith("3.0"):
        raise bad_request(f"{INVALID} Version {str(openapi)[:20]} of OpenAPI is not supported: use 3.0.")
    return OpenApi(found, is_swagger=False)
