"""Operations that list parameters, by path or filters, and those on their tags."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from statewright.api.operations import App, Call, operation
from statewright.api.ssm.parameters import TOKENS, metadata_shown, value_shown
from statewright.errors import ApiError
from statewright.payload import Json, JsonMapping
from statewright.records.entries import Parameter
from statewright.records.parameters import Found
from statewright.tags import tag_list, tags_by_key

BY_PATH_LISTED: Final = 10
DESCRIBED: Final = 50
Test = Callable[[Parameter], bool]
_FIELDS: Final = {"Type": "type", "KeyId": "key_id", "Tier": "tier", "DataType": "data_type"}


@operation("ssm", "GetParametersByPath")
async def get_parameters_by_path(app: App, _call: Call, request: Json) -> Json:
    """Read values of the parameters below a path."""
    path = request["Path"]
    if not path.startswith("/"):
        raise ApiError("ValidationException", "The parameter path must start with a forward slash: /.")
    prefix = path if path.endswith("/") else path + "/"
    recursive = bool(request.get("Recursive"))
    tests = [_filter(one) for one in request.get("ParameterFilters", ())]

    def wanted(entry: Parameter) -> bool:
        return (recursive or "/" not in entry.name[len(prefix) :]) and all(test(entry) for test in tests)

    found, token = await _page(app, request, prefix, wanted, request.get("MaxResults", BY_PATH_LISTED))
    decrypted = bool(request.get("WithDecryption"))
    views = [value_shown(app, Found(one), decrypted=decrypted) for one in found]
    return {"Parameters": views, "NextToken": token}


@operation("ssm", "DescribeParameters")
async def describe_parameters(app: App, _call: Call, request: Json) -> Json:
    """List parameters without their values, with filters."""
    if request.get("Filters") and request.get("ParameterFilters"):
        raise ApiError("ValidationException", "You can use either Filters or ParameterFilters in a single request.")
    tests = [_filter(one) for one in request.get("ParameterFilters", ())]
    tests += [_filter({**one, "Option": "BeginsWith"}) for one in request.get("Filters", ())]
    found, token = await _page(
        app, request, "", lambda one: all(test(one) for test in tests), request.get("MaxResults", DESCRIBED)
    )
    views = [{**metadata_shown(app, one), "ARN": app.services.parameters.arn(one.name)} for one in found]
    return {"Parameters": views, "NextToken": token}


async def _page(app: App, request: Json, prefix: str, wanted: Test, limit: int) -> tuple[list[Parameter], str | None]:
    place = TOKENS.read(request.get("NextToken"))
    found: list[Parameter] = []
    async for entry in app.services.parameters.below(prefix, place[1] if place is not None else None):
        if not wanted(entry):
            continue
        if len(found) == limit:
            return found, TOKENS.write((0, found[-1].name))
        found.append(entry)
    return found, None


def _filter(given: JsonMapping) -> Test:
    """Compile a filter to a test of parameters. Raises: ApiError."""
    key, values = given["Key"], given.get("Values") or []
    if key == "Path":
        return _path_filter(given.get("Option", "OneLevel"), values)
    option = given.get("Option", "Equals")
    if option not in ("Equals", "BeginsWith", "Contains") or (option == "Contains" and key != "Name"):
        raise ApiError("InvalidFilterOption", f"The filter option {option} is not valid for the key {key}.")
    if key == "Name":
        return _texts(option, values, lambda entry: [entry.name, entry.name.lstrip("/")])
    if key == "Label":
        return _texts(option, values, lambda entry: entry.labels)
    if key.startswith("tag:"):
        name = key.removeprefix("tag:")
        if not values:
            return lambda entry: name in entry.tags
        return _texts(option, values, lambda entry: [entry.tags[name]] if name in entry.tags else [])
    if key not in _FIELDS:
        raise ApiError("InvalidFilterKey", f"The specified key {key} is not valid.")
    field = _FIELDS[key]
    return _texts(option, values, lambda entry: [getattr(entry, field) or ""])


def _texts(option: str, values: Sequence[str], texts: Callable[[Parameter], Json]) -> Test:
    compare: dict[str, Callable[[str, str], bool]] = {
        "Equals": str.__eq__, "BeginsWith": str.startswith, "Contains": str.__contains__,
    }  # fmt: skip
    match = compare[option]
    return lambda entry: any(match(text, value) for text in texts(entry) for value in values)


def _path_filter(option: str, values: Sequence[str]) -> Test:
    if option not in ("OneLevel", "Recursive"):
        raise ApiError("InvalidFilterOption", f"The filter option {option} is not valid for the key Path.")
    prefixes = [value if value.endswith("/") else value + "/" for value in values]

    def test(entry: Parameter) -> bool:
        name = entry.name if entry.name.startswith("/") else "/" + entry.name
        return any(
            name.startswith(prefix) and (option == "Recursive" or "/" not in name[len(prefix) :]) for prefix in prefixes
        )

    return test


# ------------------------------------------------------------------ tags


def _parameter(request: Json) -> str:
    if request["ResourceType"] != "Parameter":
        raise ApiError(
            "InvalidResourceType", f"Statewright has only the resource type Parameter, not {request['ResourceType']}."
        )
    name: str = request["ResourceId"]
    return name


async def _tagged(app: App, request: Json, put: Mapping[str, str], drop: Sequence[str] = ()) -> None:
    try:
        await app.services.parameters.tag(_parameter(request), put, drop)
    except ApiError as error:
        raise _bad_id(error) from None


def _bad_id(error: ApiError) -> ApiError:
    if error.code != "ParameterNotFound":
        return error
    return ApiError(
        "InvalidResourceId", "The resource ID isn't valid. Verify that you entered the correct ID and try again."
    )


@operation("ssm", "AddTagsToResource")
async def add_tags_to_resource(app: App, _call: Call, request: Json) -> None:
    """Add tags to a parameter."""
    await _tagged(app, request, tags_by_key(request["Tags"]))


@operation("ssm", "RemoveTagsFromResource")
async def remove_tags_from_resource(app: App, _call: Call, request: Json) -> None:
    """Remove tags from a parameter."""
    await _tagged(app, request, {}, request["TagKeys"])


@operation("ssm", "ListTagsForResource")
async def list_tags_for_resource(app: App, _call: Call, request: Json) -> Json:
    """List the tags of a parameter."""
    try:
        found = await app.services.parameters.get(_parameter(request))
    except ApiError as error:
        raise _bad_id(error) from None
    return {"TagList": tag_list(found.tags)}
