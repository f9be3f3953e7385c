"""Methods of Java's texts, lists, maps and numbers in templates."""

from __future__ import annotations

import pytest

from statewright.apis.templates.failures import RenderingFailed
from statewright.apis.templates.rendering import Inputs
from statewright.apis.templates.template import compile_template


@pytest.mark.parametrize(
    ("receiver", "call", "output"),
    [
        ("'Hello'", "length()", "5"),
        ("'Hello'", "substring(1, 3)", "el"),
        ("'Hello'", "substring(3)", "lo"),
        ("'Hello'", "indexOf('l')", "2"),
        ("'Hello'", "indexOf('l', 3)", "3"),
        ("'Hello'", "lastIndexOf('l')", "3"),
        ("'Hello'", "charAt(0)", "H"),
        ("'Hello'", "contains('ell')", "true"),
        ("'Hello'", "startsWith('He')", "true"),
        ("'Hello'", "endsWith('He')", "false"),
        ("'Hello'", "equals('Hello')", "true"),
        ("'Hello'", "equals($null)", "false"),
        ("'1'", "equals(1)", "false"),
        ("'Hello'", "equalsIgnoreCase('hELLO')", "true"),
        ("'Hello'", "toUpperCase().toLowerCase()", "hello"),
        ("'  a '", "trim()", "a"),
        ("''", "isEmpty()", "true"),
        ("''", "empty", "true"),
        ("'a'", "concat('b')", "ab"),
        ("'b'", "compareTo('a')", "1"),
        ("'a.b.c'", "replace('.', '-')", "a-b-c"),
        ("'a.b.c'", "replaceAll('.', '-')", "-----"),
        ("'a.b.c'", r"replaceAll('\.', '-')", "a-b-c"),
        ("'a1b22'", "replaceAll('[0-9]+', '<$0>')", "a<1>b<22>"),
        ("'a1b22'", "replaceFirst('[0-9]+', '')", "ab22"),
        ("'aab'", "replaceAll('a*?b', 'x')", "x"),
        ("'abc'", "replaceAll('', '-')", "-a-b-c-"),
        ("'abc'", "replaceAll('x*', '-')", "-a-b-c-"),
        ("'abcd'", "replaceAll('ab|abc', '-')", "-cd"),
        ("'a,b,,c,,'", "split(',')", "[a, b, , c]"),
        ("'a,b,,c,,'", "split(',').size()", "4"),
        ("'a1b22c'", "split('[0-9]+')", "[a, b, c]"),
        ("'a,b,c'", "split(',', 2)", "[a, b,c]"),
        ("',a'", "split(',')", "[, a]"),
        ("'abc'", "split('')", "[a, b, c]"),
        ("'abc'", "split('x')[0]", "abc"),
        ("'a-12'", "matches('[a-z]-\\d+')", "true"),
        ("'a-12x'", "matches('[a-z]-\\d+')", "false"),
        ("[1, 'a']", "contains('a')", "true"),
        ("[1, 'a']", "indexOf('a')", "1"),
        ("[1, 'a']", "get(1)", "a"),
        ("[1, 'a']", "add('b')", "true"),
        ("[1, 2, 3]", "subList(1, 3)", "[2, 3]"),
        ("[1, 2, 3]", "remove(0)", "1"),
        ("['a']", "remove('a')", "true"),
        ("[]", "isEmpty()", "true"),
        ("[]", "empty", "true"),
        ("{'a': 1}", "get('a')", "1"),
        ("{'a': 1}", "get('b')", ""),
        ("{'a': 1}", "getOrDefault('b', 2)", "2"),
        ("{'a': 1}", "put('a', 2)", "1"),
        ("{'a': 1}", "containsKey('a')", "true"),
        ("{'a': 1}", "containsValue(1)", "true"),
        ("{'a': 1, 'b': 2}", "keySet()", "[a, b]"),
        ("{'a': 1, 'b': 2}", "values()", "[1, 2]"),
        ("{'a': 1, 'b': 2}", "entrySet()", "[a=1, b=2]"),
        ("{'a': 1}", "size()", "1"),
        ("{'a': 1}", "empty", ""),
        ("{'a': 1}", "remove('a')", "1"),
        ("{'a': 1}", "remove('b')", ""),
        ("{'a': 1}", "putIfAbsent('a', 2)", "1"),
        ("{'a': 1}", "putIfAbsent('b', 2)", ""),
        ("{'a': 1}", "putAll({'b': 2})", ""),
        ("{'a': 1}", "equals({'a': 1.0})", "true"),
        ("[1, 'a']", "set(0, 'b')", "1"),
        ("[1, 'a']", "remove('c')", "false"),
        ("[1, 'a']", "addAll('c')", ""),
        ("[1, 'a']", "clear()", ""),
        ("'abab'", "replaceFirst('a', 'x')", "xbab"),
        ("'a$b'", "replaceAll('[$]', '\\$\\\\')", "a$\\b"),
        ("'abc'", "replaceAll('b', $null.none)", None),
        ("'a'", "replace('a', 5)", ""),
        ("'a'", "valueOf(1.5)", "1.5"),
        ("'a'", "valueOf($null)", "null"),
        ("1.9", "intValue()", "1"),
        ("1", "doubleValue()", "1.0"),
        ("1", "compareTo('a')", ""),
        ("0.0", "parseDouble('1.5x')", None),
        ("'abc'", "charAt(3)", None),
        ("[1]", "subList(0, 2)", None),
        ("'a'", "replaceAll($null, '')", None),
        ("0", "parseInt('12')", "12"),
        ("0.0", "parseDouble('1.50')", "1.5"),
        ("0", "valueOf('7')", "7"),
        ("5", "compareTo(3)", "1"),
        ("5", "toString().length()", "1"),
        ("true", "toString()", "true"),
        ("'a'", "size()", ""),
        ("5", "length()", ""),
        ("'a'", "contains(5)", ""),
    ],
)
def test_methods(receiver: str, call: str, output: str | None) -> None:
    """No output: the method throws in Java, so the rendering fails."""
    template = compile_template(f"#set($x = {receiver})$x.{call}")
    if output is None:
        with pytest.raises(RenderingFailed):
            template.render(Inputs())
    else:
        assert template.render(Inputs()).text == output


def test_the_state_of_a_loop_by_methods() -> None:
    calls = ["getIndex", "getCount", "hasNext", "isFirst", "isLast"]
    shown = "".join(f"$foreach.{name}() " for name in calls)
    text = compile_template("#foreach($i in ['a', 'b'])" + shown + "$!foreach.getParent()|#end").render(Inputs()).text
    assert text == "0 1 true true false |1 2 false false true |"


def test_entries_of_maps() -> None:
    text = "#set($m = {'a': 1, 'b': 2})#foreach($e in $m.entrySet())$e.key=$e.value,$e.getKey()=$e.getValue();#end"
    assert compile_template(text).render(Inputs()).text == "a=1,a=1;b=2,b=2;"


def test_lists_and_maps_are_changed_in_place() -> None:
    text = (
        "#set($l = [])#set($m = {})#foreach($i in ['x', 'y'])"
        "#set($ok = $l.add($i))#set($ok = $m.put($i, $l.size()))#end"
        "#set($ok = $l.addAll([1, 2]))#set($ok = $l.add(0, 'first'))#set($m.all = $l)$l $m"
    )
    assert compile_template(text).render(Inputs()).text == "[first, x, y, 1, 2] {x=1, y=2, all=[first, x, y, 1, 2]}"
