"""The definition reader: values, positions, and one clear finding per mistake."""
# ruff: noqa: E501 - tables read best with one case to a line

import json
import sys

import pytest
import yaml

from statewright.asl.reader import MAX_CHARACTERS, MAX_DEPTH, Document, ReadError, read_document
from statewright.asl.text import jackson, yaml_reader
from statewright.errors import DefinitionError, Diagnostic
from tests.deadlines import completed


def refused(text, **options) -> ReadError:
    with pytest.raises(DefinitionError) as caught:
        read_document(text, **options)
    assert isinstance(caught.value, ReadError)
    assert all(found.line >= 1 and found.column >= 1 and found.hint for found in caught.value.diagnostics)
    return caught.value


def only(text, **options) -> Diagnostic:
    (found,) = refused(text, **options).diagnostics
    return found


MACHINE = """{
  "StartAt": "A",
  "States": {
    "A": {"Type": "Pass", "Result": [1, 2.0, {"deep": null}], "End": true}
  }
}"""

MACHINE_YAML = """\
# A machine
StartAt: A
States:
  A:
    Type: Pass
    Result:
      - 1
      - 2.0
      - deep: null
    End: true
"""


class TestValues:
    @pytest.mark.parametrize(
        "text",
        [
            "{}", "[]", "null", "true", "-0", "0.0", "-1.5e-3", "1E+2", '"x"', " [ 1 , [ ] , { } ] \r\n",
            '{"b": 1, "a": {"": [[]]}}', r'"\"\\\/\b\f\n\r\t\u00e9\u0000\ud83d\ude00"', '"é😀\u2028"',
            "9007199254740993", "-123456789012345678901234567890", "1.0", "[1e3, 100, 1.50]",
        ],
    )  # fmt: skip
    def test_json_is_read_as_the_standard_library_reads_it(self, text):
        value = read_document(text, syntax="json").value
        assert repr(value) == repr(json.loads(text))

    def test_order_digits_and_floats_are_kept(self):
        value = read_document('{"z": 9007199254740993, "a": 1.0}').value
        assert list(value) == ["z", "a"]
        assert value["z"] == 9007199254740993
        assert isinstance(value["a"], float)

    def test_both_syntaxes_give_the_same_value(self):
        assert read_document(MACHINE_YAML).value == read_document(MACHINE).value == json.loads(MACHINE)

    @pytest.mark.parametrize("text", ["\ufeff" + MACHINE, ("\ufeff" + MACHINE).encode(), MACHINE.encode()])
    def test_bytes_and_byte_order_marks(self, text):
        assert read_document(text).value["StartAt"] == "A"

    def test_a_byte_order_mark_before_yaml_shifts_no_position(self):
        assert read_document("\ufeffa: 1\nb: 2").position(("b",)) == (2, 4)

    def test_the_deepest_value(self):
        for syntax in ("json", "yaml"):
            text = "[" * MAX_DEPTH + "]" * MAX_DEPTH
            assert read_document(text, syntax=syntax).value

    def test_a_number_as_long_as_may_be(self):
        assert read_document("9" * 1000, syntax="json").value == read_document("9" * 1000, syntax="yaml").value

    def test_a_text_as_long_as_may_be(self):
        text = '["' + "x" * (MAX_CHARACTERS - 4) + '"]'
        assert len(text) == MAX_CHARACTERS
        assert len(read_document(text).value[0]) == MAX_CHARACTERS - 4


class TestSyntax:
    @pytest.mark.parametrize(
        ("name", "text", "expected"),
        [
            ("x.asl.json", "{}", "json"),
            ("x.ASL", "{}", "json"),
            ("x.yaml", "{a: 1}", "yaml"),
            ("x.yml", "{a: 1}", "yaml"),
            ("definition", " \n {}", "json"),
            ("definition", "\ufeff[]", "json"),
            ("definition", '"text"', "json"),
            ("definition", '"StartAt": A\n', "yaml"),
            ("definition", "StartAt: A", "yaml"),
            ("definition", "---\na: 1", "yaml"),
            ("definition", "plain", "yaml"),
        ],
    )
    def test_ending_then_first_character(self, name, text, expected):
        assert read_document(text, name=name).syntax == expected

    @pytest.mark.parametrize("text", ["// comment\n{}", "/* */ {}", '"StartAt": "A",\n"x": 1}', "}", '"States": {\n}'])
    def test_broken_json_is_told_from_yaml(self, text):
        error = refused(text)
        assert error.service_message or "brace" in (error.diagnostics[0].hint or "")

    def test_the_argument_wins(self):
        assert read_document("{a: 1}", name="x.json", syntax="yaml").value == {"a": 1}

    def test_json_does_not_load_yaml(self):
        code = (
            "import sys; from statewright.asl.reader import read_document; read_document('{}');"
            "sys.exit('yaml' in sys.modules)"
        )
        assert completed([sys.executable, "-c", code]).returncode == 0


