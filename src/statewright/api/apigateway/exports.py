"""Operations that write REST APIs as OpenAPI documents."""

from __future__ import annotations

from typing import Final
from urllib.parse import urlsplit

import yaml

from statewright.api.apigateway.rest_apis import api_of
from statewright.api.operations import App, Call, operation
from statewright.apis.errors import bad_request, not_found
from statewright.apis.openapi.export import Exported, rest_document
from statewright.apis.records import STAGE
from statewright.background import in_thread
from statewright.payload import Json, dump_json

_TYPES: Final = ("swagger", "oas30")
_YAML: Final = ("application/yaml", "application/x-yaml")
_JSON: Final = "application/json"


@operation("apigateway", "GetExport")
async def get_export(app: App, _call: Call, request: Json) -> Json:
    """Write the deployment that a stage serves as a document."""
    held, stage_name, kind = api_of(app, request), request["stageName"], request["exportType"]
    stage = held.of(STAGE).get(stage_name)
    if stage is None:
        raise not_found("Invalid stage identifier specified")
    if kind not in _TYPES:
        raise bad_request(f"No API specification found for type {kind[:50]}: use {' or '.join(_TYPES)}")
    accepted = request.get("accepts") or _JSON
    if accepted not in (_JSON, *_YAML):
        raise bad_request(f"Unsupported Accept header {accepted[:100]}: use {_JSON} or {_YAML[0]}")
    extensions = (request.get("parameters") or {}).get("extensions") or ""
    asked = frozenset(one.strip() for one in extensions.split(",") if one.strip())
    apis = app.services.apis
    address = urlsplit(apis.address(held.api.id)).netloc
    given = Exported(held.api.settings, apis.deployed(held, stage), address, stage_name, asked)
    is_yaml = accepted in _YAML
    # A large API takes the writer of YAML some seconds.
    text = await in_thread(app.clock, lambda: _written(given, is_swagger=kind == "swagger", is_yaml=is_yaml))
    name = f"{kind}_{held.api.id}_{stage_name}.{'yaml' if is_yaml else 'json'}"
    return {
        "contentType": accepted, "contentDisposition": f'attachment; filename="{name}"', "body": text.encode(),
    }  # fmt: skip


def _written(given: Exported, *, is_swagger: bool, is_yaml: bool) -> str:
    document = rest_document(given, is_swagger=is_swagger)
    return yaml.safe_dump(document, sort_keys=False, allow_unicode=True) if is_yaml else dump_json(document)
