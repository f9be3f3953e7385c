"""Attacks on the console of a server with credentials: other pages, stolen and forged keys and tokens, odd requests."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote

import botocore.loaders
import botocore.session
import pytest
from botocore.config import Config

from statewright.console.calls import WRITING
from statewright.integrations.endpoints.service_models import OWN
from tests.attack.conftest import KEY, SECRET, Reply, exchange, send
from tests.e2e.conftest import Server, ended, session_of

JSON = {"Content-Type": "application/json"}
SIGNED_S3 = Config(s3={"addressing_style": "path"}, signature_version="s3v4")
PAGES = {
    "a page on another port": {"Origin": "http://127.0.0.1:3000", "Sec-Fetch-Site": "same-site"},
    "a page on another port, old browser": {"Origin": "http://localhost:3000"},
    "another site": {"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"},
    "a sandboxed frame": {"Origin": "null", "Sec-Fetch-Site": "cross-site"},
    "a sandboxed frame, old browser": {"Origin": "null"},
    "a file": {"Origin": "file://"},
    "an image": {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "image"},
    "a frame of the same site": {
        "Sec-Fetch-Site": "same-site",
        "Sec-Fetch-Mode": "navigate",
        "Sec-Fetch-Dest": "iframe",
    },
    "another scheme": {"Origin": "https://{host}"},
    "another name of the server": {"Origin": "http://localhost:{port}"},
    "a name that ends like it": {"Origin": "http://evil.{host}"},
    "user information": {"Origin": "http://{host}@evil.example"},
}


def own_client(server: Server, key: str = KEY, secret: str = SECRET, token: str | None = None) -> Any:
    """A client of Statewright's own service."""
    loader = botocore.loaders.create_loader()
    loader.search_paths.append(str(OWN))
    session = botocore.session.Session()
    session.register_component("data_loader", loader)
    return session.create_client(
        "statewright", "us-east-1", endpoint_url=server.url, aws_access_key_id=key, aws_secret_access_key=secret,
        aws_session_token=token, config=Config(retries={"total_max_attempts": 1}),
    )  # fmt: skip


def key_of(server: Server, *, read_only: bool = False) -> str:
    key: str = own_client(server).create_console_session(readOnly=read_only)["key"]
    return key


def post(server: Server, name: str, document: Any, headers: Mapping[str, str] | None = None) -> Reply:
    return send(server, "POST", f"/console/api/{name}", {**JSON, **(headers or {})}, json.dumps(document).encode())


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def token_of(server: Server, *, read_only: bool = False) -> str:
    opened = post(server, "session", {"key": key_of(server, read_only=read_only)})
    assert opened.status == 200, opened.body
    token: str = json.loads(opened.body)["token"]
    return token


def me(server: Server, headers: Mapping[str, str]) -> Reply:
    return send(server, "GET", "/console/api/me", headers)


@pytest.fixture(scope="module")
def token(strict: Server) -> str:
    return token_of(strict)


@pytest.mark.parametrize("page", PAGES)
def test_no_other_page_reads_or_acts_even_with_a_token(strict, token, page):
    host = f"127.0.0.1:{strict.port}"
    headers = {name: value.format(host=host, port=strict.port) for name, value in PAGES[page].items()}
    machines = {"service": "states", "operation": "StartExecution", "request": {}}
    key = key_of(strict)
    for reply in (
        me(strict, {**headers, **bearer(token)}),
        post(strict, "call", machines, {**headers, **bearer(token)}),
        post(strict, "session", {"key": key}, headers),
    ):
        assert (reply.status, json.loads(reply.body)["error"]) == (403, "CrossOriginRequestRefused")
        assert not [name for name in reply.headers if name.startswith("access-control-")]
    # What was refused has not used up the key.
    assert post(strict, "session", {"key": key}).status == 200


def test_no_preflight_is_answered(strict):
    asks = {
        "Origin": "http://127.0.0.1:3000", "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "authorization,content-type",
    }  # fmt: skip
    reply = send(strict, "OPTIONS", "/console/api/call", asks)
    assert reply.status == 405
    assert not [name for name in reply.headers if name.startswith("access-control-")]


@pytest.mark.parametrize(
    "kind",
    [
        "application/x-www-form-urlencoded",
        "text/plain",
        "multipart/form-data; boundary=x",
        "text/plain;application/json",
        "",
    ],
)
def test_forms_and_plain_texts_are_no_actions(strict, token, kind):
    body = json.dumps({"service": "states", "operation": "StopExecution", "request": {}}).encode()
    for name, extra in (("call", bearer(token)), ("session", {})):
        reply = send(strict, "POST", f"/console/api/{name}", {"Content-Type": kind, **extra}, body)
        assert (reply.status, json.loads(reply.body)["error"]) == (415, "BadRequest")


def test_a_rebound_name_gets_nothing_without_a_token(strict):
    """A page whose name was made to resolve to this machine is its own origin, but has no token of this one."""
    for extra in ({"Origin": "http://evil.example:4566"}, {"Sec-Fetch-Site": "same-origin"}, {"Accept-Language": "en"}):
        reply = me(strict, {"Host": "evil.example:4566", **extra})
        assert (reply.status, json.loads(reply.body)["error"]) == (401, "SignInRequired")