class TestPositions:
    document = read_document(MACHINE)

    @pytest.mark.parametrize(
        ("path", "value_at", "key_at"),
        [
            ((), (1, 1), (1, 1)),
            (("StartAt",), (2, 14), (2, 3)),
            (("States", "A"), (4, 10), (4, 5)),
            (("States", "A", "Result", 1), (4, 41), (4, 41)),
            (("States", "A", "Result", 2, "deep"), (4, 55), (4, 47)),
            (("States", "A", "Nope", "x"), (4, 10), (4, 5)),
            (("States", "A", "Result", 7), (4, 37), (4, 27)),
            (("States", "A", "Result", "x"), (4, 37), (4, 27)),
            (("States", 0), (3, 13), (3, 3)),
            (("StartAt", "x"), (2, 14), (2, 3)),
        ],
    )
    def test_json(self, path, value_at, key_at):
        assert self.document.position(path) == value_at
        assert self.document.key_position(path) == key_at

    @pytest.mark.parametrize(
        ("path", "value_at", "key_at"),
        [
            ((), (2, 1), (2, 1)),
            (("StartAt",), (2, 10), (2, 1)),
            (("States",), (4, 3), (3, 1)),
            (("States", "A", "Result", 1), (8, 9), (8, 9)),
            (("States", "A", "Result", 2, "deep"), (9, 15), (9, 9)),
            (("States", "Nope"), (4, 3), (3, 1)),
        ],
    )
    def test_yaml(self, path, value_at, key_at):
        document = read_document(MACHINE_YAML)
        assert document.position(path) == value_at
        assert document.key_position(path) == key_at

    def test_every_kind_of_line_break_counts_once(self):
        document = read_document('{"a":1,\n"b":2,\r\n"c":3,\r"d":4}')
        assert [document.position((name,)) for name in "abcd"] == [(1, 6), (2, 5), (3, 5), (4, 5)]

    def test_characters_count_not_bytes(self):
        assert read_document('{"é😀": 1}').position(("é😀",)) == (1, 8)
        assert read_document("é😀: 1").position(("é😀",)) == (1, 5)

    def test_a_repeated_part_stands_at_its_anchor(self):
        document = read_document("a: &x {q: 1}\nb: *x\nc:\n  <<: *x\n  r: 2\n")
        assert document.position(("b", "q")) == (1, 11)
        assert document.key_position(("b",)) == (2, 1)
        assert document.position(("c", "q")) == (1, 11)
        assert document.position(("c", "r")) == (5, 6)

    def test_documents_compare_by_what_they_hold(self):
        assert read_document("[1]", name="x") == read_document(" [1]", name="x")
        assert isinstance(self.document, Document)


class TestPlaceholders:
    def test_bare_in_json(self):
        document = read_document('{"T": ${Timeout}, "L": [1, ${f({a=1})}], "Q": "${Quoted}"}')
        assert document.value == {"T": "${Timeout}", "L": [1, "${f({a=1})}"], "Q": "${Quoted}"}
        assert document.placeholders == (("T",), ("L", 1))
        assert document.position(("T",)) == (1, 7)

    def test_as_the_whole_text(self):
        assert read_document("${X}", syntax="json").placeholders == ((),)

    @pytest.mark.parametrize("text", ['{"T": ${}}', '{"T": ${a}', '{"T": ${a', "{${K}: 1}", '{"T": ${a}0}', "[${a\n}]"])
    def test_refused_where_it_is_no_value(self, text):
        refused(text)

    def test_refused_on_request(self):
        found = only('{"T": ${Timeout}}', placeholders=False)
        assert (found.line, found.column, found.path) == (1, 7, ("T",))
        assert "placeholder" in found.message

    def test_plain_in_yaml(self):
        document = read_document("T: &t ${Timeout}\nQ: '${Quoted}'\nL:\n  - *t\n  - x ${y}\n${k}: 1\n")
        assert document.placeholders == (("T",), ("L", 0))
        assert read_document("T: ${Timeout}", placeholders=False).placeholders == ()

    def test_merged_in_yaml(self):
        assert read_document("a: &a {T: 1}\nb: &b\n  T: ${X}\nc:\n  <<: [*b, *a]\n").placeholders == (
            ("b", "T"),
            ("c", "T"),
        )


