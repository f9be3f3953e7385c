"""The linear-time regular expressions: syntax, agreement with `re`, refusals and bounds."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from statewright.query.linear_regex import MAX_REMEMBERED, RegexSyntaxError, compile_regex


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        ("", [""], ["a"]),
        ("abc", ["abc"], ["ab", "abcd", "ABC"]),
        ("a|b|cd", ["a", "b", "cd"], ["c", "ab", ""]),
        ("a*", ["", "a", "aaa"], ["b", "ab"]),
        ("a+?b", ["ab", "aab"], ["b"]),
        ("a??b", ["ab", "b"], ["aab"]),
        ("(ab)?c", ["abc", "c"], ["ac"]),
        ("(?:ab)+", ["ab", "abab"], ["", "aba"]),
        ("a{2}", ["aa"], ["a", "aaa"]),
        ("a{2,}", ["aa", "aaaa"], ["a"]),
        ("a{1,3}", ["a", "aaa"], ["", "aaaa"]),
        ("a{0}", [""], ["a"]),
        (".", ["x", "é"], ["", "\n", "\r", "\u2028"]),
        ("[abc]", ["a", "c"], ["d", ""]),
        ("[^abc]", ["d", "\n"], ["a"]),
        ("[a-c]x", ["ax", "cx"], ["dx"]),
        ("[]a]", ["]", "a"], ["b"]),
        ("[^]a]", ["b"], ["]", "a"]),
        ("[a-]", ["a", "-"], ["b"]),
        (r"[\d_-]+", ["1_-2"], ["a"]),
        (r"[\]\\]", ["]", "\\"], ["a"]),
        (r"\d+", ["123"], ["", "1a", "\u0663"]),
        (r"\D\W\S", ["a!b"], ["1!b", "aab", "a! "]),
        (r"\w\s", ["a ", "_\t"], ["- "]),
        (r"\.\*\/", [".*/"], ["xx/"]),
        (r"\n\t", ["\n\t"], ["nt"]),
        (r"\x41\u0042", ["AB"], ["ab"]),
        ("^a$", ["a"], ["aa", ""]),
        ("(^a|b)c$", ["ac", "bc"], ["bac"]),
        ("a^b", [], ["ab"]),
        ("a$b", [], ["ab"]),
        ("(a|b$)*", ["", "ab", "aab"], ["ba"]),
        ("(a*)*", ["", "aaa"], ["b"]),
        ("((a|b)*c){2}", ["cc", "abcbac"], ["c", "abc"]),
        ("x(|y)z", ["xz", "xyz"], ["xyyz"]),
    ],
)
def test_what_matches(pattern, yes, no):
    regex = compile_regex(pattern)
    for text in yes:
        assert regex.fullmatch(text), text
    for text in no:
        assert not regex.fullmatch(text), text


def test_flags():
    assert compile_regex("a[b-d]É", ignore_case=True).fullmatch("ACÉ")
    assert not compile_regex("é", ignore_case=True).fullmatch("É")
    assert compile_regex("a.b", dot_all=True).fullmatch("a\nb")
    assert not compile_regex("[^a]", ignore_case=True).fullmatch("")
    assert not compile_regex("a").fullmatch("A")


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("(a", "Missing ')'"),
        ("a)", "Unexpected ')'"),
        ("[a", "Missing ']'"),
        ("[", "Missing ']'"),
        ("*a", "Nothing to repeat"),
        ("a**", "not supported"),
        ("a*+", "not supported"),
        ("a{2", "repetition"),
        ("a{x}", "repetition"),
        ("a{3,2}", "repetition"),
        ("a{9999}", "repetition"),
        ("a{1,99999}", "repetition"),
        (r"(a)\1", "not supported"),
        (r"\bfoo", "not supported"),
        (r"\p{L}", "not supported"),
        ("\\", "not supported"),
        ("[\\", "not supported"),
        (r"\x4", "hexadecimal"),
        (r"\u12", "hexadecimal"),
        ("(?=a)", "lookaround"),
        ("(?<n>a)", "lookaround"),
        ("(?i)a", "inline flags"),
        ("[a[b]]", "Nested classes"),
        ("[a&&b]", "Nested classes"),
        ("[z-a]", "lower to a higher"),
        (r"[a-\d]", "lower to a higher"),
        ("(" * 100 + ")" * 100, "nested more than"),
        ("((a{100}){100}){100}", "more than"),
        ("((){1000}){1000}", "more than"),
    ],
)
def test_what_is_refused(pattern, message):
    with pytest.raises(RegexSyntaxError) as caught:
        compile_regex(pattern)
    assert message in caught.value.message
    assert 0 <= caught.value.position <= len(pattern)


def test_work_is_reported_and_may_be_stopped():
    regex = compile_regex("(a|b)*a(a|b){60}")
    spent: list[int] = []
    text = "".join("ab"[n * n % 7 % 2] for n in range(4_000))
    expected = text[-61] == "a"
    assert regex.fullmatch(text, spent.append) is expected
    assert sum(spent) > 4_000

    def refuse(_):
        raise RuntimeError

    with pytest.raises(RuntimeError):
        compile_regex("a").fullmatch("a", refuse)


def test_what_is_remembered_is_bounded():
    regex = compile_regex(".*x")
    text = "".join(chr(0x3000 + n) for n in range(MAX_REMEMBERED + 5_000)) + "x"
    assert regex.fullmatch(text)
    assert regex.fullmatch(text)
    assert regex._remembered <= MAX_REMEMBERED


PIECES = st.recursive(
    st.sampled_from(["a", "b", "c", ".", "[ab]", "[^a]", r"\d", ""]),
    lambda inner: st.one_of(
        st.tuples(inner, inner).map("".join),
        st.tuples(inner, inner).map(lambda pair: f"(?:{pair[0]}|{pair[1]})"),
        st.tuples(inner, st.sampled_from(["*", "+", "?", "{2}", "{1,2}", "{0,}"])).map(lambda p: f"(?:{p[0]}){p[1]}"),
    ),
    max_leaves=6,
)


@settings(max_examples=200, deadline=None)
@given(PIECES, st.text("abc1", max_size=6))
def test_agrees_with_re(pattern, text):
    assert compile_regex(pattern).fullmatch(text) == (re.fullmatch(pattern, text, re.ASCII) is not None)


@pytest.mark.parametrize(
    "pattern",
    [
        "a",
        "ab|a",
        "a|ab",
        "a*",
        "a*?",
        "a+b",
        "(ab|a)(c|bcd)?",
        "^a",
        "a$",
        "[^a]+",
        "a{2,3}",
        "a{1,3}?b?",
        "x?",
        ".*b",
        ".*?b",
    ],
)
@pytest.mark.parametrize("text", ["", "a", "ab", "aab", "xaby", "abcd", "aaab", "ba ab", "xaabbx"])
def test_a_search_prefers_what_backtracking_prefers(pattern: str, text: str) -> None:
    regex = compile_regex(pattern)
    for start in range(len(text) + 1):
        match = re.compile(pattern).search(text, start)
        assert regex.find(text, start) == (None if match is None else match.span()), start


def test_a_search_counts_its_work() -> None:
    spent: list[int] = []
    assert compile_regex("(a*)*(a*)*b").find("a" * 500, 0, spent.append) is None
    assert 500 < sum(spent) < 20_000
