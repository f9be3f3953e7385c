"""From the tree of a template to closures over a `Rendering`.

Owns the meaning of statements and references, and the static costs that loops and macros count for each turn. Names of
methods, of the gateway's variables and constant patterns and paths are checked here, before deployment.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Never

from statewright.apis.templates import gateway
from statewright.apis.templates.blocks import Break, CompiledMacro, Cost, Defined, Evaluate, Execute, Stop, enter
from statewright.apis.templates.failures import RenderingFailed, syntax_error
from statewright.apis.templates.methods import (
    CHANGING,
    KNOWN,
    NO_SUCH,
    Loop,
    index_of,
    methods_of,
    position,
    property_of,
)
from statewright.apis.templates.rendering import MOST_ITERATIONS, Rendering
from statewright.apis.templates.texts import PATTERNED, check_pattern, check_replacement
from statewright.apis.templates.tree import (
    Binary,
    Block,
    CallMacro,
    Constant,
    Define,
    Expression,
    Foreach,
    If,
    Index,
    Interpolated,
    ListOf,
    Macro,
    MapOf,
    Method,
    Not,
    Print,
    Property,
    Range,
    Reference,
    Set,
    Statement,
    Step,
    Text,
)
from statewright.apis.templates.values import Items, arithmetic, equal, is_true, less, text_of
from statewright.payload import Json
from statewright.query.jsonpath import PathSyntaxError
from statewright.query.linear_regex import RegexSyntaxError

LONGEST_RANGE: Final = 10_000
"""Numbers of a range, ten times as many as a loop visits. Ours."""
SHORT: Final = 64
"""Characters of a text that the static cost of a reference covers."""
_GATEWAY: Final = frozenset({"input", "util", "context", "stageVariables"})
_OVERRIDES: Final = frozenset({"requestOverride", "responseOverride"})
_OLD_COUNTERS: Final = {"velocityCount": "count", "velocityHasNext": "hasNext"}


class Compiler:
    """Compiles one template. `roots` are the variables that it reads, `changes` is true if it changes values."""

    def __init__(self, text: str, macros: Mapping[str, Macro], defined: frozenset[str]) -> None:
        self._text = text
        self._macros = macros
        self._defined = defined
        self._compiled: dict[str, CompiledMacro] = {}
        self._cost = Cost()
        self._loops = 0
        self.roots: set[str] = set()
        self.changes = False

    def template(self, body: Block) -> Execute:
        """The whole template with its macros."""
        for name, macro in self._macros.items():
            parameters = tuple(
                (parameter, None if default is None else self.expression(default))
                for parameter, default in macro.parameters
            )
            execute, cost = self._counted(macro.body)
            self._compiled[name] = CompiledMacro(parameters, execute, cost)
        return self.block(body)

    def _fail(self, at: int, message: str) -> Never:
        raise syntax_error(self._text, at, message)

    def _counted(self, body: Block) -> tuple[Execute, Cost]:
        before, self._cost = self._cost, Cost()
        execute = self.block(body)
        cost, self._cost = self._cost, before
        before.nodes += cost.nodes
        before.characters += cost.characters
        return execute, cost

    # -------------------------------------------------------------- statements

    def block(self, body: Block) -> Execute:
        """The statements of a block, one after the other."""
        parts = tuple(self._statement(one) for one in body)
        if len(parts) == 1:
            return parts[0]

        def execute(run: Rendering, out: list[str]) -> None:
            for part in parts:
                part(run, out)

        return execute

    def _statement(self, statement: Statement) -> Execute:
        self._cost.nodes += 1
        if isinstance(statement, Text):
            return self._written(statement.text)
        if isinstance(statement, Print):
            return self._print(statement.reference)
        if isinstance(statement, Set):
            return self._set(statement)
        if isinstance(statement, If):
            return self._if(statement)
        if isinstance(statement, Foreach):
            return self._foreach(statement)
        if isinstance(statement, CallMacro):
            return self._call(statement)
        if isinstance(statement, Define):
            return self._define(statement)
        leave = Break if statement.kind == "break" and self._loops else Stop

        def execute(_run: Rendering, _out: list[str]) -> None:
            raise leave

        return execute

    def _written(self, text: str) -> Execute:
        self._cost.characters += len(text)
        return lambda _run, out: out.append(text)

    def _print(self, reference: Reference) -> Execute:
        self._cost.characters += SHORT
        evaluate = self.expression(reference)

        def execute(run: Rendering, out: list[str]) -> None:
            value = evaluate(run)
            text = value if value.__class__ is str else text_of(value, run)
            if len(text) > SHORT:
                run.spend_text(len(text))
            out.append(text)

        return execute

    def _set(self, statement: Set) -> Execute:
        target, value = statement.target, self.expression(statement.value)
        root, steps = target.root, target.steps
        if root == "context":
            first = steps[0] if steps else None
            if not isinstance(first, Property) or first.name not in _OVERRIDES or len(steps) < 2:
                self._fail(target.at, "of $context only requestOverride and responseOverride can be set")
        elif root in _GATEWAY:
            self._fail(target.at, f"${root} cannot be set")
        if not steps:

            def assign(run: Rendering, _out: list[str]) -> None:
                run.variables[root] = value(run)

            return assign
        self.changes = True
        last = steps[-1]
        if isinstance(last, Method):
            self._fail(target.at, "the result of a method cannot be set")
        parent = self.expression(Reference(root, steps[:-1], target.at))
        name = last.name if isinstance(last, Property) else None
        index = self.expression(last.index) if isinstance(last, Index) else None

        def execute(run: Rendering, _out: list[str]) -> None:
            result = value(run)
            held = parent(run)
            key = name if index is None else index(run)
            if isinstance(held, dict):
                held[text_of(key, run)] = result
            elif isinstance(held, list) and key.__class__ is int:
                held[position(held, key)] = result

        return execute

    def _if(self, statement: If) -> Execute:
        branches = tuple((self.expression(condition), self.block(body)) for condition, body in statement.branches)
        otherwise = self.block(statement.otherwise)

        def execute(run: Rendering, out: list[str]) -> None:
            for condition, body in branches:
                if is_true(condition(run)):
                    body(run, out)
                    return
            otherwise(run, out)

        return execute

    def _foreach(self, statement: Foreach) -> Execute:
        if statement.name in _GATEWAY:
            self._fail(statement.at, f"${statement.name} cannot be set")
        items, name = self.expression(statement.items), statement.name
        self._loops += 1
        body, cost = self._counted(statement.body)
        self._loops -= 1
        nodes, characters = 2 + cost.nodes, cost.characters

        def execute(run: Rendering, out: list[str]) -> None:
            values = _iterated(items(run), run)
            variables = run.variables
            saved = {key: variables[key] for key in (name, "foreach") if key in variables}
            loop = Loop(len(values), saved.get("foreach"))
            variables["foreach"] = loop
            try:
                for value in values:
                    run.spend(nodes)
                    run.spend_text(characters)
                    loop.index = loop.count
                    loop.count += 1
                    variables[name] = value
                    body(run, out)
            except Break:
                pass
            for key in (name, "foreach"):
                variables.pop(key, None)
            variables.update(saved)

        return execute

    def _call(self, statement: CallMacro) -> Execute:
        arguments = tuple(self.expression(one) for one in statement.arguments)
        compiled, name = self._compiled, statement.name
        if name not in self._macros:
            self._fail(statement.at, f"#{name} is no macro of this template")
        most = len(self._macros[name].parameters)
        if len(arguments) > most:
            self._fail(statement.at, f"#{name} takes {most} arguments")

        def execute(run: Rendering, out: list[str]) -> None:
            macro = compiled[name]
            enter(macro.cost, run)
            given = [one(run) for one in arguments]
            variables = run.variables
            saved = {key: variables[key] for key, _ in macro.parameters if key in variables}
            for at, (key, default) in enumerate(macro.parameters):
                variables[key] = given[at] if at < len(given) else None if default is None else default(run)
            try:
                macro.body(run, out)
            finally:
                run.depth -= 1
            for key, _ in macro.parameters:
                variables.pop(key, None)
            variables.update(saved)

        return execute

    def _define(self, statement: Define) -> Execute:
        if statement.name in _GATEWAY:
            self._fail(statement.at, f"${statement.name} cannot be set")
        loops, self._loops = self._loops, 0
        block, name = Defined(*self._counted(statement.body)), statement.name
        self._loops = loops

        def execute(run: Rendering, _out: list[str]) -> None:
            run.variables[name] = block

        return execute

    # -------------------------------------------------------------- expressions

    def expression(self, expression: Expression) -> Evaluate:
        """The closure of an expression."""
        self._cost.nodes += 1
        if isinstance(expression, Reference):
            return self._reference(expression)
        if isinstance(expression, Constant):
            value = expression.value
            return lambda _run: value
        if isinstance(expression, Interpolated):
            return self._interpolated(expression)
        if isinstance(expression, Binary):
            return self._binary(expression)
        if isinstance(expression, Not):
            inner = self.expression(expression.value)
            return lambda run: not is_true(inner(run))
        if isinstance(expression, ListOf):
            parts = tuple(self.expression(one) for one in expression.items)
            return lambda run: Items(part(run) for part in parts)
        if isinstance(expression, MapOf):
            return self._map(expression)
        return self._range(expression)

    def _interpolated(self, expression: Interpolated) -> Evaluate:
        body = self.block(expression.body)

        def evaluate(run: Rendering) -> Json:
            out: list[str] = []
            body(run, out)
            text = "".join(out)
            if len(text) > SHORT:
                run.spend_text(len(text))
            return text

        return evaluate

    def _map(self, expression: MapOf) -> Evaluate:
        members = tuple((self.expression(key), self.expression(value)) for key, value in expression.members)
        return lambda run: {text_of(key(run), run): value(run) for key, value in members}

    def _range(self, expression: Range) -> Evaluate:
        first, last = self.expression(expression.first), self.expression(expression.last)

        def evaluate(run: Rendering) -> Json:
            begin, end = first(run), last(run)
            if begin.__class__ is not int or end.__class__ is not int:
                return None
            if abs(end - begin) >= LONGEST_RANGE:
                raise RenderingFailed(f"a range has more than {LONGEST_RANGE} numbers")
            run.spend(1 + abs(end - begin))
            return Items(range(begin, end + 1) if begin <= end else range(begin, end - 1, -1))

        return evaluate

    def _binary(self, expression: Binary) -> Evaluate:
        left, right = self.expression(expression.left), self.expression(expression.right)
        operator = expression.operator
        if operator == "&&":
            return lambda run: is_true(left(run)) and is_true(right(run))
        if operator == "||":
            return lambda run: is_true(left(run)) or is_true(right(run))
        if operator == "==":
            return lambda run: equal(left(run), right(run), run)
        if operator == "!=":
            return lambda run: not equal(left(run), right(run), run)
        if operator == "<":
            return lambda run: less(left(run), right(run)) is True
        if operator == ">":
            return lambda run: less(right(run), left(run)) is True
        if operator == "<=":
            return lambda run: less(right(run), left(run)) is False
        if operator == ">=":
            return lambda run: less(left(run), right(run)) is False
        return lambda run: arithmetic(operator, left(run), right(run), run)

    # -------------------------------------------------------------- references

    def _reference(self, reference: Reference) -> Evaluate:
        root, steps = reference.root, reference.steps
        self.roots.add(root)
        if root == "input":
            return self._input(reference)
        if root == "util":
            return self._util(reference)
        if root == "context":
            return self._steps(lambda run: run.context, steps)
        if root == "stageVariables":
            return self._steps(lambda run: dict(run.inputs.stage_variables), steps)
        if root in _OLD_COUNTERS:
            root, steps = "foreach", (Property(_OLD_COUNTERS[root]), *steps)
        return self._steps(_defined(root) if root in self._defined else lambda run: run.variables.get(root), steps)

    def _steps(self, evaluate: Evaluate, steps: tuple[Step, ...]) -> Evaluate:
        for step in steps:
            self._cost.nodes += 1
            if isinstance(step, Property):
                evaluate = _property(evaluate, step.name)
            elif isinstance(step, Index):
                evaluate = _index(evaluate, self.expression(step.index))
            else:
                evaluate = self._method(evaluate, step)
        return evaluate

    def _method(self, evaluate: Evaluate, step: Method) -> Evaluate:
        name = step.name
        if name not in KNOWN:
            self._fail(step.at, f"the method {name} is not supported in mapping templates")
        if name in CHANGING:
            self.changes = True
        if name in PATTERNED:
            self._check_pattern(step)
        arguments = tuple(self.expression(one) for one in step.arguments)
        by_class = methods_of(name, len(arguments))
        if not by_class:
            self._fail(step.at, f"the method {name} does not take {len(arguments)} arguments")

        def call(run: Rendering) -> Json:
            receiver = evaluate(run)
            method = by_class.get(receiver.__class__)
            if method is None:
                return None
            result = method(run, receiver, *[argument(run) for argument in arguments])
            return None if result is NO_SUCH else result

        return call

    def _check_pattern(self, step: Method) -> None:
        texts = [
            one.value if isinstance(one, Constant) and isinstance(one.value, str) else None for one in step.arguments
        ]
        try:
            if texts and texts[0] is not None:
                check_pattern(texts[0])
            if len(texts) > 1 and texts[1] is not None:
                check_replacement(texts[1])
        except (RegexSyntaxError, RenderingFailed) as error:
            self._fail(step.at, f"{step.name}: {error}")

    def _input(self, reference: Reference) -> Evaluate:
        first, *rest = reference.steps or (None,)
        if isinstance(first, Property) and first.name == "body":
            return self._steps(lambda run: run.inputs.body or "{}", tuple(rest))
        if not isinstance(first, Method) or first.name not in ("json", "path", "params"):
            self._fail(reference.at, "$input has body, json(path), path(path), params() and params(name)")
        arguments = first.arguments
        if first.name == "params":
            if not arguments:
                return self._steps(gateway.parameters, tuple(rest))
            if len(arguments) == 1:
                name = self.expression(arguments[0])
                return self._steps(lambda run: gateway.parameter(text_of(name(run), run), run), tuple(rest))
        read = gateway.read_json if first.name == "json" else gateway.read_path
        if len(arguments) != 1 or first.name == "params":
            self._fail(first.at, f"$input.{first.name} takes one argument")
        argument = arguments[0]
        if not isinstance(argument, Constant):
            return self._steps(gateway.dynamic(read, self.expression(argument)), tuple(rest))
        try:
            path = gateway.path_of(str(argument.value))
        except PathSyntaxError as error:
            self._fail(first.at, str(error))
        return self._steps(lambda run: read(path, run), tuple(rest))

    def _util(self, reference: Reference) -> Evaluate:
        first, *rest = reference.steps or (None,)
        utility = gateway.UTILITIES.get(first.name) if isinstance(first, Method) else None
        if utility is None or not isinstance(first, Method):
            self._fail(reference.at, f"$util has the functions {', '.join(gateway.UTILITIES)}")
        if len(first.arguments) != 1:
            self._fail(first.at, f"$util.{first.name} takes one argument")
        argument = self.expression(first.arguments[0])
        known = utility

        def evaluate(run: Rendering) -> Json:
            value = argument(run)
            if value is None:
                return None
            return known(value if value.__class__ is str else text_of(value, run), run)

        return self._steps(evaluate, tuple(rest))


def _defined(name: str) -> Evaluate:
    """A variable of `#define`; it may have another value, too."""

    def read(run: Rendering) -> Json:
        value = run.variables.get(name)
        return value.text(run) if value.__class__ is Defined else value

    return read


def _property(evaluate: Evaluate, name: str) -> Evaluate:
    def read(run: Rendering) -> Json:
        value = evaluate(run)
        return value.get(name) if value.__class__ is dict else property_of(value, name)

    return read


def _index(evaluate: Evaluate, index: Evaluate) -> Evaluate:
    return lambda run: index_of(evaluate(run), index(run), run)


def _iterated(value: Json, run: Rendering) -> list[Json]:
    """The values of a loop: elements, or the values of a map; none of other values."""
    values = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
    run.spend(1 + len(values) // 16)
    return values[:MOST_ITERATIONS]
