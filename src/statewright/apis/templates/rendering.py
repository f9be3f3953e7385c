"""One rendering of a template: the request that it reads, its variables, and the work that it may still do.

**Bounds.** A template's author and the senders of requests may be hostile to the server. Straight text is bounded by
the template's length; what multiplies work is counted before it is done: iterations and macros by the size of their
bodies, texts by their length, values that are written or copied by their number. A `#foreach` ends after 1,000 items
(the service's quota), an output after 10 MiB.

On an event loop an allowance (`query.fence`) lets little work happen; what needs more raises `LeavesTheLoop`, and is
rendered again in another process. Without one, `MOST_WORK` ends it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from statewright.apis.templates.failures import BodyIsNotJson, RenderingFailed
from statewright.payload import Json, JsonObject, JsonTextError, parse_json
from statewright.query.fence import FENCE, LeavesTheLoop

MOST_WORK: Final = 1_000_000
"""Work of one rendering anywhere, at less than a microsecond a unit. Ours."""
LONGEST_TEXT: Final = 10 * 1024 * 1024
"""Characters of an output, or of any text in between. Source: quota "Payload size", 10 MB."""
MOST_CHARACTERS: Final = 48 * 1024 * 1024
"""Characters of all texts that one rendering makes. Ours: they may all be held at once."""
MOST_ITERATIONS: Final = 1_000
"""Iterations of one `#foreach`. Source: quota "Number of iterations in a #foreach ... #end loop", 1,000."""
DEEPEST: Final = 100
"""Nesting of a value that is written or copied. Ours."""
_CHARACTERS_A_UNIT: Final = 128


@dataclass(frozen=True, slots=True)
class Inputs:
    """The inputs of a template. `parameters` has `path`, `querystring` and `header`; `context` is `$context`.

    A template changes none of it: `Rendered` has the overrides.
    """

    body: str = ""
    parameters: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    context: Mapping[str, Json] = field(default_factory=dict)
    stage_variables: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Rendered:
    """The output of a template, and `$context.requestOverride` and `responseOverride` as it left them."""

    text: str
    request_override: JsonObject
    response_override: JsonObject


class Rendering:
    """The state of one rendering. `left` is the work that may still be done."""

    __slots__ = (
        "_document", "_left_characters", "allowance", "context", "depth", "inputs", "left", "shares_document",
        "variables",
    )  # fmt: skip

    def __init__(self, inputs: Inputs, *, shares_document: bool, uses_context: bool) -> None:
        self.inputs = inputs
        self.variables: JsonObject = {}
        self.context: JsonObject = {}
        self.allowance = FENCE.allowance
        self.left = MOST_WORK if self.allowance is None else self.allowance.visits
        self.depth = 0
        self.shares_document = shares_document
        """True if the template changes no value, so that no part of the body has to be copied."""
        self._left_characters = MOST_CHARACTERS
        self._document: Json = None
        if uses_context:
            given = dict(inputs.context) if shares_document else self.copied(inputs.context)
            self.context = _with_overrides(given)

    def spend(self, work: int) -> None:
        """Count work before it is done. Raises: RenderingFailed, LeavesTheLoop."""
        self.left -= work
        if self.left < 0:
            if self.allowance is not None:
                raise LeavesTheLoop
            raise RenderingFailed("the template does more work than one request may cost")

    def spend_text(self, characters: int, passes: int = 1) -> None:
        """Count a text before it is made, in `passes` over its characters. Raises: as `spend`."""
        self.spend(1 + passes * characters // _CHARACTERS_A_UNIT)
        if characters > LONGEST_TEXT:
            raise RenderingFailed(f"the template makes a text of more than {LONGEST_TEXT} characters")
        self._left_characters -= characters
        if self._left_characters < 0:
            raise RenderingFailed(f"the texts that the template makes have more than {MOST_CHARACTERS} characters")

    def copied(self, value: Json, depth: int = 0) -> Json:
        """A copy of a value that the template may change. Raises: RenderingFailed, LeavesTheLoop."""
        if depth > DEEPEST:
            raise RenderingFailed(f"a value is nested more than {DEEPEST} levels deep")
        if isinstance(value, Mapping):
            self.spend(1 + len(value))
            return {name: self.copied(item, depth + 1) for name, item in value.items()}
        if isinstance(value, list):
            self.spend(1 + len(value))
            return [self.copied(item, depth + 1) for item in value]
        return value

    def document(self) -> Json:
        """The body as JSON; an empty one is `{}`. Raises: BodyIsNotJson."""
        if self._document is None:
            body = self.inputs.body
            if body:
                self.spend_text(len(body))
                try:
                    self._document = parse_json(body)
                except JsonTextError as error:
                    raise BodyIsNotJson(str(error)) from None
            else:
                self._document = {}
        return self._document


def _with_overrides(context: JsonObject) -> JsonObject:
    """`$context` with overrides of its own, each with the maps that a template sets members of."""
    request = context.get("requestOverride") or {}
    kinds = {kind: dict(request.get(kind) or {}) for kind in ("path", "header", "querystring")}
    response = context.get("responseOverride") or {}
    context["requestOverride"] = {**request, **kinds}
    context["responseOverride"] = {**response, "header": dict(response.get("header") or {})}
    return context