JSON_FAULTS = [
    # text, line, column, path, part of the message, part of the hint
    ("not a definition", 1, 1, (), 'bare word "not"', "double quotes"),
    ("{", 1, 2, (), '"{" of line 1, column 1 is still open', 'with "}"'),
    ('{"a": [1,\n 2', 2, 3, ("a",), '"[" of line 1, column 7 is still open', 'with "]"'),
    ('{"a"', 1, 5, (), 'expected ":" and a value', "cut off"),
    ('{"a":', 1, 6, ("a",), "expected a value", "cut off"),
    ("[1,", 1, 4, (1,), "expected a value", "cut off"),
    ("[1, ]", 1, 3, (1,), 'found "," before "]"', "remove the comma"),
    ('{"a":1,\n}', 1, 7, (), 'found "," before "}"', "remove the comma"),
    ("{,}", 1, 2, (), 'found ","', "remove the comma"),
    ("[,1]", 1, 2, (0,), 'found ","', "remove the comma"),
    ('{"a":}', 1, 6, ("a",), 'found "}"', "null"),
    ("]", 1, 1, (), 'found "]"', "null"),
    ('{"a":[1}', 1, 8, ("a",), 'end the "[" of line 1, column 6', 'with "]"'),
    ("{'a':1}", 1, 2, (), "single quote", "double quotes"),
    ("{\"a\":'x'}", 1, 6, ("a",), "single quote", "double quotes"),
    ('{"a":“x”}', 1, 6, ("a",), "the quote “", "double quotes"),
    ("{StartAt: 1}", 1, 2, (), 'bare word "StartAt"', 'write "StartAt"'),
    ("{1: 1}", 1, 2, (), 'found "1"', "members"),
    ("{[]: 1}", 1, 2, (), 'found "["', "members"),
    ('{"a" 1}', 1, 6, (), 'after the name "a"', 'write ":"'),
    ('{"a" = 1}', 1, 6, (), 'found "="', 'write ":"'),
    ('{"a", "b"}', 1, 5, (), 'found ","', "write the value"),
    ('{"a" // no\n:1}', 1, 6, (), "comment", "Comment"),
    ('{"a":1 "b":2}', 1, 8, (), "another value", 'write ","'),
    ('{"a":1\n "b":2}', 1, 7, (), "no comma after this value", "end of the line"),
    ('{"a":"x "y" z"}', 1, 10, (), 'found "y"', '\\"'),
    ("[1 2]", 1, 4, (), 'found "2"', 'write ","'),
    ("[1 ?]", 1, 4, (), 'found "?"', 'write ","'),
    ("[?]", 1, 2, (0,), 'found "?"', "true, false or null"),
    ("[1] 2", 1, 5, (), "after the end", "remove the rest"),
    ("{}}", 1, 3, (), "after the end", "too many"),
    ('"StartAt": "A"', 1, 10, (), "after the end", "opening brace"),
    ("{} # end", 1, 4, (), "comment", "Comment"),
    ("/* x */ {}", 1, 1, (), "comment", "YAML"),
    ('{"a":1 // x\n}', 1, 8, (), "comment", "Comment"),
    ("[NaN]", 1, 2, (0,), "found NaN", "null"),
    ("[-Infinity]", 1, 2, (0,), "found -Infinity", "null"),
    ("[True]", 1, 2, (0,), "found True", "write true"),
    ("[None]", 1, 2, (0,), "found None", "write null"),
    ("[undefined]", 1, 2, (0,), "found undefined", "null"),
    ("[nulls]", 1, 2, (0,), 'bare word "nulls"', "double quotes"),
    ("[012]", 1, 2, (0,), "malformed number", "leading zero"),
    ("[.5]", 1, 2, (0,), "malformed number", "both sides"),
    ("[5.]", 1, 2, (0,), "malformed number", "both sides"),
    ("[+5]", 1, 2, (0,), "malformed number", "plus"),
    ("[1e]", 1, 2, (0,), "malformed number", "1e3"),
    ("[-]", 1, 2, (0,), "malformed number", "-12"),
    ("[0x1F]", 1, 2, (0,), "malformed number", "look like"),
    ("[1_000]", 1, 2, (0,), "malformed number", "look like"),
    ("[1e999]", 1, 2, (0,), "below 1.8e308", "quotes"),
    ("[" + "1" * 1001 + "]", 1, 2, (0,), "1,001 characters", "quotes"),
    ('{"a":"abc', 1, 6, ("a",), "without an end", "closing quote"),
    ('{"a', 1, 2, (), "without an end", "closing quote"),
    ('{"a":"abc\n"}', 1, 6, ("a",), "without an end on its line", "\\n"),
    ('["\\q"]', 1, 3, (0,), "unknown escape \\q", "two"),
    ('["\\u12"]', 1, 3, (0,), "four hexadecimal digits", "all four"),
    ('["\\', 1, 3, (0,), "unknown escape", "two"),
    ('["a\tb"]', 1, 4, (0,), "U+0009", "write \\t"),
    ('["a\x01b"]', 1, 4, (0,), "U+0001", "write \\u0001"),
    ('["x\\ud83d\\ude00\\ud800"]', 1, 16, (0,), "\\ud800", "both halves"),
    ('{"\\udc00": 1}', 1, 3, (), "\\udc00", "both halves"),
    ('[1,"\ud800"]', 1, 5, (), "U+D800", "UTF-8"),
    ('{"a":\xa01}', 1, 6, ("a",), "no-break space", "invisible"),
    ("[\x00]", 1, 2, (0,), "U+0000", "remove"),
]  # fmt: skip


