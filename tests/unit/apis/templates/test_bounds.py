"""Hostile templates: work, texts and memory of a rendering are bounded, on an event loop below that."""

from __future__ import annotations

import pickle
import sys
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from statewright.apis.templates.failures import RenderingFailed, TemplateSyntaxError
from statewright.apis.templates.rendering import MOST_ITERATIONS, Inputs, Rendered
from statewright.apis.templates.template import compile_template, render_here
from statewright.engine.heavy.steps import on_loop
from statewright.payload import dump_json
from statewright.query.fence import LeavesTheLoop
from tests.thoroughness import slow

LOOP = "#foreach($i in [1..1000])"
HOSTILE = {
    "nested loops": LOOP * 4 + "x" + "#end" * 4,
    "doubling texts": f'#set($s = "0123456789abcdef"){LOOP}#set($s = "$s$s")#end$s',
    "doubling by plus": f"#set($s = 'ab'){LOOP}#set($s = $s + $s)#end$s",
    "doubling by concat": f"#set($s = 'ab'){LOOP}#set($s = $s.concat($s))#end$s",
    "replacing a letter by many": f"#set($s = 'aaaaaaaa'){LOOP}#set($s = $s.replace('a', 'aaaaaaaa'))#end$s",
    "replacing by pattern": f"#set($s = 'aaaaaaaa'){LOOP}#set($s = $s.replaceAll('[a]', 'aaaaaaaa'))#end$s",
    "escapes of escapes": f"#set($s = '\\'){LOOP}#set($s = $util.escapeJavaScript($s))#end$s",
    "doubling lists": f"#set($l = [1]){LOOP}#set($x = $l.addAll($l))#end$l.size()",
    "shared structure": f"#set($m = {{}}){LOOP}#set($m = {{'a': $m, 'b': $m}})#end$m",
    "shared lists": f"#set($m = [1]){LOOP}#set($m = [$m, $m])#end$m",
    "a map in itself": "#set($m = {})#set($m.m = $m)$m",
    "a list in itself": "#set($l = [])#set($x = $l.add($l))$l",
    "an object of the body in itself": "#set($o = $input.path('$'))#set($o.o = $o)$o $o.equals($o)",
    "comparing what holds itself": "#set($a = {})#set($a.a = $a)#set($b = {})#set($b.a = $b)#if($a == $b)x#end",
    "growing numbers": f"#set($n = 10){LOOP}#set($n = $n * $n)#end$n",
    "long ranges": "#set($r = [1..999999999999])$r",
    "ranges that are kept": f"#set($l = []){LOOP}#set($x = $l.add([1..9999]))#end",
    "many ranges": f"{LOOP}#set($r = [1..9999])$r#end",
    "a text printed often": f"#set($s = $input.body){LOOP}{LOOP}$s#end#end",
    "macros that branch": "#macro(m $n)#if($n > 0)#m($n)#m($n)#m($n)#end#end#m(5)",
    "a pattern that backtracks": f"{LOOP}#if($input.body.matches('(a*)*(a*)*b'))x#end#end",
    "a pattern that scans": f"{LOOP}$input.body.replaceAll('a.*b', '')#end",
    "splitting": f"{LOOP}$input.body.split('').size()#end",
    "paths over everything": f"{LOOP}$input.path('$..*').size()#end",
    "paths that are made": f'{LOOP}$input.path("$..[?(@ != $i)]..*").size()#end',
    "copies of the body": f"{LOOP}#set($p = $input.path('$'))#set($p.x = 1)#end",
    "sorting out a list": f"#set($l = [1..9999]){LOOP}$l.contains('x')#end",
}
BODY = dump_json({"text": "a" * 40_000, "items": list(range(5_000))})


@pytest.mark.parametrize("name", sorted(HOSTILE))
def test_on_a_loop_a_hostile_template_ends_soon(name: str) -> None:
    template = compile_template(HOSTILE[name])
    calls = 0

    def count(_frame: object, _event: str, _argument: object) -> None:
        nonlocal calls
        calls += 1

    sys.setprofile(count)
    try:
        with pytest.raises((LeavesTheLoop, RenderingFailed)):
            on_loop(template.render, Inputs(BODY))
    finally:
        sys.setprofile(None)
    # Calls and returns of functions, also of the interpreter's own: the heaviest has half of this, in about 0.1 s.
    assert calls < 1_200_000


@slow
@pytest.mark.parametrize("name", sorted(HOSTILE))
def test_anywhere_a_hostile_template_is_refused(name: str) -> None:
    result = render_here(HOSTILE[name], Inputs(BODY))
    assert isinstance(result, RenderingFailed)
    assert isinstance(pickle.loads(pickle.dumps(result)), RenderingFailed)


def test_a_loop_ends_after_the_quota() -> None:
    text = compile_template("#foreach($i in [1..2000])$i #end").render(Inputs()).text
    assert text.split()[-1] == str(MOST_ITERATIONS)


def test_a_large_body_leaves_the_loop_and_is_rendered_elsewhere() -> None:
    text = '{"input": "$util.escapeJavaScript($input.json(\'$\'))"}'
    body = dump_json({"text": "x" * 3_000_000})
    with pytest.raises(LeavesTheLoop):
        on_loop(render_here, text, Inputs(body))
    result = render_here(text, Inputs(body))
    assert isinstance(result, Rendered)
    assert len(result.text) > 3_000_000


def test_usual_templates_stay_on_the_loop() -> None:
    text = '{"input": "$util.escapeJavaScript($input.json(\'$\'))", "name": "$context.requestId"}'
    body = dump_json({"lines": [{"sku": f"item {n}", "n": n} for n in range(1_000)]})
    assert isinstance(on_loop(render_here, text, Inputs(body, context={"requestId": "r"})), Rendered)


PIECES = st.sampled_from([
    "$a", "$!{a.b}", "$a[0]", "$input.path('$..*')", "$input.json('$')", "$input.params()", "$context",
    "$util.urlEncode($a)", "#set($a = $a + $a)", "#set($a = \"$a$a\")", "#set($a = [$a, $a])",
    "#set($a = {'k': $a, 'l': $a})", "#set($a.k = $a)", "#foreach($i in [1..1000])", "#foreach($i in $a)",
    "#if($a == $b)", "#else", "#elseif($a)", "#end", "#break", "#stop", "#set($b = $input.path('$'))", "$a.addAll($a)",
    "$a.put('k', $a)", "$a.replaceAll('.*', '$0$0')", "$a.split('')", "text", "#macro(m $x)", "#m($a)", "##", "#*",
    "*#", "#[[", "]]#", "\\", "$", "#", "(", ")", "\"", "'", "\n", " ", "$a.toString()",
])  # fmt: skip


@given(st.lists(PIECES, max_size=30).map("".join))
def test_no_template_takes_long_or_fails_otherwise(text: str) -> None:
    inputs = Inputs('{"k": [1, {"l": "text"}]}', {"header": {"a": "b"}}, {"stage": "s"})
    with suppress(TemplateSyntaxError, LeavesTheLoop, RenderingFailed):
        assert len(on_loop(compile_template(text).render, inputs).text) < 2_000_000
