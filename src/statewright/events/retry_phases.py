"""Retries in four phases: immediate, with the shortest pause, with growing pauses, with the longest pause.

Topics deliver by such policies, and own the checks of them.

Source: SNS developer guide, "Message delivery retries"; the formulas of the growing phase are Statewright's own, as the
guide only names the four functions.
"""

from __future__ import annotations

import math

from statewright.payload import JsonMapping


def pause_ms(policy: JsonMapping, retry: int) -> int | None:
    """The pause before a retry, which counts from 1, in milliseconds; None if no retry is left."""
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
