"""ECS tasks and Batch jobs as one list, one of them, and the end of its output."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Final

from statewright.api.batch.jobs import shown as shown_job
from statewright.api.ecs.tasks import shown as shown_task
from statewright.api.operations import App
from statewright.console.asked import Asked, needed
from statewright.console.context import Console
from statewright.console.redaction import Redactor
from statewright.console.services import shown_data
from statewright.console.services.lists import filtered, newest_of
from statewright.errors import ApiError
from statewright.jobs.batch_records import Job
from statewright.jobs.ecs_tasks import Task
from statewright.payload import Json, JsonObject, dump_json

OUTPUT_BYTES: Final = 64_000
_GROUPS: Final = {
    "waiting": {"SUBMITTED", "PENDING", "RUNNABLE", "PROVISIONING"},
    "running": {"STARTING", "RUNNING", "ACTIVATING", "DEACTIVATING", "STOPPING", "DEPROVISIONING"},
    "succeeded": {"SUCCEEDED"},
    "failed": {"FAILED"},
}
_EXECUTION: Final = re.compile(r"arn:aws[a-z-]*:states:[a-z0-9-]+:[0-9]{12}:execution:[^\"\\\s]{1,400}")


async def jobs(console: Console, asked: Asked) -> JsonObject:
    """A page of tasks and jobs, newest first: `{rows, next}`; a row has `{id, kind, name, status, group, where,
    exitCode, reason, createdMs, startedMs, stoppedMs}`. `status` chooses a group: waiting, running, succeeded, failed.
    """
    app = console.app_of(asked)
    text, status = filtered(asked.given), asked.given.get("status", "")
    every: list[Task | Job] = [*_tasks(app), *_jobs(app)]
    found = [one for one in every if text in _name_of(one).lower() and (not status or _group_of(one) == status)]
    rows, following = newest_of(found, lambda one: (one.created_ms, one.id), asked.given)
    return {"rows": [_row(one) for one in rows], "next": following}


async def job(console: Console, asked: Asked) -> JsonObject:
    """One task or job by `id`: its row, `command`s and `outputs`' names, `execution` whose ARN its request names, and
    `described`, as its service describes it; for an array also `children`, at most a hundred.

    Raises: ApiError (`NotFound`).
    """
    app = console.app_of(asked)
    found = _found(app, needed(asked.given, "id"))
    described: JsonObject = shown_task(app, found) if isinstance(found, Task) else shown_job(app, found)
    arn = _EXECUTION.search(dump_json(described))
    children: list[Json] = []
    if isinstance(found, Job) and found.size is not None:
        children = [_row(one) for one in app.services.jobs.batch.children(found.id)[:100]]
    return {
        **_row(found), "containers": _containers(app, found, console.redactor), "outputs": list(_places(app, found)),
        "execution": arn[0] if arn else None, "described": shown_data.described(console.redactor, described),
        "children": children,
    }  # fmt: skip


async def output(console: Console, asked: Asked) -> JsonObject:
    """The last 64,000 bytes that a container or an attempt has written: `id` and `of`, one of its outputs, to `{text,
    bytes, isWhole}`; text None if it has not begun.
    """
    app = console.app_of(asked)
    found = _found(app, needed(asked.given, "id"))
    place = _places(app, found).get(needed(asked.given, "of"))
    if place is None:
        raise ApiError("NotFound", "It has no such output.")
    return await asyncio.to_thread(_tail, app.services.jobs.output(place), console.redactor)


def _tail(path: Path, redactor: Redactor) -> JsonObject:
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - OUTPUT_BYTES))
            text = file.read(OUTPUT_BYTES).decode(errors="replace")
    except OSError:
        return {"text": None, "bytes": 0, "isWhole": True}
    return {"text": shown_data.lines(redactor, text), "bytes": size, "isWhole": size <= OUTPUT_BYTES}


def _tasks(app: App) -> list[Task]:
    tasks = app.services.jobs.tasks
    return [task for cluster in tasks.clusters.by_name.values() for task in tasks.of_cluster(cluster)]


def _jobs(app: App) -> list[Job]:
    batch = app.services.jobs.batch
    return [one for name in list(batch.definitions.queues) for one in batch.of_queue(name)]


def _found(app: App, id_: str) -> Task | Job:
    kind, _, name = id_.partition(":")
    cluster, _, task_id = name.partition("/")
    jobs = app.services.jobs
    home = jobs.tasks.clusters.by_name.get(cluster)
    if kind == "ecs" and home is not None and (task := jobs.tasks.find(home, task_id)) is not None:
        return task
    if kind == "batch" and (found := jobs.batch.find(name)) is not None:
        return found
    raise ApiError("NotFound", "There is no such job. Tasks are shown for a day after they stopped, jobs for a week.")


def _name_of(found: Task | Job) -> str:
    return found.family if isinstance(found, Task) else found.name


def _group_of(found: Task | Job) -> str:
    """Waiting, running, succeeded or failed."""
    if isinstance(found, Task) and found.is_over:
        return "succeeded" if found.containers and all(one.exit_code == 0 for one in found.containers) else "failed"
    return next((group for group, statuses in _GROUPS.items() if found.status in statuses), "running")


def _row(found: Task | Job) -> JsonObject:
    row: JsonObject = {
        "name": _name_of(found), "status": found.status, "group": _group_of(found), "createdMs": found.created_ms,
        "startedMs": found.started_ms, "stoppedMs": found.stopped_ms,
    }  # fmt: skip
    if isinstance(found, Task):
        codes = [one.exit_code for one in found.containers if one.exit_code is not None]
        reasons = [one.reason for one in found.containers if one.reason]
        return {
            **row, "id": f"ecs:{found.cluster}/{found.id}", "kind": "ECS task", "where": found.cluster,
            "exitCode": max(codes, default=None), "reason": found.stopped_reason or next(iter(reasons), None),
            "startedBy": found.started_by, "definition": found.definition.rpartition("/")[2],
        }  # fmt: skip
    last = found.attempts[-1] if found.attempts else None
    return {
        **row, "id": f"batch:{found.id}", "kind": "Batch job", "where": found.queue,
        "exitCode": last.exit_code if last is not None else None,
        "reason": found.status_reason or (last.reason if last is not None else None), "startedBy": None,
        "definition": found.definition.rpartition("/")[2], "attempts": len(found.attempts), "size": found.size,
    }  # fmt: skip


def _containers(app: App, found: Task | Job, redactor: Redactor) -> list[Json]:
    """Name, image, command, exit code and reason of each container."""
    if isinstance(found, Job):
        container = shown_job(app, found).get("container") or {}
        return [{"name": "default", "image": container.get("image"),
                 "command": shown_data.words(redactor, container.get("command") or []),
                 "status": found.status, "exitCode": container.get("exitCode"),
                 "reason": container.get("reason")}]  # fmt: skip
    definition = app.services.jobs.tasks.definitions.find(found.definition)
    given = {one["name"]: one for one in definition.given["containerDefinitions"]} if definition is not None else {}
    over = {one.get("name"): one for one in found.overrides.get("containerOverrides") or ()}
    return [
        {"name": one.name, "image": one.image, "status": one.status, "exitCode": one.exit_code, "reason": one.reason,
         "command": shown_data.words(
             redactor, over.get(one.name, {}).get("command") or given.get(one.name, {}).get("command") or [])}
        for one in found.containers
    ]  # fmt: skip


def _places(app: App, found: Task | Job) -> dict[str, str]:
    """Folders of what it writes, by the name of the container, or the number of the attempt."""
    if isinstance(found, Task):
        return {one.name: app.services.jobs.tasks.place(found, one) for one in found.containers}
    names = [one.task for one in found.attempts]
    if found.task is not None and found.task not in names:
        names.append(found.task)
    return {f"attempt {place}": app.services.jobs.batch.place(task) for place, task in enumerate(names, 1)}


READS: Final = {"jobs": jobs, "job": job, "job/output": output}
