"""Retries in four phases: at once, with the least pause, with a growing one, with the greatest.

Topics deliver by such policies; which ones there may be is theirs.

Source: SNS developer guide, "Message delivery retries"; how the growing phase is spread is ours, as the guide names the
four functions without formulas.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any


def pause_ms(policy: Mapping[str, Any], retry: int) -> int | None:
    """How long to wait before the first, second ... retry; None when there are no more."""
    many: int = policy["numRetries"]
    if retry > many:
        return None
    least, most = float(policy["minDelayTarget"]), float(policy["maxDelayTarget"])
    at_once, before, after = (policy[f"num{name}Retries"] for name in ("NoDelay", "MinDelay", "MaxDelay"))
    if retry <= at_once:
        return 0
    if retry <= at_once + before:
        return int(1000 * least)
    step, steps = retry - at_once - before, many - at_once - before - after
    if step > steps:
        return int(1000 * most)
    share = (step - 1) / (steps - 1) if steps > 1 else 0.0
    if policy["backoffFunction"] in ("exponential", "geometric"):
        return int(1000 * least * math.pow(most / least, share))
    if policy["backoffFunction"] == "arithmetic":
        return round(1000 * (least + (most - least) * share * (1 + share) / 2))
    return round(1000 * (least + (most - least) * share))
