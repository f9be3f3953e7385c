"""Operations on limits: show those of the server, semaphores and machines with limits, and revoke a permit."""

from __future__ import annotations

from dataclasses import fields

from statewright.api.operations import App, Call, operation
from statewright.engine.concurrency.semaphores import Permit, Semaphore
from statewright.errors import ApiError
from statewright.limits import Limits
from statewright.payload import Json, JsonObject


@operation("statewright", "ListLimits")
async def list_limits(app: App, _call: Call, _request: Json) -> Json:
    """List every semaphore with holders or waiters, and every machine with a limit."""
    return {
        "semaphores": [
            {
                "name": one.name,
                "key": one.key,
                "limit": one.limit,
                "held": len(one.holders),
                "waiting": len(one.waiters),
            }
            for one in app.engine.semaphores.standing()
        ],
        "stateMachines": [
            {
                "stateMachineArn": one.machine_arn,
                "maxConcurrentExecutions": one.limit.at_once,
                "maxStartsPerSecond": one.limit.per_second,
                "running": one.running,
                "queued": one.queued,
            }
            for one in app.engine.admission.standing()
        ],
    }


@operation("statewright", "DescribeLimits")
async def describe_limits(app: App, _call: Call, _request: Json) -> Json:
    """Show the limits of executions and queues on this server by name, and the names of those that are lifted."""
    found = {one.name: getattr(app.config.limits, one.name) for one in fields(Limits) if one.name != "profile"}
    return {
        "profile": app.config.limits.profile,
        "limits": {name: number for name, number in found.items() if number is not None},
        "lifted": [name for name, number in found.items() if number is None],
    }


@operation("statewright", "DescribeSemaphore")
async def describe_semaphore(app: App, _call: Call, request: Json) -> Json:
    """Show the holders of a semaphore's permits, and the waiters in order."""
    semaphore = _semaphore(app, request)
    return {
        "name": semaphore.name,
        "key": semaphore.key,
        "limit": semaphore.limit,
        "holders": [_shown(one) for one in semaphore.holders.values()],
        "waiters": [_shown(one) for one in semaphore.waiters.values()],
    }


@operation("statewright", "ReleasePermit")
async def release_permit(app: App, _call: Call, request: Json) -> Json:
    """Take a permit from its holder and grant it to the next waiter."""
    number = request["permit"]
    key = request.get("key", "")
    taken = None
    if number.isascii() and number.isdigit():
        taken = await app.engine.semaphores.take_away(request["name"], key, int(number), request["reason"])
    if taken is None:
        raise ApiError("PermitDoesNotExist", f"The semaphore '{request['name']}' has no permit {number} in use.")
    return {"executionArn": taken.execution_arn}


def _semaphore(app: App, request: Json) -> Semaphore:
    name, key = request["name"], request.get("key", "")
    found = app.engine.semaphores.find(name, key)
    if found is not None:
        return found
    shown = f"'{name}' with the key '{key}'" if key else f"'{name}'"
    raise ApiError("SemaphoreDoesNotExist", f"The semaphore {shown} has no holders and no waiters.")


def _shown(permit: Permit) -> JsonObject:
    return {
        "permit": str(permit.number),
        "executionArn": permit.execution_arn,
        "state": permit.state,
        "askedDate": permit.asked_ms,
        "grantedDate": permit.granted_ms,
    }
