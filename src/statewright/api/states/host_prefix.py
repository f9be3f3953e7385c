"""A hint for callers whose SDK puts `sync-` in front of the endpoint's host: one warning in the log of each process.

Such calls arrive only where that name resolves. The hint says what to set where it does not.
Source: service model, the trait `endpoint` of StartSyncExecution and TestState.
"""

from __future__ import annotations

import logging
from typing import Final

from statewright.api.operations import Call

PREFIX: Final = "sync-"

log = logging.getLogger("statewright.api")

_hinted: Final[set[str]] = set()
"""The prefix, once this process has warned of it."""


def hint_at_host_prefix(call: Call) -> None:
    """Log, once, how to keep an SDK from changing the host."""
    host = call.headers.get("host", "")
    if not host.startswith(PREFIX) or PREFIX in _hinted:
        return
    _hinted.add(PREFIX)
    log.warning(
        "a client sent %s to the host %s: its SDK puts '%s' in front of the endpoint's host, and such calls fail on "
        "machines where that name does not resolve. Set AWS_DISABLE_HOST_PREFIX_INJECTION=true (boto3, the AWS CLI), "
        "or disableHostPrefix: true for the client in code (JavaScript)",
        call.operation, host[:100], PREFIX,
    )  # fmt: skip
