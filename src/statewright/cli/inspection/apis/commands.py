"""`statewright api list|routes|call`: what answers HTTP on a server, its routes, and requests to it.

Owns the commands. Addresses and names are `addresses.py`'s, routes `routes.py`'s, requests `calling.py`'s.
"""

from __future__ import annotations

import sys
from typing import Final

import click

from statewright.cli.client import Answer, command_words, endpoint_of, machine_of, server_options
from statewright.cli.inspection.apis.addresses import Address, Addresses
from statewright.cli.inspection.apis.calling import Response, header_of, sent
from statewright.cli.inspection.apis.routes import routes_of
from statewright.cli.output import FAILED, OK, USAGE, Span, Stop, Tone, stderr, stdout
from statewright.cli.table import print_rows

TARGET: Final = "API|FUNCTION"
LONGEST_ADDRESS: Final = 200
"""Characters of an address in a table: one that is cut leads nowhere."""
_METHODS: Final = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS")


@click.group(short_help="List APIs and function URLs, show routes, call one.")
def api() -> None:
    """Work with the HTTP APIs, REST APIs and function URLs of a server.

    API is the id or the name of an API; FUNCTION the name of a function with a URL, NAME:ALIAS, or the URL's id.

    \b
    Examples:
      statewright api list
      statewright api routes orders
      statewright api call orders POST /orders --data '{"item": 7}'
    """


@api.command("list", short_help="List APIs and function URLs with their addresses.")
@server_options
def list_apis(form: str, endpoint: str | None) -> None:
    """List every stage of every API, and every function URL, with its address.

    \b
    Examples:
      statewright api list
      statewright api list -o json
    """
    with Addresses(endpoint) as addresses:
        found = addresses.all()
    words = command_words("deploy DIR", endpoint)
    print_rows(
        form, "apis", [one.shown() for one in found], ("NAME", "KIND", "STAGE", "ADDRESS"), _cells,
        if_none=f"There are no APIs and no function URLs. To deploy a project that has some: {words}",
        widest=LONGEST_ADDRESS,
    )  # fmt: skip


def _cells(one: Answer) -> list[Span]:
    address: Span = (one["address"], "accent") if one["address"] else ("none: it has no stage yet", "wait")
    return [one["name"], one["kind"], one["stage"] or "", address]


@api.command(short_help="Show the routes of an API.")
@click.argument("target", metavar=TARGET)
@click.option("--stage", metavar="NAME", help="The stage; default: the only one, or $default.")
@server_options
def routes(target: str, stage: str | None, form: str, endpoint: str | None) -> None:
    """Show methods, paths, what each leads to, and who may call it, as the API has them now.

    A stage without automatic deployment serves the routes of its last deployment.

    \b
    Examples:
      statewright api routes orders
      statewright api routes a1b2c3d4e5 --stage Prod -o jsonl
    """
    with Addresses(endpoint) as addresses:
        address = addresses.one(target, stage)
        found = routes_of(addresses, address)
    if form == "table" and address.url:
        stdout().line((address.url, "accent"))
    titles = ("METHOD", "PATH", "TARGET", "AUTHORIZATION")
    rows = [one.shown() for one in found]
    print_rows(form, "routes", rows, titles, _route_cells, if_none=f"{address.name} has no routes.")


def _route_cells(one: Answer) -> list[Span]:
    open_ = one["authorization"] == "NONE"
    target: Span = one["target"] or ("none: the route answers with an error", "wait")
    return [one["method"], one["path"], target, (one["authorization"], "idle" if open_ else "wait")]


@api.command(short_help="Send a request to an API or a function URL.")
@click.argument("target", metavar=TARGET)
@click.argument("request", metavar="[METHOD] PATH", nargs=-1, required=True)
@click.option("-d", "--data", metavar="TEXT|@FILE|-", help="The body; makes the method POST unless one is given.")
@click.option("-H", "--header", "headers", metavar="NAME: VALUE", multiple=True, help="A header; may be repeated.")
@click.option("--stage", metavar="NAME", help="The stage; default: the only one, or $default.")
@click.option("--sign", is_flag=True, help="Sign the request (AWS_IAM), as commands sign theirs.")
@server_options
def call(
    target: str, request: tuple[str, ...], data: str | None, headers: tuple[str, ...], stage: str | None, sign: bool,
    form: str, endpoint: str | None,
) -> int:  # fmt: skip
    """Send a request to the server and print the response: its body to standard output, the rest beside it.

    The exit code is 0 for a status below 400, otherwise 1.

    \b
    Examples:
      statewright api call orders /orders/7
      statewright api call orders POST /orders --data @order.json -H "x-tenant: a"
      statewright api call price:live / --sign -o json
    """
    method, path = _method_and_path(request, data)
    given = [header_of(one) for one in headers]
    body = None if data is None else _body(data)
    with Addresses(endpoint) as addresses:
        address = addresses.one(target, stage)
    if not address.url:
        raise Stop(USAGE, f"{address.name} has no stage, so no request reaches it.", "deploy it to a stage")
    response = sent(endpoint_of(endpoint)[0], address, method, path, given, body, sign=sign)
    if form == "table":
        _print(address, response, endpoint)
    else:
        stdout().json(response.shown(), compact=form == "jsonl")
    return OK if response.status < 400 else FAILED


def _method_and_path(request: tuple[str, ...], data: str | None) -> tuple[str, str]:
    """The method and the path of a request's words. Raises: Stop."""
    *methods, path = request
    if len(methods) > 1 or (methods and methods[0].upper() not in _METHODS):
        raise Stop(USAGE, f"'{' '.join(request)}' is not a request.", "write [METHOD] PATH, for instance POST /orders")
    if not methods and path.upper() in _METHODS:
        raise Stop(USAGE, f"{path} needs a path.", f"for instance {path.upper()} /")
    return methods[0].upper() if methods else "GET" if data is None else "POST", path


def _body(text: str) -> bytes:
    if text == "-":
        return sys.stdin.buffer.read() if hasattr(sys.stdin, "buffer") else sys.stdin.read().encode()
    if text.startswith("@"):
        with open(text[1:], "rb") as file:
            return file.read()
    return text.encode()


def _print(address: Address, response: Response, endpoint: str | None) -> None:
    said, out = stderr(), stdout()
    tone: Tone = "ok" if response.status < 400 else "fail"
    said.line((f"{response.status} {response.reason}", tone), "  ", (address.url, "idle"))
    for name, value in response.headers:
        said.line((f"{name}: ", "idle"), value)
    value = response.value()
    if isinstance(value, (dict, list)):
        out.json(value)
    elif value is None and response.body != b"null":
        said.line((f"{len(response.body):,} bytes of {response.header('content-type') or 'no type'}", "idle"))
    elif response.body:
        out.line(response.body.decode().rstrip("\n"))
    if response.execution is not None:
        said.line(
            ("✓ ", "ok"), f"started an execution; to see it: {command_words(_shows(response.execution), endpoint)}"
        )


def _shows(execution: str) -> str:
    """The command that shows an execution: the history of an EXPRESS one is only in its machine's log."""
    if ":express:" in execution:
        return f"machine logs {machine_of(execution)} --execution {execution}"
    return f"execution show {execution}"
