from __future__ import annotations

import hashlib
import math
import re
from typing import Any

import pytest

from statewright import errors
from statewright.query import intrinsic_functions
from statewright.query.intrinsics import IntrinsicSyntaxError, compile_intrinsic
from statewright.query.jsonpath import PathNotFound
from statewright.query.scope import Entropy, Scope


def evaluate(text: str, data: Any = None, variables: dict[str, Any] | None = None, context: Any = None) -> Any:
    scope = Scope(data, variables or {}, lambda: context, entropy=Entropy(b"seed"))
    return compile_intrinsic(text)(scope)


def same(left: Any, right: Any) -> bool:
    """Equality that tells 1 from 1.0 and from true, at any depth."""
    return repr(left) == repr(right)


def call(name: str, *values: Any) -> Any:
    """Call a function with values that come from the state's data."""
    text = f"States.{name}({', '.join(f'$.v[{index}]' for index in range(len(values)))})"
    return evaluate(text, {"v": list(values)})


def refusal(name: str, *values: Any) -> str:
    with pytest.raises(errors.ExecutionFailure) as caught:
        call(name, *values)
    assert caught.value.error == "States.IntrinsicFailure"
    start = f"Invalid arguments in States.{name}: "
    assert caught.value.cause.startswith(start)
    return caught.value.cause[len(start) :]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("States.Array()", []),
        ("  States.Array( 1 ,-2.5,1e3 , 'x')\n", [1, -2.5, 1000.0, "x"]),
        ("States.Array(null, true, false)", [None, True, False]),
        ("States.Array(-0, 0.0, 1.0, 10E-1)", [0, 0.0, 1.0, 1.0]),
        ("States.Array(12345678901234567890123)", [12345678901234567890123]),
        ("States.Array('')", [""]),
        (r"States.Array('it\'s', '\{\}', 'a\\b', '\\\\')", ["it's", "{}", "a\\b", "\\\\"]),
        ("""States.Array('a, b', ')', '(', '$.x', '"')""", ["a, b", ")", "(", "$.x", '"']),
        ("States.Array('{\"a\": {}}')", ['{"a": {}}']),
        ("States.Array('line\nbreak', 'é😀')", ["line\nbreak", "é😀"]),
        ("States.Array(States.Array(States.Array()), States.ArrayLength(States.Array(1, 2)))", [[[]], 2]),
    ],
)
def test_arguments_that_are_written_out(text: str, value: Any) -> None:
    assert same(evaluate(text), value)


LIST = [{"n": "a)", "v": 1}, {"n": "b,", "v": 2}, {"n": "c'", "v": 3}]
DATA = {"a": 1, "two words": 2, "it's": 3, "q,)]": 4, "list": LIST}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("$", DATA),
        ("$.a", 1),
        ("$['two words']", 2),
        ('$["it\'s"]', 3),
        ("$['it\\'s']", 3),
        ("$['q,)]']", 4),
        ("$.list[0]['v']", 1),
        ("$.list[?(@.n == 'a)')].v", [1]),
        ("$.list[?(@.n == 'b,')].v", [2]),
        ("$.list[?((@.v > 1) && (@.v < 3))].v", [2]),
        ("$.list[?(@.n =~ /.[),']/)].v", [1, 2, 3]),
        ("$.list[?(@.n =~ /a\\)|b./)].v", [1, 2]),
        ("$.list[?(@.v == $.a)].v", [1]),
        ("$.list[0, 2].v", [1, 3]),
        ("$.list.length()", 3),
        ("$.q\\,\\)\\]", 4),
        ("$..v", [1, 2, 3]),
        ("$$.State.Name", "S"),
        ("$order.items[1]", "second"),
        ("$order", {"items": ["first", "second"]}),
    ],
)
@pytest.mark.parametrize(
    "frame", ["States.Array({})", "States.Array( {} )", "States.ArrayGetItem(States.Array({}), 0)"]
)
def test_a_path_ends_where_it_should(frame: str, path: str, value: Any) -> None:
    variables = {"order": {"items": ["first", "second"]}}
    result = evaluate(frame.replace("{}", path), DATA, variables, {"State": {"Name": "S"}})
    assert result == (value if "GetItem" in frame else [value])


