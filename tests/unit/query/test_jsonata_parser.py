from collections import Counter

import pytest

from statewright.query.jsonata import JsonataSyntaxError
from statewright.query.jsonata.lexer import Lexer
from statewright.query.jsonata.parser import MAX_DEPTH, MAX_NESTING, Node, parse


def shape(node: Node) -> object:
    """The tree as nested tuples, for comparison."""
    name = node.kind if node.value is None else f"{node.kind} {node.value}"
    return (name, *map(shape, node.items)) if node.items else name


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("1 + 2 * 3", ("binary +", "number 1.0", ("binary *", "number 2.0", "number 3.0"))),
        ("1 - 2 - 3", ("binary -", ("binary -", "number 1.0", "number 2.0"), "number 3.0")),
        ("-1", "number -1.0"),
        ("-$x", ("negate -", "variable x")),
        ("$x.a.b", ("binary .", ("binary .", "variable x", "name a"), "name b")),
        ("$x.a[0].b", ("binary .", ("binary .", "variable x", ("filter", "name a", "number 0.0")), "name b")),
        ("$x[]", ("keep", "variable x")),
        ("a or b and c", ("binary or", "name a", ("binary and", "name b", "name c"))),
        ("and and and", ("binary and", "name and", "name and")),
        ("a ? b : c ? d : e", ("condition", "name a", "name b", ("condition", "name c", "name d", "name e"))),
        ("a ? b", ("condition", "name a", "name b")),
        (
            "{'a': 1, b: [2, 3..4]}",
            (
                "object",
                "string a",
                "number 1.0",
                "name b",
                ("array", "number 2.0", ("range ..", "number 3.0", "number 4.0")),
            ),
        ),
        ("a@$i.b#$j", ("binary .", ("focus i", "name a", "variable i"), ("index j", "name b", "variable j"))),
        (
            "$x ~> |a|{'b': 1}, 'c'|",
            ("binary ~>", "variable x", ("transform", "name a", ("object", "string b", "number 1.0"), "string c")),
        ),
        ("[1, /a/]", ("array", "number 1.0", "regex a")),
        ("$f(/a\\/[/]b/i)", ("call", "variable f", "regex a\\/[/]b")),
        ("function($a)<a<n>f<n:n>(sn)-:n>{1}", ("lambda", "variable a", "number 1.0")),
        ("$x{a: b}", ("group", "variable x", "name a", "name b")),
        ("$x^(>a, <b, c)", ("order", "variable x", "name a", "name b", "name c")),
        ("$x := $y := 1", ("bind x", "variable x", ("bind y", "variable y", "number 1.0"))),
        ("$f(?, 1)", ("call", "variable f", "placeholder ?", "number 1.0")),
        ("function($a, $b)<n-n:n>{$a}", ("lambda", "variable a", "variable b", "variable a")),
        ("λ(){1}", ("lambda", "number 1.0")),
        ("(1; 2;)", ("block", "number 1.0", "number 2.0")),
        ("()", "block"),
        ("*.**.%", ("binary .", ("binary .", "wildcard *", "descendant **"), "parent %")),
        ("/* one */ 1 /* two */", "number 1.0"),
        ("$match(a, /x(y)/m)", ("call", "variable match", "name a", "regex x(y)")),
        ("`a b`", "name a b"),
        ("'\\u00e9\\n\\\"'", 'string é\n"'),
        ('"\\ud83d\\ude00"', "string 😀"),
        ("true = null", ("binary =", "value True", "value")),
        ("1.5e3", "number 1500.0"),
    ],
)
def test_the_tree(text: str, tree: object) -> None:
    assert shape(parse(text)) == tree


