"""CloudWatch Logs: log groups, streams and their events."""

from __future__ import annotations

import os
import socket
from functools import partial
from typing import TYPE_CHECKING, Final

from statewright import __version__, chance
from statewright.api.building import Building
from statewright.api.lambda_.service import build_functions
from statewright.api.service import APART, JSON, Service

if TYPE_CHECKING:
    from statewright.log_export.exporting import LogExport
    from statewright.log_export.sending import Sender
    from statewright.log_filters.filters import LogFilters
    from statewright.records.log_groups import LogGroups
    from statewright.records.log_reading import Extents

SERVICE: Final = Service(
    name="logs",
    title="CloudWatch Logs",
    document="small-services.md",
    package=__package__,
    regions=APART,
    operations=(
        "groups",
        "streams",
        "filters",
    ),
    protocols=(JSON,),
    json_version="1.1",
    target="Logs_20140328",
    body_bytes=8 << 20,
    task_names=("logs",),
    sdk_names=("cloudwatchlogs",),
)


def build_log_groups(make: Building) -> LogGroups:
    """Build the log groups. Their files are in the data folder; if there is none, next to those of functions."""
    from statewright.records.log_groups import LogGroups

    ground, workers = make.ground, make(build_functions).logs
    assert workers.folder is not None, "functions always have a folder"
    folder = (ground.data if ground.data is not None else workers.folder.parent) / "logs"
    return LogGroups(ground.store.catalogue, ground.clock, ground.config, folder, workers)


def build_log_extents(_make: Building) -> Extents:
    """Build the cache of the streams' extents."""
    from statewright.records.log_reading import Extents

    return Extents()


def build_log_filters(make: Building) -> LogFilters:
    """Build the filters of log groups, which follow all that write to a group."""
    from statewright.log_filters.filters import LogFilters

    ground = make.ground
    filters = LogFilters(
        ground.store.catalogue,
        ground.clock,
        ground.config,
        make(build_log_groups),
        ground.deliveries,
        ground.metrics,
    )
    ground.engine.history_log.logs.subscribe(filters.writing)
    return filters


def build_log_sender(make: Building) -> Sender | None:
    """Build the way to the collector of logs; None if the settings name none. Raises: CannotExport."""
    ground = make.ground
    if not ground.config.logs.otlp:
        return None
    from statewright.log_export.sending import Sender
    from statewright.log_export.settings import destination_of

    destination = destination_of(ground.config.logs, os.environ)
    return Sender(destination, ground.clock) if destination is not None else None


def build_log_export(make: Building) -> LogExport | None:
    """Build the export of log events, which follows all that write to a group; None without a collector."""
    sender = make(build_log_sender)
    if sender is None:
        return None
    from statewright.log_export.encoding import request_body
    from statewright.log_export.exporting import LogExport
    from statewright.log_export.places import PlaceFiles
    from statewright.log_export.settings import SERVICE

    ground, host = make.ground, socket.gethostname()
    resource = {
        "service.name": SERVICE,
        "service.version": __version__,
        # The same after a restart of the server on its folder.
        "service.instance.id": chance.uuid_of_name(f"{host}{ground.data.absolute() if ground.data else ''}"),
        "host.name": host,
        **sender.destination.attributes,
        "cloud.region": ground.config.region,
        "cloud.account.id": ground.config.account,
    }
    encode = partial(request_body, resource)
    export = LogExport(make(build_log_groups), ground.clock, sender, encode, PlaceFiles(ground.data))
    ground.engine.history_log.logs.subscribe(export.writing)
    return export