def test_what_a_call_reads_is_known_without_evaluating_it() -> None:
    intrinsic = compile_intrinsic(
        "States.Format('{}{}{}', $x.a, States.ArrayLength($$.Execution.Input), States.UUID())"
    )
    assert intrinsic.text.startswith("States.Format(")
    assert intrinsic.variables == {"x"}
    assert intrinsic.uses_context
    assert intrinsic.functions == ("States.Format", "States.ArrayLength", "States.UUID")
    assert [path.text for path in intrinsic.paths] == ["$x.a", "$$.Execution.Input"]
    plain = compile_intrinsic("States.Array($.a, 1)")
    assert (plain.variables, plain.uses_context) == (frozenset(), False)


def test_the_same_text_is_compiled_once() -> None:
    assert compile_intrinsic("States.Array($.once)") is compile_intrinsic("States.Array($.once)")


def test_a_missing_path_is_left_to_the_field() -> None:
    with pytest.raises(PathNotFound):
        evaluate("States.Format('{}', $.absent)", {"present": 1})


@pytest.mark.parametrize(
    ("text", "position", "message"),
    [
        ("", 0, "expected an intrinsic function"),
        ("$.a", 0, "expected an intrinsic function"),
        ("Format('x')", 0, "unknown function Format"),
        ("States.Nope()", 0, "unknown function States.Nope"),
        ("States.format('x')", 0, "the name is States.Format, and case matters"),
        ("States.Array", 12, "expected '(' after States.Array"),
        ("States.Array(1 2)", 15, "expected ',' or ')'"),
        ("States.Array(1))", 15, "unexpected text after the call"),
        ('States.Array("x")', 13, "single quotes"),
        ("States.Array('x)", 13, "without its closing quote"),
        ("States.Array('x\\')", 13, "without its closing quote"),
        ("States.Array('x\\", 13, "without its closing quote"),
        ("States.Array('a\\\\', 'b\\n')", 22, "a backslash may stand only before"),
        (r"States.Format('say \"{}\"', 'x')", 19, "a backslash may stand only before"),
        ("States.Array(01)", 13, "not a number"),
        ("States.Array(1.)", 13, "not a number"),
        ("States.Array(1x)", 13, "not a number"),
        ("States.Array(1e999)", 13, "out of range"),
        ("States.Array(" + "9" * 5000 + ")", 13, "too many digits"),
        ("States.Array($.a[", 13, "not closed"),
        ("States.Array($.a[)", None, "invalid path"),
        ("States.Array($['a)", 13, "not closed"),
        ("States.Array($[?(@.a == 1)", 13, "not closed"),
        ("States.Array($['a\\", 13, "not closed"),
        ("States.Array(1, $.a[b])", 20, "invalid path '$.a[b]'"),
        ("States.Array($.)", None, "invalid path"),
        ("States.Array($['" + "a" * 200 + "']", 218, "expected ',' or ')'"),
        ("States.Array($" + "x" * 200 + "]", None, "xxx..."),
        ("States.Nope" + "e" * 200 + "()", 0, "eee..."),
    ],
)
def test_what_is_no_call_is_refused_with_its_place(text: str, position: int | None, message: str) -> None:
    with pytest.raises(IntrinsicSyntaxError) as caught:
        compile_intrinsic(text)
    assert message in caught.value.message
    assert len(caught.value.message) < 400
    if position is not None:
        assert caught.value.position == position
    assert f"(at offset {caught.value.position})" in str(caught.value)


@pytest.mark.parametrize("before", ["", "1,", "$.a , "])
@pytest.mark.parametrize("after", ["", ",)", ")", "word)", "Null)", "[1])", "{})", "-)", "+1)", ".5)", "@.a)"])
def test_what_can_be_an_argument_is_said(before: str, after: str) -> None:
    before = before or "1," * (after == ")")
    with pytest.raises(IntrinsicSyntaxError, match="expected an argument: a string in single quotes") as caught:
        compile_intrinsic("States.Array(" + before + after)
    assert caught.value.position == 13 + len(before)


