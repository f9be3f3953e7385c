"""Operations on pipes and their tags."""

from __future__ import annotations

from typing import Final

from statewright.api.operations import App, Call, operation
from statewright.events.pipes.records import RUNNING, STOPPED, Pipe, invalid
from statewright.pages import PageTokens
from statewright.payload import Json, JsonObject

TOKENS: Final = PageTokens[str]("pipes", lambda _: invalid("Invalid NextToken."))
MOST_LISTED: Final = 100


def _state(app: App, pipe: Pipe, *, desired: str | None = None, current: str | None = None) -> JsonObject:
    return {
        "Arn": pipe.arn(app.config), "Name": pipe.name, "DesiredState": desired or pipe.desired,
        "CurrentState": current or pipe.desired, "CreationTime": pipe.created_ms, "LastModifiedTime": pipe.modified_ms,
    }  # fmt: skip


@operation("pipes", "CreatePipe")
async def create_pipe(app: App, _call: Call, request: Json) -> Json:
    """Create a pipe."""
    return _state(app, await app.services.pipes.create(request))


@operation("pipes", "UpdatePipe")
async def update_pipe(app: App, _call: Call, request: Json) -> Json:
    """Change a pipe."""
    return _state(app, await app.services.pipes.update(request))


@operation("pipes", "DescribePipe")
async def describe_pipe(app: App, _call: Call, request: Json) -> Json:
    """Describe a pipe."""
    pipe = app.services.pipes.get(request["Name"])
    described = {"Description": pipe.description} if pipe.description is not None else {}
    return {
        **_state(app, pipe), "Source": pipe.source, "SourceParameters": pipe.source_parameters, "Target": pipe.target,
        "TargetParameters": pipe.target_parameters, "RoleArn": pipe.role_arn, "Tags": pipe.tags, **pipe.shown,
        **described,
    }  # fmt: skip


@operation("pipes", "ListPipes")
async def list_pipes(app: App, _call: Call, request: Json) -> Json:
    """List pipes by name."""
    after = TOKENS.read(request.get("NextToken"))
    found = [
        pipe
        for pipe in app.services.pipes.all()
        if (after is None or pipe.name > after)
        and pipe.name.startswith(request.get("NamePrefix") or "")
        and pipe.source.startswith(request.get("SourcePrefix") or "")
        and pipe.target.startswith(request.get("TargetPrefix") or "")
        and request.get("DesiredState") in (None, pipe.desired)
        and request.get("CurrentState") in (None, pipe.desired)
    ]
    limit = request.get("Limit", MOST_LISTED)
    listed = [{**_state(app, one), "Source": one.source, "Target": one.target} for one in found[:limit]]
    return {"Pipes": listed, "NextToken": TOKENS.write(found[limit - 1].name if len(found) > limit else None)}


@operation("pipes", "DeletePipe")
async def delete_pipe(app: App, _call: Call, request: Json) -> Json:
    """Delete a pipe."""
    pipe = await app.services.pipes.delete(request["Name"])
    return _state(app, pipe, desired="DELETED", current="DELETING")


@operation("pipes", "StartPipe")
async def start_pipe(app: App, _call: Call, request: Json) -> Json:
    """Run a pipe."""
    return _state(app, await app.services.pipes.set_state(request["Name"], RUNNING))


@operation("pipes", "StopPipe")
async def stop_pipe(app: App, _call: Call, request: Json) -> Json:
    """Stop a pipe."""
    return _state(app, await app.services.pipes.set_state(request["Name"], STOPPED))


@operation("pipes", "TagResource")
async def tag_resource(app: App, _call: Call, request: Json) -> Json:
    """Add tags to a pipe."""
    await app.services.pipes.tag(request["resourceArn"], request["tags"])
    return {}


@operation("pipes", "UntagResource")
async def untag_resource(app: App, _call: Call, request: Json) -> Json:
    """Remove tags of a pipe."""
    await app.services.pipes.tag(request["resourceArn"], {}, request["tagKeys"])
    return {}


@operation("pipes", "ListTagsForResource")
async def list_tags_for_resource(app: App, _call: Call, request: Json) -> Json:
    """List the tags of a pipe."""
    return {"tags": app.services.pipes.by_arn(request["resourceArn"]).tags}
