"""STS: temporary credentials and who a caller is."""

from __future__ import annotations

from typing import Final

from statewright.api.service import QUERY, Service

SERVICE: Final = Service(
    name="sts",
    title="STS",
    document="small-services.md",
    package=__package__,
    operations=("callers",),
    protocols=(QUERY,),
    wires="statewright.api.iam.wires",
    version="2011-06-15",
    sdk_names=("sts",),
)