ARITIES: dict[str, tuple[int, int | None]] = {
    **dict.fromkeys(["StringToJson", "JsonToString", "ArrayLength", "ArrayUnique"], (1, 1)),
    **dict.fromkeys(["Base64Encode", "Base64Decode"], (1, 1)),
    **dict.fromkeys(["ArrayPartition", "ArrayContains", "ArrayGetItem", "Hash", "MathAdd", "StringSplit"], (2, 2)),
    **dict.fromkeys(["ArrayRange", "JsonMerge"], (3, 3)),
    "Format": (1, None),
    "MathRandom": (2, 3),
    "UUID": (0, 0),
    "Array": (0, None),
}


def test_there_are_eighteen_functions() -> None:
    assert {f"States.{name}" for name in ARITIES} == set(intrinsic_functions.FUNCTIONS)
    assert len(ARITIES) == 18


@pytest.mark.parametrize("name", ARITIES)
def test_the_number_of_arguments_is_checked_when_compiling(name: str) -> None:
    least, most = ARITIES[name]
    for count in range(6):
        text = f"States.{name}({', '.join(['$.a'] * count)})"
        if least <= count and (most is None or count <= most):
            compile_intrinsic(text)
        else:
            with pytest.raises(IntrinsicSyntaxError, match=rf"States.{name} takes {least} .*, but has {count}"):
                compile_intrinsic(text)


@pytest.mark.parametrize(("text", "placeholders"), [("'{}'", 1), ("'a'", 0), (r"'\{}{}'", 1), ("'{}{}{}'", 3)])
def test_a_literal_template_is_counted_when_compiling(text: str, placeholders: int) -> None:
    for count in range(5):
        call_text = f"States.Format({', '.join([text] + ['1'] * count)})"
        if count == placeholders:
            compile_intrinsic(call_text)
        else:
            with pytest.raises(IntrinsicSyntaxError, match=f"has {placeholders} placeholders .*{count} arguments"):
                compile_intrinsic(call_text)


def test_ten_calls_may_nest_and_not_eleven() -> None:
    assert evaluate("States.Array(" * 10 + ")" * 10) == [[[[[[[[[[]]]]]]]]]]
    with pytest.raises(IntrinsicSyntaxError, match="more than 10 nested calls") as caught:
        compile_intrinsic("States.Array(" * 11 + ")" * 11)
    assert caught.value.position == 130


# Generic and string functions


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"),
        (True, "true"),
        (False, "false"),
        (7, "7"),
        (-(10**25), "-" + "1" + "0" * 25),
        (-2.5, "-2.5"),
        (0.001, "0.001"),
        (0.00012, "1.2E-4"),
        (9999999.5, "9999999.5"),
        (10000000.0, "1.0E7"),
        (12345678.9, "1.23456789E7"),
        (-1e21, "-1.0E21"),
        (1.5e300, "1.5E300"),
        (5e-324, "5.0E-324"),
        (0.0, "0.0"),
        (-0.0, "-0.0"),
        ([], "[]"),
        ({}, "{}"),
        ({"Arg1": 1, "Arg2": []}, "{Arg1=1, Arg2=[]}"),
        (["a", 1, None, True, {"b": [2.0]}], "[a, 1, null, true, {b=[2.0]}]"),
    ],
)
def test_format_writes_values_as_java_does(value: Any, text: str) -> None:
    assert evaluate("States.Format('<{}>', $)", value) == f"<{text}>"
    assert evaluate("States.Format($.t, $.v)", {"t": "<{}>", "v": value}) == f"<{text}>"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("States.Format('none')", "none"),
        ("States.Format('')", ""),
        ("States.Format('{}{}', 'a', 'b')", "ab"),
        ("States.Format('a {} b {} c', 1, 2)", "a 1 b 2 c"),
        (r"States.Format('\{\} {} \{{}\}', 1, 2)", "{} 1 {2}"),
        (r"States.Format('{\} \\{}', 1)", "{} \\1"),
        ("States.Format('{ } {a} } {')", "{ } {a} } {"),
        ("States.Format('100% {}s', 5)", "100% 5s"),
        ("States.Format('{}', '{}')", "{}"),
        ("States.Format('{}{}{}', $.a, $.b, $.a)", "xyx"),
    ],
)
def test_format_templates(text: str, value: str) -> None:
    assert evaluate(text, {"a": "x", "b": "y"}) == value


