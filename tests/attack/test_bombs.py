"""Bodies that are small to send and dear to read: refused, in few words, before they hold the event loop."""

from __future__ import annotations

import base64
import gzip
import io
import json
import zipfile
from collections.abc import Callable, Iterator

import pytest

from tests.attack.holding import MOST_REFERENCES, Held, Holding
from tests.thoroughness import slow

MIB = 1 << 20
LONGEST_ANSWER = 200_000
CBOR = {"smithy-protocol": "rpc-v2-cbor", "content-type": "application/cbor"}
CBOR_PATH = "/service/GraniteServiceVersion20100801/operation/PutMetricData"
Bomb = Callable[[Holding], Held]


@pytest.fixture(scope="module")
def holding(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Holding]:
    made = Holding(tmp_path_factory.mktemp("holding"))
    assert made.signed("s3", "PUT", "/bucket", b"").status == 200
    yield made
    made.close()


def xml(body: bytes, query: str = "delete", method: str = "POST", path: str = "/bucket") -> Bomb:
    return lambda holding: holding.signed("s3", method, path, body, query)


def chunked(body: bytes) -> Bomb:
    return lambda holding: holding.signed(
        "s3", "PUT", "/bucket/k", body, x_amz_content_sha256="STREAMING-UNSIGNED-PAYLOAD-TRAILER",
        x_amz_decoded_content_length="1000000", content_encoding="aws-chunked",
    )  # fmt: skip


def target(name: str, body: bytes) -> Bomb:
    return lambda holding: holding.json(name, body)


def form(service: str, text: str) -> Bomb:
    return lambda holding: holding.form(service, text)


def cbor(body: bytes) -> Bomb:
    return lambda holding: holding.ask("POST", CBOR_PATH, body, CBOR)


def queues(entries: bytes) -> Bomb:
    return target("AmazonSQS.SendMessageBatch", b'{"QueueUrl":"q","Entries":[' + entries + b"]}")


LAUGHS = (
    b'<!DOCTYPE lolz [<!ENTITY a "lol">'
    + b"".join(b'<!ENTITY %c "%s">' % (98 + n, b"&%c;" % (97 + n) * 10) for n in range(9))
    + b"]><Delete>&j;</Delete>"
)
FIELDS = "&".join(f"PublishBatchRequestEntries.member.{number}.Id=a" for number in range(19_000))
TAGS = b'{"resourceArn":"arn:aws:states:us-east-1:000000000000:activity:a","tags":['

