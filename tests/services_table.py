"""Writes docs/services.md from the registry of operations: `python -m tests.services_table`, or `make tables`.

What a service has comes from botocore's model, what this version has from the registry, so that the document cannot
claim more than there is. A test fails while the document is not what this would write.
"""

from __future__ import annotations

from pathlib import Path

from statewright.api import operations
from statewright.api.errors import not_here_yet
from statewright.api.models import load_model
from statewright.api.routing import PROTOCOLS, QUERY, REST
from statewright.api.shapes import operation_names
from statewright.assembly import OWN_SERVICES
from statewright.integrations.service_names import OPTIMISED

DOCUMENT = Path(__file__).parents[1] / "docs" / "services.md"
COMMAND = "make tables"

ABOUT = {
    "states": ("Step Functions", "server.md"),
    "batch": ("Batch", "jobs.md"),
    "dynamodb": ("DynamoDB", "tables.md"),
    "ecs": ("ECS", "jobs.md"),
    "events": ("EventBridge", "events.md"),
    "iam": ("IAM", "small-services.md"),
    "lambda": ("Lambda", "functions.md"),
    "logs": ("CloudWatch Logs", "small-services.md"),
    "monitoring": ("CloudWatch", "metrics.md"),
    "s3": ("S3", "objects.md"),
    "scheduler": ("EventBridge Scheduler", "schedules.md"),
    "secretsmanager": ("Secrets Manager", "small-services.md"),
    "sns": ("SNS", "topics.md"),
    "sqs": ("SQS", "queues.md"),
    "ssm": ("Systems Manager: Parameter Store", "small-services.md"),
    "statewright": ("Statewright's own", "limits.md"),
    "sts": ("STS", "small-services.md"),
}
"""What services are called, and the document that says more."""


def named(service: str) -> tuple[str, str]:
    """What a service is called, and the document that says more, which may not be there yet."""
    return ABOUT.get(service, (service, "none"))


def protocols(service: str) -> str:
    """The protocols that a service speaks here."""
    version = load_model(service)["metadata"].get("protocol", "")  # type: ignore[index]
    rest = "REST XML" if version == "rest-xml" else "REST JSON"
    names = {REST: rest, QUERY: "query", "json": "AWS JSON", "cbor": "CBOR"}
    return ", ".join(names.get(one, one) for one in PROTOCOLS[service])


def task_names(service: str) -> str:
    """How tasks name a service that is called in the process itself."""
    if service == "states":
        return "`states`, `aws-sdk:sfn`"
    if service not in OWN_SERVICES.values():
        return f"`{service}`" if service == "statewright" else "none"
    names = sorted(name for name, of in OWN_SERVICES.items() if of == service)
    # A signing name that SDKs do not have is left to their own word for it.
    told = [name for name in names if name != service or len(names) == 1]
    optimised = [f"`{name}`" for name in names if name in OPTIMISED]
    return ", ".join([*optimised, *(f"`aws-sdk:{name}`" for name in told)])


def written() -> str:
    """The document."""
    operations.load()
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
        "| service | operations | of | protocol | names in tasks |",
        "|---|--:|--:|---|---|",
    ]
    for service in operations.services():
        title, document = named(service)
        shown = f"[{title}]({document})" if (DOCUMENT.parent / document).is_file() else title
        served = operations.registered(service)
        known = operation_names(service)
        lines.append(
            f"| {shown} | [{len(served)}](#{anchor(title)}) | {len(known)} | {protocols(service)} | "
            f"{task_names(service)} |"
        )
    for service in operations.services():
        lines += ["", f"## {named(service)[0]}", "", *listed(service)]
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
