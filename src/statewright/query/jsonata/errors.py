"""Errors of JSONata expressions, in JSONata's own words.

Owns the exceptions and the message table. `lexer`, `parser`, `functions` and `library` raise them; the caller of the
facade adds the service's text around them.
"""

from __future__ import annotations

import json
from typing import Final

TIMEOUT_MESSAGE: Final = "Expression evaluation timeout"
MEMORY_MESSAGE: Final = "Expression evaluation memory limit exceeded"
STACK_MESSAGE: Final = "Stack overflow error"
UNSUPPORTED_RESULT_MESSAGE: Final = "returned an unsupported result type."


class JsonataSyntaxError(ValueError):
    """Raised for a text that is not JSONata 2.0.6. `position` counts characters from the start of the text, from 0."""

    def __init__(self, code: str, position: int, *, token: object = None, value: object = None) -> None:
        self.message = SYNTAX_MESSAGES[code].replace("{value}", _quoted(value)).replace("{token}", _quoted(token))
        self.code = code
        self.position = position
        super().__init__(f"{code}: {self.message}")

    @classmethod
    def of(cls, code: str, message: str) -> JsonataSyntaxError:
        """An error about the whole text, in words given by the caller."""
        error = cls("S0500", 0)
        error.code, error.message = code, message
        error.args = (f"{code}: {message}" if code else message,)
        return error


def _quoted(value: object) -> str:
    """A token as JSON writes it; a whole number without its fraction."""
    whole = isinstance(value, float) and value.is_integer()
    return json.dumps(int(value) if whole else value, ensure_ascii=False)  # type: ignore[call-overload]


class JsonataError(Exception):
    """An expression that failed while it was evaluated. `code` is JSONata's (`T1006`), or empty where it has none."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}" if code else message)
        self.code = code
        self.message = message


class JsonataTimeout(JsonataError):
    """The evaluation took longer than its time limit."""

    def __init__(self) -> None:
        super().__init__("", TIMEOUT_MESSAGE)


class JsonataMemory(JsonataError):
    """The evaluation would produce more data than allowed."""

    def __init__(self) -> None:
        super().__init__("", MEMORY_MESSAGE)


class JsonataStackOverflow(JsonataError):
    """The evaluation recursed too deep."""

    def __init__(self) -> None:
        super().__init__("", STACK_MESSAGE)


class UnsupportedResult(JsonataError):
    """The result is a function or a regular expression, which JSON cannot hold."""

    def __init__(self) -> None:
        super().__init__("", UNSUPPORTED_RESULT_MESSAGE)


# Source: the error catalogue of JSONata 2.0.6. {token} and {value} are filled in as JSON.
SYNTAX_MESSAGES: Final = {
    "S0101": "String literal must be terminated by a matching quote",
    "S0102": "Number out of range: {token}",
    "S0103": "Unsupported escape sequence: \\{token}",
    "S0104": "The escape sequence \\u must be followed by 4 hex digits",
    "S0105": "Quoted property name must be terminated with a backquote (`)",
    "S0106": "Comment has no closing tag",
    "S0201": "Syntax error: {token}",
    "S0202": "Expected {value}, got {token}",
    "S0203": "Expected {value} before end of expression",
    "S0204": "Unknown operator: {token}",
    "S0207": "Unexpected end of expression",
    "S0208": "Parameter {value} of function definition must be a variable name (start with $)",
    "S0209": "A predicate cannot follow a grouping expression in a step",
    "S0210": "Each step can only have one grouping expression",
    "S0211": "The symbol {token} cannot be used as a unary operator",
    "S0212": "The left side of := must be a variable name (start with $)",
    "S0213": "The literal value {value} cannot be used as a step within a path expression",
    "S0214": "The right side of {token} must be a variable name (start with $)",
    "S0215": "A context variable binding must precede any predicates on a step",
    "S0216": "A context variable binding must precede the 'order-by' clause on a step",
    "S0217": "The object representing the 'parent' cannot be derived from this expression",
    "S0301": "Empty regular expressions are not allowed",
    "S0302": "No terminating / in regular expression",
    "S0401": "Type parameters can only be applied to functions and arrays",
    "S0402": "Choice groups containing parameterized types are not supported",
    "S0500": "The expression is nested too deeply",
}

# Messages of failures at run time that do not depend on values.
RUNTIME_MESSAGES: Final = {
    "D1004": "Regular expression matches zero length string",
    "T1006": "Attempted to invoke a non-function",
    "T1008": "Attempted to partially apply a non-function",
    "T2003": "The left side of the range operator (..) must evaluate to an integer",
    "T2004": "The right side of the range operator (..) must evaluate to an integer",
    "T2006": "The right side of the function application operator ~> must be a function",
    "T2008": "The expressions within an order-by clause must evaluate to numeric or string values",
    "D3001": "Attempting to invoke string function on Infinity or NaN",
    "D3010": "Second argument of replace function cannot be an empty string",
    "D3011": "Fourth argument of replace function must evaluate to a positive number",
    "D3012": "Attempted to replace a matched string with a non-string value",
    "D3020": "Third argument of split function must evaluate to a positive number",
    "D3040": "Third argument of match function must evaluate to a positive number",
    "D3050": "The second argument of reduce function must be a function with at least two arguments",
    "D3070": (
        "The single argument form of the sort function can only be applied to an array of strings or an array of"
        " numbers.  Use the second argument to specify a comparison function"
    ),
    "D3138": "The $single() function expected exactly 1 matching result.  Instead it matched more.",
    "D3139": "The $single() function expected exactly 1 matching result.  Instead it matched 0.",
}
