from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from statewright.asl.compile import compile_definition
from statewright.asl.program import ChoiceDef, FailDef, MapDef, ParallelDef, PassDef, Program, TaskDef, WaitDef
from statewright.asl.validate import validate_value
from statewright.query.scope import Scope
from tests.property.machines import definitions

LAMBDA = "arn:aws:lambda:us-east-1:000000000000:function:f"
INNER = {"StartAt": "I", "States": {"I": {"Type": "Pass", "End": True}}}
DISTRIBUTED = {"ProcessorConfig": {"Mode": "DISTRIBUTED", "ExecutionType": "EXPRESS"}, **INNER}


def compiled(state: dict[str, Any], **top: Any) -> Any:
    """One state, compiled."""
    return compile_definition({"StartAt": "S", "States": {"S": {"End": True, **state}}, **top}).state("S")


def scope(data: Any = None, **variables: Any) -> Scope:
    return Scope({} if data is None else data, variables, lambda: {"State": {"Name": "S"}})


class TestScopes:
    PROGRAM: Program = compile_definition(
        {
            "Comment": "all of it",
            "TimeoutSeconds": 60,
            "StartAt": "P",
            "States": {
                "P": {
                    "Type": "Parallel",
                    "Branches": [
                        {"StartAt": "M", "States": {"M": {"Type": "Map", "ItemProcessor": DISTRIBUTED, "End": True}}},
                        {"StartAt": "B", "States": {"B": {"Type": "Succeed"}}},
                    ],
                    "Next": "Z",
                },
                "Z": {"Type": "Succeed"},
            },
        }
    )

    def test_the_machine_is_the_first(self) -> None:
        root = self.PROGRAM.scopes[0]
        assert (root.start_at, list(root.states), root.parent, root.owner) == ("P", ["P", "Z"], None, None)
        assert (self.PROGRAM.comment, self.PROGRAM.timeout_seconds) == ("all of it", 60)

    def test_each_knows_its_place(self) -> None:
        body = self.PROGRAM.state("P").body
        assert isinstance(body, ParallelDef)
        branches = [self.PROGRAM.scopes[index] for index in body.scopes]
        assert [(b.index, b.parent, b.owner, b.distributed) for b in branches] == [
            (body.scopes[0], 0, "P", False),
            (body.scopes[1], 0, "P", False),
        ]
        inner = self.PROGRAM.state("M").body
        assert isinstance(inner, MapDef)
        processor = self.PROGRAM.scopes[inner.scope]
        assert (processor.parent, processor.owner, processor.distributed) == (body.scopes[0], "M", True)

    def test_a_child_program_starts_at_its_scope(self) -> None:
        body = self.PROGRAM.state("M").body
        assert isinstance(body, MapDef)
        child = self.PROGRAM.child_program(body.scope)
        assert child.scopes[0].start_at == "I"
        assert child.timeout_seconds is None
        assert len(child.scopes) == len(self.PROGRAM.scopes)

    def test_a_state_that_is_not_there(self) -> None:
        with pytest.raises(KeyError):
            self.PROGRAM.state("no")

    def test_a_whole_number_of_seconds_however_it_is_written(self) -> None:
        program = compile_definition({"TimeoutSeconds": 60.0, **INNER})
        assert program.timeout_seconds == 60
        assert type(program.timeout_seconds) is int
        assert compile_definition(INNER).timeout_seconds is None

    def test_depth_costs_no_recursion(self) -> None:
        definition: dict[str, Any] = INNER
        for number in range(2_000):
            state = {"Type": "Parallel", "Branches": [definition], "End": True}
            definition = {"StartAt": f"S{number}", "States": {f"S{number}": state}}
        assert len(compile_definition(definition).scopes) == 2_001


class TestLanguages:
    @pytest.mark.parametrize(
        ("top", "own", "jsonata"),
        [
            (None, None, False), ("JSONPath", None, False), ("JSONata", None, True),
            (None, "JSONata", True), ("JSONPath", "JSONata", True), (None, "JSONPath", False),
        ],
    )  # fmt: skip
    def test_the_state_s_own_counts(self, top: str | None, own: str | None, jsonata: bool) -> None:
        state = {"Type": "Pass", **({"QueryLanguage": own} if own else {})}
        assert compiled(state, **({"QueryLanguage": top} if top else {})).jsonata == jsonata

    def test_inner_states_take_the_machine_s_not_the_holder_s(self) -> None:
        holder = {"Type": "Map", "QueryLanguage": "JSONata", "ItemProcessor": INNER, "End": True}
        program = compile_definition({"StartAt": "M", "States": {"M": holder}})
        assert program.state("M").jsonata
        assert not program.state("I").jsonata


