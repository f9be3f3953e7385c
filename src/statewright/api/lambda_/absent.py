"""Features that functions never have here, answered as the service does for a function without them: tools ask.

Source: Lambda API reference, the errors of each operation.
"""

from __future__ import annotations

from statewright.api.operations import App, Call, operation
from statewright.functions.names import function_arn
from statewright.payload import Json


@operation("lambda", "GetRuntimeManagementConfig")
async def get_runtime_management_config(app: App, _call: Call, request: Json) -> Json:
    """Answer that runtimes are updated automatically: they are those of this machine."""
    function, _ = await app.services.functions.definitions.existing(request["FunctionName"])
    return {"UpdateRuntimeOn": "Auto", "FunctionArn": function_arn(app.config, function.name, None)}
