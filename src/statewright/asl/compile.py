"""Compiles a definition tree to a `Program`.

The tree must have passed `validate`: faults are not reported again here. Nothing reads the tree later.
"""

from __future__ import annotations

import re
from typing import Final

from statewright.asl import field_leaves as leaf
from statewright.asl.choice_rules import compile_rule
from statewright.asl.program import (
    BatcherDef,
    Body,
    Catcher,
    ChoiceDef,
    ChoiceRule,
    DistributedDef,
    Evaluate,
    FailDef,
    MapDef,
    ParallelDef,
    PassDef,
    Place,
    Program,
    ReaderDef,
    Retrier,
    ScopeDef,
    StateDef,
    TaskDef,
    WaitDef,
    WriterDef,
)
from statewright.asl.resources import OWN_TASKS, parse_resource
from statewright.asl.templates import (
    compile_jsonata,
    compile_jsonata_typed,
    compile_template,
    expression_text,
    is_expression,
)
from statewright.payload import Json, JsonObject
from statewright.query.jsonata import JsonataSyntaxError, compile_expression
from statewright.query.refpath import compile_reference_path

Node = JsonObject


def compile_definition(definition: Node) -> Program:
    """Compile a valid definition.

    Nested scopes are compiled from a work list, not by recursion, so depth is no problem.
    """
    compiler = _Compiler(definition.get("QueryLanguage", "JSONPath"))
    compiler.add_scope(definition, None, None, distributed=False)
    while compiler.pending:
        compiler.compile_scope(*compiler.pending.pop())
    timeout = definition.get("TimeoutSeconds")
    return Program(
        tuple(compiler.scopes[index] for index in range(len(compiler.scopes))),
        int(timeout) if timeout is not None else None,
        definition.get("Comment"),
        {name: sorted(reads) for name, reads in compiler.reads.items() if reads},
        _may_be_heavy(definition),
        tuple(compiler.activities),
        compiler.has_own_tasks,
    )


_MANY_VALUES: Final = re.compile(r"\.\.|\*|\[[^\]]*[:?,]|States\.")
"""Signs of a path that visits more than one value (scans, wildcards, slices, filters, unions), or of a function."""


def _may_be_heavy(definition: Node) -> bool:
    """True if some expression needs more than plain closures, or some path more than names and indexes.

    Expressions compiled just before cost only a look-up. Any text with the signs of a path counts as one.
    """
    pending: list[Json] = [definition]
    while pending:
        node = pending.pop()
        if isinstance(node, dict):
            pending += node.values()
        elif isinstance(node, list):
            pending += node
        elif isinstance(node, str) and is_expression(node):
            try:
                expression = compile_expression(expression_text(node))
            except JsonataSyntaxError:  # Data of a JSONPath state that only looks like one.
                continue
            if expression.amplifies or not expression.tier0:
                return True
        elif isinstance(node, str) and "$" in node and _MANY_VALUES.search(node) is not None:
            return True
    return False


