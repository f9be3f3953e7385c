"""Regions as a boundary: what is signed for one is no right in another, and a region that is excluded has no door."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from botocore.auth import S3SigV4QueryAuth, SigV4Auth, SigV4QueryAuth
from botocore.awsrequest import AWSRequest
from botocore.config import Config
from botocore.credentials import Credentials

from tests.attack.conftest import KEY, SECRET, Reply, send
from tests.e2e.conftest import Server, session_of

OWN = Credentials(KEY, SECRET)
HERE, THERE, EXCLUDED = "us-east-1", "eu-west-1", "eu-west-2"
REFUSED = b"Credential should be scoped to a valid region, not 'eu-west-2'"
JSON_TYPE = {"Content-Type": "application/x-amz-json-1.0"}
FORM_TYPE = {"Content-Type": "application/x-www-form-urlencoded"}


@pytest.fixture(scope="module")
def restricted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder: Path = tmp_path_factory.mktemp("restricted")
    settings = folder / "statewright.toml"
    settings.write_text(f'[server]\nregions = ["{THERE}"]\n[credentials]\n{KEY} = "{SECRET}"\n')
    server = Server(folder / "data", "--store", "memory", "--config", str(settings))
    yield server
    assert server.stop() == 0, server.log.read_text()
    assert "Traceback" not in server.log.read_text()


def client(server: Server, service: str, region: str) -> Any:
    return server.client(service, region=region, key=KEY, secret=SECRET)


def presigned(server: Server, region: str, service: str = "s3", path: str = "/box/k", method: str = "GET") -> str:
    """A path that is signed for a region."""
    kind = S3SigV4QueryAuth if service == "s3" else SigV4QueryAuth
    request = AWSRequest(method, server.url + path, {"Host": f"127.0.0.1:{server.port}"})
    kind(OWN, service, region, expires=60).add_auth(request)
    return str(request.url).removeprefix(server.url)


def signed(server: Server, service: str, region: str, path: str, headers: dict[str, str], body: bytes) -> Reply:
    request = AWSRequest("POST", server.url + path, {"Host": f"127.0.0.1:{server.port}", **headers}, body)
    SigV4Auth(OWN, service, region).add_auth(request)
    return send(server, "POST", path, {name: str(value) for name, value in request.headers.items()}, body)


# ------------------------------------------------------------------ one region's signature in another


def test_a_presigned_address_of_one_region_is_none_of_another(strict):
    s3 = client(strict, "s3", HERE)
    s3.create_bucket(Bucket="box")
    s3.put_object(Bucket="box", Key="k", Body=b"content")
    path = presigned(strict, HERE)
    host = {"Host": f"127.0.0.1:{strict.port}"}
    assert send(strict, "GET", path, host).body == b"content"
    for region in (THERE, "default", ""):
        forged = send(strict, "GET", path.replace(f"%2F{HERE}%2F", f"%2F{region}%2F"), host)
        assert forged.status in (400, 403)
        assert b"content" not in forged.body


@pytest.mark.parametrize("region", [THERE, "default"])
def test_a_signature_for_one_region_is_none_of_another(strict, region):
    client(strict, "sqs", HERE).create_queue(QueueName="jobs")
    body = b"{}"
    headers = {**JSON_TYPE, "X-Amz-Target": "AmazonSQS.ListQueues"}
    request = AWSRequest("POST", strict.url + "/", {"Host": f"127.0.0.1:{strict.port}", **headers}, body)
    SigV4Auth(OWN, "sqs", HERE).add_auth(request)
    given = {name: str(value) for name, value in request.headers.items()}
    assert b"jobs" in send(strict, "POST", "/", given, body).body
    given["Authorization"] = given["Authorization"].replace(f"/{HERE}/", f"/{region}/")
    refused = send(strict, "POST", "/", given, body)
    assert refused.status in (400, 403)
    assert b"The request signature we calculated does not match" in refused.body


def test_a_forged_call_begins_no_region(strict):
    headers = {
        **JSON_TYPE, "X-Amz-Target": "AmazonSQS.ListQueues", "X-Amz-Date": "20261122T000000Z",
        "Authorization": f"AWS4-HMAC-SHA256 Credential={KEY}/20261122/ap-south-1/sqs/aws4_request, "
        "SignedHeaders=host;x-amz-date, Signature=0",
    }  # fmt: skip
    assert send(strict, "POST", "/", headers, b"{}").status in (400, 403)
    assert "ap-south-1" not in strict.log.read_text()


# ------------------------------------------------------------------ an excluded region


@pytest.mark.parametrize(
    ("service", "path", "headers", "body"),
    [
        ("states", "/", {**JSON_TYPE, "X-Amz-Target": "AWSStepFunctions.ListStateMachines"}, b"{}"),
        ("sqs", "/", {**JSON_TYPE, "X-Amz-Target": "AmazonSQS.ListQueues"}, b"{}"),
        ("sqs", "/", FORM_TYPE, b"Action=ListQueues&Version=2012-11-05"),
        ("sns", "/", FORM_TYPE, b"Action=ListTopics&Version=2010-03-31"),
        ("iam", "/", FORM_TYPE, b"Action=ListRoles&Version=2010-05-08"),
        ("sts", "/", FORM_TYPE, b"Action=GetCallerIdentity&Version=2011-06-15"),
        ("lambda", "/2015-03-31/functions/f/invocations", {}, b"{}"),
        (
            "monitoring",
            "/service/GraniteServiceVersion20100801/operation/ListMetrics",
            {"Content-Type": "application/cbor", "smithy-protocol": "rpc-v2-cbor"},
            b"\xa0",
        ),
        ("glue", "/", {**JSON_TYPE, "X-Amz-Target": "AWSGlue.GetJobs"}, b"{}"),
    ],
)
def test_an_excluded_region_is_refused_in_every_protocol(restricted, service, path, headers, body):
    refused = signed(restricted, service, EXCLUDED, path, headers, body)
    assert refused.status in (400, 403), refused
    assert REFUSED in refused.body.replace(b"&apos;", b"'").replace(b"&#39;", b"'")


def test_an_excluded_region_is_refused_in_addresses_and_forms(restricted):
    client(restricted, "s3", HERE).create_bucket(Bucket="box")
    refused = send(restricted, "GET", presigned(restricted, EXCLUDED), {"Host": f"127.0.0.1:{restricted.port}"})
    assert refused.status in (400, 403)
    assert b"valid region" in refused.body
    session = session_of(KEY, SECRET, region=EXCLUDED)
    settings = Config(signature_version="s3v4", s3={"addressing_style": "path"})
    form = session.client("s3", endpoint_url=restricted.url, config=settings).generate_presigned_post("box", "k")
    parts = [f'--x\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'
             for name, value in {**form["fields"], "file": "content"}.items()]  # fmt: skip
    headers = {"Content-Type": "multipart/form-data; boundary=x", "Host": f"127.0.0.1:{restricted.port}"}
    refused = send(restricted, "POST", "/box", headers, ("".join(parts) + "--x--\r\n").encode())
    assert refused.status in (400, 403)
    assert b"valid region" in refused.body


def test_what_is_allowed_is_answered_and_nothing_else_has_begun(restricted):
    for region in (HERE, THERE):
        assert client(restricted, "sqs", region).list_queues()["ResponseMetadata"]["HTTPStatusCode"] == 200
    begun = set(re.findall(r"the region ([a-z0-9-]+) has a system", restricted.log.read_text()))
    assert begun <= {THERE}
    assert json.loads(send(restricted, "GET", "/health").body)["status"] == "ok"
