"""The language of mapping templates: references, directives, expressions, white space, refusals with their place."""

from __future__ import annotations

import pytest

from statewright.apis.templates.failures import RenderingFailed, TemplateSyntaxError
from statewright.apis.templates.rendering import Inputs
from statewright.apis.templates.template import compile_template


def rendered(text: str, body: str = "") -> str:
    return compile_template(text).render(Inputs(body)).text


@pytest.mark.parametrize(
    ("text", "output"),
    [
        ("", ""),
        ("plain $ text # of $5 and #ff8800, $.", "plain $ text # of $5 and #ff8800, $."),
        ('#set($a = "x")$a ${a} $!a $!{a} ${a}b', "x x x x xb"),
        ("[$missing][$!missing][${missing.of.all}]", "[][][]"),
        ("#set($a-b = 1)$a-b", "1"),
        ("#set($m = {'k': {'l': [1, 2]}})$m.k.l[1] $m['k'].l.get(0)", "2 1"),
        ("#set($m = {})#set($m.a = 1)#set($m['b c'] = 2)$m", "{a=1, b c=2}"),
        ("#set($l = [1, 2, 3])#set($l[0] = 'x')$l[0]$l[-1]", "x3"),
        ("#set($s = 'a$b')$s", "a$b"),
        ('#set($b = 2)#set($s = "a$b#if($b == 2)c#end")$s', "a2c"),
        ("""#set($s = 'it''s ""')$s""", """it's \"\""""),
        ('#set($s = "say ""hi""")$s', 'say "hi"'),
        (r'#set($s = "\u0041\n")$s', r"A\n"),
        ("#set($x = 1.5)$x,#set($x = -3)$x", "1.5,-3"),
    ],
)
def test_references_and_literals(text: str, output: str) -> None:
    assert rendered(text) == output


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("1 + 2 * 3", "7"),
        ("(1 + 2) * 3", "9"),
        ("7 / 2", "3"),
        ("-7 / 2", "-3"),
        ("-7 % 2", "-1"),
        ("7.0 / 2", "3.5"),
        ("1 / 0", ""),
        ("'a' + 1", "a1"),
        ("$no + 1", ""),
        ("1 == 1.0", "true"),
        ("'1' == 1", "true"),
        ("'a' != 'b'", "true"),
        ("$null == ''", "true"),
        ("$null == 0", "false"),
        ("2 > 1 && 1 >= 1 && 1 < 2 && 1 <= 1", "true"),
        ("2 gt 1 and 1 ge 1 and 1 lt 2 and 1 le 1 and 1 eq 1 and 1 ne 2", "true"),
        ("not (1 > 2) or false", "true"),
        ("!true || !$null", "true"),
        ("'a' < 'b'", "false"),
        ("[3..1]", "[3, 2, 1]"),
        ("[1..3]", "[1, 2, 3]"),
        ("['a', [1], {'k': $null}]", "[a, [1], {k=null}]"),
        ("{'a': 1, 'b': {'c': 'd'}}", "{a=1, b={c=d}}"),
    ],
)
def test_expressions(expression: str, value: str) -> None:
    assert rendered(f"#set($x = {expression})$x") == value


@pytest.mark.parametrize(
    ("text", "output"),
    [
        ("#if($no)a#elseif(true)b#{else}c#end", "b"),
        ("#if($no)a#{elseif}(false)b#{else}c#{end}d", "cd"),
        ("#if('')empty texts are true#end", "empty texts are true"),
        ("#foreach($i in [1..3])$i#if($foreach.hasNext),#end#end", "1,2,3"),
        (
            "#foreach($i in ['a','b'])$foreach.index$foreach.count$foreach.first$foreach.last #end",
            "01truefalse 12falsetrue ",
        ),
        ("#foreach($i in ['a'])#foreach($j in ['b'])$foreach.parent.index$velocityCount#end#end", "01"),
        ("#foreach($v in {'a': 1, 'b': 2})$v#end", "12"),
        ("#foreach($v in 'text')never#end#foreach($v in $no)never#end", ""),
        ("#set($i = 'kept')#foreach($i in [1, 2])$i#end$i$!foreach", "12kept"),
        ("#foreach($i in [1..9])#if($i == 3)#break#end$i#end.", "12."),
        ("a#stop b", "a"),
        ("#define($row)<$x>#end#foreach($x in [1, 2])$row#end$!row", "<1><2><>"),
        ('#define( $two )\n$one$one#end#define($one)x#end$two.length() "$two"', '2 "xx"'),
        ("#define($b)a#end#set($c = $b)#set($b = 'b')$b$c", "ba"),
        ("#macro(item $k $v = 'none')<$k=$v>#end#item('a' 1)#item('b')#item('c', 2)", "<a=1><b=none><c=2>"),
        ("#macro(down $n)$n#if($n > 0)#set($m = $n - 1)#down($m)#end#end#down(3)", "3210"),
        ("#[[ $raw #if ]]#|#* $gone *#|## gone\n|", " $raw #if |||"),
    ],
)
def test_directives(text: str, output: str) -> None:
    assert rendered(text) == output


@pytest.mark.parametrize(
    ("text", "output"),
    [
        ("{\n  #set($a = 1)\n  $a\n}", "{\n  1\n}"),
        ("#if(true)  \n a\n#else \n b\n#end \nc", " a\nc"),
        ("#foreach($i in [1, 2])\n$i\n#end\n", "1\n2\n"),
        ("a ## comment\nb", "a b"),
        ("#set($a = 1)\r\n$a", "1"),
        ("[ #if(true)x#end ]", "[ x ]"),
    ],
)
def test_white_space_around_directives(text: str, output: str) -> None:
    assert rendered(text) == output


