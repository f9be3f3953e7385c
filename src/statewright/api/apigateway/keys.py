"""Operations on API keys."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from itertools import islice
from typing import Final

from statewright.api.apigateway.patches import patched
from statewright.api.apigateway.rest_apis import page
from statewright.api.apigatewayv2.changes import change
from statewright.api.operations import App, Call, operation
from statewright.api.protocols.bounds import apart
from statewright.apis.errors import bad_request, conflict, not_found
from statewright.apis.records import KEY, PLAN, PLAN_KEY, USAGE, Loose
from statewright.payload import Json, JsonObject

_KEY: Final = ("name", "description", "customerId", "tags", "enabled", "value")
_CHANGEABLE: Final = ("name", "description", "customerId", "enabled")
"""Members that patches change: two keys never have the same value."""
MOST_IMPORTED: Final = 10_000
"""Keys of one file. Source: quotas, API keys per account and Region."""


def _shown(one: Loose, *, with_value: bool = True) -> JsonObject:
    settings = {name: value for name, value in one.settings.items() if with_value or name != "value"}
    return {"id": one.id, "createdDate": one.created_ms, "lastUpdatedDate": one.updated_ms, "stageKeys": [], **settings}


def entry(app: App, kind: str, entry_id: str, text: str) -> Loose:
    """An entry of the account. Raises: ApiError (`NotFoundException` with a text)."""
    found = app.services.apis.entries(kind).get(entry_id)
    if found is None:
        raise not_found(text)
    return found


@change("apigateway", "CreateApiKey")
async def create_api_key(app: App, _call: Call, request: Json) -> Json:
    """Create an API key."""
    apis = app.services.apis
    value = request.get("value") or apis.new_id(40)
    if not 20 <= len(value) <= 128:
        raise bad_request("API Key value should be at least 20 characters and at most 128 characters")
    if any(one.settings["value"] == value for one in apis.entries(KEY).values()):
        raise conflict("API Key already exists")
    settings = {name: request[name] for name in _KEY if request.get(name) is not None}
    made = await apis.put(KEY, apis.new_id(10), {**settings, "enabled": bool(request.get("enabled")), "value": value})
    return _shown(made)


@operation("apigateway", "GetApiKey")
async def get_api_key(app: App, _call: Call, request: Json) -> Json:
    """Show an API key."""
    found = entry(app, KEY, request["apiKey"], "Invalid API Key identifier specified")
    return _shown(found, with_value=bool(request.get("includeValue")))


@operation("apigateway", "GetApiKeys")
async def get_api_keys(app: App, _call: Call, request: Json) -> Json:
    """List API keys, by the start of their name and by their customer."""
    of, start, customer = app.services.apis.entries(KEY), request.get("nameQuery") or "", request.get("customerId")
    with_values = bool(request.get("includeValues"))
    found = [
        of[key] for key in sorted(of)
        if (of[key].settings.get("name") or "").startswith(start)
        and customer in (None, of[key].settings.get("customerId"))
    ]  # fmt: skip
    return page(request, [_shown(one, with_value=with_values) for one in found], "id")


@change("apigateway", "UpdateApiKey")
async def update_api_key(app: App, _call: Call, request: Json) -> Json:
    """Change an API key."""
    found = entry(app, KEY, request["apiKey"], "Invalid API Key identifier specified")
    settings = patched(found.settings, request.get("patchOperations") or (), _CHANGEABLE, "ApiKey")
    return _shown(await app.services.apis.put(KEY, found.id, settings), with_value=False)


@change("apigateway", "DeleteApiKey")
async def delete_api_key(app: App, _call: Call, request: Json) -> Json:
    """Delete an API key, and its links to plans."""
    apis = app.services.apis
    found = entry(app, KEY, request["apiKey"], "Invalid API Key identifier specified")
    # Usage outlives the link of its key.
    links = [(kind, one) for kind in (PLAN_KEY, USAGE) for one in apis.entries(kind) if one.endswith(f"/{found.id}")]
    await apis.drop((KEY, found.id), *links)
    return {}


@change("apigateway", "ImportApiKeys")
async def import_api_keys(app: App, _call: Call, request: Json) -> Json:
    """Create keys of a CSV file, or change those of the same values. Source: developer guide, "API key file format"."""
    apis, warnings, ids = app.services.apis, [], []
    rows = await apart(len(request["body"]), _rows, request["body"])
    known = {one.settings["value"]: one for one in apis.entries(KEY).values()}
    for number, row in enumerate(rows, 2):
        problem = _wrong(row, apis.entries(PLAN))
        if problem is not None:
            warnings.append(f"Line {number}: {problem}")
    if warnings and request.get("failOnWarnings"):
        raise bad_request("; ".join(warnings)[:1_000])
    for row in rows:
        if _wrong(row, apis.entries(PLAN)) is not None:
            continue
        before = known.get(row["key"])
        settings = {
            **(before.settings if before is not None else {}), "name": row["name"], "value": row["key"],
            "enabled": (row.get("enabled") or "true").lower() == "true",
        }  # fmt: skip
        if row.get("description"):
            settings["description"] = row["description"]
        made = await apis.put(KEY, before.id if before is not None else apis.new_id(10), settings)
        known[row["key"]] = made
        ids.append(made.id)
        for plan in _plans(row):
            await apis.put(PLAN_KEY, f"{plan}/{made.id}", {"usagePlanId": plan, "keyId": made.id})
    return {"ids": ids, "warnings": warnings}


def _rows(body: bytes) -> list[dict[str, str]]:
    """The lines of a file of keys by the names of its columns in lower case. Raises: ApiError."""
    try:
        lines = list(islice(csv.reader(io.StringIO(body.decode("utf-8-sig")), strict=True), MOST_IMPORTED + 2))
    except (UnicodeDecodeError, csv.Error) as problem:
        raise bad_request(f"Invalid file of API keys: {problem}") from None
    names = [one.strip().lower() for one in lines[0]] if lines else []
    if "name" not in names or "key" not in names:
        raise bad_request("Invalid file of API keys: its first line must name the columns Name and Key")
    if len(lines) > MOST_IMPORTED + 1:
        raise bad_request(f"Invalid file of API keys: it has more than {MOST_IMPORTED} keys; import them in parts.")
    return [dict(zip(names, map(str.strip, line), strict=False)) for line in lines[1:] if line]


def _plans(row: Mapping[str, str]) -> list[str]:
    return [one.strip() for one in row.get("usageplanids", "").strip("'").split(",") if one.strip()]


def _wrong(row: Mapping[str, str], plans: Mapping[str, object]) -> str | None:
    """The mistake in a line of a file of keys; `None` if there is none."""
    if not 20 <= len(row.get("key", "")) <= 128:
        return "the key must have 20 to 128 characters"
    if not row.get("name") or len(row["name"]) > 1_024:
        return "the name must have 1 to 1024 characters"
    missing = next((one for one in _plans(row) if one not in plans), None)
    return None if missing is None else f"there is no usage plan {missing}"
