"""The figures of a server for `/metrics`: those of each region and account that runs, then those of the process."""

from __future__ import annotations

import os
import resource
import sys
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from statewright.api.ecs.service import found_ray
from statewright.api.http.listening import Listener
from statewright.api.logs.service import build_log_sender
from statewright.api.status.prometheus import Sample, published
from statewright.assembly import System
from statewright.functions.workers.ray_link import RayStatus
from statewright.stores.protocol import STATUSES

if TYPE_CHECKING:
    from statewright.log_export.sending import Sender


async def samples(system: System, listens: Listener, *more: Sample) -> Iterable[Sample]:
    """The figures for `/metrics`: those of each region and account that runs, then those of the process."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    groups = system.engine.store.figures()
    connections = listens.server_state
    of_places = [sample for one in system.all() for sample in await _samples_of(one)]
    sender = system.app.services.make.found(build_log_sender)
    return [
        *of_places,
        *(_of_log_export(sender) if sender is not None else ()),
        Sample("statewright_store_groups_total", "counter", "Groups of writes that were committed.", groups.groups),
        Sample("statewright_store_jobs_total", "counter", "Writes in these groups.", groups.jobs),
        Sample("statewright_store_seconds_total", "counter", "Time that these groups took.", groups.seconds_total),
        Sample("statewright_store_seconds_most", "gauge", "Time that the slowest group took.", groups.seconds_most),
        Sample("statewright_loop_lag_seconds", "gauge", "How late the event loop was.", listens.lag_seconds),
        Sample("statewright_loop_lag_seconds_most", "gauge", "How late it was at most.", listens.most_lag_seconds),
        Sample("statewright_loop_held_up_total", "counter", "Lags of half a second or more.", listens.watch.lags),
        Sample("statewright_connections", "gauge", "Open connections.", len(connections.connections)),
        Sample("statewright_connections_most", "gauge", "How many may be open.", connections.most),
        Sample("statewright_connections_cut_total", "counter", "Connections given up as too slow.", connections.cut),
        Sample("process_cpu_seconds_total", "counter", "CPU time.", used.ru_utime + used.ru_stime),
        Sample("process_resident_memory_bytes", "gauge", "Resident memory.", resident_bytes()),
        *more,
    ]


async def _samples_of(system: System) -> Iterable[Sample]:
    """The figures of one region of an account; those of the default one have no labels for that."""
    app, engine = system.app, system.engine
    found = await engine.metrics()
    by_status = found.pop("executions_by_status")
    closed = found.pop("executions_closed")
    said = "Executions in each status."
    samples = [
        Sample("statewright_executions_closed_total", "counter", "Executions closed.", count, {"status": status})
        for status, count in closed.items()
    ]
    heavy, words = (
        engine.heavy.steps + engine.heavy.errands,
        "Steps and errands with expressions too heavy for the loop.",
    )
    samples.append(Sample("statewright_heavy_steps_total", "counter", words, heavy))
    samples += published(app.services.metrics)
    ray = found_ray(app.services.make)
    if ray is not None:
        samples += _of_ray(ray.status)
    is_default = system.regions is not None
    for name, value in found.items():
        # The store counts open executions of all places together.
        if is_default or name not in ("executions_open", "map_runs_open"):
            words = f"The engine's {name.replace('_', ' ')}, since the start."
            samples.append(Sample(f"statewright_{name}", "gauge", words, value))
    if is_default:
        of_all = [Sample("statewright_executions", "gauge", said, by_status[one], {"status": one}) for one in STATUSES]
        return of_all + samples
    place = {"region": app.config.region} | ({"account": app.account} if app.account else {})
    return [replace(sample, labels={**place, **sample.labels}) for sample in samples]


def _of_ray(status: RayStatus) -> list[Sample]:
    """The figures of the Ray cluster on which handlers or jobs run."""
    return [
        Sample("statewright_ray_connected", "gauge", "1 while the Ray cluster answers.", status.state == "connected"),
        Sample("statewright_ray_nodes", "gauge", "Living nodes of the Ray cluster.", status.nodes),
        Sample("statewright_ray_losses_total", "counter", "Times that the Ray cluster was lost.", status.losses),
        Sample(
            "statewright_ray_handlers_lost_total", "counter", "Invocations lost with a Ray actor, node or cluster.",
            status.invocations_lost,
        ),
        Sample(
            "statewright_ray_jobs_lost_total", "counter", "Processes of jobs lost with a Ray actor, node or cluster.",
            status.jobs_lost,
        ),
    ]  # fmt: skip


def _of_log_export(sender: Sender) -> list[Sample]:
    """The figures of the export of logs."""
    refused = "Log records that the collector refused."
    gaps = "Times that log files were deleted before they were exported."
    return [
        Sample("statewright_log_export_up", "gauge", "1 while the collector of logs accepts records.", sender.is_up),
        Sample("statewright_log_export_records_total", "counter", "Log records exported.", sender.exported),
        Sample("statewright_log_export_dropped_total", "counter", refused, sender.dropped),
        Sample("statewright_log_export_gaps_total", "counter", gaps, sender.gaps),
    ]


def resident_bytes() -> int:
    """The resident memory of this process; elsewhere than on Linux, the most that it has had."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except (OSError, ValueError, IndexError):
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024
    return pages * os.sysconf("SC_PAGE_SIZE")
