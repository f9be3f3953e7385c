"""Operations on functions: create, show, list, change, delete; tags and account settings."""

from __future__ import annotations

from statewright.api.lambda_ import views
from statewright.api.operations import App, Call, operation
from statewright.api.shapes import Problems, problem_text, refuse_with
from statewright.errors import ApiError
from statewright.functions.code.packages import UNZIPPED_BYTES, ZIPPED_BYTES
from statewright.functions.definitions import Code
from statewright.functions.names import function_arn, invalid, refusal
from statewright.limits import FUNCTION_CONCURRENCY
from statewright.payload import Json, JsonObject

_CODE_STORAGE_BYTES = 80_530_636_800


def _code(given: Json) -> Code:
    if given.get("ImageUri"):
        raise invalid("This version of Statewright does not run container images (ImageUri).")
    return Code(given.get("ZipFile"), given.get("S3Bucket"), given.get("S3Key"))


def _refused(problems: Problems) -> ApiError:
    [(_, path, what), *more] = problems
    if path == "runtime" and not more:
        # Unlike every other member's (observed).
        value = problems[0][0].strip().strip("'")
        return invalid(f"Value {value} at 'runtime' failed to satisfy constraint: {what} or be a valid ARN")
    return ApiError("ValidationException", problem_text(problems))


refuse_with("lambda", _refused)


@operation("lambda", "CreateFunction")
async def create_function(app: App, _call: Call, request: Json) -> Json:
    """Create a function, and publish its first version if requested."""
    _check_role(app, request)
    functions = app.services.functions
    function = await functions.definitions.create(
        request["FunctionName"], request, _code(request["Code"]), tags=request.get("Tags")
    )
    if request.get("Publish"):
        function, version = await functions.versions.publish(function.name)
        # The version, but the function's own ARN; an update answers the version's (observed).
        own = function_arn(app.config, function.name)
        return views.being_created(app, {**views.version(app, function, version), "FunctionArn": own})
    return views.being_created(app, views.latest(app, function))


def _check_role(app: App, request: Json) -> None:
    """Refuse a role of another account. Raises: ApiError (`AccessDeniedException`)."""
    if app.config.is_of_other_account(request.get("Role") or ""):
        raise refusal("AccessDeniedException", "Cross-account pass role is not allowed.", status=403)


@operation("lambda", "UpdateFunctionCode")
async def update_function_code(app: App, _call: Call, request: Json) -> Json:
    """Replace the code of a function."""
    functions = app.services.functions
    function = await functions.definitions.update_code(
        request["FunctionName"], _code(request), revision_id=request.get("RevisionId"),
        dry_run=bool(request.get("DryRun")), architectures=request.get("Architectures"),
    )  # fmt: skip
    if request.get("Publish") and not request.get("DryRun"):
        function, version = await functions.versions.publish(function.name)
        return views.being_created(app, views.version(app, function, version))
    shown = views.latest(app, function)
    return shown if request.get("DryRun") else views.being_updated(app, shown)


@operation("lambda", "UpdateFunctionConfiguration")
async def update_function_configuration(app: App, _call: Call, request: Json) -> Json:
    """Change the settings of a function."""
    _check_role(app, request)
    function = await app.services.functions.definitions.update_configuration(
        request["FunctionName"], request, revision_id=request.get("RevisionId")
    )
    return views.being_updated(app, views.latest(app, function))


@operation("lambda", "GetFunction")
async def get_function(app: App, _call: Call, request: Json) -> Json:
    """Show a function with the location of its code, its tags and its reserved concurrency."""
    definitions = app.services.functions.definitions
    view = await definitions.view(request["FunctionName"], request.get("Qualifier"))
    settings = view.settings
    where = await definitions.zip_uri(settings.code)
    shown: JsonObject = {
        "Configuration": views.configuration(app, view),
        "Code": {"RepositoryType": "S3", "Location": where},
    }
    if view.function.tags:
        shown["Tags"] = dict(view.function.tags)
    if view.function.reserved is not None:
        shown["Concurrency"] = {"ReservedConcurrentExecutions": view.function.reserved}
    return shown


