"""Operations on archives and replays."""

from __future__ import annotations

from statewright.api.events.buses import page
from statewright.api.operations import App, Call, operation
from statewright.events.archives.records import Archive, Replay
from statewright.payload import Json, JsonObject


def _arn(app: App, archive: Archive) -> str:
    return app.config.arn("events", f"archive/{archive.name}")


def _made(app: App, archive: Archive) -> JsonObject:
    return {"ArchiveArn": _arn(app, archive), "State": "ENABLED", "CreationTime": archive.created_ms}


async def _shown(app: App, archive: Archive) -> JsonObject:
    count, size = await app.services.archives.extent(archive)
    return {
        "ArchiveName": archive.name, "EventSourceArn": app.config.arn("events", f"event-bus/{archive.bus}"),
        "State": "ENABLED", "RetentionDays": archive.retention_days, "SizeBytes": size, "EventCount": count,
        "CreationTime": archive.created_ms,
    }  # fmt: skip


@operation("events", "CreateArchive")
async def create_archive(app: App, _call: Call, request: Json) -> Json:
    """Create an archive of the events of a bus."""
    made = await app.services.archives.create(request["ArchiveName"], request["EventSourceArn"], request)
    return _made(app, made)


@operation("events", "UpdateArchive")
async def update_archive(app: App, _call: Call, request: Json) -> Json:
    """Change an archive."""
    return _made(app, await app.services.archives.update(request["ArchiveName"], request))


@operation("events", "DescribeArchive")
async def describe_archive(app: App, _call: Call, request: Json) -> Json:
    """Describe an archive."""
    archive = await app.services.archives.get(request["ArchiveName"])
    view = {
        **await _shown(app, archive), "ArchiveArn": _arn(app, archive), "Description": archive.description,
        "EventPattern": archive.pattern, "KmsKeyIdentifier": archive.kms,
    }  # fmt: skip
    return {name: value for name, value in view.items() if value is not None}


@operation("events", "ListArchives")
async def list_archives(app: App, _call: Call, request: Json) -> Json:
    """List archives by name."""
    prefix, source = request.get("NamePrefix", ""), request.get("EventSourceArn")
    found = [
        one for one in await app.services.archives.all()
        if one.name.startswith(prefix) and (source is None or one.bus == app.services.buses.name_in(source))
        and request.get("State") in (None, "ENABLED")
    ]  # fmt: skip
    listed, token = page(found, [one.name for one in found], request)
    return {"Archives": [await _shown(app, one) for one in listed], **token}


@operation("events", "DeleteArchive")
async def delete_archive(app: App, _call: Call, request: Json) -> Json:
    """Delete an archive with its events."""
    await app.services.archives.delete(request["ArchiveName"])
    return {}


# ------------------------------------------------------------------ replays


def _replay_arn(app: App, replay: Replay) -> str:
    return app.config.arn("events", f"replay/{replay.name}")


def _replay(app: App, replay: Replay) -> JsonObject:
    view: JsonObject = {
        "ReplayName": replay.name, "EventSourceArn": app.config.arn("events", f"archive/{replay.archive}"),
        "State": replay.state, "StateReason": replay.reason, "EventStartTime": replay.from_ms,
        "EventEndTime": replay.to_ms, "EventLastReplayedTime": replay.last_ms, "ReplayStartTime": replay.started_ms,
        "ReplayEndTime": replay.ended_ms,
    }  # fmt: skip
    return {name: value for name, value in view.items() if value is not None}


@operation("events", "StartReplay")
async def start_replay(app: App, _call: Call, request: Json) -> Json:
    """Start a replay of an archive's events."""
    made = await app.services.archives.replay(request)
    return {"ReplayArn": _replay_arn(app, made), "State": made.state, "ReplayStartTime": made.started_ms}


@operation("events", "DescribeReplay")
async def describe_replay(app: App, _call: Call, request: Json) -> Json:
    """Describe a replay."""
    found = await app.services.archives.get_replay(request["ReplayName"])
    bus = app.config.arn("events", f"event-bus/{found.bus}")
    where = f"rule/{found.bus}/" if found.bus != "default" else "rule/"
    filters = [app.config.arn("events", f"{where}{name}") for name in found.rules]
    destination = {"Arn": bus, **({"FilterArns": filters} if filters else {})}
    view = {**_replay(app, found), "ReplayArn": _replay_arn(app, found), "Destination": destination}
    return {**view, **({"Description": found.description} if found.description is not None else {})}


@operation("events", "ListReplays")
async def list_replays(app: App, _call: Call, request: Json) -> Json:
    """List replays by name."""
    prefix, source, state = request.get("NamePrefix", ""), request.get("EventSourceArn"), request.get("State")
    found = [
        one for one in await app.services.archives.replays()
        if one.name.startswith(prefix) and state in (None, one.state)
        and (source is None or source.rpartition("archive/")[2] == one.archive)
    ]  # fmt: skip
    listed, token = page(found, [one.name for one in found], request)
    return {"Replays": [_replay(app, one) for one in listed], **token}


@operation("events", "CancelReplay")
async def cancel_replay(app: App, _call: Call, request: Json) -> Json:
    """Cancel a replay."""
    found = await app.services.archives.cancel(request["ReplayName"])
    return {"ReplayArn": _replay_arn(app, found), "State": "CANCELLING"}