class TestFlow:
    def test_absent_fields_are_none(self) -> None:
        state = compiled({"Type": "Task", "Resource": LAMBDA, "InputPath": "$", "OutputPath": "$", "ResultPath": "$"})
        fields = ("input_path", "arguments", "selector", "place", "output_path", "output", "assign")
        assert [getattr(state, name) for name in fields] == [None] * 7
        assert (state.retry, state.catch) == ((), ())

    def test_result_path(self) -> None:
        dropped = compiled({"Type": "Pass", "ResultPath": None}).place
        placed = compiled({"Type": "Pass", "ResultPath": "$.a.b"}).place
        document = {"x": 1}
        assert dropped(document, 2) is document
        assert placed(document, 2) == {"x": 1, "a": {"b": 2}}
        assert document == {"x": 1}

    @pytest.mark.parametrize(
        ("state", "plain"),
        [
            ({"Type": "Pass"}, True),
            ({"Type": "Pass", "OutputPath": "$"}, True),
            ({"Type": "Pass", "QueryLanguage": "JSONata"}, True),
            ({"Type": "Pass", "Result": 1}, False),
            ({"Type": "Pass", "Result": None}, False),
            ({"Type": "Pass", "Result": []}, False),
            ({"Type": "Pass", "Parameters": {}}, False),
            ({"Type": "Pass", "InputPath": None}, False),
            ({"Type": "Pass", "Assign": {"a": 1}}, False),
            ({"Type": "Pass", "ResultPath": None}, False),
            ({"Type": "Pass", "QueryLanguage": "JSONata", "Output": 1}, False),
        ],
    )
    def test_what_is_plain(self, state: dict[str, Any], plain: bool) -> None:
        assert compiled(state).plain == plain

    def test_history_event_types(self) -> None:
        state = compiled({"Type": "Wait", "Seconds": 1})
        assert (state.entered, state.exited) == ("WaitStateEntered", "WaitStateExited")


class TestBodies:
    def test_pass(self) -> None:
        assert compiled({"Type": "Pass"}).body == PassDef(False, None)
        assert compiled({"Type": "Pass", "Result": None}).body == PassDef(True, None)

    def test_succeed_has_none(self) -> None:
        assert compiled({"Type": "Succeed"}).body is None

    def test_wait_and_fail(self) -> None:
        wait = compiled({"Type": "Wait", "Seconds": 5}).body
        assert isinstance(wait, WaitDef)
        assert wait.due_ms(scope()) == 5_000
        fail = compiled({"Type": "Fail", "Error": "E"}).body
        assert isinstance(fail, FailDef)
        assert fail.error is not None
        assert (fail.error(scope()), fail.cause) == ("E", None)

    def test_task(self) -> None:
        body = compiled({"Type": "Task", "Resource": LAMBDA, "TimeoutSeconds": 5, "Credentials": {"RoleArn": "r"}}).body
        assert isinstance(body, TaskDef)
        assert body.resource.arn == LAMBDA
        assert body.timeout_seconds is not None
        assert body.role_arn is not None
        assert (body.timeout_seconds(scope()), body.heartbeat_seconds, body.role_arn(scope())) == (5, None, "r")

    def test_choice(self) -> None:
        body = compiled(
            {
                "Type": "Choice",
                "Choices": [
                    {"Variable": "$.a", "NumericEquals": 1, "Next": "S", "Assign": {"v.$": "$.a"}},
                    {"Variable": "$.a", "NumericEquals": 2, "Next": "S"},
                ],
                "Default": "S",
            }
        ).body
        assert isinstance(body, ChoiceDef)
        assert [rule.condition(scope({"a": 2})) for rule in body.rules] == [False, True]
        assert body.rules[0].assign is not None
        assert body.rules[0].assign(scope({"a": 2})) == {"v": 2}
        assert (body.rules[1].assign, body.rules[1].output, body.default) == (None, None, "S")

    def test_choice_in_jsonata(self) -> None:
        rule = {"Condition": "{% $v %}", "Next": "S", "Output": "{% 1 %}", "Assign": {"w": "{% 2 %}"}}
        body = compiled({"Type": "Choice", "QueryLanguage": "JSONata", "Choices": [rule]}).body
        assert isinstance(body, ChoiceDef)
        (found,) = body.rules
        assert found.output is not None
        assert found.assign is not None
        assert (found.condition(scope(v=True)), found.output(scope()), found.assign(scope())) == (True, 1, {"w": 2})
        assert body.default is None