def test_a_rebound_name_gets_nothing_from_a_server_without_credentials(lenient):
    for extra in ({"Origin": "http://evil.example:4566"}, {"Sec-Fetch-Site": "same-origin"}, {"Accept-Language": "en"}):
        assert me(lenient, {"Host": "evil.example:4566", **extra}).status == 403


@pytest.mark.parametrize("place", ["token", "access_token", "authorization", "Authorization"])
def test_a_token_in_the_address_or_a_cookie_is_none(strict, token, place):
    assert send(strict, "GET", f"/console/api/me?{place}={quote(token)}").status == 401
    assert send(strict, "GET", f"/console/api/me?{place}={quote('Bearer ' + token)}").status == 401
    assert me(strict, {"Cookie": f"{place}={token}; statewright.token={token}"}).status == 401


def test_a_key_is_used_up_by_its_first_use(strict):
    key = key_of(strict)
    assert post(strict, "session", {"key": key}).status == 200
    replayed = post(strict, "session", {"key": key})
    assert (replayed.status, json.loads(replayed.body)["error"]) == (401, "SignInRequired")


def test_forged_keys_and_tokens_are_refused_in_one_sentence(strict, token):
    session, _, secret = token.partition(".")
    key = key_of(strict)
    for wrong in (key[:-1], key + "A", key.swapcase(), "", "A" * 43, "\u00e9" * 43, None, 7, [key], {"key": key}):
        reply = post(strict, "session", {"key": wrong})
        assert reply.status in (400, 401)
        assert len(reply.body) < 300
    for wrong in (session, f"{session}.", f".{secret}", f"{session}.{secret[:-1]}", f"{session}.{secret}=",
                  f"{session}.{secret}.", f"{session} .{secret}",
                  f"{session}.{secret.swapcase()}", "null", "*"):  # fmt: skip
        reply = me(strict, bearer(wrong))
        assert (reply.status, json.loads(reply.body)["error"]) == (401, "SignInRequired"), wrong
    assert me(strict, bearer(token)).status == 200


def test_a_session_that_was_ended_is_over_at_once(strict, token):
    other = token_of(strict)
    assert me(strict, bearer(other)).status == 200
    ended = post(strict, "sessions/end", {"id": other.partition(".")[0]}, bearer(token))
    assert ended.status == 200
    assert me(strict, bearer(other)).status == 401


def test_a_read_only_sign_in_changes_nothing_by_any_operation(strict, token):
    reader = token_of(strict, read_only=True)
    for service, operations in WRITING.items():
        for operation in operations:
            for spelt in (operation, operation.lower(), f" {operation}", f"{operation}\u0000"):
                document = {"service": service, "operation": spelt, "request": {}}
                assert post(strict, "call", document, bearer(reader)).status == 403, spelt
    listed = json.loads(send(strict, "GET", "/console/api/sessions", bearer(reader)).body)["sessions"]
    theirs = next(one["id"] for one in listed if not one["isThis"])
    assert post(strict, "sessions/end", {"id": theirs}, bearer(reader)).status == 403
    assert me(strict, bearer(token)).status == 200


def test_the_console_calls_no_operation_that_it_does_not_list(strict, token):
    for service, operation in (
        ("statewright", "CreateConsoleSession"), ("sts", "GetSessionToken"), ("sts", "AssumeRole"),
        ("secretsmanager", "GetSecretValue"), ("ssm", "GetParameter"), ("iam", "CreateRole"), ("states", "__class__"),
        ("", ""), ("states", ""), ("constructor", "x"),
    ):  # fmt: skip
        reply = post(strict, "call", {"service": service, "operation": operation, "request": {}}, bearer(token))
        assert (reply.status, json.loads(reply.body)["error"]) == (403, "AccessDenied")


def test_only_signers_get_a_key(strict):
    target = {"Content-Type": "application/x-amz-json-1.0", "X-Amz-Target": "Statewright.CreateConsoleSession"}
    for more in ({}, bearer(token_of(strict)), {"Authorization": "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE"}):
        reply = send(strict, "POST", "/", {**target, **more}, b"{}")
        assert reply.status in (400, 403)
        assert b"key" not in json.loads(reply.body)
    with pytest.raises(Exception, match="InvalidSignature"):
        own_client(strict, KEY, "another secret").create_console_session()


def test_the_session_of_a_temporary_credential_ends_with_it(strict):
    given = session_of(KEY, SECRET).client("sts", endpoint_url=strict.url).get_session_token(DurationSeconds=900)
    keys = given["Credentials"]
    client = own_client(strict, keys["AccessKeyId"], keys["SecretAccessKey"], keys["SessionToken"])
    opened = post(strict, "session", {"key": client.create_console_session()["key"]})
    expires_ms = json.loads(opened.body)["expiresMs"]
    assert expires_ms <= keys["Expiration"].timestamp() * 1000
    assert me(strict, bearer(json.loads(opened.body)["token"])).status == 200