class _Compiler:
    def __init__(self, language: str) -> None:
        self.language = language
        self.scopes: dict[int, ScopeDef] = {}
        self.pending: list[tuple[ScopeDef, Node]] = []
        self.reads: dict[str, set[str]] = {}
        self.activities: dict[str, None] = {}
        self.has_own_tasks = False

    def add_scope(
        self, node: Node, parent: int | None, owner: str | None, *, distributed: bool, max_turns: int | None = None
    ) -> int:
        index = len(self.scopes)
        scope = ScopeDef(index, node["StartAt"], {}, parent, owner, distributed, max_turns)
        self.scopes[index] = scope
        self.pending.append((scope, node["States"]))
        return index

    def compile_scope(self, scope: ScopeDef, states: Node) -> None:
        for name, node in states.items():
            scope.states[name] = self.compile_state(scope, name, node)

    def compile_state(self, scope: ScopeDef, name: str, node: Node) -> StateDef:
        kind = node["Type"]
        jsonata = node.get("QueryLanguage", self.language) == "JSONata"
        reads = self.reads.setdefault(name, set())
        flow = _jsonata_flow(node, reads) if jsonata else _jsonpath_flow(kind, node, reads)
        plain = not any(flow.values()) and not isinstance(node.get("Result"), (dict, list))
        return StateDef(
            name=name,
            type=kind,
            jsonata=jsonata,
            next=node.get("Next"),
            body=self.compile_body(scope, kind, name, node, jsonata=jsonata, reads=reads),
            entered=f"{kind}StateEntered",
            exited=f"{kind}StateExited",
            retry=tuple(_retrier(entry) for entry in node.get("Retry", ())),
            catch=tuple(
                _catcher(entry, jsonata, f"Catch[{i}]", reads) for i, entry in enumerate(node.get("Catch", ()))
            ),
            plain=plain and "Result" not in node,
            **flow,
        )

    def compile_body(
        self, scope: ScopeDef, kind: str, name: str, node: Node, *, jsonata: bool, reads: set[str]
    ) -> Body:
        match kind:
            case "Pass":
                return PassDef("Result" in node, node.get("Result"))
            case "Wait":
                return WaitDef(leaf.wait_due(node, jsonata=jsonata, reads=reads))
            case "Choice":
                return _choice(node, jsonata=jsonata, reads=reads)
            case "Fail":
                return FailDef(
                    leaf.fail_text(node, "Error", jsonata=jsonata, reads=reads),
                    leaf.fail_text(node, "Cause", jsonata=jsonata, reads=reads),
                )
            case "Task":
                task = _task(node, jsonata=jsonata, reads=reads)
                if task.resource.kind == "activity":
                    self.activities[task.resource.arn] = None
                elif task.resource.resource_type == OWN_TASKS:
                    self.has_own_tasks = True
                return task
            case "Parallel":
                return self.compile_parallel(scope, name, node, jsonata=jsonata, reads=reads)
            case "Map":
                return self.compile_map(scope, name, node, jsonata=jsonata, reads=reads)
            case _:
                return None

    def compile_parallel(
        self, scope: ScopeDef, name: str, node: Node, *, jsonata: bool, reads: set[str]
    ) -> ParallelDef:
        most = node.get("MaxTurns")
        branches = [
            self.add_scope(branch, scope.index, name, distributed=False, max_turns=most) for branch in node["Branches"]
        ]
        timeout = leaf.positive_seconds(node, "TimeoutSeconds", jsonata=jsonata, reads=reads)
        return ParallelDef(tuple(branches), timeout)

    def compile_map(self, scope: ScopeDef, name: str, node: Node, *, jsonata: bool, reads: set[str]) -> MapDef:
        processor = node["ItemProcessor"] if "ItemProcessor" in node else node["Iterator"]
        config = processor.get("ProcessorConfig", {})
        distributed = config.get("Mode") == "DISTRIBUTED"
        selector = node.get("ItemSelector", node.get("Parameters"))
        item_selector: Evaluate | None = None
        if selector is not None:
            field = "ItemSelector" if "ItemSelector" in node else "Parameters"
            item_selector = compile_jsonata(selector, field, reads) if jsonata else compile_template(selector, reads)
        return MapDef(
            scope=self.add_scope(processor, scope.index, name, distributed=distributed),
            items=leaf.map_items(node, jsonata=jsonata, distributed=distributed, reads=reads),
            item_selector=item_selector,
            max_concurrency=leaf.max_concurrency(node, jsonata=jsonata, reads=reads),
            tolerated_count=leaf.tolerated_count(node, jsonata=jsonata, reads=reads),
            tolerated_percentage=leaf.tolerated_percentage(node, jsonata=jsonata, reads=reads),
            distributed=_distributed(node, config, jsonata=jsonata, reads=reads) if distributed else None,
        )


# ------------------------------------------------------------------ data flow


def _jsonata_flow(node: Node, reads: set[str]) -> JsonObject:
    return {
        "arguments": compile_jsonata(node["Arguments"], "Arguments", reads) if "Arguments" in node else None,
        "output": compile_jsonata(node["Output"], "Output", reads) if "Output" in node else None,
        "assign": leaf.assignments(node["Assign"], "Assign", reads) if "Assign" in node else None,
    }


def _jsonpath_flow(kind: str, node: Node, reads: set[str]) -> JsonObject:
    takes_parameters = kind != "Map" and "Parameters" in node
    return {
        "input_path": leaf.path_or_empty(node, "InputPath", reads),
        "arguments": compile_template(node["Parameters"], reads) if takes_parameters else None,
        "selector": compile_template(node["ResultSelector"], reads) if "ResultSelector" in node else None,
        "place": _place(node),
        "output_path": leaf.path_or_empty(node, "OutputPath", reads),
        "assign": compile_template(node["Assign"], reads) if "Assign" in node else None,
    }


def _place(node: Node) -> Place | None:
    text = node.get("ResultPath", "$")
    if text is None:
        return lambda document, _result: document
    if text == "$":
        return None
    return compile_reference_path(text).write


# ------------------------------------------------------------------ the parts of states


