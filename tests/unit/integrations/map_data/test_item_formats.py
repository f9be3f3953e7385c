from __future__ import annotations

import gzip

import pytest
import zstandard

from statewright.integrations.map_data import item_formats
from statewright.integrations.map_data.item_formats import (
    DelimitedText,
    JsonDocument,
    JsonLines,
    Unreadable,
    decompressor,
    format_of,
    rows_of,
)


def items_of(reader, data: bytes, piece: int = 1_000_000):
    found = []
    for at in range(0, len(data), piece):
        found += list(reader.feed(data[at : at + piece]))
    return found + list(reader.finish())


PIECES = pytest.mark.parametrize("piece", [1, 2, 7, 1_000_000])


@PIECES
def test_lines_of_json(piece):
    data = b'{"a": 1}\n\n[2]\r\n"\xc3\xa4"\n3'
    assert items_of(JsonLines(), data, piece) == [{"a": 1}, [2], "ä", 3]


def test_a_line_that_is_no_json_is_named():
    with pytest.raises(Unreadable, match="Line 3 is not JSON"):
        items_of(JsonLines(), b"1\n\n{]\n")


def test_an_item_has_a_greatest_length(monkeypatch):
    monkeypatch.setattr(item_formats, "ITEM_BYTES", 10)
    with pytest.raises(Unreadable, match="line 2 is longer"):
        items_of(JsonLines(), b'1\n"aaaaaaaaaaaaaa"\n2')
    with pytest.raises(Unreadable, match="line 1 is longer"):
        items_of(JsonLines(), b'"aaaaaaaaaaaaaaa', 4)
    with pytest.raises(Unreadable, match="quotation mark"):
        items_of(DelimitedText(), b'a\n"bbb\nccc\nddd\neee\n')


@PIECES
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a,b\n1,2\n3,4\n", [{"a": "1", "b": "2"}, {"a": "3", "b": "4"}]),
        ("a,b\r\n1,2\r\n", [{"a": "1", "b": "2"}]),
        ("\ufeffa\n1", [{"a": "1"}]),
        ("a,b\n1\n1,2,3\n,\n\n", [{"a": "1", "b": ""}, {"a": "1", "b": "2"}, {"a": "", "b": ""}]),
        ('a,b\n"x,y","two\nlines"\n', [{"a": "x,y", "b": "two\nlines"}]),
        ('a\n"say ""hi"""\n', [{"a": 'say "hi"'}]),
        ('a,b\n5" pipe,x\n', [{"a": '5" pipe', "b": "x"}]),
        ("a,b\nC:\\\\dir,x\\,y\n", [{"a": "C:\\dir", "b": "x,y"}]),
        ('a\n\\"q\\"\n', [{"a": '"q"'}]),
        ("a\nx\\yz\n", [{"a": "xyz"}]),
        ("a\nend\\\n", [{"a": "end"}]),
        ('a,b\n"x"\r\n', [{"a": "x", "b": ""}]),
        ("a\nä€😀\n", [{"a": "ä€😀"}]),
        ("7,False,{}\nx,y,z\n", [{"7": "x", "False": "y", "{}": "z"}]),
        ("a,\nx,y,z\n", [{"a": "x", "": "y"}]),
        ("a,b\n", []),
        ("", []),
    ],
)
def test_delimited_text(text, expected, piece):
    assert items_of(DelimitedText(), text.encode(), piece) == expected


@pytest.mark.parametrize(("name", "char"), [("PIPE", "|"), ("SEMICOLON", ";"), ("SPACE", " "), ("TAB", "\t")])
def test_delimiters(name, char):
    reader = format_of("CSV", {"CSVDelimiter": name, "CSVHeaderLocation": "GIVEN", "CSVHeaders": ["x", "y"]})
    assert items_of(reader, f"1{char}2,3\n".encode()) == [{"x": "1", "y": "2,3"}]


def test_headers_are_checked():
    with pytest.raises(Unreadable, match=r"^CSV headers cannot contain duplicates\.$"):
        items_of(DelimitedText(), b"a,b,a\n1,2,3\n")
    with pytest.raises(Unreadable, match=r"^CSV headers cannot contain duplicates\.$"):
        DelimitedText(",", ["a", "a"])
    with pytest.raises(Unreadable, match="header is longer"):
        items_of(DelimitedText(), b"x" * 11_000 + b"\n1\n")


def test_an_open_quotation_mark_is_reported():
    with pytest.raises(Unreadable, match="stays open"):
        items_of(DelimitedText(), b'a\n"1\n2\n')


def test_rows_without_a_header():
    assert rows_of(b"s3://b/1\ns3://b/2\n") == [["s3://b/1"], ["s3://b/2"]]


def test_documents():
    assert items_of(JsonDocument(), b"[1, 2]") == [1, 2]
    assert items_of(JsonDocument(), b'{"a": 1, "b": [2]}') == [{"Key": "a", "Value": 1}, {"Key": "b", "Value": [2]}]
    assert items_of(JsonDocument("/x~1y/0"), b'{"x/y": [[7, 8]]}', 3) == [7, 8]
    for text, words in ((b"3", "^Attempting to map over non-iterable node.$"), (b"{", "not JSON")):
        with pytest.raises(Unreadable, match=words):
            items_of(JsonDocument(), text)
    with pytest.raises(Unreadable, match="'/a/b' does not lead"):
        items_of(JsonDocument("/a/b"), b'{"a": [1]}')


def test_unknown_formats():
    with pytest.raises(Unreadable, match="InputType 'XML'"):
        format_of("XML", {})
    with pytest.raises(Unreadable, match="CSVDelimiter must be one of"):
        format_of("CSV", {"CSVDelimiter": "DOT"})


@pytest.mark.parametrize(
    ("name", "packed"),
    [
        ("x.csv", b"abc" * 1000),
        ("x.csv.gz", gzip.compress(b"abc" * 500) + gzip.compress(b"abc" * 500)),
        ("x.jsonl.ZSTD", zstandard.compress(b"abc" * 500) + zstandard.compress(b"abc" * 500)),
        ("x.zst", zstandard.compress(b"abc" * 1000)),
    ],
    ids=["plain", "gzip", "zstd", "zst"],
)
@PIECES
def test_compression_follows_from_the_name(name, packed, piece):
    reader = decompressor(name)
    found = b"".join(reader.feed(packed[at : at + piece]) for at in range(0, len(packed), piece))
    assert found + reader.finish() == b"abc" * 1000


def test_broken_compression():
    with pytest.raises(Unreadable, match="not GZIP"):
        decompressor("a.gz").feed(b"plain text")
    with pytest.raises(Unreadable, match="not ZSTD"):
        decompressor("a.zstd").feed(b"plain text")
    cut = decompressor("a.gz")
    cut.feed(gzip.compress(b"abc" * 1000)[:-4])
    with pytest.raises(Unreadable, match="The GZIP data is truncated"):
        cut.finish()