class TestBrokenJson:
    @pytest.mark.parametrize(("text", "line", "column", "path", "message", "hint"), JSON_FAULTS)
    def test_says_what_where_and_how(self, text, line, column, path, message, hint):
        found = only(text, syntax="json")
        assert (found.line, found.column, found.path, found.code) == (line, column, path, "INVALID_JSON_DESCRIPTION")
        assert message in found.message
        assert "expected" in found.message
        assert hint in (found.hint or "")

    def test_every_repeated_name_is_listed_with_both_places(self):
        error = refused('{"a": 1, "a": {"c": 1,\n "c": 2},\n "\\u0061": 3}', name="m.json")
        assert error.name == "m.json"
        assert [(found.line, found.column, found.path) for found in error.diagnostics] == [
            (1, 10, ("a",)),
            (2, 2, ("a", "c")),
            (3, 2, ("a",)),
        ]
        assert "(first at line 1, column 16)" in error.diagnostics[1].message
        assert error.service_message is None

    def test_repeated_names_and_the_break_after_them(self):
        error = refused('[{"a":1,"a":2}, {"b":1,"b":2}, nope]')
        assert [found.path for found in error.diagnostics] == [(0, "a"), (1, "b"), (2,)]
        assert error.service_message
        assert error.service_message.startswith("Unrecognized token 'nope'")

    def test_a_flood_of_findings_is_cut(self):
        assert len(refused("{" + '"a":1,' * 5000 + '"a":1}').diagnostics) == 1000
        assert len(refused("a: 1\n" * 5000).diagnostics) == 1000

    @pytest.mark.parametrize("text", ["", " \n", "\ufeff", "\ufeff \t"])
    @pytest.mark.parametrize("syntax", ["json", "yaml"])
    def test_an_empty_text(self, text, syntax):
        error = refused(text, syntax=syntax)
        assert error.diagnostics[0].code == "SCHEMA_VALIDATION_FAILED"
        if syntax == "json" and not text.startswith("\ufeff"):
            assert error.service_location is None
            assert error.service_message == "Definition must be a valid JSON object"


class TestLimits:
    @pytest.mark.parametrize("syntax", ["json", "yaml"])
    @pytest.mark.parametrize("unit", ["[", '{"a":', '[{"a":'])
    def test_hostile_depth(self, unit, syntax):
        found = only(unit * 10_000, syntax=syntax)
        assert found.code == "TOO_DEEPLY_NESTED"
        assert "200" in found.message

    @pytest.mark.parametrize("text", ["- " * 10_000, "\n".join(" " * i + "a:" for i in range(1000))])
    def test_hostile_depth_in_blocks(self, text):
        assert only(text).code == "TOO_DEEPLY_NESTED"

    def test_the_limits_can_be_moved(self):
        assert only("[[1]]", max_depth=1).column == 2
        assert read_document("[[1]]", max_depth=2).value == [[1]]
        assert "at most 4" in only("[1,2]", max_characters=4).message

    def test_too_long(self):
        assert "1,048,577 characters" in only(" " * (MAX_CHARACTERS - 1) + "{}").message
        error = refused(b"\xff" * (4 * MAX_CHARACTERS + 1))
        assert "more than 1,048,576" in error.diagnostics[0].message
        assert error.service_message is None

    @pytest.mark.parametrize(
        ("data", "line", "column", "message", "hint"),
        [
            (b'{"a":\n "\xff"}', 2, 3, "0xff at byte offset 8", "UTF-8"),
            ('{"é": "'.encode() + b'\xc3"}', 1, 8, "0xc3 at byte offset 8", "UTF-8"),
            ("{}".encode("utf-16"), 1, 1, "byte offset 0", "UTF-16"),
        ],
    )
    def test_bytes_that_are_not_utf_8(self, data, line, column, message, hint):
        found = only(data)
        assert (found.line, found.column) == (line, column)
        assert message in found.message
        assert hint in (found.hint or "")


