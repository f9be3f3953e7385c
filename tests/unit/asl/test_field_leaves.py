from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from statewright.asl import field_leaves as leaf
from statewright.errors import QUERY_EVALUATION, RUNTIME, EvaluationFailure, ExecutionFailure
from statewright.limits import LONGEST_WAIT_MS, TASK_TIMEOUT_SECONDS
from statewright.query.scope import Scope

NOW_MS = 1_767_225_600_000


def scope(data: Any = None, **variables: Any) -> Scope:
    return Scope({} if data is None else data, variables, dict, now_ms=NOW_MS)


def evaluated(
    compile_field: Callable[..., Any], node: dict[str, Any], data: Any = None, *, jsonata: bool = False, **more: Any
) -> Any:
    evaluate = compile_field(node, jsonata=jsonata, reads=set(), **more)
    assert evaluate is not None
    return evaluate(scope(data))


def cause_of(
    compile_field: Callable[..., Any], node: dict[str, Any], data: Any = None, *, jsonata: bool = False, **more: Any
) -> str:
    with pytest.raises(ExecutionFailure) as failure:
        evaluated(compile_field, node, data, jsonata=jsonata, **more)
    assert failure.value.error == (QUERY_EVALUATION if jsonata else RUNTIME)
    assert isinstance(failure.value, EvaluationFailure) == jsonata
    return failure.value.cause


class TestPathOrEmpty:
    def test_absent_and_whole(self) -> None:
        assert leaf.path_or_empty({}, "InputPath", set()) is None
        assert leaf.path_or_empty({"InputPath": "$"}, "InputPath", set()) is None

    def test_null_and_paths(self) -> None:
        empty = leaf.path_or_empty({"InputPath": None}, "InputPath", set())
        path = leaf.path_or_empty({"InputPath": "$.a"}, "InputPath", set())
        assert empty is not None
        assert path is not None
        assert empty(scope({"a": 1})) == {}
        assert path(scope({"a": 1})) == 1