def _retrier(entry: Node) -> Retrier:
    return Retrier(
        error_equals=frozenset(entry["ErrorEquals"]),
        interval_seconds=entry.get("IntervalSeconds", 1),
        max_attempts=entry.get("MaxAttempts", 3),
        backoff_rate=float(entry.get("BackoffRate", 2.0)),
        max_delay_seconds=entry.get("MaxDelaySeconds"),
        full_jitter=entry.get("JitterStrategy") == "FULL",
    )


def _catcher(entry: Node, jsonata: bool, field: str, reads: set[str]) -> Catcher:
    output = compile_jsonata(entry["Output"], f"{field}/Output", reads) if "Output" in entry else None
    return Catcher(
        error_equals=frozenset(entry["ErrorEquals"]),
        next=entry["Next"],
        place=None if jsonata else _place(entry),
        output=output,
        assign=_assign(entry, jsonata, field, reads),
    )


def _assign(entry: Node, jsonata: bool, field: str, reads: set[str]) -> Evaluate | None:
    if "Assign" not in entry:
        return None
    if jsonata:
        return leaf.assignments(entry["Assign"], f"{field}/Assign", reads)
    return compile_template(entry["Assign"], reads)


def _choice(node: Node, *, jsonata: bool, reads: set[str]) -> ChoiceDef:
    rules = []
    for index, rule in enumerate(node["Choices"]):
        field = f"Choices[{index}]"
        if jsonata:
            condition = compile_jsonata_typed(rule["Condition"], f"{field}/Condition", "boolean", reads)
        else:
            condition = compile_rule(rule)
            reads.update(leaf.variables_of_rule(rule))
        output = compile_jsonata(rule["Output"], f"{field}/Output", reads) if "Output" in rule else None
        rules.append(ChoiceRule(condition, rule["Next"], output, _assign(rule, jsonata, field, reads)))
    return ChoiceDef(tuple(rules), node.get("Default"))


def _task(node: Node, *, jsonata: bool, reads: set[str]) -> TaskDef:
    return TaskDef(
        resource=parse_resource(node["Resource"]),
        timeout_seconds=leaf.positive_seconds(node, "TimeoutSeconds", jsonata=jsonata, reads=reads),
        heartbeat_seconds=leaf.positive_seconds(node, "HeartbeatSeconds", jsonata=jsonata, reads=reads),
        role_arn=leaf.role_arn(node, jsonata=jsonata, reads=reads),
    )


def _distributed(node: Node, config: Node, *, jsonata: bool, reads: set[str]) -> DistributedDef:
    def arguments_of(part: Node, field: str) -> Evaluate | None:
        if jsonata:
            return compile_jsonata(part["Arguments"], f"{field}/Arguments", reads) if "Arguments" in part else None
        return compile_template(part["Parameters"], reads) if "Parameters" in part else None

    reader: ReaderDef | None = None
    if "ItemReader" in node:
        part = node["ItemReader"]
        settings = dict(part.get("ReaderConfig", {}))
        max_items = leaf.whole_number(
            settings, "MaxItems", jsonata=jsonata, reads=reads, field="ItemReader/ReaderConfig"
        )
        settings.pop("MaxItemsPath", None)
        build = (
            compile_jsonata(settings, "ItemReader/ReaderConfig", reads)
            if jsonata
            else compile_template(settings, reads)
        )
        reader = ReaderDef(parse_resource(part["Resource"]), arguments_of(part, "ItemReader"), build, max_items)
    batcher: BatcherDef | None = None
    if "ItemBatcher" in node:
        part = node["ItemBatcher"]
        batch_input: Evaluate | None = None
        if "BatchInput" in part:
            value = part["BatchInput"]
            batch_input = (
                compile_jsonata(value, "ItemBatcher/BatchInput", reads) if jsonata else compile_template(value, reads)
            )
        limits = [
            leaf.whole_number(part, name, jsonata=jsonata, reads=reads, field="ItemBatcher")
            for name in ("MaxItemsPerBatch", "MaxInputBytesPerBatch")
        ]
        batcher = BatcherDef(limits[0], limits[1], batch_input)
    writer: WriterDef | None = None
    if "ResultWriter" in node:
        part = node["ResultWriter"]
        form = part.get("WriterConfig", {})
        writer = WriterDef(
            parse_resource(part["Resource"]) if "Resource" in part else None,
            arguments_of(part, "ResultWriter"),
            form.get("Transformation", "NONE" if "Resource" in part else "COMPACT"),
            form.get("OutputType", "JSON"),
        )
    pointer = node.get("ItemReader", {}).get("ReaderConfig", {}).get("ItemsPointer")
    return DistributedDef(config.get("ExecutionType", "STANDARD"), node.get("Label"), reader, batcher, writer, pointer)
