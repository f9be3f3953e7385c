import pytest

from statewright.query.jsonata import compile_expression
from statewright.query.jsonata.analysis import BUILT_INS, STATES_FIELDS, Facts, analyse
from statewright.query.jsonata.parser import parse


def facts(text: str) -> Facts:
    return analyse(parse(text))


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("$a + $b.c", "a b"),
        ("$states.input", ""),
        ("$sum($prices)", "prices"),
        ("$map($xs, $string)", "xs"),
        ("($x := 1; $x + $y)", "y"),
        ("($x := $x + 1; $x)", "x"),
        ("[($x := 1), $x]", "x"),
        ("$map($xs, function($v, $i){ $v + $i + $k })", "xs k"),
        ("($f := function($n){ $n > 0 ? $f($n - 1) : $end }; $f($n))", "n end"),
        ("($even := function($n){ $odd($n - 1) }; $odd := function($n){ $even($n - 1) }; $even(4))", ""),
        ("$states.input.orders@$o.items#$i.{'o': $o, 'i': $i, 'z': $z}", "z"),
        ("$randomSeeded(1)", ""),
        ("$noFunction", "noFunction"),
        ("$eval('1')", ""),
        ("$states.input[x = $limit]", "limit"),
        ("{'a': $p}{$q: $r}", "p q r"),
        ("$x ~> |a|{'b': $v}|", "x v"),
        ("$count + 1", ""),
        ("$größe", "größe"),
    ],
)
def test_variables(text: str, names: str) -> None:
    assert facts(text).variables == frozenset(names.split())


def test_a_name_bound_in_a_block_is_free_outside_it() -> None:
    assert facts("[($x := 1; $x), $x]").variables == {"x"}
    assert facts("($x := 1; ($x; $y := 2); $y)").variables == {"y"}


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("$states.input.a", "input"),
        ("$states.result[0].b & $states.context.Execution.Id", "result context"),
        ("$states.'errorOutput'.Cause", "errorOutput"),
        ("$states.`input`", "input"),
        ("$string($states)", " ".join(sorted(STATES_FIELDS))),
        ("$states[0]", " ".join(sorted(STATES_FIELDS))),
        ("$states.*", " ".join(sorted(STATES_FIELDS))),
        ("1", ""),
        ("($states := 1; $states.input)", "input"),
    ],
)
def test_fields_of_states(text: str, fields: str) -> None:
    assert facts(text).states_fields == frozenset(fields.split())


TOP_LEVEL = "Reference to '{}' at the top level is not supported."


@pytest.mark.parametrize(
    ("text", "problems"),
    [
        ("phone", [TOP_LEVEL.format("phone")]),
        ("phone.number & phone.kind", [TOP_LEVEL.format("phone")]),
        ("$map($xs, function($v){ $v.a + b })", [TOP_LEVEL.format("b")]),
        ('"a".b', [TOP_LEVEL.format("a")]),
        ('"a"[0].b', [TOP_LEVEL.format("a")]),
        ("f(1)", [TOP_LEVEL.format("f")]),
        ("{'a': a, 'b': or}", [TOP_LEVEL.format("a"), TOP_LEVEL.format("or")]),
        ("*", [TOP_LEVEL.format("*")]),
        ("$count(**)", [TOP_LEVEL.format("**")]),
        ("a[b = c]", [TOP_LEVEL.format("a")]),
        ("$$.a", ["Reference to '$$' is not supported."]),
        ("$states.input[$$.a]", ["Reference to '$$' is not supported."]),
        ("$eval('1')", ["Reference to '$eval' is not supported."]),
        ("$map($xs, $eval)", ["Reference to '$eval' is not supported."]),
        ("$states.inputs", ["Field '$states.inputs' does not exist."]),
        ("$", []),
        ("'a' & `b`", [TOP_LEVEL.format("b")]),
        ("$states.input.(a + b)[c > 1]^(d){e: f}.*.%.**", []),
        ("$x ~> |a.b|{'c': d}, 'e'|", []),
        ("$states.input.orders@$o.items@$i[o = i]", []),
        ("$sort($xs, function($l, $r){ $l.a > $r.a })", []),
    ],
)
def test_problems(text: str, problems: list[str]) -> None:
    assert list(facts(text).problems) == problems


@pytest.mark.parametrize(
    ("text", "loops"),
    [
        ("$map($xs, function($v){ $v & 'a' })", False),
        ("$filter($xs, function($v){ $v.a > 1 }) ~> $count()", False),
        ("$reduce($xs, function($a, $b){ $a + $b })", True),
        ("($f := function($n){ $f($n) }; $f(1))", True),
        ("(function($f){ $f($f) })(1)", True),
        ("$each($x, $each($y, function($v){ $v }))", False),
        ("$string(function($v){ $v })", True),
        ("$sum($xs)", False),
        ("(" + "$a := $a & $a;" * 8 + "$a)", True),
    ],
)
def test_loops(text: str, loops: bool) -> None:
    assert facts(text).loops is loops


@pytest.mark.parametrize(
    ("text", "crosses"),
    [
        ("$states.input.a.b", False),
        ("$states.input.a.($states.input.b)", True),
        ("$states.input.a.($b)", True),
        ("$states.input.a.(b & $string(c))", False),
        ("$map($xs, function($v){ $states.input })", True),
        ("$map($xs, function($v){ $v })", False),
        ("$states.input.a[$states]", True),
    ],
)
def test_crosses(text: str, crosses: bool) -> None:
    assert facts(text).crosses is crosses
    assert compile_expression(text).amplifies is (crosses or facts(text).loops)


@pytest.mark.parametrize(
    ("text", "has", "holds"),
    [
        ("$sum", True, False),
        ("[$sum]", True, True),
        ("{'a': /x/}", True, True),
        ("1 ? function($x){$x}", True, True),
        ("$sum([1])", False, False),
        ("$map($x, function($v){$v})", True, False),
        ("$x ~> $sum", True, False),
        ("$add(?, 1)", True, False),
        ("$x", False, False),
    ],
)
def test_functions_as_values(text: str, has: bool, holds: bool) -> None:
    found = facts(text)
    assert (found.has_functions, found.holds_functions) == (has, holds)


def test_the_built_ins_are_those_of_the_dialect() -> None:
    assert len(BUILT_INS) == 64
    assert "eval" not in BUILT_INS


def test_an_expression_tells_what_could_hide_a_function() -> None:
    assert compile_expression("$count($xs) + $sum + $partition($xs, 2)").hideable == {"count", "sum", "partition"}
