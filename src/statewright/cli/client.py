"""The commands' view of a server: one botocore client, its errors in the command line's words, names for ARNs.

Owns where the server is, what calls are signed with, and which exit code an error of the API means. What is asked and
how answers are shown is the commands' business.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from statewright.cli.output import FAILED, NOT_FOUND, UNREACHABLE, USAGE, Stop
from statewright.cli.server_names import did_you_mean

if TYPE_CHECKING:
    from statewright.payload import Json


Function = TypeVar("Function", bound=Callable[..., Any])
Answer = dict[str, Any]

DEFAULT_ENDPOINT: Final = "http://127.0.0.1:4566"
_REGION: Final = "statewright.region"
"""Key of the option `--region` in a command's context."""
FORMS: Final = ("table", "json", "jsonl")
OWN_SERVICE: Final = "statewright"
"""The service that only Statewright has."""
READ_SECONDS: Final = 400
"""StartSyncExecution answers after five minutes at the latest."""
CONNECT_SECONDS: Final = 5

ENDPOINT_VARIABLES: Final = ("STATEWRIGHT_ENDPOINT", "AWS_ENDPOINT_URL_SFN", "AWS_ENDPOINT_URL")
_MISSING: Final = ("DoesNotExist", "NotFound", "NonExistentQueue", "NoSuch")
_LISTS: Final = {
    "StateMachineDoesNotExist": "machine list",
    "ExecutionDoesNotExist": "execution list",
    "AWS.SimpleQueueService.NonExistentQueue": "queue list",
    "QueueDoesNotExist": "queue list",
    "NotFound": "topic list",
    "NoSuchBucket": "object ls",
    "SemaphoreDoesNotExist": "limit list",
    "PermitDoesNotExist": "limit list",
}
"""The command that lists the existing things when one is not found, by error code."""
_LISTS_BY_WORDS: Final = {
    "Function not found": "function list",
    "Schedule ": "schedule list",
    "Requested resource not found: Table": "table list",
}
"""The same, for error codes that several services share."""
_MISUSED: Final = (
    "Invalid",
    "Validation",
    "MissingRequired",
    "MissingParameter",
    "TypeNotSupported",
)
_UNSIGNED: Final = (
    "Signature",
    "SecurityToken",
    "AccessDeniedException",
    "UnrecognizedClient",
    "InvalidClientTokenId",
    "InvalidAccessKeyId",
)
"""Error codes of a server that rejects the caller's credentials; they differ by service."""
LARGEST_PAGE: Final = 1_000
_TOKENS: Final = {
    "nextToken": "nextToken",
    "NextToken": "NextToken",
    "NextMarker": "Marker",
    "position": "position",
    "LastEvaluatedTableName": "ExclusiveStartTableName",
}
"""By the member of a list's answer that has the page token: the member of the next request that takes it."""


def endpoint_option(command: Function) -> Function:
    """`--endpoint URL` and `--region NAME`, of every command that talks to a server."""
    with_region = click.option(
        "--region",
        metavar="NAME",
        expose_value=False,
        callback=_note_region,
        help="Region; default: AWS_REGION, AWS_DEFAULT_REGION, the server's default one.",
    )(command)
    return click.option(
        "--endpoint",
        metavar="URL",
        help=f"Server address; default: STATEWRIGHT_ENDPOINT, AWS_ENDPOINT_URL, {DEFAULT_ENDPOINT}.",
    )(with_region)


def _note_region(context: click.Context, _parameter: click.Parameter, value: str | None) -> None:
    context.meta[_REGION] = value


def chosen_region() -> str | None:
    """The region that the command line or the environment names; None for neither."""
    context = click.get_current_context(silent=True)
    named: str | None = context.meta.get(_REGION) if context is not None else None
    return named or os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION") or None


def form_option(command: Function) -> Function:
    """`-o table|json|jsonl`."""
    choice = click.Choice(FORMS)
    return click.option("-o", "--output", "form", type=choice, default="table", help="Output format.")(command)


