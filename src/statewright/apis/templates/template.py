"""A mapping template: compiled once, rendered for each request.

Rendering is pure: neither the inputs nor anything else is changed. On an event loop, call `render_here` through
`engine.heavy`: it lets little work happen there, and has the rest done by another process.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from statewright.apis.templates.blocks import Execute, Stop
from statewright.apis.templates.compiling import Compiler
from statewright.apis.templates.failures import RenderingFailed, TemplateSyntaxError
from statewright.apis.templates.parser import parse
from statewright.apis.templates.rendering import LONGEST_TEXT, Inputs, Rendered, Rendering
from statewright.errors import ExecutionFailure

CACHED: Final = 512
"""Compiled templates that a process keeps."""
LONG_TEMPLATE: Final = 8_192
"""Characters of a template that takes too long to compile on an event loop: some 6 microseconds each."""


class Template:
    """A compiled template. Its flags say which inputs it reads."""

    __slots__ = ("_changes", "_execute", "text", "uses_context", "uses_parameters")

    def __init__(self, text: str, execute: Execute, roots: frozenset[str], *, changes: bool) -> None:
        self.text = text
        self._execute = execute
        self._changes = changes
        self.uses_context = "context" in roots
        self.uses_parameters = "input" in roots

    def render(self, inputs: Inputs) -> Rendered:
        """The output for a request. Raises: RenderingFailed, BodyIsNotJson; LeavesTheLoop with an allowance."""
        run = Rendering(inputs, shares_document=not self._changes, uses_context=self.uses_context)
        out: list[str] = []
        try:
            self._execute(run, out)
        except Stop:
            pass
        except RecursionError:
            raise RenderingFailed("the template nests too deep") from None
        except ExecutionFailure as failure:
            raise RenderingFailed(failure.cause) from None
        if sum(map(len, out)) > LONGEST_TEXT:
            raise RenderingFailed(f"the template makes a text of more than {LONGEST_TEXT} characters")
        context = run.context
        return Rendered("".join(out), context.get("requestOverride", {}), context.get("responseOverride", {}))


@lru_cache(maxsize=CACHED)
def compile_template(text: str) -> Template:
    """Compile a template. Raises: TemplateSyntaxError, with line and column."""
    parsed = parse(text)
    compiler = Compiler(text, parsed.macros, parsed.defined)
    execute = compiler.template(parsed.body)
    return Template(text, execute, frozenset(compiler.roots), changes=compiler.changes)


def render_here(text: str, inputs: Inputs) -> Rendered | RenderingFailed:
    """An errand: the output of a template, or its failure as a value. Raises: LeavesTheLoop with an allowance."""
    try:
        return compile_template(text).render(inputs)
    except RenderingFailed as failure:
        return failure
    except TemplateSyntaxError as error:
        return RenderingFailed(str(error))