class TestServiceWords:
    VALUES = "(JSON String, Number, Array, Object or token 'null', 'true' or 'false')"

    @pytest.mark.parametrize(
        ("text", "reason", "line", "column"),
        [
            ("not a definition", f"Unrecognized token 'not': was expecting {VALUES}", 1, 4),
            ("{'a': 1}", "Unexpected character (''' (code 39)): was expecting double-quote to start field name", 1, 3),
            ('{"a" 1}', "Unexpected character ('1' (code 49)): was expecting a colon to separate field name and value", 1, 7),
            ('{"a":1 "b"', "Unexpected character ('\"' (code 34)): was expecting comma to separate Object entries", 1, 9),
            ("[1 2]", "Unexpected character ('2' (code 50)): was expecting comma to separate Array entries", 1, 5),
            ("[1,]", f"Unexpected character (']' (code 93)): expected a valid value {VALUES}", 1, 5),
            ("[1,}", "Unexpected character ('}' (code 125)): expected a value", 1, 5),
            ('{"a":}', f"Unexpected character ('}}' (code 125)): expected a valid value {VALUES}", 1, 7),
            ('{"a":1,}', "Unexpected character ('}' (code 125)): was expecting double-quote to start field name", 1, 9),
            ('{"a":${T}}', f"Unrecognized token '$': was expecting {VALUES}", 1, 7),
            ("[tru]", f"Unrecognized token 'tru': was expecting {VALUES}", 1, 5),
            ("[truex]", f"Unrecognized token 'truex': was expecting {VALUES}", 1, 7),
            ("[é1\x00\x1b-]", f"Unrecognized token 'é1\x00\x1b': was expecting {VALUES}", 1, 6),
            ("x" * 300, f"Unrecognized token '{'x' * 256}...': was expecting {VALUES}", 1, 257),
            ("[“]", f"Unexpected character ('“' (code 8220 / 0x201c)): expected a valid value {VALUES}", 1, 3),
            ("[😀]", f"Unexpected character ('?' (code 55357 / 0xd83d)): expected a valid value {VALUES}", 1, 4),
            ('{"a":1', 'Unexpected end-of-input: expected close marker for Object (start marker at [Source: (String)"{"a":1"; line: 1, column: 1])', 1, 7),
            ('[\n', 'Unexpected end-of-input: expected close marker for Array (start marker at [Source: (String)"[\n"; line: 1, column: 1])', 2, 1),
            ("[1,", "Unexpected end-of-input within/between Array entries", 1, 4),
            ('{"a"', "Unexpected end-of-input within/between Object entries", 1, 5),
            ('{"a":', "Unexpected end-of-input within/between Object entries", 1, 6),
            ('{"a', "Unexpected end-of-input in field name", 1, 4),
            ('["a', "Unexpected end-of-input: was expecting closing quote for a string value", 1, 4),
            ('["\\', "Unexpected end-of-input in character escape sequence", 1, 4),
            ('["\\u1', "Unexpected end-of-input in character escape sequence", 1, 6),
            ('["\\q"]', "Unrecognized character escape 'q' (code 113)", 1, 5),
            ('["\\ux"]', "Unexpected character ('x' (code 120)): expected a hex-digit for character escape sequence", 1, 6),
            ('["a\n"]', "Illegal unquoted character ((CTRL-CHAR, code 10)): has to be escaped using backslash to be included in string value", 1, 5),
            ('{"a\t":1}', "Illegal unquoted character ((CTRL-CHAR, code 9)): has to be escaped using backslash to be included in name", 1, 5),
            ("[\x01", "Illegal character ((CTRL-CHAR, code 1)): only regular white space (\\r, \\n, \\t) is allowed between tokens", 1, 3),
            ("[1}", "Unexpected close marker '}': expected ']' (for Array starting at [Source: (String)\"[1}\"; line: 1, column: 1])", 1, 4),
            ('{"a":1]', "Unexpected close marker ']': expected '}' (for Object starting at [Source: (String)\"{\"a\":1]\"; line: 1, column: 1])", 1, 8),
            ("]", "Unexpected close marker ']': expected '}' (for root starting at [Source: (String)\"]\"; line: 1, column: 0])", 1, 2),
            ("\r\n // x", "Unexpected character ('/' (code 47)): maybe a (non-standard) comment? (not recognized as one since Feature 'ALLOW_COMMENTS' not enabled for parser)", 2, 3),
            ("# x", f"Unexpected character ('#' (code 35)): expected a valid value {VALUES}", 1, 2),
            ("[NaN]", "Non-standard token 'NaN': enable JsonParser.Feature.ALLOW_NON_NUMERIC_NUMBERS to allow", 1, 5),
            ("[-Infinity]", "Non-standard token '-Infinity': enable JsonParser.Feature.ALLOW_NON_NUMERIC_NUMBERS to allow", 1, 11),
            ("[-INF]", "Non-standard token '-INF': enable JsonParser.Feature.ALLOW_NON_NUMERIC_NUMBERS to allow", 1, 6),
            ("[-Ix]", "Unexpected character ('x' (code 120)) in numeric value: expected digit (0-9) to follow minus sign, for valid numeric value", 1, 5),
            ("[-I", "Unexpected end-of-input in a Number value", 1, 4),
            ("[+", "Unexpected end-of-input in a Number value", 1, 3),
            ("[-", "Unexpected end-of-inputNo digit following minus sign", 1, 3),
            ("[-x]", "Unexpected character ('x' (code 120)) in numeric value: expected digit (0-9) to follow minus sign, for valid numeric value", 1, 4),
            ("[012]", "Invalid numeric value: Leading zeroes not allowed", 1, 3),
            ("[5.x]", "Unexpected character ('x' (code 120)) in numeric value: Decimal point not followed by a digit", 1, 4),
            ("[0.x]", "Unexpected character ('x' (code 120)) in numeric value: Decimal point not followed by a digit", 1, 5),
            ("[5.", "Unexpected character ('.' (code 46)) in numeric value: Decimal point not followed by a digit", 1, 4),
            ("[1e+]", "Unexpected character (']' (code 93)) in numeric value: Exponent indicator not followed by a digit", 1, 4),
            ("[0e]", "Unexpected character (']' (code 93)) in numeric value: Exponent indicator not followed by a digit", 1, 5),
            ("[1.5e", "Unexpected end-of-inputexpected a digit for number exponent", 1, 6),
            ("1x", "Unexpected character ('x' (code 120)): Expected space separating root-level values", 1, 3),
        ],
    )  # fmt: skip
    def test_first_complaint(self, text, reason, line, column):
        fault = jackson.first_fault(text)
        assert fault
        assert (fault.reason, fault.line, fault.column) == (reason, line, column)

    def test_message_and_location(self):
        error = refused("not a definition", syntax="json")
        location = '[Source: (String)"not a definition"; line: 1, column: 4]'
        assert error.service_location == location
        assert error.service_message == f"Unrecognized token 'not': was expecting {self.VALUES}\n at {location}"

    @pytest.mark.parametrize("text", ["", " ", "{} x", '{"a":1,"a":2}', MACHINE, "-1.5e3 ", "[0, 1.5, true, null]"])
    def test_what_the_service_would_read(self, text):
        assert jackson.first_fault(text) is None

    def test_yaml_has_no_service_words(self):
        error = refused("a: [", syntax="yaml")
        assert error.service_message is None
        assert error.service_location is None

    def test_a_long_text_is_cut_and_a_very_long_one_is_not_quoted(self):
        cut = jackson.first_fault("[\x07" + "x" * 598)
        assert cut
        assert cut.location == f'[Source: (String)"[\\u0007{"x" * 498}"[truncated 100 chars]; line: 1, column: 3]'
        streamed = jackson.first_fault("[" + " " * 40_000)
        assert streamed
        assert streamed.location == "[Source: (StringReader); line: 1, column: 40002]"


