"""CloudWatch: metrics and dashboards."""

from __future__ import annotations

from typing import Final

from statewright.api.service import CBOR, JSON, QUERY, Service

SERVICE: Final = Service(
    name="monitoring",
    title="CloudWatch",
    document="metrics.md",
    package=__package__,
    operations=(
        "metrics",
        "statistics",
        "dashboards",
    ),
    protocols=(JSON, CBOR, QUERY),
    wires=f"{__package__}.wires",
    target="GraniteServiceVersion20100801",
    version="2010-08-01",
    client="cloudwatch",
    sdk_names=("cloudwatch",),
)
