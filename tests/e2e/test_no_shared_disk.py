"""A server on PostgreSQL needs nothing of its folder: another one, with a new folder, goes on with everything."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

import psycopg
import pytest

from statewright.objects.bodies import file_name
from statewright.stores.blobs.protocol import PIECE_BYTES
from tests.deadlines import until
from tests.e2e.conftest import Server
from tests.e2e.systems import zipped
from tests.e2e.test_lambda import ROLE, RUNTIME
from tests.postgres_server import server_or_skip

PART_BYTES = 5 * PIECE_BYTES
PARTS = 4
HANDLER = """
import own, shared

def handler(event, context):
    return {"given": event, "own": own.NAME, "shared": shared.NAME}
"""


def put_in_parts(s3: Any, content: bytes) -> None:
    upload = s3.create_multipart_upload(Bucket="bucket", Key="large")["UploadId"]
    named = {"Bucket": "bucket", "Key": "large", "UploadId": upload}
    parts = []
    for number in range(PARTS):
        body = content[number * PART_BYTES : (number + 1) * PART_BYTES]
        made = s3.upload_part(**named, PartNumber=number + 1, Body=body)
        parts.append({"PartNumber": number + 1, "ETag": made["ETag"]})
    s3.complete_multipart_upload(**named, MultipartUpload={"Parts": parts})


def make_function(aws: Any, region: str) -> None:
    layer = aws.publish_layer_version(
        LayerName="shared", Content={"ZipFile": zipped(**{"python/shared": f"NAME = 'layer of {region}'"})}
    )
    aws.create_function(
        FunctionName="f", Runtime=RUNTIME, Role=ROLE, Handler="app.handler", Timeout=300,
        Code={"ZipFile": zipped(app=HANDLER, own=f"NAME = 'code of {region}'")},
        Layers=[layer["LayerVersionArn"]],
    )  # fmt: skip


def invoked(aws: Any) -> Any:
    return json.loads(aws.invoke(FunctionName="f", Payload=b"1")["Payload"].read())


def check(server: Server, content: bytes) -> None:
    """What was put before is there, whole and in part, and functions of two regions run."""
    s3 = server.client("s3")
    assert s3.get_object(Bucket="bucket", Key="large")["Body"].read() == content
    part = s3.get_object(Bucket="bucket", Key="large", Range=f"bytes={PART_BYTES - 7}-{PART_BYTES + PIECE_BYTES + 7}")
    assert part["Body"].read() == content[PART_BYTES - 7 : PART_BYTES + PIECE_BYTES + 8]
    assert s3.get_object(Bucket="bucket", Key="copy")["Body"].read() == content[:100_000]
    for region in ("us-east-1", "eu-west-1"):
        aws = server.client("lambda", region=region)
        shown = aws.get_function(FunctionName="f")
        zipped_code = Path(urlparse(shown["Code"]["Location"]).path).read_bytes()
        assert len(zipped_code) == shown["Configuration"]["CodeSize"]
        assert shown["Configuration"]["Layers"][0]["CodeSize"] > 0
        assert invoked(aws) == {"given": 1, "own": f"code of {region}", "shared": f"layer of {region}"}


@pytest.mark.slow
def test_objects_and_functions_outlive_the_folder_of_their_server(tmp_path):
    options = "--store", server_or_skip().new_database()
    content = os.urandom(PARTS * PART_BYTES)
    first = Server(tmp_path / "first", *options)
    s3 = first.client("s3")
    s3.create_bucket(Bucket="bucket")
    put_in_parts(s3, content)
    s3.put_object(Bucket="bucket", Key="small", Body=content[:100_000])
    s3.copy_object(Bucket="bucket", Key="copy", CopySource={"Bucket": "bucket", "Key": "small"})
    s3.delete_object(Bucket="bucket", Key="small")
    for region in ("us-east-1", "eu-west-1"):
        make_function(first.client("lambda", region=region), region)
    check(first, content)
    assert not (tmp_path / "first" / "objects").exists()
    assert first.stop() == 0

    second = Server(tmp_path / "second", *options)
    check(second, content)
    assert second.stop() == 0
    # Here a function is invoked before its code is shown.
    third = Server(tmp_path / "third", *options)
    assert invoked(third.client("lambda"))["own"] == "code of us-east-1"
    digest = hashlib.sha256(third.client("s3").get_object(Bucket="bucket", Key="large")["Body"].read())
    assert digest.digest() == hashlib.sha256(content).digest()
    assert third.stop() == 0


@pytest.mark.slow
def test_what_an_older_version_left_in_the_folder_moves_into_the_database(tmp_path):
    """Bodies and packages that only the folder has, as before there were blobs."""
    address = server_or_skip().new_database()
    content = os.urandom(PARTS * PART_BYTES)
    first = Server(tmp_path / "first", "--store", address)
    s3 = first.client("s3")
    s3.create_bucket(Bucket="bucket")
    put_in_parts(s3, content)
    make_function(first.client("lambda"), "us-east-1")
    assert first.stop() == 0
    out_of_the_database(address, tmp_path / "first")

    second = Server(tmp_path / "first", "--store", address)
    s3 = second.client("s3")
    assert s3.get_object(Bucket="bucket", Key="large")["Body"].read() == content
    assert invoked(second.client("lambda"))["own"] == "code of us-east-1"
    until(lambda: not list((tmp_path / "first" / "objects").glob("*/*")), "the move of the bodies")
    assert s3.get_object(Bucket="bucket", Key="large")["Body"].read() == content
    assert second.stop() == 0

    third = Server(tmp_path / "third", "--store", address)
    assert third.client("s3").get_object(Bucket="bucket", Key="large")["Body"].read() == content
    assert invoked(third.client("lambda"))["shared"] == "layer of us-east-1"
    assert third.stop() == 0


def out_of_the_database(address: str, data: Path) -> None:
    with psycopg.connect(address, autocommit=True) as connection:
        found = connection.execute(
            "SELECT name, string_agg(body, ''::bytea ORDER BY n) FROM blob WHERE name LIKE 'object/%' GROUP BY name"
        )
        for name, body in found.fetchall():
            path = data / "objects" / file_name(int(name.removeprefix("object/"), 16))
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(body)
        connection.execute("DELETE FROM blob")
