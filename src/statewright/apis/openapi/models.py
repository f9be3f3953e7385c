"""Models of a document: its named schemas, and those that operations write inline.

Owns their names, and the references between them, which are addresses of models as the service writes them.

Source: API Gateway developer guide, "Data models for REST APIs"; "Amazon API Gateway important notes".
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import Final

from statewright.apis.body_models import check_schema, model_address
from statewright.apis.errors import bad_request
from statewright.apis.openapi.documents import INVALID, OpenApi, table_of
from statewright.payload import Json, JsonMapping, dump_json

_NAME: Final = re.compile(r"[A-Za-z0-9]{1,255}")
_REFERENCE: Final = re.compile(r"#/(?:definitions|components/schemas)/([^/]+)")
_JSON: Final = "application/json"


class Models:
    """The models of an API, collected while its document is read."""

    def __init__(self, document: OpenApi, api_id: str) -> None:
        """Read the named schemas. Raises: ApiError."""
        self._document = document
        self._api_id = api_id
        self.made: dict[str, dict[str, str]] = {}
        """The settings of each model by its name."""
        self._unnamed: dict[str, str] = {}
        """The schemas without a name, as text, by the name that they got."""
        for name, schema in document.schemas.items():
            if _NAME.fullmatch(name) is None:
                raise bad_request(
                    f"Errors found during import:\n\tUnable to create model for '{name[:200]}': Model name must be "
                    f"alphanumeric: {name[:200]}"
                )
            self._add(name, table_of(schema, name))

    def bodies(self, content: Json) -> dict[str, str]:
        """The names of models by content type, of a `content` of OpenAPI 3.0. Raises: ApiError."""
        found = {}
        for kind, media in table_of(self._document.followed(content), "content").items():
            schema = table_of(media, kind).get("schema")
            if schema is not None:
                found[kind] = self.named(schema)
        return found

    def of_kinds(self, schema: Json, kinds: Json) -> dict[str, str]:
        """The name of the model of a schema of Swagger 2.0, for each of the content types. Raises: ApiError."""
        if schema is None:
            return {}
        name = self.named(schema)
        return dict.fromkeys([str(one) for one in kinds] if isinstance(kinds, list) and kinds else [_JSON], name)

    def named(self, schema: Json) -> str:
        """The name of the model that a schema is; one without a name gets one. Raises: ApiError."""
        given = table_of(schema, "schema")
        found = _REFERENCE.fullmatch(str(given.get("$ref") or ""))
        if found is not None:
            if found[1] not in self._document.schemas:
                raise bad_request(f"{INVALID} The reference {given['$ref'][:200]} leads to nothing.")
            return found[1]
        text = dump_json(given)
        digest = hashlib.sha256(text.encode()).hexdigest()
        name = f"MODEL{digest[:6]}"
        if name in self._document.schemas or self._unnamed.setdefault(name, text) != text:
            name = f"MODEL{digest}"
        self._add(name, given)
        return name

    def _add(self, name: str, schema: JsonMapping) -> None:
        settings = {"name": name, "contentType": _JSON, "schema": dump_json(self._with_addresses(schema))}
        if isinstance(schema.get("description"), str):
            settings["description"] = schema["description"]
        check_schema(settings["schema"])
        self.made[name] = settings

    def _with_addresses(self, value: Json) -> Json:
        if isinstance(value, Mapping):
            reference = value.get("$ref")
            if isinstance(reference, str):
                found = _REFERENCE.fullmatch(reference)
                if found is None:
                    raise bad_request(f"{INVALID} The reference {reference[:200]} leads to no schema.")
                return {**value, "$ref": model_address(self._api_id, found[1])}
            return {name: self._with_addresses(part) for name, part in value.items()}
        return [self._with_addresses(one) for one in value] if isinstance(value, list) else value