def server_options(command: Function) -> Function:
    """Both, of every command that shows what a server answers."""
    return form_option(endpoint_option(command))


def endpoint_of(option: str | None) -> tuple[str, str]:
    """The server's address, and the option, variable or default that it comes from."""
    if option:
        return option, "--endpoint"
    for name in ENDPOINT_VARIABLES:
        if os.environ.get(name):
            return os.environ[name], name
    return DEFAULT_ENDPOINT, "default"


def command_words(words: str, endpoint: str | None) -> str:
    """A command line for hints: `statewright WORDS`, with the endpoint if the user named one by `--endpoint`."""
    if endpoint is None:
        return f"statewright {words}"
    if words.startswith("aws "):
        # What stands behind `aws` is the AWS CLI's.
        return f"STATEWRIGHT_ENDPOINT={endpoint} statewright {words}"
    return f"statewright {words} --endpoint {endpoint}"


def serve_hint(endpoint: str) -> str:
    """How a server at an address is started, if it is one of this machine."""
    from urllib.parse import urlsplit

    try:
        address = urlsplit(endpoint)
        host, port = address.hostname, address.port
    except ValueError:
        host, port = None, None
    if host is None or port is None or host not in ("127.0.0.1", "localhost", "::1"):
        return "check the address: it comes from --endpoint, STATEWRIGHT_ENDPOINT or AWS_ENDPOINT_URL"
    return "start one: statewright serve" + ("" if endpoint == DEFAULT_ENDPOINT else f" --port {port}")


class Unreachable(Stop):
    """Raised when no Statewright server answers at the endpoint."""

    def __init__(self, endpoint: str, reason: str = "connection failed") -> None:
        super().__init__(UNREACHABLE, f"No Statewright server at {endpoint}: {reason}.", serve_hint(endpoint))