class TestYamlValues:
    @pytest.mark.parametrize(
        ("text", "value"),
        [
            ("yes", "yes"), ("no", "no"), ("on", "on"), ("Off", "Off"), ("y", "y"),
            ("true", True), ("FALSE", False), ("null", None), ("~", None), ("Null", None),
            ("2020-01-01", "2020-01-01"), ("2020-01-01T00:00:00Z", "2020-01-01T00:00:00Z"), ("1:30", "1:30"),
            ("1_000", "1_000"), ("012", "012"), ("000000000000", "000000000000"), ("-007", "-007"), ("00.5", "00.5"),
            ("0x1F", 31), ("0o17", 15), ("0xg", "0xg"), ("12", 12), ("+12", 12), ("-12", -12), ("0", 0),
            ("9007199254740993", 9007199254740993), ("1.0", 1.0), (".5", 0.5), ("5.", 5.0), ("1e3", 1000.0), ("-1.5E-3", -0.0015),
            ("1.2.3", "1.2.3"), (".", "."), ("+", "+"), ("1 a", "1 a"), ("é", "é"),
            ("'1'", "1"), ('"true"', "true"), ("!!str 1", "1"), ("! 1", "1"), ('!!int "5"', 5), ("!!float 5", 5.0), ('!!null ""', None),
            ('!!bool "true"', True), ("!!map {}", {}), ("!!seq []", []), ("[a, {b: c}]", ["a", {"b": "c"}]),
            ("|\n  a\n  b\n", "a\nb\n"), (">-\n  a\n  b\n", "a b"), ('"\\x41\\u00e9"', "Aé"),
            ("{a: }", {"a": None}), ("'{% $states.input %}'", "{% $states.input %}"), ("2.5 # comment", 2.5),
        ],
    )  # fmt: skip
    @pytest.mark.parametrize("loader", [yaml_reader.LOADER, yaml.SafeLoader])
    def test_scalars(self, text, value, loader, monkeypatch):
        monkeypatch.setattr(yaml_reader, "LOADER", loader)
        assert repr(read_document(f"v: {text}", syntax="yaml").value) == repr({"v": value})

    def test_a_lone_scalar(self):
        document = read_document("--- 5\n...\n")
        assert (document.value, document.position()) == (5, (1, 5))
        assert read_document("---\n").value is None

    def test_aliases_share_and_merges_yield(self):
        value = read_document(
            "a: &a {x: 1, y: 1}\nb: &b {y: 2, z: 2}\nc: *a\nd: {<<: [*a, *b], x: 0}\ne: {<<: {q: 1}}\n&k f: *k\n"
        ).value
        assert value["c"] is value["a"]
        assert value["d"] == {"x": 0, "y": 1, "z": 2}
        assert value["e"] == {"q": 1}
        assert value["f"] == "f"

    def test_an_anchor_can_move(self):
        assert read_document("a: &x 1\nb: &x 2\nc: *x").value["c"] == 2

    def test_a_quoted_merge_sign_is_a_name(self):
        assert read_document('"<<": 1').value == {"<<": 1}