class TestRules:
    def test_retriers_and_their_defaults(self) -> None:
        retry = [
            {"ErrorEquals": ["A", "B"]},
            {
                "ErrorEquals": ["C"], "IntervalSeconds": 4, "MaxAttempts": 0, "BackoffRate": 1, "MaxDelaySeconds": 9,
                "JitterStrategy": "FULL",
            },
        ]  # fmt: skip
        first, second = compiled({"Type": "Task", "Resource": LAMBDA, "Retry": retry}).retry
        assert first.error_equals == {"A", "B"}
        assert (first.interval_seconds, first.max_attempts, first.backoff_rate) == (1, 3, 2.0)
        assert (first.max_delay_seconds, first.full_jitter) == (None, False)
        assert (second.interval_seconds, second.max_attempts, second.backoff_rate) == (4, 0, 1.0)
        assert (second.max_delay_seconds, second.full_jitter) == (9, True)

    def test_catchers(self) -> None:
        catch = [
            {"ErrorEquals": ["A"], "Next": "S"},
            {"ErrorEquals": ["B"], "Next": "S", "ResultPath": "$.e", "Assign": {"v.$": "$.Error"}},
            {"ErrorEquals": ["C"], "Next": "S", "ResultPath": None},
        ]
        first, second, third = compiled({"Type": "Task", "Resource": LAMBDA, "Catch": catch}).catch
        assert (first.place, first.output, first.assign, first.next) == (None, None, None, "S")
        assert second.place is not None
        assert second.assign is not None
        assert second.place({"x": 1}, "error") == {"x": 1, "e": "error"}
        assert second.assign(scope({"Error": "B"})) == {"v": "B"}
        assert third.place is not None
        assert third.place({"x": 1}, "error") == {"x": 1}

    def test_catchers_in_jsonata(self) -> None:
        catch = [{"ErrorEquals": ["A"], "Next": "S", "Output": "{% $states.errorOutput %}", "Assign": {"v": 1}}]
        state = {"Type": "Task", "QueryLanguage": "JSONata", "Resource": LAMBDA, "Catch": catch}
        (found,) = compiled(state).catch
        assert found.output is not None
        assert found.assign is not None
        assert found.place is None
        assert found.output(Scope({}, error_output={"Error": "A"})) == {"Error": "A"}
        assert found.assign(scope()) == {"v": 1}


