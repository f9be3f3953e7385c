"""Writes docs/services.md: `python -m tests.services_table`, or `make tables`.

What a service has comes from botocore's model, what this version has from the list of services and the registry of
operations, so that the document cannot claim more than there is. A test fails while the document is not what this would
write.
"""

from __future__ import annotations

from pathlib import Path

from statewright.api import operations
from statewright.api.errors import not_here_yet
from statewright.api.models import load_model
from statewright.api.service import QUERY, REST, Service
from statewright.api.services import SERVICES
from statewright.api.shapes import operation_names
from statewright.integrations.service_names import OPTIMISED

DOCUMENT = Path(__file__).parents[1] / "docs" / "services.md"
COMMAND = "make tables"


def protocols(service: Service) -> str:
    """The protocols that a service speaks here."""
    version = load_model(service.name)["metadata"].get("protocol", "")  # type: ignore[index]
    rest = "REST XML" if version == "rest-xml" else "REST JSON"
    names = {REST: rest, QUERY: "query", "json": "AWS JSON", "cbor": "CBOR"}
    return ", ".join(names.get(one, one) for one in service.protocols)


def task_names(service: Service) -> str:
    """How tasks name a service that is called in the process itself."""
    # Where SDKs have a word of their own for a service without optimised integration, the other name is left out.
    plain = [name for name in service.task_names if name in OPTIMISED or not service.sdk_names]
    return ", ".join([*(f"`{name}`" for name in plain), *(f"`aws-sdk:{name}`" for name in sorted(service.sdk_names))])


def written() -> str:
    """The document."""
    operations.load_all()
    lines = [
        "# Services and their operations",
        "",
        f"Written by `{COMMAND}` from the registry of operations and from botocore's service models; do not edit.",
        "",
        "Every service answers on the server's one port. Tasks of workflows call it in the process itself, without a",
        "wire, under the names of the last column. An operation that a service has and this version does not is",
        "answered with `UnknownOperationException` (400):",
        "",
        f"> {not_here_yet('iam', 'CreateAccessKey').message}",
        "",
        "Services that are not in this table go to an endpoint that `statewright.toml` names, else to moto where it is",
        "installed: see [configuration](configuration.md).",
        "",
        "The column of regions: each region has resources of its own (`apart`), all have the same (`global`),",
        "or only the default region has any, and calls signed for another one are refused (`one`).",
        "",
        "| service | operations | of | protocol | regions | names in tasks |",
        "|---|--:|--:|---|---|---|",
    ]
    for service in SERVICES:
        served = operations.registered(service.name)
        known = operation_names(service.name)
        lines.append(
            f"| [{service.title}]({service.document}) | [{len(served)}](#{anchor(service.title)}) | {len(known)} | "
            f"{protocols(service)} | {service.regions} | {task_names(service)} |"
        )
    for service in SERVICES:
        lines += ["", f"## {service.title}", "", *listed(service.name)]
    return "\n".join(lines) + "\n"


def listed(service: str) -> list[str]:
    """The operations of a service, and those that it lacks."""
    served = operations.registered(service)
    missing = sorted(operation_names(service) - set(served))
    found = wrapped("Served: ", served)
    if missing:
        return [*found, "", *wrapped("Not here: ", missing)]
    return [*found, "", "That is all of them."]


def wrapped(first: str, names: list[str], width: int = 120) -> list[str]:
    """A paragraph of names."""
    lines, line = [], first.rstrip()
    for number, name in enumerate(names, 1):
        word = name + ("." if number == len(names) else ",")
        if len(line) + 1 + len(word) > width:
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}"
    return [*lines, line]


def anchor(title: str) -> str:
    """The anchor of a heading."""
    return "".join(char for char in title.lower() if char.isalnum() or char in " -").replace(" ", "-")


if __name__ == "__main__":
    DOCUMENT.write_text(written())
    print(f"wrote {DOCUMENT}")