@operation("lambda", "GetFunctionConfiguration")
async def get_function_configuration(app: App, _call: Call, request: Json) -> Json:
    """Show the settings of a function."""
    view = await app.services.functions.definitions.view(request["FunctionName"], request.get("Qualifier"))
    return views.configuration(app, view)


@operation("lambda", "ListFunctions")
async def list_functions(app: App, _call: Call, request: Json) -> Json:
    """List functions by name, with all their versions if requested."""
    definitions = app.services.functions.definitions
    after, limit = views.page_of(request)
    found, place = await definitions.page(after, limit)
    listed: list[Json] = []
    for function in found:
        listed.append(views.latest(app, function))
        if request.get("FunctionVersion") == "ALL":
            versions = await definitions.records.versions.all(function.name)
            listed += [views.version(app, function, version) for version in versions]
    return {"Functions": listed, "NextMarker": views.TOKENS.write(place)}


@operation("lambda", "DeleteFunction")
async def delete_function(app: App, _call: Call, request: Json) -> Json:
    """Delete a function, or one of its versions."""
    await app.services.functions.definitions.delete(request["FunctionName"], request.get("Qualifier"))
    return {"StatusCode": 204}


def _mapping_in(app: App, arn: str) -> str | None:
    """The id in the ARN of an event source mapping; `None` for the ARN of a function.

    Raises: ApiError (`ResourceNotFoundException`) for the ARN of any other resource.
    """
    _, _, _, region, account, kind, *rest = arn.split(":")
    if kind == "function":
        return None
    if kind != "event-source-mapping" or (region, account) != (app.config.region, app.config.account):
        raise refusal("ResourceNotFoundException", "The resource you requested does not exist.")
    return rest[0]


@operation("lambda", "TagResource")
async def tag_resource(app: App, _call: Call, request: Json) -> None:
    """Add tags to a function or an event source mapping."""
    uuid = _mapping_in(app, request["Resource"])
    if uuid is not None:
        await app.services.event_sources.tag(uuid, request["Tags"])
    else:
        await app.services.functions.definitions.tag(request["Resource"], request["Tags"])


@operation("lambda", "UntagResource")
async def untag_resource(app: App, _call: Call, request: Json) -> None:
    """Remove tags from a function or an event source mapping."""
    uuid = _mapping_in(app, request["Resource"])
    if uuid is not None:
        await app.services.event_sources.tag(uuid, {}, request["TagKeys"])
    else:
        await app.services.functions.definitions.untag(request["Resource"], request["TagKeys"])


@operation("lambda", "ListTags")
async def list_tags(app: App, _call: Call, request: Json) -> Json:
    """Show the tags of a function or an event source mapping."""
    uuid = _mapping_in(app, request["Resource"])
    if uuid is not None:
        return {"Tags": dict(app.services.event_sources.get(uuid).tags)}
    function = await app.services.functions.definitions.tagged(request["Resource"])
    return {"Tags": dict(function.tags)}


@operation("lambda", "GetAccountSettings")
async def get_account_settings(app: App, _call: Call, _request: Json) -> Json:
    """Show the account's limits and its usage."""
    functions = await app.services.functions.definitions.records.functions.all()
    return {
        "AccountLimit": {
            "TotalCodeSize": _CODE_STORAGE_BYTES,
            "CodeSizeUnzipped": UNZIPPED_BYTES,
            "CodeSizeZipped": ZIPPED_BYTES,
            "ConcurrentExecutions": FUNCTION_CONCURRENCY,
            "UnreservedConcurrentExecutions": app.services.functions.invoker.concurrency.unreserved,
        },
        "AccountUsage": {
            "TotalCodeSize": sum(function.latest.code_size for function in functions),
            "FunctionCount": len(functions),
        },
    }
