"""Search expressions: which metrics a text such as `{AWS/SQS,QueueName} MetricName="NumberOfMessagesSent"` means.

Owns the part of the grammar that dashboards mostly use: a schema in braces, terms, quoted terms, `Name=value` with one
value or several, all of which must hold. AND may stand between them; OR and NOT are refused.

Source: CloudWatch user guide, "CloudWatch search expression syntax".
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from statewright.metrics.expressions import ExpressionError
from statewright.metrics.reading import matching
from statewright.metrics.recorder import Recorder
from statewright.metrics.series import Series

MOST_FOUND: Final = 500
"""Source: user guide: a search finds up to 500 time series."""

_SCHEMA: Final = re.compile(r"\s*\{([^{}]*)\}")
_TERM: Final = re.compile(
    r"\s*(?:(?P<name>[:\w./-]+|\"[^\"]+\")\s*=\s*)?(?:\((?P<several>[^()]*)\)|\"(?P<exact>[^\"]*)\"|(?P<word>[^\s\"()=]+))"
)
_WORD: Final = re.compile(r"[a-z]+|[A-Z]+(?![a-z])|[A-Z][a-z]*|[0-9]+")
_PROPERTIES: Final = {"MetricName", "Namespace", ":aws.AccountId"}


@dataclass(frozen=True, slots=True)
class _Term:
    """A term that a metric must contain: `exact` as a whole, else as words in it. Without a name it may be anywhere."""

    name: str | None
    values: tuple[str, ...]
    exact: bool


@dataclass(frozen=True, slots=True)
class Search:
    """A search: a namespace and exactly these dimensions, where there is a schema, and terms."""

    namespace: str | None
    dimensions: frozenset[str]
    terms: tuple[_Term, ...]

    def find(self, recorder: Recorder) -> list[Series]:
        """The metrics that match, by name and dimensions. Raises: ExpressionError for too many."""
        found = [
            series
            for series in matching(recorder, self.namespace, None)
            if (self.namespace is None or {name for name, _ in series.id.dimensions} == self.dimensions)
            and all(_holds(term, series) for term in self.terms)
        ]
        if len(found) > MOST_FOUND:
            raise ExpressionError(f"the search finds more than {MOST_FOUND} metrics")
        return sorted(found, key=lambda series: (series.id.name, series.id.dimensions))


def read_search(text: str) -> Search:
    """Read a search. Raises: ExpressionError."""
    namespace, dimensions = None, frozenset[str]()
    schema = _SCHEMA.match(text)
    if schema is not None:
        parts = [part.strip().strip('"') for part in schema[1].split(",")]
        namespace, dimensions = parts[0], frozenset(part for part in parts[1:] if part)
        text = text[schema.end() :]
    terms = []
    place = 0
    while text[place:].strip():
        found = _TERM.match(text, place)
        if found is None:
            raise ExpressionError(f"the search cannot be read from here: {text[place : place + 30].strip()}")
        place = found.end()
        if found["name"] is None and found["word"] == "AND":
            continue
        if found["word"] in ("OR", "NOT") or (found["several"] and found["name"] is None):
            raise ExpressionError("searches with OR, NOT or brackets are not here yet")
        terms.append(_term(found))
    return Search(namespace, dimensions, tuple(terms))


def _term(found: re.Match[str]) -> _Term:
    name = found["name"].strip('"') if found["name"] else None
    if found["several"] is not None:
        values = [part.strip() for part in re.split(r"\bOR\b", found["several"])]
        return _Term(name, tuple(value.strip('"') for value in values), all(value[:1] == '"' for value in values))
    if found["exact"] is not None:
        return _Term(name, (found["exact"],), True)
    return _Term(name, (found["word"],), False)


def _holds(term: _Term, series: Series) -> bool:
    metric = series.id
    texts = {"Namespace": metric.namespace, "MetricName": metric.name, **dict(metric.dimensions)}
    if term.name is not None:
        text = texts.get(term.name)
        return text is not None and any(_meets(value, text, term.exact) for value in term.values)
    every = (*texts.values(), *(name for name, _ in metric.dimensions))
    return any(_meets(value, text, term.exact) for value in term.values for text in every)


def _meets(value: str, text: str, exact: bool) -> bool:
    """True if a text equals the term, or has all of its words. Source: user guide, "tokens"."""
    if exact:
        return value == text
    words = {word.lower() for word in _WORD.findall(text)}
    return all(word.lower() in words for word in _WORD.findall(value)) or value.lower() in text.lower()