def test_a_template_from_data_has_no_escapes() -> None:
    assert call("Format", "C:\\{}\\n", "x") == "C:\\x\\n"


def test_format_refusals() -> None:
    assert refusal("Format", 5) == "argument 1, the template, must be a string, but was an integer"
    assert refusal("Format", "{}") == "the template has 1 placeholders {}, but 0 arguments follow it"
    assert refusal("Format", "{}", 1, 2) == "the template has 1 placeholders {}, but 2 arguments follow it"
    assert refusal("Format", "{}", nested(201)) == "an argument nests arrays and objects deeper than 200 levels"
    assert refusal("Format", "{}", 10**5000) == "an argument is an integer with too many digits"


def nested(depth: int) -> Any:
    value: Any = 1
    for level in range(depth):
        value = [value] if level % 2 else {"a": value}
    return value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", None),
        (" \t\r\n", None),
        ("-0", 0),
        ("1.0", 1.0),
        ("-0.0", -0.0),
        ("12345678901234567890123", 12345678901234567890123),
        (' {"b": 1, "a": [true, null]} ', {"b": 1, "a": [True, None]}),
        ('"\\u00e9\\ud83d\\ude00"', "é😀"),
        ('{"a": 1, "a": 2}', {"a": 2}),
        ("[[]]" + " " * 500, [[]]),
        (f"[{'[],' * 300}{{}}]", [*([[]] * 300), {}]),
        ('"' + "[" * 500 + '"', "[" * 500),
        ('["' + '\\"[' * 500 + '"]', ['"[' * 500]),
    ],
)
def test_string_to_json(text: str, value: Any) -> None:
    assert same(call("StringToJson", text), value)


@pytest.mark.parametrize(
    "text", ["NaN", "[Infinity]", "-Infinity", "1e999", "{", "[1,]", "{'a': 1}", "1 2", "01", "9" * 5000]
)
@pytest.mark.parametrize("frame", ["{}", "[{}]", ' {{"a": {}}}'])
def test_string_to_json_refuses_numbers_and_forms_that_json_lacks(text: str, frame: str) -> None:
    assert refusal("StringToJson", frame.format(text)).startswith("argument 1 is not valid JSON: ")


SURROGATES = ['"\\ud800"', '{"\\uD800": 1}']


@pytest.mark.parametrize("text", [*SURROGATES, '"\n"', "\ufeff1", "[" * 300, "]" * 300 + "[" * 300, '["' + '\\"' * 300])
def test_string_to_json_refuses_what_is_not_json(text: str) -> None:
    assert refusal("StringToJson", text).startswith("argument 1 ")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"Arg1": 1, "Arg2": []}, '{"Arg1":1,"Arg2":[]}'),
        ({"b": 1, "a": 2}, '{"b":1,"a":2}'),
        ("plain", '"plain"'),
        ('qu"ote\n', '"qu\\"ote\\n"'),
        ("é😀", '"é😀"'),
        ([1, 1.0, -0.5, True, False, None], "[1,1.0,-0.5,true,false,null]"),
        (2**70, str(2**70)),
        (None, "null"),
    ],
)
def test_json_to_string(value: Any, text: str) -> None:
    assert call("JsonToString", value) == text
    assert same(call("StringToJson", text), value)


@pytest.mark.parametrize(
    ("text", "delimiters", "pieces"),
    [
        ("1,2,3", ",", ["1", "2", "3"]),
        ("This.is+a,test=string", ".+,=", ["This", "is", "a", "test", "string"]),
        (",,,,", ",", []),
        (",a,,b,", ",", ["a", "b"]),
        ("", ",", []),
        ("", "", []),
        ("whole", "", ["whole"]),
        ("a^b]c-d", "^]-", ["a", "b", "c", "d"]),
        ("a😀b", "😀", ["a", "b"]),
    ],
)
def test_string_split(text: str, delimiters: str, pieces: list[str]) -> None:
    assert call("StringSplit", text, delimiters) == pieces