@pytest.mark.parametrize(
    ("text", "output"),
    [
        (r"#set($a = 1)\$a \\$a \\\$a", r"$a \1 \$a"),
        (r"\#if \#end \n \# \$5", r"#if #end \n \# \$5"),
        (r"C:\dir\new", r"C:\dir\new"),
    ],
)
def test_backslashes(text: str, output: str) -> None:
    assert rendered(text) == output


@pytest.mark.parametrize(
    ("text", "line", "column", "message"),
    [
        ("a\n #if(true)", 2, 2, "#end is missing"),
        ("a #end", 1, 3, "#end ends nothing"),
        ("#if(true)#else a #elseif(true)#end", 1, 18, "#else is the last branch"),
        ("#set($a 1)", 1, 9, "'=' is missing in #set"),
        ("#set(a = 1)", 1, 6, "#set needs a reference"),
        ("#set($a = 'x)", 1, 11, "a text has no end"),
        ("#set($a = null)", 1, 11, "no literal null"),
        ("#set($a = \n$b.c(1 2))", 2, 8, "')' is missing"),
        ("${a", 1, 4, "'}' is missing"),
        ("${a|'x'}", 1, 4, "'}' is missing"),
        ("#foreach($a of $b)#end", 1, 13, "'in' is missing"),
        ("#parse('x')", 1, 1, "#parse is not supported"),
        ("#include('/etc/passwd')", 1, 1, "#include is not supported"),
        ("#evaluate($x)", 1, 1, "#evaluate is not supported"),
        ("\n\n  #unknown(1)", 3, 3, "#unknown() is neither a directive nor a macro"),
        ("#macro(a)#end#macro(a)#end", 1, 14, "the name a is taken"),
        ("#macro(a)#end#a(1)", 1, 14, "#a takes 0 arguments"),
        ("#* never", 1, 1, "'*#' is missing"),
        ("$x.getClass()", 1, 4, "the method getClass is not supported"),
        ("$x.__class__()", 1, 4, "the method __class__ is not supported"),
        ("$x.size(1)", 1, 4, "the method size does not take 1 arguments"),
        ("$util.qr($x)", 1, 1, "$util has the functions"),
        ("$util.urlEncode()", 1, 7, "takes one argument"),
        ("$input", 1, 1, "$input has body"),
        ("$input.headers", 1, 1, "$input has body"),
        ("$input.json()", 1, 8, "takes one argument"),
        ("$input.path('$[')", 1, 8, ""),
        ("$input.path('$$.Execution')", 1, 8, "reads the body"),
        ("#set($input = 1)", 1, 6, "$input cannot be set"),
        ("#set($context.stage = 1)", 1, 6, "only requestOverride and responseOverride"),
        ("#set($context.responseOverride = {})", 1, 6, "only requestOverride and responseOverride"),
        ("#set($a.size() = 1)", 1, 6, "the result of a method cannot be set"),
        ("$x.replaceAll('(?<=a)b', '')", 1, 4, "lookaround"),
        ("$x.replaceAll('a', '$1')", 1, 4, "a group other than $0"),
        ('#set($s = "a\n$x.nope()")', 2, 4, "the method nope is not supported"),
    ],
)
def test_what_is_not_known_is_refused_with_its_place(text: str, line: int, column: int, message: str) -> None:
    with pytest.raises(TemplateSyntaxError) as caught:
        compile_template(text)
    assert (caught.value.line, caught.value.column) == (line, column)
    assert message in caught.value.message


def test_a_template_over_the_quota_is_refused() -> None:
    compile_template("x" * 300 * 1024)
    with pytest.raises(TemplateSyntaxError, match="more than 307200 characters"):
        compile_template("x" * (300 * 1024 + 1))


@pytest.mark.parametrize("piece", ["(", "[", "!", "$a[", "{'a':", "$a.get(", "'a' + ("])
def test_deep_nesting_is_refused(piece: str) -> None:
    with pytest.raises(TemplateSyntaxError, match="nests more than"):
        compile_template(f"#set($a = {piece * 500}")


def test_long_references_and_long_rows_of_operators_are_refused() -> None:
    for text in ("$a" + ".b" * 200, "$a" + ".trim()" * 200, "$a" + "[0]" * 200, f"#set($a = 1{' + 1' * 200})"):
        with pytest.raises(TemplateSyntaxError, match="more than 100"):
            compile_template(text)


def test_deep_blocks_are_refused() -> None:
    with pytest.raises(TemplateSyntaxError, match="nests more than"):
        compile_template("#if(true)" * 100 + "#end" * 100)


def test_the_deepest_template_that_is_taken_is_rendered() -> None:
    depth = 38
    assert rendered("#if(true)" * depth + "x" + "#end" * depth) == "x"
    assert rendered(f"#set($a = {'(' * 30}1{')' * 30})$a") == "1"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("#set($l = [1])$l[1]", "index 1 is out of bounds for a list of 1"),
        ("#set($s = 'abc')$s.substring(4)", "substring(4, 3) is out of bounds"),
        ("#set($s = 'abc')$s.contains($null)", "null is given to a method of a text"),
        ("#set($n = 0)$n.parseInt('1x')", "'1x' is no whole number"),
        ("#define($again)$again#end$again", "macros and definitions use one another more than 20 deep"),
        ("#macro(again)#again()#end#again()", "macros and definitions use one another more than 20 deep"),
    ],
)
def test_what_throws_in_java_fails_the_rendering(text: str, message: str) -> None:
    with pytest.raises(RenderingFailed, match=message.replace("(", r"\(").replace(")", r"\)")):
        rendered(text)