class Server:
    """The server at an endpoint. Every method raises `Stop` for what the server refuses."""

    def __init__(
        self,
        endpoint: str | None,
        *,
        identity: tuple[str, str, str] | None = None,
        service: str = "stepfunctions",
        headers: dict[str, str] | None = None,
        answer_seconds: float | None = None,
    ) -> None:
        """`identity` is key, secret and region, looked up unless given; `service` is boto3's name of one.

        `headers` go with every call. An answer may take `answer_seconds`; default: as long as any operation takes.
        """
        self.named_endpoint = endpoint
        self._answer_seconds = answer_seconds
        self._identity = identity
        self._service = service
        self._headers = headers or {}
        self.endpoint = endpoint_of(endpoint)[0]
        self._client: Any = None
        self._prefix: str | None = None

    def call(self, operation: str, **members: object) -> Answer:
        """Call an operation, by its name in boto3 (`describe_execution`); instants come as epoch milliseconds.

        Raises: Unreachable; ApiProblem.
        """
        from botocore.exceptions import BotoCoreError, ClientError, HTTPClientError
        from botocore.exceptions import ConnectionError as NoConnection
        from botocore.parsers import ResponseParserError

        client = self.client()
        try:
            answer: Answer = getattr(client, operation)(**members)
        except ClientError as refused:
            said = refused.response.get("Error", {})
            code = str(said.get("Code", "Unknown"))
            if code.isdigit():
                # botocore makes a code of the status when the body is none of an API's.
                raise Unreachable(self.endpoint, f"another program answers there (HTTP {code})") from None
            raise ApiProblem(code, said.get("Message", ""), self.named_endpoint, members) from None
        except (NoConnection, HTTPClientError) as problem:
            raise Unreachable(self.endpoint, _connection_words(problem)) from None
        except ResponseParserError:
            raise Unreachable(self.endpoint, "another program answers there") from None
        except BotoCoreError as problem:
            raise Stop(USAGE, str(problem)) from None
        headers = answer.pop("ResponseMetadata", {}).get("HTTPHeaders", {})
        if "html" in headers.get("content-type", ""):
            raise Unreachable(self.endpoint, "another program answers there")
        return answer

    def client(self) -> Any:
        """The botocore client, made when it is first needed. Raises: Stop for an endpoint that cannot be one."""
        if self._client is None:
            self._client = _make_client(
                self._service, self.endpoint, self._identity or identity(), self._headers, self._answer_seconds
            )
        return self._client

    def pages(self, operation: str, member: str, *, most: int | None = None, **members: object) -> Iterator[Any]:
        """List the elements of `member` in an operation's answers, page after page, up to `most` of them."""
        given = 0
        while most is None or given < most:
            if self._service == "stepfunctions":
                members["maxResults"] = LARGEST_PAGE if most is None else min(LARGEST_PAGE, most - given)
            page = self.call(operation, **members)
            found = page.get(member, ())
            yield from found
            given += len(found)
            following = {asks: page[answers] for answers, asks in _TOKENS.items() if page.get(answers)}
            if not following:
                return
            members |= following

    def close(self) -> None:
        """Close the connections."""
        if self._client is not None:
            self._client.close()

    def __enter__(self) -> Server:
        return self

    def __exit__(self, _type: object, problem: object, _trace: object) -> None:
        if isinstance(problem, ApiProblem) and problem.code == NOT_FOUND:
            with suppress(Stop):
                problem.hint = did_you_mean(self, self._service, problem.members) or problem.hint
        self.close()

    def words(self, command: str) -> str:
        """A command line for hints, to this server: `statewright COMMAND`."""
        return command_words(command, self.named_endpoint)

    # ------------------------------------------------------------------ names

    def machines(self) -> list[Answer]:
        """Every machine, by name."""
        return sorted(self.pages("list_state_machines", "stateMachines"), key=lambda one: str(one["name"]))

    def machine_arn(self, target: str) -> str:
        """The ARN of `NAME`, `NAME:VERSION` or `NAME:ALIAS`; an ARN is answered as it is.

        Raises: Stop when no machine has the name.
        """
        if target.startswith("arn:"):
            return target
        name, separator, qualifier = target.partition(":")
        prefix = self._machine_prefix()
        if prefix is not None:
            arn = f"{prefix}{name}"
            try:
                self.call("describe_state_machine", stateMachineArn=arn, includedData="METADATA_ONLY")
                return f"{arn}{separator}{qualifier}"
            except ApiProblem as problem:
                if problem.api_code not in ("StateMachineDoesNotExist", "InvalidArn", "ValidationException"):
                    raise
        raise self._no_machine(name)

    def _express_has_a_log(self, arn: str) -> Stop:
        """A refusal that names the log with the history of an EXPRESS execution, which no operation shows."""
        machine = ":".join(["arn", *arn.split(":")[1:5], "stateMachine", arn.split(":")[6]])
        said = "The history of an EXPRESS execution is kept only in its log."
        try:
            logging = self.call("describe_state_machine", stateMachineArn=machine)["loggingConfiguration"]
        except ApiProblem:
            return Stop(USAGE, f"{said} Its state machine no longer exists, so the log group is unknown.")
        if logging.get("level", "OFF") == "OFF":
            return Stop(
                USAGE,
                f"{said} Logging is off for its state machine.",
                "give it a loggingConfiguration: level ALL, and a log group as destination",
            )
        return Stop(USAGE, said, self.words(f"machine logs {machine_of(arn)} --execution {arn}"))

    def execution_arn(self, target: str, machine: str | None = None) -> str:
        """The ARN of an execution: its ARN, `MACHINE:NAME`, or the NAME alone, looked for in `machine` or everywhere.

        Raises: Stop when there is none, or more than one.
        """
        if target.startswith("arn:"):
            if target.split(":")[5:6] == ["express"]:
                raise self._express_has_a_log(target)
            return target
        of, separator, name = target.rpartition(":")
        machine = of if separator else machine
        if machine is not None:
            return f"{_executions_of(self.machine_arn(machine))}:{name}"
        found = []
        for one in self.machines():
            if one["type"] == "STANDARD":
                arn = f"{_executions_of(one['stateMachineArn'])}:{name}"
                try:
                    self.call("describe_execution", executionArn=arn, includedData="METADATA_ONLY")
                except ApiProblem as problem:
                    if problem.code not in (NOT_FOUND, USAGE):
                        raise
                else:
                    found.append(arn)
        if len(found) == 1:
            return found[0]
        if found:
            names = ", ".join(":".join(arn.split(":")[6:]) for arn in found)
            raise Stop(USAGE, f"{len(found)} executions are called '{name}'.", f"name one: {names}")
        raise Stop(NOT_FOUND, f"There is no execution '{name}'.", f"to see them: {self.words('execution list')}")

    def _machine_prefix(self) -> str | None:
        """Account and region are read from the ARN of any machine, because only the server knows them."""
        if self._prefix is None:
            first = self.call("list_state_machines", maxResults=1)["stateMachines"]
            if not first:
                return None
            self._prefix = ":".join(first[0]["stateMachineArn"].split(":")[:6]) + ":"
        return self._prefix

    def hint_of(self, name: str, names: Sequence[str], listing: str) -> str:
        """A hint for a name that does not exist: one like it, the command `listing` that lists `names`, or `deploy`."""
        from statewright.asl.findings import closest

        close = closest(name, names)
        if close is not None:
            return f"did you mean {close}?"
        if names:
            return f"to see them: {self.words(listing)}"
        return f"the server has none yet; to deploy a project: {self.words('deploy DIR')}"

    def _no_machine(self, name: str) -> Stop:
        hint = self.hint_of(name, [one["name"] for one in self.machines()], "machine list")
        return Stop(NOT_FOUND, f"There is no state machine '{name}' on {self.endpoint}.", hint)