def test_headers_that_are_smuggled_in_sign_no_one_in(strict, token):
    def raw(*lines: str) -> bytes:
        return exchange(
            strict, "\r\n".join(("GET /console/api/me HTTP/1.1", *lines, "Connection: close", "", "")).encode()
        )

    host = f"Host: 127.0.0.1:{strict.port}"
    twice = raw(host, f"Authorization: Bearer {token}", "Authorization: Bearer x")
    assert twice.startswith(b"HTTP/1.1 400")
    for line in ("X-Forwarded-User: ada", "X-Forwarded-Access-Key: AKIDEXAMPLE", "Remote-User: ada",
                 f"X-Authorization: Bearer {token}", f"Authorization : Bearer {token}",
                 f"Authorization_: Bearer {token}", f"X: y\n Authorization: Bearer {token}",
                 f"Proxy-Authorization: Bearer {token}"):  # fmt: skip
        assert raw(host, line).split(b" ")[1] in (b"400", b"401"), line
    assert raw(host, f"authorization:   bearer   {token}").startswith(b"HTTP/1.1 200")


def test_a_signed_request_at_that_path_is_for_a_bucket(strict, token):
    s3 = session_of(KEY, SECRET).client("s3", endpoint_url=strict.url, config=SIGNED_S3)
    s3.create_bucket(Bucket="console")
    s3.put_object(Bucket="console", Key="api/me", Body=b"mine")
    assert s3.get_object(Bucket="console", Key="api/me")["Body"].read() == b"mine"
    link = s3.generate_presigned_url("get_object", Params={"Bucket": "console", "Key": "api/me"})
    assert send(strict, "GET", link.removeprefix(strict.url)).body == b"mine"
    assert json.loads(me(strict, bearer(token)).body)["user"] == KEY


def test_neither_keys_nor_tokens_are_logged(strict, token):
    key = key_of(strict)
    post(strict, "session", {"key": key})
    log = strict.log.read_text()
    assert key not in log
    assert token.partition(".")[2] not in log


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, dict[str, str]]]:
    """A server that hides values, with a table, and the headers of a read-only sign-in."""
    folder = tmp_path_factory.mktemp("reader")
    (folder / "statewright.toml").write_text(
        f'[credentials]\n{KEY} = "{SECRET}"\n[console]\nredact = ["**.password"]\n'
    )
    server = Server(folder / "data", "--store", "memory", "--config", str(folder / "statewright.toml"))
    keys = {"key": KEY, "secret": SECRET}
    server.client("dynamodb", **keys).create_table(
        TableName="items", BillingMode="PAY_PER_REQUEST", KeySchema=[{"AttributeName": "k", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "k", "AttributeType": "S"}],
    )  # fmt: skip
    yield server, bearer(token_of(server, read_only=True))
    assert server.stop() == 0


@pytest.mark.parametrize("operation", ["Query", "Scan"])
@pytest.mark.parametrize("member", ["FilterExpression", "ScanFilter", "QueryFilter"])
def test_a_read_only_sign_in_cannot_ask_for_what_is_hidden(reader, operation, member):
    server, headers = reader
    request = {"TableName": "items", member: "password = :p", "ExpressionAttributeValues": {":p": {"S": "x"}}}
    reply = post(server, "call", {"service": "dynamodb", "operation": operation, "request": request}, headers)
    assert (reply.status, json.loads(reply.body)["error"]) == (403, "AccessDenied")


def test_a_read_only_sign_in_selects_items_without_a_condition(reader):
    server, headers = reader
    reply = post(server, "tables/select", {"statement": "SELECT * FROM \"items\" WHERE password = 'x'"}, headers)
    assert (reply.status, json.loads(reply.body)["error"]) == (403, "AccessDenied")
    assert post(server, "tables/select", {"statement": 'SELECT * FROM "items"'}, headers).status == 200


def test_a_read_only_sign_in_cannot_turn_a_recorded_secret_into_something_else(strict):
    sfn = strict.client(key=KEY, secret=SECRET)
    secret = {"Type": "Task", "Resource": "arn:aws:states:::aws-sdk:secretsmanager:getSecretValue", "End": True}
    secret["Parameters"] = {"SecretId": "one"}
    text = json.dumps({"StartAt": "S", "States": {"S": secret}})
    role = "arn:aws:iam::000000000000:role/r"
    machine = sfn.create_state_machine(name="secrets", definition=text, roleArn=role)["stateMachineArn"]
    arn = sfn.start_execution(stateMachineArn=machine)["executionArn"]
    ended(sfn, arn)
    headers = bearer(token_of(strict, read_only=True))
    edited = {"arn": arn, "definition": json.dumps({"StartAt": "P", "States": {"P": {"Type": "Pass", "End": True}}})}
    reply = post(strict, "what-if", edited, headers)
    assert (reply.status, json.loads(reply.body)["error"]) == (403, "AccessDenied")
    batch = {"machineArn": machine, "definition": edited["definition"]}
    lines = [json.loads(line) for line in post(strict, "what-if/batch", batch, headers).body.splitlines()]
    assert [line.get("verdict") for line in lines] == [None, "unjudged", None]
    assert post(strict, "what-if", {"arn": arn}, headers).status == 200
