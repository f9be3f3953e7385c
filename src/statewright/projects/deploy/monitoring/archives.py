"""Archives of event buses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from statewright.payload import Json
from statewright.projects.deploy.kinds import Kind, Known, Site, Wanted, holds

EVENTS: Final = "events"


def archive(site: Site, wanted: Wanted) -> Mapping[str, Json]:
    """Create an archive, or change what differs; one of another bus is replaced."""
    source = wanted.text("SourceArn")
    request = wanted.given("Description", "RetentionDays")
    if wanted.properties.get("EventPattern") is not None:
        request["EventPattern"] = wanted.text("EventPattern")
    shown = site.found(EVENTS, "DescribeArchive", ArchiveName=wanted.name)
    if shown is not None and shown["EventSourceArn"] != source:
        site.change(EVENTS, "DeleteArchive", ArchiveName=wanted.name)
        site.replaced = True
        shown = None
    if shown is None:
        site.create(EVENTS, "CreateArchive", ArchiveName=wanted.name, EventSourceArn=source, **request)
    elif not holds(shown, request):
        site.change(EVENTS, "UpdateArchive", ArchiveName=wanted.name, **request)
    return {}


def _delete_archive(site: Site, known: Known) -> None:
    site.change(EVENTS, "DeleteArchive", ArchiveName=known.ref)


KINDS: Final = {
    "AWS::Events::Archive": Kind(
        "archive", archive, _delete_archive, "ArchiveName", 48, "events:{region}:{account}:archive/{name}"
    ),
}