# Arrays


@pytest.mark.parametrize(
    ("array", "size", "chunks"),
    [
        ([1, 2, 3, 4, 5, 6, 7, 8, 9], 4, [[1, 2, 3, 4], [5, 6, 7, 8], [9]]),
        ([], 3, []),
        ([1, 2], 5, [[1, 2]]),
        ([1, 2, 3], 1.5, [[1, 2], [3]]),
        ([1, 2], 0.5, [[1], [2]]),
        ([1], 10**40, [[1]]),
    ],
)
def test_array_partition(array: Any, size: Any, chunks: Any) -> None:
    assert call("ArrayPartition", array, size) == chunks


@pytest.mark.parametrize(
    ("array", "wanted", "found"),
    [
        ([1, 2, 3], 2, True),
        ([1, 2, 3], 2.0, True),
        ([1, 2.0, 3], 2, True),
        ([1.1], 1, False),
        ([True], 1, False),
        ([1], True, False),
        ([1, True], True, True),
        ([0], False, False),
        ([None], None, True),
        ([0, "", False, [], {}], None, False),
        (["1"], 1, False),
        ([[]], {}, False),
        ([{"a": 1, "b": [1, 2]}], {"b": [1.0, 2], "a": 1}, True),
        ([{"a": 1}], {"a": True}, False),
        ([{"a": 1}], {"a": 1, "b": 2}, False),
        ([[1, 2]], [2, 1], False),
        ([[-0.0]], [0], True),
        ([[2**60]], [float(2**60)], True),
        ([[2**60 + 1]], [float(2**60)], False),
    ],
)
def test_array_contains(array: Any, wanted: Any, found: bool) -> None:
    assert call("ArrayContains", array, wanted) is found


@pytest.mark.parametrize(
    ("array", "unique"),
    [
        ([1, 2, 3, 3, 3, 4, 1], [1, 2, 3, 4]),
        ([3, 1, 3, 2], [3, 1, 2]),
        ([1, 1.1, 1.0, True, "1", [1], [True], [1.0]], [1, 1.1, True, "1", [1], [True]]),
        ([0, False, None, "", [], {}, -0.0, False, None, "", [], {}], [0, False, None, "", [], {}]),
        ([{"a": 1, "b": 2}, {"b": 2, "a": 1}, {"a": 1}], [{"a": 1, "b": 2}, {"a": 1}]),
        ([[["a", 1]], {"a": 1}, [["a", 1.0]]], [[["a", 1]], {"a": 1}]),
        ([10**30, 1e30, 10**30], [10**30, 1e30]),
        ([], []),
    ],
)
def test_array_unique(array: Any, unique: Any) -> None:
    assert same(call("ArrayUnique", array), unique)


@pytest.mark.parametrize(
    ("first", "last", "step", "items"),
    [
        (1, 9, 2, [1, 3, 5, 7, 9]),
        (1, 9, 9, [1]),
        (0, 10, 3, [0, 3, 6, 9]),
        (5, 1, -2, [5, 3, 1]),
        (5, 0, -2, [5, 3, 1]),
        (1, 5, -1, []),
        (5, 1, 1, []),
        (0.5, 2.4, 0.6, [1, 2]),
        (1, 1000, 1, list(range(1, 1001))),
    ],
)
def test_array_range(first: Any, last: Any, step: Any, items: list[int]) -> None:
    assert call("ArrayRange", first, last, step) == items


def test_array_get_item_and_length() -> None:
    assert call("ArrayGetItem", [1, 2, {"a": 3}], 2) == {"a": 3}
    assert call("ArrayGetItem", [1, None], 1.0) is None
    assert call("ArrayLength", []) == 0
    assert call("ArrayLength", [[1, 2], 3]) == 2


# Encoding, hashing, objects, numbers


@pytest.mark.parametrize(
    ("plain", "encoded"),
    [("", ""), ("Data to encode", "RGF0YSB0byBlbmNvZGU="), ("é😀", "w6nwn5iA"), ("x" * 100, "eHh4" * 33 + "eA==")],
)
def test_base64(plain: str, encoded: str) -> None:
    assert call("Base64Encode", plain) == encoded
    assert call("Base64Decode", encoded) == plain
    assert call("Base64Decode", encoded.rstrip("=")) == plain
    assert call("Base64Decode", "\r\n".join(re.findall(".{1,8}", encoded))) == plain


