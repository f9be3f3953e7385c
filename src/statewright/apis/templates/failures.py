"""Errors of templates: before deployment, and while they are rendered."""

from __future__ import annotations


class TemplateSyntaxError(ValueError):
    """A template that is malformed, or uses what is not supported. `line` and `column` count from 1."""

    def __init__(self, message: str, line: int, column: int) -> None:
        super().__init__(f"line {line}, column {column}: {message}")
        self.message = message
        self.line = line
        self.column = column


class RenderingFailed(Exception):
    """A template that fails for this request, or does more than it may: a 500 of the gateway."""


class BodyIsNotJson(RenderingFailed):
    """A template that reads JSON out of a body that is none."""


def syntax_error(text: str, at: int, message: str) -> TemplateSyntaxError:
    """The error at an offset of a template."""
    at = min(at, len(text))
    line = text.count("\n", 0, at) + 1
    return TemplateSyntaxError(message, line, at - text.rfind("\n", 0, at))