BOMBS: dict[str, Callable[[], tuple[Bomb, str]]] = {
    "keys to delete": lambda: (
        xml(b"<Delete>" + b"<Object><Key>k</Key></Object>" * 400_000 + b"</Delete>"), "MalformedXML"),
    "one key too many": lambda: (
        xml(b"<Delete>" + b"<Object><Key>k</Key></Object>" * 1_001 + b"</Delete>"), "MalformedXML"),
    "empty elements": lambda: (xml(b"<Delete>" + b"<a/>" * (4 * MIB - 10) + b"</Delete>"), "MalformedXML"),
    "attributes": lambda: (
        xml(b"<Delete " + b" ".join(b"a%d=''" % n for n in range(1_300_000)) + b"/>"), "MalformedXML"),
    "attributes of many elements": lambda: (
        xml(b"<Delete>" + b"<a " + b"></a><a ".join(b"b='' c='' d=''" for _ in range(500_000))), "MalformedXML"),
    "a deep document": lambda: (xml(b"<a>" * 5_000_000), "MalformedXML"),
    "entities": lambda: (xml(LAUGHS), "MalformedXML"),
    "an entity of a file": lambda: (
        xml(b'<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]><Delete>&b;</Delete>'), "MalformedXML"),
    "a long comment": lambda: (xml(b"<Delete><!--" + b"-x" * (8 * MIB - 20) + b"--></Delete>"), "MalformedXML"),
    "parts of an upload": lambda: (
        xml(b"<CompleteMultipartUpload>" + b"<Part><PartNumber>1</PartNumber></Part>" * 300_000, "uploadId=x",
            path="/bucket/k"), "MalformedXML"),
    "tags of a bucket": lambda: (
        xml(b"<Tagging><TagSet>" + b"<Tag><Key>a</Key><Value>b</Value></Tag>" * 400_000, "tagging", "PUT"),
        "MalformedXML"),
    "tiny chunks": lambda: (chunked(b"1\r\na\r\n" * 1_000_000 + b"0\r\n\r\n"), "InvalidChunkSizeError"),
    "trailers": lambda: (
        chunked(b"0\r\n" + b"".join(b"a%d:b\r\n" % n for n in range(200_000)) + b"\r\n"), "IncompleteBody"),
    "a trailer twice": lambda: (chunked(b"0\r\na:b\r\na:c\r\n\r\n"), "IncompleteBody"),
    "messages of a batch": lambda: (
        queues(b'{"Id":"a","MessageBody":"b"},' * 90_000 + b"{}"), "TooManyEntriesInBatch"),
    "empty messages": lambda: (queues(b"{}," * 2_600_000 + b"{}"), "SerializationException"),
    "empty lists in an unknown member": lambda: (
        target("AmazonSQS.SendMessage", b'{"z":[' + b"[]," * 2_600_000 + b"[]]}"), "SerializationException"),
    "names": lambda: (
        target("AmazonSQS.SendMessage", b"{" + b",".join(b'"%x":1' % n for n in range(700_000)) + b"}"),
        "SerializationException"),
    "long numbers": lambda: (
        target("AmazonSQS.SendMessage", b'{"z":[' + (b"1" * 4_300 + b",") * 1_900 + b"1]}"), "SerializationException"),
    "one long number": lambda: (
        target("AmazonSQS.SendMessage", b'{"z":' + b"1" * (7 * MIB) + b"}"), "SerializationException"),
    "a deep object": lambda: (target("AWSStepFunctions.ListActivities", b'{"a":' * 300_000), "SerializationException"),
    "a deep list": lambda: (target("AWSStepFunctions.ListActivities", b"[" * 2_000_000), "SerializationException"),
    "no tags": lambda: (
        target("AWSStepFunctions.TagResource", TAGS + b"null," * 400_000 + b"null]}"), "ValidationException"),
    "bad tags": lambda: (
        target("AWSStepFunctions.TagResource", TAGS + b'{"key":""},' * 100_000 + b"{}]}"), "ValidationException"),
    "items": lambda: (
        target("DynamoDB_20120810.BatchWriteItem",
               b'{"RequestItems":{"t":[' + b'{"PutRequest":{}},' * 1_000_000 + b"{}]}}"), "SerializationException"),
    "empty items": lambda: (
        target("DynamoDB_20120810.BatchWriteItem", b'{"RequestItems":{"t":[' + b"{}," * 100_000 + b"{}]}}"),
        "ValidationException"),
    "metrics": lambda: (
        target("GraniteServiceVersion20100801.PutMetricData",
               b'{"Namespace":"n","MetricData":[' + b'{"MetricName":"a"},' * 65_000 + b'{"MetricName":"a"}]}'),
        "MetricData"),
    "fields of a form": lambda: (form("sns", f"Action=PublishBatch&TopicArn=t&{FIELDS}"), "ValidationError"),
    "fields without end": lambda: (
        form("sqs", "Action=SendMessage&" + "a=b&" * (2 * MIB - 40)), "MalformedQueryString"),
    "dots of a form": lambda: (
        form("sqs", "Action=SendMessage&" + "&".join("a." * 200 + f"{n}=1" for n in range(19_000))),
        "MissingParameter"),
    "a length in CBOR": lambda: (
        cbor(b"\xa1\x6aMetricData\x9b\x00\x00\x00\x00\xff\xff\xff\xff"), "SerializationException"),
    "a length of bytes": lambda: (cbor(b"\x5b\x00\x00\x00\x7f\xff\xff\xff\xff"), "SerializationException"),
    "lists in CBOR": lambda: (cbor(b"\xa1\x61a\x9f" + b"\x80" * (2 * MIB - 20) + b"\xff"), "SerializationException"),
    "deep CBOR": lambda: (cbor(b"\x81" * (2 * MIB - 20)), "SerializationException"),
    "tags in CBOR": lambda: (cbor(b"\xc1" * (2 * MIB - 20) + b"\x01"), "SerializationException"),
    "a shared value in CBOR": lambda: (cbor(b"\xd8\x1c\x81\xd8\x1d\x00"), "SerializationException"),
    "a body of nothing, packed": lambda: (
        lambda holding: holding.ask(
            "POST", "/", gzip.compress(bytes(300 * MIB)),
            {"x-amz-target": "GraniteServiceVersion20100801.PutMetricData", "content-encoding": "gzip",
             "content-type": "application/x-amz-json-1.0"}), "RequestEntityTooLarge"),
}  # fmt: skip
"""Bodies up to the services' longest, and a word of the refusal."""
DEAR = {"names", "a body of nothing, packed", "tags of a bucket"}
"""Those that cost this process much to make."""