def test_bytes_that_are_no_text_are_replaced() -> None:
    assert call("Base64Decode", "/w==") == "\ufffd"
    assert call("Base64Encode", "\ud800") == "Pw=="
    assert call("Hash", "\ud800", "MD5") == hashlib.md5(b"?").hexdigest()


@pytest.mark.parametrize(
    ("algorithm", "digest"),
    [
        ("MD5", "812f45842bc6d66ee14572ce20db8e86"),
        ("SHA-1", "aaff4a450a104cd177d28d18d74485e8cae074b7"),
        ("SHA-256", hashlib.sha256(b"input data").hexdigest()),
        ("SHA-384", hashlib.sha384(b"input data").hexdigest()),
        ("SHA-512", hashlib.sha512(b"input data").hexdigest()),
    ],
)
def test_hash(algorithm: str, digest: str) -> None:
    assert call("Hash", "input data", algorithm) == digest


def test_ten_thousand_characters_are_taken() -> None:
    text = "é" * 10_000
    assert len(call("Base64Encode", text)) > 10_000
    assert call("Hash", text, "MD5") == hashlib.md5(text.encode()).hexdigest()
    assert len(call("Base64Decode", "eHh4" * 2_500)) == 7_500
    for name in ("Base64Encode", "Base64Decode"):
        assert refusal(name, text + "x") == "argument 1 has 10001 characters, more than 10000"
    assert refusal("Hash", text + "x", "MD5") == "argument 1 has 10001 characters, more than 10000"


def test_json_merge_is_shallow_and_touches_neither_object() -> None:
    first, second = {"a": {"a1": 1}, "b": 2}, {"c": 3, "a": {"a3": 1}}
    merged = call("JsonMerge", first, second, False)
    assert merged == {"a": {"a3": 1}, "b": 2, "c": 3}
    assert list(merged) == ["a", "b", "c"]
    assert (first, second) == ({"a": {"a1": 1}, "b": 2}, {"c": 3, "a": {"a3": 1}})


@pytest.mark.parametrize(
    ("first", "second", "total"),
    [
        (111, -1, 110),
        (1.5, 0, 2),
        (-1.5, 0, -1),
        (-2.5, 0, -2),
        (-0.5, 0.5, 1),
        (0.49999999999999994, 0, 0),
        (-0.5000000000000001, 0, -1),
        (-5e-324, 0, 0),
        (2**31 - 1, 0, 2**31 - 1),
        (-(2**31), 0, -(2**31)),
        (2**31 - 1, -(2**31), -1),
    ],
)
def test_math_add_rounds_halves_up(first: Any, second: Any, total: int) -> None:
    assert same(call("MathAdd", first, second), total)


SHALLOW = "argument 3, the deep merging mode, must be false: only shallow merging is supported"
ALGORITHMS = "argument 2, the algorithm, must be one of MD5, SHA-1, SHA-256, SHA-384, SHA-512"
INT32 = "must be from -2147483648 to 2147483647, but was"
CHUNK = "argument 2, the chunk size, must be a positive integer, but was"
ORDER = "argument 1, the start, must be less than argument 2, the end, but"