class TestMaps:
    @pytest.mark.parametrize("processor", ["ItemProcessor", "Iterator"])
    @pytest.mark.parametrize("selector", ["ItemSelector", "Parameters"])
    def test_old_and_new_names(self, processor: str, selector: str) -> None:
        state = compiled({"Type": "Map", processor: INNER, selector: {"v.$": "$.x"}})
        assert isinstance(state.body, MapDef)
        assert state.body.item_selector is not None
        assert state.body.item_selector(scope({"x": 1})) == {"v": 1}
        assert state.body.distributed is None
        assert state.arguments is None

    def test_distributed(self) -> None:
        body = compiled(
            {
                "Type": "Map",
                "Label": "Each",
                "ItemProcessor": DISTRIBUTED,
                "ToleratedFailureCount": 3,
                "ItemReader": {
                    "Resource": "arn:aws:states:::s3:getObject",
                    "Parameters": {"Bucket.$": "$.b", "Key": "k"},
                    "ReaderConfig": {"InputType": "JSON", "MaxItemsPath": "$.n", "ItemsPointer": "/a/b"},
                },
                "ItemBatcher": {
                    "MaxItemsPerBatch": 5,
                    "MaxInputBytesPerBatchPath": "$.m",
                    "BatchInput": {"k.$": "$.b"},
                },
                "ResultWriter": {
                    "Resource": "arn:aws:states:::s3:putObject",
                    "Parameters": {"Bucket": "o"},
                    "WriterConfig": {"OutputType": "JSONL"},
                },
            }
        ).body
        assert isinstance(body, MapDef)
        found = body.distributed
        assert found is not None
        assert (found.execution_type, found.label, found.items_pointer) == ("EXPRESS", "Each", "/a/b")
        data = scope({"b": "bucket", "n": 7, "m": 900})
        reader, batcher, writer = found.reader, found.batcher, found.writer
        assert reader is not None
        assert reader.arguments is not None
        assert reader.max_items is not None
        assert reader.arguments(data) == {"Bucket": "bucket", "Key": "k"}
        assert reader.max_items(data) == 7
        assert reader.config(data)["InputType"] == "JSON"
        assert "MaxItemsPath" not in reader.config(data)
        assert batcher is not None
        assert batcher.max_items is not None
        assert batcher.max_bytes is not None
        assert batcher.batch_input is not None
        assert (batcher.max_items(data), batcher.max_bytes(data), batcher.batch_input(data)) == (
            5,
            900,
            {"k": "bucket"},
        )
        assert writer is not None
        assert writer.arguments is not None
        assert writer.arguments(data) == {"Bucket": "o"}
        assert (writer.transformation, writer.output_type) == ("NONE", "JSONL")
        assert body.tolerated_count is not None
        assert body.tolerated_count(data) == 3

    def test_distributed_in_jsonata(self) -> None:
        body = compiled(
            {
                "Type": "Map",
                "QueryLanguage": "JSONata",
                "ItemProcessor": DISTRIBUTED,
                "ItemReader": {
                    "Resource": "arn:aws:states:::s3:listObjectsV2",
                    "Arguments": {"Bucket": "{% $states.input.b %}"},
                    "ReaderConfig": {"MaxItems": "{% $states.input.n %}"},
                },
                "ItemBatcher": {"MaxItemsPerBatch": "{% 5 %}", "BatchInput": "{% $states.input.b %}"},
                "ResultWriter": {"WriterConfig": {"Transformation": "FLATTEN"}},
            }
        ).body
        assert isinstance(body, MapDef)
        found = body.distributed
        assert found is not None
        data = scope({"b": "bucket", "n": 7})
        assert found.reader is not None
        assert found.reader.arguments is not None
        assert found.reader.max_items is not None
        assert found.reader.arguments(data) == {"Bucket": "bucket"}
        assert found.reader.max_items(data) == 7
        assert found.batcher is not None
        assert found.batcher.max_items is not None
        assert found.batcher.batch_input is not None
        assert (found.batcher.max_items(data), found.batcher.batch_input(data)) == (5, "bucket")
        assert found.batcher.max_bytes is None
        assert found.writer is not None
        assert (found.writer.resource, found.writer.arguments) == (None, None)
        assert (found.writer.transformation, found.writer.output_type) == ("FLATTEN", "JSON")

    def test_outputs_are_compact_when_nothing_is_exported(self) -> None:
        body = compiled({"Type": "Map", "ItemProcessor": DISTRIBUTED, "ResultWriter": {"WriterConfig": {}}}).body
        assert isinstance(body, MapDef)
        assert body.distributed is not None
        assert body.distributed.writer is not None
        assert body.distributed.writer.transformation == "COMPACT"


def test_variable_references() -> None:
    program = compile_definition(
        {
            "StartAt": "A",
            "States": {
                "A": {"Type": "Pass", "Assign": {"x": 1, "y.$": "$.y"}, "Next": "B"},
                "B": {
                    "Type": "Pass",
                    "Parameters": {"v.$": "States.Format('{}', $x)"},
                    "InputPath": "$y.z",
                    "Next": "C",
                },
                "C": {
                    "Type": "Choice",
                    "Choices": [{"Variable": "$x", "NumericEqualsPath": "$z", "Next": "D"}],
                    "Default": "D",
                },
                "D": {
                    "Type": "Map",
                    "QueryLanguage": "JSONata",
                    "Items": "{% $y %}",
                    "MaxConcurrency": "{% $n %}",
                    "ItemProcessor": {
                        "StartAt": "I",
                        "States": {"I": {"Type": "Wait", "SecondsPath": "$x", "End": True}},
                    },
                    "Catch": [{"ErrorEquals": ["A"], "Next": "E", "Output": "{% $w %}"}],
                    "Next": "E",
                },
                "E": {"Type": "Task", "Resource": LAMBDA, "TimeoutSecondsPath": "$t", "Next": "F"},
                "F": {"Type": "Fail", "ErrorPath": "$x", "CausePath": "States.Format('{}', $y)"},
            },
        }
    )
    assert program.variable_references == {
        "B": ["x", "y"],
        "C": ["x", "z"],
        "D": ["n", "w", "y"],
        "I": ["x"],
        "E": ["t"],
        "F": ["x", "y"],
    }


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(definitions())
def test_what_is_valid_compiles(definition: dict[str, Any]) -> None:
    assert not [found for found in validate_value(definition, lints=False) if found.severity == "ERROR"]
    compile_definition(definition)
