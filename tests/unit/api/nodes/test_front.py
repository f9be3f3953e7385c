from __future__ import annotations

import asyncio
import hashlib
from contextlib import asynccontextmanager
from typing import Any

import boto3  # type: ignore[import-untyped]
import pytest
import urllib3
from botocore.config import Config as Botocore
from botocore.exceptions import ClientError

from statewright.api.app import Api
from statewright.api.nodes.rules import RULES, Rule
from statewright.assembly import assemble
from statewright.clock import RealClock
from statewright.config import Config
from statewright.stores.memory.store import MemoryStore
from statewright.virtual_clock import VirtualClock, run_virtual
from tests.unit.api.asgi import SIGNED, exchange, scope_of
from tests.unit.api.nodes.cluster import Node, Rows, ask, cluster, json_of, request
from tests.unit.api.nodes.engines import placed

KEYS = {"AKIDEXAMPLE": "a secret key"}
MIB = 1024 * 1024


def answered_by(scope: dict[str, Any], config: Config | None = None) -> str:
    """Which application of a node that has the home answers a request."""

    async def main(clock: VirtualClock) -> str:
        node = Node(Rows(clock, home="n"), "n", config)
        reply = await exchange(node.front, scope, [{"type": "http.request", "body": b"", "more_body": False}])
        return reply.body.decode().partition(" ")[0]

    return run_virtual(main)


def states(operation: str, **headers: str) -> dict[str, Any]:
    given = {"x-amz-target": f"AWSStepFunctions.{operation}", "authorization": SIGNED, **headers}
    return scope_of(headers={name.replace("_", "-"): value for name, value in given.items() if value})


@pytest.mark.parametrize("operation", sorted(RULES))
def test_operations_go_where_their_rule_says(operation):
    assert answered_by(states(operation)) == ("home" if RULES[operation] is Rule.HOME else "worker")


OTHER_REGION = SIGNED.replace("us-east-1", "eu-west-1")


@pytest.mark.parametrize(
    ("scope", "by"),
    [
        (states("StartExecution", authorization=""), "worker"),
        (states("StartExecution", authorization=OTHER_REGION), "home"),
        (states("StartExecution", authorization=SIGNED.replace("/states/", "/sqs/")), "home"),
        (states("StartExecution", x_amz_security_token="t"), "home"),
        (states("StartExecution", host="x1.execute-api.localhost:4566"), "home"),
        (states("NoSuchOperation"), "home"),
        (scope_of("/health", "GET"), "pages"),
        (scope_of("/metrics", "GET"), "pages"),
        (scope_of("/health", "GET", headers={"authorization": SIGNED}), "home"),
        (scope_of("/health", "PUT"), "home"),
        (scope_of("/console", "GET"), "home"),
        (scope_of("/_apis/x/y", "GET"), "home"),
        (scope_of("/bucket/key", "PUT"), "home"),
        (scope_of("/", headers={"x-amz-target": "AmazonSQS.SendMessage"}), "home"),
    ],
)
def test_where_requests_go(scope, by):
    assert answered_by(scope) == by


@pytest.mark.parametrize(("account", "by"), [("111111111111", "home"), ("000000000000", "worker")])
def test_calls_of_other_accounts_are_the_homes(account, by):
    config = Config(credentials={"test": "s"}, accounts={"test": account})
    assert answered_by(states("StartExecution"), config) == by


@pytest.mark.parametrize("path", ["perform", "task", "cancel", "changes", "note", "metrics", "logs", "other"])
def test_calls_that_are_not_signed_are_refused(path):
    async def test() -> None:
        async with cluster("a") as (a,):
            target = f"/_statewright/node/{path}"
            for text in (request(target, b"{}"), request(target, b"{}", X_Statewright_Node="b"), request(target)):
                assert (await ask(a.port, text))[0] == 403

    asyncio.run(test())


def test_calls_that_are_signed_and_wrong():
    async def test() -> None:
        async with cluster("a", "b") as (a, b):
            peer = a.directory.rows.peers["a"]
            for has_home, statuses in ((False, [404, 400, *[409] * 4]), (True, [404, *[400] * 5])):
                placed(a, has_home=has_home)
                paths = ("other", "perform", "task", "cancel", "changes", "logs")
                for path, status in zip(paths, statuses, strict=True):
                    b_asks = await b.client.call(peer, f"/_statewright/node/{path}", b"no JSON", 5)
                    assert b_asks[0] == status, path
            # The signature is for another body, and serves once.
            headers = {k.decode(): v.decode() for k, v in b.client.signer.call("POST", "/_statewright/node/x", b"one")}
            assert (await ask(a.port, request("/_statewright/node/x", b"two", **headers)))[0] == 403
            headers = {k.decode(): v.decode() for k, v in b.client.signer.call("POST", "/_statewright/node/x", b"one")}
            assert (await ask(a.port, request("/_statewright/node/x", b"one", **headers)))[0] == 404
            assert (await ask(a.port, request("/_statewright/node/x", b"one", **headers)))[0] == 403

    asyncio.run(test())