@pytest.mark.parametrize("name", [pytest.param(name, marks=slow) if name in DEAR else name for name in BOMBS])
def test_a_bomb_is_refused_before_it_holds_the_loop(holding, name):
    bomb, word = BOMBS[name]()
    held = bomb(holding)
    assert 400 <= held.status < 500, held.body[:200]
    assert word.encode() in held.body
    assert len(held.body) < LONGEST_ANSWER
    assert held.references < MOST_REFERENCES


@slow
def test_percents_hold_nothing(holding):
    """The longest form of escapes: dear, but the loop goes on meanwhile."""
    held = holding.form("sqs", "Action=SendMessage&MessageBody=" + "%41" * 2_500_000)
    assert held.status == 400
    assert held.references < MOST_REFERENCES


def test_a_long_text_is_no_bomb(holding):
    """Commas and braces inside a text are no values."""
    text = json.dumps("[" + '{"a":1},' * 110_000 + "1]")
    body = f'{{"QueueUrl":"http://127.0.0.1/000000000000/none","MessageBody":{text}}}'
    held = holding.json("AmazonSQS.SendMessage", body.encode())
    assert b"more values" not in held.body
    assert held.references < MOST_REFERENCES


DENSE = {
    "members": b'{"a":1},' * 600_000,
    "lists": b"[]," * 1_600_000,
    "numbers": b"1," * 3_000_000,
    "texts": b'"a",' * 1_500_000,
}
"""Payloads of many values, near the longest that Invoke takes, and near the limit on values."""


@slow
@pytest.mark.parametrize("name", DENSE)
def test_a_dense_payload_is_parsed_in_another_process(holding, name):
    for end, status, word in ((b"1]", 404, b"Function not found"), (b"x]", 400, b"Could not parse payload into json")):
        body = b"[" + DENSE[name] + end
        held = holding.signed("lambda", "POST", "/2015-03-31/functions/none/invocations", body)
        assert (held.status, word in held.body) == (status, True), held.body[:200]
        assert held.references < MOST_REFERENCES


@slow
def test_a_payload_of_too_many_values_is_refused_beside_the_loop(holding):
    body = b"[" + b'{"a":[]},' * 650_000 + b"1]"
    held = holding.signed("lambda", "POST", "/2015-03-31/functions/none/invocations", body)
    assert (held.status, b"more values" in held.body) == (400, True), held.body[:200]
    assert held.references < MOST_REFERENCES


# ------------------------------------------------------------------ packages


def package(*names: str, content: bytes = b"x", link: bool = False) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in names:
            member = zipfile.ZipInfo(name or "a")
            if link:
                member.external_attr = 0o120777 << 16
            if not name:
                member.filename = ""
            archive.writestr(member, content, zipfile.ZIP_DEFLATED)
    return made.getvalue()


def create(holding: Holding, data: bytes) -> Held:
    request = {
        "FunctionName": "f", "Runtime": "python3.11", "Role": "arn:aws:iam::000000000000:role/r", "Handler": "a.b",
        "Code": {"ZipFile": base64.b64encode(data).decode()},
    }  # fmt: skip
    return holding.signed("lambda", "POST", "/2015-03-31/functions", json.dumps(request).encode())


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (package("../a.py"), "outside of it"),
        (package("a/../../b.py"), "outside of it"),
        (package("/etc/passwd"), "outside of it"),
        (package("..\\a.py"), "outside of it"),
        (package("C:/a.py"), "outside of it"),
        (package("a", link=True), "symbolic link"),
        (package(""), "Could not unzip uploaded file. Please check your file, then try to upload again."),
        (package("."), "Could not unzip uploaded file."),
        (package("a", "a/b"), "Could not unzip uploaded file."),
        (b"", "Could not unzip uploaded file."),
        (b"PK\x05\x06" + bytes(18), "non-empty zip"),
        (b"no zip", "Could not unzip uploaded file."),
        (package("a.py")[:-30], "Could not unzip uploaded file."),
    ],
)
def test_a_package_that_reaches_out_is_refused(holding, data, text):
    held = create(holding, data)
    assert (held.status, text in held.body.decode()) == (400, True), held.body


def test_a_package_of_too_many_files_is_refused_unread(holding):
    """The count that a zip declares at its end is enough."""
    made = bytearray(package("a.py"))
    place = made.rfind(b"PK\x05\x06")
    made[place + 8 : place + 12] = (40_000).to_bytes(2, "little") * 2
    held = create(holding, bytes(made))
    assert (held.status, b"40000 files and folders; 30000 are the most" in held.body) == (400, True), held.body


@slow
def test_a_package_of_nothing_is_refused(holding):
    held = create(holding, package(*(f"f{number}" for number in range(5)), content=bytes(60 * MIB)))
    assert (held.status, b"Unzipped size must be smaller than 262144000 bytes" in held.body) == (400, True)
    assert held.references < MOST_REFERENCES