@pytest.mark.parametrize(
    ("text", "code", "message"),
    [
        ("", "S0207", "Unexpected end of expression"),
        ("  ", "S0207", "Unexpected end of expression"),
        ("1 +", "S0207", "Unexpected end of expression"),
        ("(", "S0203", 'Expected ")" before end of expression'),
        ("[1, 2", "S0203", 'Expected "]" before end of expression'),
        ("(1]", "S0202", 'Expected ")", got "]"'),
        ("[1 2]", "S0202", 'Expected "]", got 2'),
        ("1 2", "S0201", "Syntax error: 2"),
        ("a b", "S0201", 'Syntax error: "b"'),
        ("1)", "S0201", 'Syntax error: ")"'),
        (")", "S0211", 'The symbol ")" cannot be used as a unary operator'),
        ("a ?? b", "S0211", 'The symbol "?" cannot be used as a unary operator'),
        ("a ?: b", "S0211", 'The symbol ":" cannot be used as a unary operator'),
        ("1 ! 2", "S0204", 'Unknown operator: "!"'),
        ("'abc", "S0101", "String literal must be terminated by a matching quote"),
        ("1e999", "S0102", 'Number out of range: "1e999"'),
        ("'\\q'", "S0103", 'Unsupported escape sequence: \\"q"'),
        ("'\\u12'", "S0104", "The escape sequence \\u must be followed by 4 hex digits"),
        ("`abc", "S0105", "Quoted property name must be terminated with a backquote (`)"),
        ("1 /* abc", "S0106", "Comment has no closing tag"),
        ("function(1){2}", "S0208", "Parameter 1 of function definition must be a variable name (start with $)"),
        ("a{b: c}[0]", "S0209", "A predicate cannot follow a grouping expression in a step"),
        ("a{b: c}{d: e}", "S0210", "Each step can only have one grouping expression"),
        ("1 := 2", "S0212", "The left side of := must be a variable name (start with $)"),
        ("a.1", "S0213", "The literal value 1 cannot be used as a step within a path expression"),
        ("a.true[0]", "S0213", "The literal value true cannot be used as a step within a path expression"),
        ("a@b", "S0214", 'The right side of "@" must be a variable name (start with $)'),
        ("a#b", "S0214", 'The right side of "#" must be a variable name (start with $)'),
        ("a[0]@$x", "S0215", "A context variable binding must precede any predicates on a step"),
        ("c.a[][0]@$x", "S0215", "A context variable binding must precede any predicates on a step"),
        ("a^(b)@$x", "S0216", "A context variable binding must precede the 'order-by' clause on a step"),
        ("$f(//)", "S0301", "Empty regular expressions are not allowed"),
        ("$f(/a", "S0302", "No terminating / in regular expression"),
        ("function($a)<n<n>>{1}", "S0401", "Type parameters can only be applied to functions and arrays"),
        ("function($a)<(n<n>)>{1}", "S0402", "Choice groups containing parameterized types are not supported"),
        ("function($a)<(n{1}", "S0202", 'Expected ">", got "{"'),
    ],
)
def test_syntax_errors(text: str, code: str, message: str) -> None:
    with pytest.raises(JsonataSyntaxError) as caught:
        parse(text)
    assert (caught.value.code, caught.value.message) == (code, message)
    assert 0 <= caught.value.position <= len(text)
    assert str(caught.value) == f"{code}: {message}"


@pytest.mark.parametrize(
    "text",
    [
        "(" * (MAX_NESTING + 1) + "1" + ")" * (MAX_NESTING + 1),
        "[" * 100_000,
        "1" + "+1" * (MAX_DEPTH + 1),
        "$x" + ".a" * 100_000,
        "a ? " * 1_000 + "b",
    ],
)
def test_depth_is_bounded(text: str) -> None:
    with pytest.raises(JsonataSyntaxError) as caught:
        parse(text)
    assert caught.value.code == "S0500"


def test_what_is_within_the_bounds_parses() -> None:
    parse("(" * (MAX_NESTING - 1) + "1" + ")" * (MAX_NESTING - 1))
    assert parse("1" + "+1" * (MAX_DEPTH - 1)).depth == MAX_DEPTH


def test_spans_and_walk() -> None:
    text = " $f( a.b , 'x' ) & [1]"
    kinds: Counter[str] = Counter()
    for node in parse(text).walk():
        kinds[text[node.start : node.end]] += 1
    assert kinds == Counter({
        "$f( a.b , 'x' ) & [1]": 1, "$f( a.b , 'x' )": 1, "$f": 1, "a.b": 1, "a": 1, "b": 1, "'x'": 1, "[1]": 1, "1": 1
    })  # fmt: skip


def test_a_slash_divides_after_an_operand() -> None:
    lexer = Lexer("a / b /c/i")
    kinds = [lexer.next(after_operand=True).kind, lexer.next(after_operand=True).kind]
    kinds += [lexer.next().kind, lexer.next().kind, lexer.next().kind]
    assert kinds == ["name", "operator", "name", "regex", "end"]


def test_an_error_in_other_words() -> None:
    error = JsonataSyntaxError.of("", "something else")
    assert (error.code, error.message, str(error)) == ("", "something else", "something else")
    assert str(JsonataSyntaxError.of("S0217", "no parent")) == "S0217: no parent"