class ApiProblem(Stop):
    """An error of the API, in its own words. `api_code` and `api_message` are as they came, `members` the request's.

    `endpoint` is the address that the user has named, for commands in hints.
    """

    def __init__(
        self, api_code: str, message: str, endpoint: str | None = None, members: Mapping[str, object] | None = None
    ) -> None:
        if any(part in api_code for part in _MISSING):
            code = NOT_FOUND
        elif any(part in api_code for part in _MISUSED):
            code = USAGE
        else:
            code = FAILED
        listing = _LISTS.get(api_code)
        if api_code == "ResourceNotFoundException":
            listing = next((command for words, command in _LISTS_BY_WORDS.items() if message.startswith(words)), None)
        hint = f"to see what there is: {command_words(listing, endpoint)}" if listing else None
        if api_code == "StateMachineDoesNotExist" and (named := re.search(r":stateMachine:([^:']+):", message)):
            hint = f"to see its versions and aliases: {command_words(f'machine versions {named[1]}', endpoint)}"
        if any(part in api_code for part in _UNSIGNED):
            code = FAILED
            hint = "the server asks for credentials: run this beside its statewright.toml, or set AWS_ACCESS_KEY_ID"
        super().__init__(code, f"{api_code}: {message}" if message else api_code, hint)
        self.api_code = api_code
        self.api_message = message
        self.members = members or {}


def describe_machine(server: Server, arn: str) -> Answer:
    """A machine, version or alias: of an alias, the version that most of its executions run. Raises: Stop."""
    parts = arn.split(":")
    if len(parts) > 7 and not parts[7].isdigit():
        alias = server.call("describe_state_machine_alias", stateMachineAliasArn=arn)
        arn = max(alias["routingConfiguration"], key=lambda route: route["weight"])["stateMachineVersionArn"]
    return server.call("describe_state_machine", stateMachineArn=arn)


def short_name(arn: str) -> str:
    """An ARN's part that people know: `order`, `order:3`, `order:run-1`."""
    return ":".join(arn.split(":")[6:])