class TestWait:
    @pytest.mark.parametrize(
        ("node", "data", "delay_ms"),
        [
            ({"Seconds": 5}, {}, 5_000),
            ({"Seconds": 0}, {}, 0),
            ({"Seconds": 5.0}, {}, 5_000),
            ({"SecondsPath": "$.s"}, {"s": 7}, 7_000),
            ({"SecondsPath": "$.s"}, {"s": 7.0}, 7_000),
            ({"SecondsPath": "$.s"}, {"s": 0}, 0),
            ({"Timestamp": "2026-01-01T00:00:09Z"}, {}, 9_000),
            ({"Timestamp": "2025-01-01T00:00:00Z"}, {}, -365 * 86_400_000),
            ({"TimestampPath": "$.t"}, {"t": "2026-01-01T01:00:00.0001+01:00"}, 1),
        ],
    )
    def test_due(self, node: dict[str, Any], data: Any, delay_ms: int) -> None:
        assert evaluated(leaf.wait_due, node, data) - NOW_MS == delay_ms

    @pytest.mark.parametrize(
        ("node", "delay_ms"),
        [
            ({"Seconds": 5}, 5_000),
            ({"Seconds": "{% $states.input.s %}"}, 7_000),
            ({"Seconds": "{% 2.9 %}"}, 2_000),
            ({"Timestamp": "2026-01-01T00:00:09Z"}, 9_000),
            ({"Timestamp": "{% '2026-01-01T00:00:08Z' %}"}, 8_000),
        ],
    )
    def test_due_in_jsonata(self, node: dict[str, Any], delay_ms: int) -> None:
        assert evaluated(leaf.wait_due, node, {"s": 7}, jsonata=True) - NOW_MS == delay_ms

    @pytest.mark.parametrize(
        ("value", "reason"),
        [
            (-1, "references a negative value: $.v == -1"),
            (-2.0, "references a negative value: $.v == -2"),
            (1.5, "cannot be parsed as a long value: $.v == 1.5"),
            ("5", "cannot be parsed as a long value: $.v == 5"),
            (True, "cannot be parsed as a long value: $.v == true"),
            ([1], "cannot be parsed as a long value: $.v == [1]"),
            (None, "does not reference an input value: $.v"),
        ],
    )
    def test_seconds_that_are_none(self, value: Any, reason: str) -> None:
        assert cause_of(leaf.wait_due, {"SecondsPath": "$.v"}, {"v": value}) == f"The SecondsPath parameter {reason}"

    def test_paths_that_lead_nowhere(self) -> None:
        for field in ("SecondsPath", "TimestampPath"):
            expected = f"The {field} parameter does not reference an input value: $.no"
            assert cause_of(leaf.wait_due, {field: "$.no"}) == expected

    @pytest.mark.parametrize(("value", "shown"), [("tomorrow", "tomorrow"), (5, "5"), ("2026-01-01", "2026-01-01")])
    def test_timestamps_that_are_none(self, value: Any, shown: str) -> None:
        assert cause_of(leaf.wait_due, {"TimestampPath": "$.v"}, {"v": value}) == (
            "The TimestampPath parameter does not reference a valid ISO-8601 extended offset date-time format string: "
            f"$.v == {shown}"
        )

    def test_timestamps_that_are_none_in_jsonata(self) -> None:
        assert cause_of(leaf.wait_due, {"Timestamp": "{% 'x' %}"}, jsonata=True) == (
            "The Timestamp field cannot be parsed as an ISO-8601 extended offset date-time format string: x"
        )
        assert "Expected 'string', but was 'number'" in cause_of(leaf.wait_due, {"Timestamp": "{% 1 %}"}, jsonata=True)

    def test_negative_seconds_in_jsonata(self) -> None:
        assert "negative value: -3" in cause_of(leaf.wait_due, {"Seconds": "{% -3 %}"}, jsonata=True)

    @pytest.mark.parametrize("value", [LONGEST_WAIT_MS // 1000 + 1, 1e300])
    def test_too_long(self, value: float) -> None:
        cause = cause_of(leaf.wait_due, {"SecondsPath": "$.v"}, {"v": value})
        assert cause == "Wait state delay is too long."

    def test_the_longest(self) -> None:
        seconds = LONGEST_WAIT_MS // 1000
        assert evaluated(leaf.wait_due, {"SecondsPath": "$.v"}, {"v": seconds}) == NOW_MS + LONGEST_WAIT_MS


class TestTimeouts:
    @pytest.mark.parametrize("value", [1, 60, 60.0, TASK_TIMEOUT_SECONDS])
    def test_are_whole_seconds(self, value: float) -> None:
        literal = evaluated(leaf.positive_seconds, {"TimeoutSeconds": value}, field="TimeoutSeconds")
        path = evaluated(leaf.positive_seconds, {"TimeoutSecondsPath": "$.v"}, {"v": value}, field="TimeoutSeconds")
        assert literal == path == value
        assert type(literal) is type(path) is int

    def test_absent(self) -> None:
        assert leaf.positive_seconds({}, "TimeoutSeconds", jsonata=False, reads=set()) is None

    @pytest.mark.parametrize("value", [0, -1, TASK_TIMEOUT_SECONDS + 1, 10**40])
    def test_out_of_range(self, value: int) -> None:
        cause = cause_of(leaf.positive_seconds, {"TimeoutSecondsPath": "$.v"}, {"v": value}, field="TimeoutSeconds")
        assert cause == f"The TimeoutSecondsPath parameter references a value outside 1 to 99999999: $.v == {value}"

    @pytest.mark.parametrize("value", ["5", 1.5, None, True, [5]])
    def test_no_whole_number(self, value: Any) -> None:
        cause = cause_of(leaf.positive_seconds, {"TimeoutSecondsPath": "$.v"}, {"v": value}, field="TimeoutSeconds")
        assert "cannot be parsed as a long value" in cause

    def test_in_jsonata(self) -> None:
        field: dict[str, Any] = {"field": "HeartbeatSeconds", "jsonata": True}
        assert evaluated(leaf.positive_seconds, {"HeartbeatSeconds": "{% 2 * 3 %}"}, **field) == 6
        assert "outside 1 to" in cause_of(leaf.positive_seconds, {"HeartbeatSeconds": "{% 0 %}"}, **field)
        assert "long value" in cause_of(leaf.positive_seconds, {"HeartbeatSeconds": "{% 0.5 %}"}, **field)


class TestRole:
    def test_absent(self) -> None:
        assert leaf.role_arn({}, jsonata=False, reads=set()) is None

    @pytest.mark.parametrize(
        "credentials", [{"RoleArn": "role"}, {"RoleArn.$": "$.r"}, {"RoleArn.$": "States.Format('{}', $.r)"}]
    )
    def test_in_jsonpath(self, credentials: Any) -> None:
        assert evaluated(leaf.role_arn, {"Credentials": credentials}, {"r": "role"}) == "role"

    @pytest.mark.parametrize(
        "credentials", [{"RoleArn": "role"}, {"RoleArn": "{% $states.input.r %}"}, "{% {'RoleArn': 'role'} %}"]
    )
    def test_in_jsonata(self, credentials: Any) -> None:
        assert evaluated(leaf.role_arn, {"Credentials": credentials}, {"r": "role"}, jsonata=True) == "role"

    @pytest.mark.parametrize("credentials", [{"RoleArn": 5}, {"RoleArn.$": "$.r"}, {"RoleArn": {"a.$": "$.r"}}])
    def test_is_a_string(self, credentials: Any) -> None:
        assert "must be a string" in cause_of(leaf.role_arn, {"Credentials": credentials}, {"r": 5})

    @pytest.mark.parametrize(
        ("credentials", "what"),
        [
            ({"RoleArn": "{% 5 %}"}, "Expected 'string'"),
            ("{% 5 %}", "Expected 'object'"),
            ("{% {} %}", "must be a string"),
            ("{% {'RoleArn': 1} %}", "must be a string"),
        ],
    )
    def test_is_a_string_in_jsonata(self, credentials: Any, what: str) -> None:
        assert what in cause_of(leaf.role_arn, {"Credentials": credentials}, jsonata=True)


class TestAssignments:
    def test_an_object_or_an_expression_that_gives_one(self) -> None:
        reads: set[str] = set()
        assert leaf.assignments({"a": "{% $x %}"}, "Assign", reads)(scope(x=1)) == {"a": 1}
        assert leaf.assignments("{% {'a': $y} %}", "Assign", reads)(scope(y=2)) == {"a": 2}
        assert reads == {"x", "y"}

    @pytest.mark.parametrize(
        ("text", "what"), [("{% 5 %}", "Expected 'object'"), ("{% {'states': 1} %}", "'states' is reserved")]
    )
    def test_anything_else(self, text: str, what: str) -> None:
        with pytest.raises(EvaluationFailure, match=what):
            leaf.assignments(text, "Assign", set())(scope())


class TestItems:
    @pytest.mark.parametrize(
        ("node", "data", "expected"),
        [({}, [1], [1]), ({"ItemsPath": "$.l"}, {"l": []}, []), ({"ItemsPath": "$"}, [{}], [{}])],
    )
    def test_in_jsonpath(self, node: dict[str, Any], data: Any, expected: Any) -> None:
        assert evaluated(leaf.map_items, node, data, distributed=False) == expected

    @pytest.mark.parametrize(
        ("node", "expected"),
        [
            ({"Items": "{% $states.input.l %}"}, [1, 2]),
            ({"Items": [1, "{% 1 + 1 %}"]}, [1, 2]),
            ({"Items": "{% [1..2] %}"}, [1, 2]),
        ],
    )
    def test_in_jsonata(self, node: dict[str, Any], expected: Any) -> None:
        assert evaluated(leaf.map_items, node, {"l": [1, 2]}, jsonata=True, distributed=False) == expected
        assert evaluated(leaf.map_items, {}, [5], jsonata=True, distributed=False) == [5]

    @pytest.mark.parametrize("data", [{"l": {}}, {"l": 1}, {"l": None}, {"l": "x"}])
    def test_no_array(self, data: Any) -> None:
        cause = cause_of(leaf.map_items, {"ItemsPath": "$.l"}, data, distributed=False)
        assert cause == 'Reference path "$.l" must point to array.'
        cause = cause_of(leaf.map_items, {"Items": "{% $states.input.l %}"}, data, jsonata=True, distributed=False)
        assert "specified for the field 'Items' returned an unexpected result type. Expected 'array'" in cause
        cause = cause_of(leaf.map_items, {}, data, jsonata=True, distributed=False)
        assert cause.startswith("Map state input must be an array but was: {")

    def test_an_object_in_distributed_mode(self) -> None:
        data = {"o": {"a": 1}}
        assert evaluated(leaf.map_items, {"ItemsPath": "$.o"}, data, distributed=True) == {"a": 1}
        assert evaluated(leaf.map_items, {"Items": "{% $states.input.o %}"}, data, jsonata=True, distributed=True) == {
            "a": 1
        }
        assert evaluated(leaf.map_items, {}, data, jsonata=True, distributed=True) == data


class TestNumbers:
    @pytest.mark.parametrize(("value", "expected"), [(0, 0), (5, 5), (5.0, 5)])
    def test_counts(self, value: float, expected: int) -> None:
        literal = evaluated(leaf.max_concurrency, {"MaxConcurrency": value})
        path = evaluated(leaf.max_concurrency, {"MaxConcurrencyPath": "$.v"}, {"v": value})
        assert literal == path == expected
        assert type(literal) is type(path) is int

    def test_counts_in_jsonata_are_rounded_down(self) -> None:
        assert evaluated(leaf.max_concurrency, {"MaxConcurrency": "{% 2.9 %}"}, jsonata=True) == 2
        assert evaluated(leaf.max_concurrency, {"MaxConcurrency": 3}, jsonata=True) == 3

    @pytest.mark.parametrize("text", ["4", "4.0"])
    def test_a_count_may_be_the_text_of_a_number(self, text: str) -> None:
        for compile_field, name in [
            (leaf.max_concurrency, "MaxConcurrency"), (leaf.tolerated_count, "ToleratedFailureCount"),
            (leaf.tolerated_percentage, "ToleratedFailurePercentage"),
        ]:  # fmt: skip
            assert evaluated(compile_field, {f"{name}Path": "$.v"}, {"v": text}) == 4
            assert evaluated(compile_field, {name: "{% $states.input.v %}"}, {"v": text}, jsonata=True) == 4

    @pytest.mark.parametrize("text", ["", "1e3", "0x10", " 1", "01", "１", "1_0", "NaN", "9" * 100])
    def test_a_text_that_is_no_count(self, text: str) -> None:
        cause = cause_of(leaf.max_concurrency, {"MaxConcurrencyPath": "$.v"}, {"v": text})
        assert cause == f'The MaxConcurrencyPath field refers to value "{text}" which is not a valid integer: $.v'
        cause = cause_of(leaf.max_concurrency, {"MaxConcurrency": "{% $states.input.v %}"}, {"v": text}, jsonata=True)
        assert "Expected 'number', but was 'string'" in cause

    @pytest.mark.parametrize(
        ("value", "shown"), [("x", "x"), ("1.5", "1.5"), (1.5, "1.5"), (None, "null"), (True, "true")]
    )
    def test_no_integer(self, value: Any, shown: str) -> None:
        cause = cause_of(leaf.max_concurrency, {"MaxConcurrencyPath": "$.v"}, {"v": value})
        assert cause == f'The MaxConcurrencyPath field refers to value "{shown}" which is not a valid integer: $.v'

    @pytest.mark.parametrize("jsonata", [False, True])
    @pytest.mark.parametrize("name", ["MaxConcurrency", "ToleratedFailureCount"])
    def test_negative(self, name: str, jsonata: bool) -> None:
        compile_field = leaf.max_concurrency if name == "MaxConcurrency" else leaf.tolerated_count
        node = {name: "{% -1 %}"} if jsonata else {f"{name}Path": "$.v"}
        assert cause_of(compile_field, node, {"v": -1}, jsonata=jsonata) == f"{name} cannot be negative."

    @pytest.mark.parametrize("compile_field", [leaf.max_concurrency, leaf.tolerated_count, leaf.tolerated_percentage])
    def test_absent(self, compile_field: Callable[..., Any]) -> None:
        assert compile_field({}, jsonata=False, reads=set()) is None

    def test_percentages(self) -> None:
        name = "ToleratedFailurePercentage"
        assert evaluated(leaf.tolerated_percentage, {name: 12.5}) == 12.5
        assert evaluated(leaf.tolerated_percentage, {f"{name}Path": "$.v"}, {"v": 100}) == 100
        assert evaluated(leaf.tolerated_percentage, {name: "{% 0.5 %}"}, jsonata=True) == 0.5

    @pytest.mark.parametrize("value", [-0.5, 100.1])
    def test_percentages_out_of_range(self, value: float) -> None:
        name = "ToleratedFailurePercentage"
        expected = f"{name} must be between 0 and 100."
        assert cause_of(leaf.tolerated_percentage, {f"{name}Path": "$.v"}, {"v": value}) == expected
        assert cause_of(leaf.tolerated_percentage, {name: f"{{% {value} %}}"}, jsonata=True) == expected

    def test_a_percentage_that_is_no_number(self) -> None:
        cause = cause_of(leaf.tolerated_percentage, {"ToleratedFailurePercentagePath": "$.v"}, {"v": "x"})
        assert 'refers to value "x" which is not a valid float: $.v' in cause


class TestFailTexts:
    def test_forms(self) -> None:
        def text(node: dict[str, Any], *, jsonata: bool = False) -> Any:
            return evaluated(leaf.fail_text, node, {"e": "E"}, jsonata=jsonata, field="Error")

        assert text({"Error": "E"}) == "E"
        assert text({"ErrorPath": "$.e"}) == "E"
        assert text({"ErrorPath": "States.Format('{}', $.e)"}) == "E"
        assert text({"Error": "{% $states.input.e %}"}, jsonata=True) == "E"
        assert text({"Error": "{% text %}"}) == "{% text %}"
        assert leaf.fail_text({}, "Error", jsonata=False, reads=set()) is None

    def test_no_string(self) -> None:
        assert cause_of(leaf.fail_text, {"CausePath": "$.c"}, {"c": [1]}, field="Cause").endswith("gave: [1]")
        assert "Expected 'string'" in cause_of(leaf.fail_text, {"Cause": "{% 1 %}"}, jsonata=True, field="Cause")


def test_variables_of_a_rule() -> None:
    rule = {
        "And": [
            {"Variable": "$a.b", "NumericEqualsPath": "$c"},
            {"Not": {"Variable": "$.x", "StringEqualsPath": "$$.State.Name"}},
        ]
    }
    assert set(leaf.variables_of_rule(rule)) == {"a", "c"}