@pytest.mark.parametrize(
    ("name", "values", "reason"),
    [
        ("StringToJson", [{"a": 1}], "argument 1 must be a string, but was an object"),
        ("StringSplit", [5, ","], "argument 1 must be a string, but was an integer"),
        ("StringSplit", ["a", None], "argument 2, the delimiters, must be a string, but was null"),
        ("ArrayPartition", ["a", 1], "argument 1 must be an array, but was a string"),
        ("ArrayPartition", [[], 0], f"{CHUNK} 0"),
        ("ArrayPartition", [[], 0.4], f"{CHUNK} 0"),
        ("ArrayPartition", [[], -(10**5000)], f"{CHUNK} a number of over 30 digits"),
        ("ArrayPartition", [[], True], "argument 2, the chunk size, must be a number, but was a boolean"),
        ("ArrayContains", [{}, 1], "argument 1 must be an array, but was an object"),
        ("ArrayContains", [[nested(201)], nested(201)], "a value nests arrays and objects deeper than 200 levels"),
        ("ArrayRange", ["1", 2, 1], "argument 1, the first element, must be a number, but was a string"),
        ("ArrayRange", [1, None, 1], "argument 2, the last element, must be a number, but was null"),
        ("ArrayRange", [1, 2, []], "argument 3, the step, must be a number, but was an array"),
        ("ArrayRange", [1, 2, 0], "argument 3, the step, must not be 0"),
        ("ArrayRange", [1, 2, -0.5], "argument 3, the step, must not be 0"),
        ("ArrayRange", [0, 1000, 1], "the array would have more than 1000 items"),
        ("ArrayRange", [0, -2000, -2], "the array would have more than 1000 items"),
        ("ArrayRange", [0, 10**400, 1], "the array would have more than 1000 items"),
        ("ArrayGetItem", [None, 0], "argument 1 must be an array, but was null"),
        ("ArrayGetItem", [[1], "0"], "argument 2, the index, must be an integer, but was a string"),
        ("ArrayGetItem", [[1], 0.5], "argument 2, the index, must be an integer, but was the number 0.5"),
        ("ArrayGetItem", [[1], 1], "argument 2, the index, is 1, which is outside an array of 1 items"),
        ("ArrayGetItem", [[1], -1], "argument 2, the index, is -1, which is outside an array of 1 items"),
        ("ArrayUnique", [1.5], "argument 1 must be an array, but was the number 1.5"),
        ("ArrayUnique", [[nested(201)]], "a value nests arrays and objects deeper than 200 levels"),
        ("Base64Encode", [1], "argument 1 must be a string, but was an integer"),
        ("Base64Decode", [[]], "argument 1 must be a string, but was an array"),
        ("Base64Decode", ["eHh4e"], "argument 1 is not Base64 text"),
        ("Base64Decode", ["eA==eA=="], "argument 1 is not Base64 text"),
        ("Hash", [1, "MD5"], "argument 1 must be a string, but was an integer"),
        ("Hash", ["a", "md5"], ALGORITHMS),
        ("Hash", ["a", ["MD5"]], ALGORITHMS),
        ("JsonMerge", [[], {}, False], "argument 1 must be an object, but was an array"),
        ("JsonMerge", [{}, "", False], "argument 2 must be an object, but was a string"),
        ("JsonMerge", [{}, {}, True], SHALLOW),
        ("JsonMerge", [{}, {}, 0], SHALLOW),
        ("MathAdd", ["1", 1], "argument 1 must be a number, but was a string"),
        ("MathAdd", [1, True], "argument 2 must be a number, but was a boolean"),
        ("MathAdd", [2**31, -5], f"argument 1 {INT32} 2147483648"),
        ("MathAdd", [0, -2147483648.6], f"argument 2 {INT32} -2147483649"),
        ("MathAdd", [2**31 - 1, 1], f"the sum {INT32} 2147483648"),
        ("MathAdd", [1e300, 1], f"argument 1 {INT32} a number of over 30 digits"),
        ("MathRandom", [5, 5], f"{ORDER} 5 is not less than 5"),
        ("MathRandom", [None, 5], "argument 1, the start, must be a number, but was null"),
        ("MathRandom", [1, "5"], "argument 2, the end, must be a number, but was a string"),
        ("MathRandom", [1, 5, "s"], "argument 3, the seed, must be a number, but was a string"),
        ("MathRandom", [1, 5, math.inf], "argument 3, the seed, must be a number, but was the number inf"),
    ],
)
def test_refusals_name_the_function_the_argument_and_the_rule(name: str, values: list[Any], reason: str) -> None:
    assert refusal(name, *values) == reason


def test_a_nested_failure_is_the_inner_functions_own() -> None:
    with pytest.raises(errors.ExecutionFailure) as caught:
        evaluate("States.Format('{}', States.ArrayGetItem(States.Array(1), 3))")
    assert caught.value.cause.startswith("Invalid arguments in States.ArrayGetItem: ")