def machine_of(arn: str) -> str:
    """The name of the machine in an ARN of a machine, version, alias or execution."""
    return arn.split(":")[6].partition("/")[0]


def _executions_of(machine_arn: str) -> str:
    whole = ":".join(machine_arn.split(":")[:7])
    return whole.replace(":stateMachine:", ":execution:", 1)


def _connection_words(problem: Exception) -> str:
    words = str(problem)
    if "timeout" in type(problem).__name__.lower():
        return "it did not answer in time"
    return "connection failed" if "Could not connect" in words else words.rstrip(".")


def _make_client(
    service: str,
    endpoint: str,
    identity: tuple[str, str, str],
    headers: dict[str, str],
    answer_seconds: float | None,
) -> Any:
    from botocore.config import Config
    from botocore.exceptions import BotoCoreError
    from botocore.session import Session

    if not endpoint.lower().startswith(("http://", "https://")):
        raise Stop(USAGE, f"The endpoint {endpoint} cannot be used: it must begin with http:// or https://")
    # Profiles and settings of the real service do not concern this server.
    session = Session(session_vars={"profile": (None, [], None, None), "config_file": (None, None, os.devnull, None)})
    session.register_component("data_loader", _loader())
    key, secret, region = identity
    session.get_component("response_parser_factory").set_parser_defaults(timestamp_parser=_milliseconds)
    settings = Config(
        inject_host_prefix=False,
        proxies={},
        retries={"total_max_attempts": 1},
        connect_timeout=answer_seconds or CONNECT_SECONDS,
        read_timeout=answer_seconds or READ_SECONDS,
        # The server's answer to what is wrong is better than botocore's.
        parameter_validation=False,
    )
    try:
        client = session.create_client(
            service,
            region_name=region,
            endpoint_url=endpoint,
            aws_access_key_id=key,
            aws_secret_access_key=secret,
            aws_session_token=_session_token(key, secret),
            config=settings,
        )
        if headers:
            client.meta.events.register("before-call", lambda params, **_: params["headers"].update(headers))
        return client
    except (BotoCoreError, ValueError) as problem:
        raise Stop(USAGE, f"The endpoint {endpoint} cannot be used: {problem}") from None


@cache
def _loader() -> Any:
    """The reader of service models, Statewright's own among them; it keeps what it has read."""
    from botocore.loaders import create_loader

    from statewright.integrations.endpoints.service_models import OWN

    loader = create_loader()
    loader.search_paths.append(str(OWN))
    return loader


def identity() -> tuple[str, str, str]:
    """Key, secret and region: of statewright.toml here, of the environment, or dummies."""
    from statewright.cli.serving.serve import config_of
    from statewright.config import DEFAULT_REGION, DEFAULT_SCOPE

    config = config_of(None, None)
    # Settings that name no region may not be the server's.
    region = chosen_region() or (config.region if config.region != DEFAULT_REGION else DEFAULT_SCOPE)
    key, secret = os.environ.get("AWS_ACCESS_KEY_ID", ""), os.environ.get("AWS_SECRET_ACCESS_KEY", "")
    key, secret = config.signer(key) or (key, secret)
    return (key, secret, region) if key and secret else ("test", "test", region)


def _session_token(key: str, secret: str) -> str | None:
    """The token of the environment's temporary credentials, if the key is theirs."""
    if (key, secret) != (os.environ.get("AWS_ACCESS_KEY_ID"), os.environ.get("AWS_SECRET_ACCESS_KEY")):
        return None
    return os.environ.get("AWS_SESSION_TOKEN") or None


def _milliseconds(value: Json) -> int:
    if isinstance(value, str) and not value.replace(".", "", 1).isdigit():
        # XML and headers have dates.
        from botocore.utils import parse_timestamp

        seconds: float = parse_timestamp(value).timestamp()
        return round(seconds * 1000)
    return round(float(value) * 1000)