YAML_FAULTS = [
    ("a: 1\nb: [1, 2\n", 3, 1, "after an element", 'close "["'),
    ("a: {b: 1", 1, 9, "after a member", 'close "{"'),
    ('a: "x\nb: 2', 1, 4, "inside quotes", "closing quote"),
    ('a: "x\n---\n', 1, 4, "inside quotes", "closing quote"),
    ('a: "\\q"', 1, 5, "unknown escape", "single quotes"),
    ("a:\n\tb: 1", 2, 1, "a tab", "indent with spaces"),
    ("a: b: c", 1, 5, 'found ":"', "quote the text"),
    ("a: - b", 1, 4, 'found "-"', "lines below"),
    ("a: @x", 1, 4, 'found "@"', "quote the text"),
    ("a: *", 1, 5, "without a name", "quote the text"),
    ("a: 'x' y", 1, 8, "not a member", "quote"),
    ("a: 1\n b: 2\n", 2, 3, 'found ":"', "indentation"),
    ("a: 1\nb\nc: 1", 3, 1, 'without ":"', "indentation"),
    ("a: ]", 1, 4, "nothing that can be a value", "quote"),
    ("5\n---\na: 1", 2, 1, "second document", "---"),
    ("'a'\nb", 2, 1, "more text after the end", "indentation"),
    ("%TAG ! x\n", 2, 1, "found", "line"),
    ('a: "\\ud83d\\ude00"', 1, 7, "not a whole character", "character itself"),
    ("a: {% $x + 1 %}", 1, 5, "outside quotes", "'{% ... %}'"),
    ("a: *nope", 1, 4, "alias *nope", "&nope"),
    ("a: &x [*x]", 1, 8, "inside its own anchor", "write the value out"),
    ("1: a", 1, 1, 'name "1", which is a number', 'write "1" in quotes'),
    ("a:\n  null: b", 2, 3, "which is null", 'write "null" in quotes'),
    ("True: b", 1, 1, "is a boolean", 'write "True" in quotes'),
    ("1.5: b", 1, 1, "a number", "quotes"),
    ("? [a]\n: b", 1, 3, "a list as a name", "quotes"),
    ("? {a: 1}\n: b", 1, 3, "a mapping as a name", "quotes"),
    ("a: &b 1\nc: {*b : 1}", 2, 5, "a number", "quotes"),
    ("a: .inf", 1, 4, "found .inf", "null"),
    ("a: -.Inf", 1, 4, "found -.Inf", "null"),
    ("a: .NaN", 1, 4, "found .NaN", "null"),
    ("a: 1e999", 1, 4, "below 1.8e308", "quotes"),
    ("a: " + "1" * 1001, 1, 4, "1,001 characters", "quotes"),
    ("a: !Sub x-${y}", 1, 4, "the tag !Sub", "CloudFormation"),
    ("a: !GetAtt [x, y]", 1, 4, "the tag !GetAtt", "CloudFormation"),
    ("a: !mine {b: 1}", 1, 4, "the tag !mine", "remove the tag"),
    ("a: !!binary aGk=", 1, 4, "the tag !!binary", "remove the tag"),
    ("a: !!set {b}", 1, 4, "the tag !!set", "remove the tag"),
    ("a: !!int x", 1, 4, "with the tag !!int", "remove the tag"),
    ("a: {<<: 1}", 1, 9, "found <<", "anchor"),
    ("a: {<<: [1]}", 1, 9, "found <<", "anchor"),
    ("a: \x07", 1, 4, "U+0007", "escape"),
    ("a: b\ufeffc", 1, 5, "U+FEFF", "escape"),
]  # fmt: skip