def test_a_drain_reaches_every_application():
    async def main(clock: VirtualClock) -> None:
        node = Node(Rows(clock, home="n"), "n")
        node.front.drain()
        assert (node.worker.drained, node.home.drained) == (True, True)

    run_virtual(main)


# ------------------------------------------------------------------ clients


@asynccontextmanager
async def served() -> Any:
    """Two nodes, whose home is a whole system; a function that makes clients of the one that is not the home."""
    config = Config(credentials=KEYS)
    store = MemoryStore()
    await store.open("tests")
    async with cluster("a", "b", config=config) as (a, b):
        system = assemble(config, RealClock(), store, None, lambda: f"http://127.0.0.1:{a.port}")
        await system.start()
        a.home = Api(system.app)

        def client(service: str, secret: str = KEYS["AKIDEXAMPLE"], **settings: Any) -> Any:
            return boto3.client(
                service, endpoint_url=f"http://127.0.0.1:{b.port}", region_name="us-east-1",
                aws_access_key_id="AKIDEXAMPLE", aws_secret_access_key=secret,
                config=Botocore(retries={"total_max_attempts": 1}, **settings),
            )  # fmt: skip

        try:
            yield client, b
        finally:
            await system.stop()


def test_clients_sign_for_the_node_that_they_ask_and_the_home_verifies_it():
    def talk(client: Any) -> None:
        sqs = client("sqs")
        url = sqs.create_queue(QueueName="q")["QueueUrl"]
        sqs.send_message(QueueUrl=url, MessageBody="hello")
        assert [one["Body"] for one in sqs.receive_message(QueueUrl=url)["Messages"]] == ["hello"]
        with pytest.raises(ClientError, match=r"InvalidSignature|SignatureDoesNotMatch"):
            client("sqs", secret="wrong").list_queues()
        with pytest.raises(ClientError, match="does not exist"):
            sqs.get_queue_url(QueueName="other")

    async def test() -> None:
        async with served() as (client, _):
            await asyncio.to_thread(talk, client)

    asyncio.run(test())


def test_large_objects_stream_both_ways():
    content = hashlib.shake_256(b"seed").digest(20 * MIB)

    def talk(client: Any) -> None:
        s3 = client("s3", s3={"addressing_style": "path"})
        s3.create_bucket(Bucket="bucket")
        for name, further in (("a b/ü", {}), ("checked", {"ChecksumAlgorithm": "SHA256"})):
            s3.put_object(Bucket="bucket", Key=name, Body=content, Metadata={"case": "Kept"}, **further)
            head = s3.head_object(Bucket="bucket", Key=name)
            assert (head["ContentLength"], head["Metadata"]) == (len(content), {"case": "Kept"})
            assert s3.get_object(Bucket="bucket", Key=name)["Body"].read() == content
        signing = client("s3", signature_version="s3v4", s3={"addressing_style": "path"})
        link = signing.generate_presigned_url("get_object", {"Bucket": "bucket", "Key": "a b/ü"})
        assert "X-Amz-Signature" in link
        assert hashlib.sha256(urllib3.request("GET", link).data).digest() == hashlib.sha256(content).digest()
        assert urllib3.request("GET", link.replace("bucket", "bucke2")).status == 403
        part = s3.get_object(Bucket="bucket", Key="checked", Range="bytes=5-9")
        assert (part["ResponseMetadata"]["HTTPStatusCode"], part["Body"].read()) == (206, content[5:10])
        s3.delete_object(Bucket="bucket", Key="checked")
        with pytest.raises(ClientError, match="NoSuchKey"):
            s3.get_object(Bucket="bucket", Key="checked")

    async def test() -> None:
        async with served() as (client, _):
            await asyncio.to_thread(talk, client)

    asyncio.run(test())


def test_errors_of_the_home_keep_their_form():
    async def test() -> None:
        async with served() as (_, b):
            status, headers, body = await ask(b.port, request("/", b"{}", X_Amz_Target="AmazonSQS.ListQueues"))
            assert (status, headers["content-type"]) == (400, "application/x-amz-json-1.0")
            assert "Missing Authentication Token" in json_of(body)["message"]

    asyncio.run(test())
