"""Operations on settings of a function: concurrency, event invoke configuration, policy, recursion."""

from __future__ import annotations

import orjson

from statewright.api.lambda_ import views
from statewright.api.operations import App, Call, operation
from statewright.functions.names import function_arn
from statewright.functions.provisioned import Readiness
from statewright.payload import Json


@operation("lambda", "PutFunctionConcurrency")
async def put_function_concurrency(app: App, _call: Call, request: Json) -> Json:
    """Reserve concurrency for a function."""
    most = request["ReservedConcurrentExecutions"]
    await app.services.functions.definitions.reserve(request["FunctionName"], most)
    return {"ReservedConcurrentExecutions": most}


@operation("lambda", "GetFunctionConcurrency")
async def get_function_concurrency(app: App, _call: Call, request: Json) -> Json:
    """Show the reserved concurrency of a function."""
    function, _ = await app.services.functions.definitions.existing(request["FunctionName"])
    return {} if function.reserved is None else {"ReservedConcurrentExecutions": function.reserved}


@operation("lambda", "DeleteFunctionConcurrency")
async def delete_function_concurrency(app: App, _call: Call, request: Json) -> None:
    """Release a function's reserved concurrency."""
    await app.services.functions.definitions.reserve(request["FunctionName"], None)


@operation("lambda", "PutFunctionEventInvokeConfig")
async def put_function_event_invoke_config(app: App, _call: Call, request: Json) -> Json:
    """Set the retries and destinations of a function's Event invocations."""
    kept = await app.services.functions.event_settings.put(
        request["FunctionName"], request.get("Qualifier"), request, keep=False
    )
    return views.event_settings(app, kept)


@operation("lambda", "UpdateFunctionEventInvokeConfig")
async def update_function_event_invoke_config(app: App, _call: Call, request: Json) -> Json:
    """Change the retries and destinations of a function's Event invocations."""
    kept = await app.services.functions.event_settings.put(
        request["FunctionName"], request.get("Qualifier"), request, keep=True
    )
    return views.event_settings(app, kept)


@operation("lambda", "GetFunctionEventInvokeConfig")
async def get_function_event_invoke_config(app: App, _call: Call, request: Json) -> Json:
    """Show the retries and destinations of a function's Event invocations."""
    found = await app.services.functions.event_settings.get(request["FunctionName"], request.get("Qualifier"))
    return views.event_settings(app, found)


@operation("lambda", "DeleteFunctionEventInvokeConfig")
async def delete_function_event_invoke_config(app: App, _call: Call, request: Json) -> None:
    """Restore the service's defaults for Event invocations."""
    await app.services.functions.event_settings.delete(request["FunctionName"], request.get("Qualifier"))


@operation("lambda", "ListFunctionEventInvokeConfigs")
async def list_function_event_invoke_configs(app: App, _call: Call, request: Json) -> Json:
    """List the event invoke configurations of a function."""
    after, limit = views.page_of(request)
    found, place = await app.services.functions.event_settings.page(request["FunctionName"], after, limit)
    listed = [views.event_settings(app, one) for one in found]
    return {"FunctionEventInvokeConfigs": listed, "NextMarker": views.TOKENS.write(place)}


@operation("lambda", "PutProvisionedConcurrencyConfig")
async def put_provisioned_concurrency_config(app: App, _call: Call, request: Json) -> Json:
    """Have workers of a version or an alias started ahead."""
    made = await app.services.functions.provisioned.put(
        request["FunctionName"], request["Qualifier"], request["ProvisionedConcurrentExecutions"]
    )
    return views.provisioned(made, Readiness("IN_PROGRESS", 0))


@operation("lambda", "GetProvisionedConcurrencyConfig")
async def get_provisioned_concurrency_config(app: App, _call: Call, request: Json) -> Json:
    """Show how many workers are started ahead."""
    provisioned = app.services.functions.provisioned
    found = await provisioned.get(request["FunctionName"], request["Qualifier"])
    return views.provisioned(found, await provisioned.readiness(found))


@operation("lambda", "ListProvisionedConcurrencyConfigs")
async def list_provisioned_concurrency_configs(app: App, _call: Call, request: Json) -> Json:
    """List the versions and aliases of a function that have workers started ahead."""
    provisioned, (after, limit) = app.services.functions.provisioned, views.page_of(request)
    found, place = await provisioned.page(request["FunctionName"], after, limit)
    listed = [
        {"FunctionArn": function_arn(app.config, one.name, one.qualifier),
         **views.provisioned(one, await provisioned.readiness(one))}
        for one in found
    ]  # fmt: skip
    return {"ProvisionedConcurrencyConfigs": listed, "NextMarker": views.TOKENS.write(place)}


@operation("lambda", "DeleteProvisionedConcurrencyConfig")
async def delete_provisioned_concurrency_config(app: App, _call: Call, request: Json) -> None:
    """Have no workers of a version or an alias started ahead any more."""
    await app.services.functions.provisioned.delete(request["FunctionName"], request["Qualifier"])


@operation("lambda", "AddPermission")
async def add_permission(app: App, _call: Call, request: Json) -> Json:
    """Add a statement to a function's policy, which is stored but not enforced."""
    statement = await app.services.functions.policies.add(request["FunctionName"], request.get("Qualifier"), request)
    return {"Statement": orjson.dumps(statement).decode()}


@operation("lambda", "RemovePermission")
async def remove_permission(app: App, _call: Call, request: Json) -> None:
    """Remove a statement from a function's policy."""
    await app.services.functions.policies.remove(
        request["FunctionName"], request.get("Qualifier"), request["StatementId"], request.get("RevisionId")
    )


@operation("lambda", "GetPolicy")
async def get_policy(app: App, _call: Call, request: Json) -> Json:
    """Show a function's policy."""
    found = await app.services.functions.policies.get(request["FunctionName"], request.get("Qualifier"))
    policy = {"Version": "2012-10-17", "Id": "default", "Statement": list(found.statements)}
    return {"Policy": orjson.dumps(policy).decode(), "RevisionId": found.revision_id}


@operation("lambda", "PutFunctionRecursionConfig")
async def put_function_recursion_config(app: App, _call: Call, request: Json) -> Json:
    """Store whether recursive loops are allowed; they are not detected here."""
    await app.services.functions.definitions.set_recursion(request["FunctionName"], request["RecursiveLoop"])
    return {"RecursiveLoop": request["RecursiveLoop"]}


@operation("lambda", "GetFunctionRecursionConfig")
async def get_function_recursion_config(app: App, _call: Call, request: Json) -> Json:
    """Show whether recursive loops are allowed."""
    function, _ = await app.services.functions.definitions.existing(request["FunctionName"])
    return {"RecursiveLoop": function.recursion}


@operation("lambda", "GetFunctionCodeSigningConfig")
async def get_function_code_signing_config(app: App, _call: Call, request: Json) -> Json:
    """Answer that a function's code is not signed: infrastructure tools ask."""
    function, _ = await app.services.functions.definitions.existing(request["FunctionName"])
    return {"CodeSigningConfigArn": "", "FunctionName": function.name}