class TestBrokenYaml:
    @pytest.mark.parametrize(("text", "line", "column", "message", "hint"), YAML_FAULTS)
    def test_says_what_where_and_how(self, text, line, column, message, hint):
        found = only(text, syntax="yaml")
        assert (found.line, found.column) == (line, column)
        assert message in found.message
        assert hint in (found.hint or "")

    def test_all_repeated_and_unusable_names(self):
        error = refused("a: 1\na: 2\nb:\n  - 1: x\n    c: 1\n    c: 2\n")
        assert [(found.line, found.column, found.path) for found in error.diagnostics] == [
            (2, 1, ("a",)),
            (4, 5, ("b", 0)),
            (6, 5, ("b", 0, "c")),
        ]

    def test_a_field_among_the_items_of_a_list(self):
        found = only("States:\n  C:\n    Choices:\n      - Variable: $.a\n        Next: A\n      Default: B\n")
        assert (found.line, found.column) == (6, 7)
        assert 'found "Default" among the items' in found.message
        assert 'move "Default" to column 5 if it belongs beside "Choices"' in (found.hint or "")
        assert 'start every item of the list with "- "' in (only("- a\nb: 1").hint or "")

    def test_an_error_without_a_place(self, monkeypatch):
        def broken(*_args, **_options):
            raise yaml.YAMLError("odd")

        monkeypatch.setattr(yaml, "parse", broken)
        assert "odd" in only("a: 1").message

    @pytest.mark.parametrize(("before", "after"), [("[", "]"), ("{<<: [", "], k: 1}")])
    def test_alias_bombs(self, before, after):
        text = "a0: &a0 {k0: xxxxxxxx}\n" + "".join(
            f"a{level}: &a{level} {before}{f'*a{level - 1},' * 9}{after}\n" for level in range(1, 20)
        )
        assert "aliases that repeat more than 1,048,576 characters" in only(text).message

    def test_one_large_text_repeated(self):
        assert "aliases that repeat" in only(f"a: &a {'x' * 100_000}\nb: [{'*a,' * 20}]").message

    def test_depth_hidden_in_aliases(self):
        text = f"a: &a {'[' * 150 + ']' * 150}\nb: {'[' * 60}*a{']' * 60}\n"
        assert only(text).code == "TOO_DEEPLY_NESTED"
