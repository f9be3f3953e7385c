"""Counters of the API and the figures of the process, in Prometheus' text format."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from statewright.metrics.recorder import Recorder
from statewright.metrics.series import Gauge, Series

CONTENT_TYPE: Final = b"text/plain; version=0.0.4; charset=utf-8"
BUCKETS_SECONDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)
MOST_PUBLISHED: Final = 2_000
"""Most metrics of services on the page, to bound its length."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One figure: name, kind (`gauge` or `counter`), help, value, and labels."""

    name: str
    kind: str
    help: str
    value: float
    labels: Mapping[str, str] = field(default_factory=dict)


class CallCounters:
    """Counters of calls by operation and outcome, and their durations."""

    def __init__(self) -> None:
        self._ends: dict[tuple[str, str, str], int] = {}
        self._times: dict[tuple[str, str], list[float]] = {}

    def note(self, service: str, operation: str, code: str, seconds: float) -> None:
        """Count a call; `code` is the error code, `OK` for none."""
        key = (service, operation, code)
        self._ends[key] = self._ends.get(key, 0) + 1
        times = self._times.get((service, operation))
        if times is None:
            # One count for each bucket, one for longer calls, and the sum.
            times = self._times[(service, operation)] = [0.0] * (len(BUCKETS_SECONDS) + 2)
        for number, bound in enumerate(BUCKETS_SECONDS):
            if seconds <= bound:
                times[number] += 1
                break
        else:
            times[-2] += 1
        times[-1] += seconds

    def lines(self) -> Iterable[str]:
        """The counters as lines of text."""
        yield "# HELP statewright_api_calls_total Calls by operation and how they ended."
        yield "# TYPE statewright_api_calls_total counter"
        for (service, operation, code), count in sorted(self._ends.items()):
            labels = {"service": service, "operation": operation, "code": code}
            yield f"statewright_api_calls_total{_labels(labels)} {count}"
        yield "# HELP statewright_api_call_seconds How long calls took."
        yield "# TYPE statewright_api_call_seconds histogram"
        for (service, operation), times in sorted(self._times.items()):
            names = {"service": service, "operation": operation}
            total = 0.0
            for bound, seen in zip((*BUCKETS_SECONDS, "+Inf"), times, strict=False):
                total += seen
                yield f"statewright_api_call_seconds_bucket{_labels({**names, 'le': str(bound)})} {total:g}"
            yield f"statewright_api_call_seconds_sum{_labels(names)} {times[-1]:.6f}"
            yield f"statewright_api_call_seconds_count{_labels(names)} {total:g}"


def render(counters: CallCounters, samples: Iterable[Sample]) -> bytes:
    """The counters and samples as one text."""
    lines = list(counters.lines())
    # The format requires all lines of one name together.
    by_name: dict[str, list[Sample]] = {}
    for sample in samples:
        by_name.setdefault(sample.name, []).append(sample)
    for sample in (one for together in by_name.values() for one in together):
        if sample is by_name[sample.name][0]:
            lines += [f"# HELP {sample.name} {sample.help}", f"# TYPE {sample.name} {sample.kind}"]
        lines.append(f"{sample.name}{_labels(sample.labels)} {sample.value:.15g}")
    return ("\n".join(lines) + "\n").encode()


def published(recorder: Recorder) -> Iterable[Sample]:
    """The metrics that services publish, with their dimensions as labels: sums since the start, and levels."""
    recorder.settle()
    ours = [series for series in recorder.all() if series.id.namespace.startswith("AWS/")]
    shown = sorted(ours, key=lambda series: (series.id.namespace, series.id.name))[:MOST_PUBLISHED]
    for series in shown:
        yield from _samples_of(series)
    yield Sample(
        "statewright_metrics_left_out", "gauge", "Metrics that are not shown or not recorded: there are too many.",
        len(ours) - len(shown) + recorder.refused,
    )  # fmt: skip


def _samples_of(series: Series) -> Iterable[Sample]:
    metric = series.id
    name = f"statewright_{_snake(metric.namespace.removeprefix('AWS/'))}_{_snake(metric.name)}"
    labels = {_snake(key): value for key, value in metric.dimensions}
    said = f"{metric.namespace} {metric.name}"
    if isinstance(series, Gauge):
        if series.level is not None and series.ended_at is None:
            yield Sample(name, "gauge", f"{said}.", series.level, labels)
    elif series.unit == "Count":
        if series.all_samples:
            yield Sample(f"{name}_total", "counter", f"{said}, since the start.", series.all_total, labels)
    elif series.all_samples:
        unit = _snake(series.unit)
        yield Sample(f"{name}_{unit}_total", "counter", f"{said}: all since the start.", series.all_total, labels)
        yield Sample(f"{name}_samples_total", "counter", f"{said}: how many.", series.all_samples, labels)


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).replace("/", "_").lower()


def _labels(labels: Mapping[str, str]) -> str:
    if not labels:
        return ""
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items()) + "}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
