"""`statewright console`: opens the console of a server in a browser, signed in where the server asks for it."""

from __future__ import annotations

from typing import Final

import click

from statewright.cli.client import OWN_SERVICE, Server, Unreachable, endpoint_option, identity, serve_hint
from statewright.cli.output import FAILED, OK, Stop, stderr, stdout

PATH: Final = "/console"
ANSWER_SECONDS: Final = 20
_CANNOT_OPEN: Final = ("www-browser", "links", "elinks", "lynx", "w3m")
"""Browsers that would take the terminal, and run no scripts."""


@click.command(short_help="Open the console of a server in a browser.")
@click.option("--read-only", is_flag=True, help="Sign in for looking only: the pages change nothing.")
@click.option("--print", "only_print", is_flag=True, help="Print the address, and open no browser.")
@endpoint_option
def console(read_only: bool, only_print: bool, endpoint: str | None) -> int:
    """Open the console of a server in a browser.

    A server with credentials asks users to sign in: the command signs a request for a link with the access key of
    statewright.toml here, or of AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY. The link is good for one browser within a
    minute, and opens a session of twelve hours, which Settings in the console lists and ends.

    \b
    Examples:
      statewright console
      statewright console --read-only
      statewright console --print --endpoint http://10.0.0.5:4566
    """
    with Server(endpoint, answer_seconds=ANSWER_SECONDS) as server:
        address = f"{server.endpoint.rstrip('/')}{PATH}"
        if _asks_sign_in(address, server.endpoint):
            address += f"#k={_key(endpoint, read_only=read_only)}"
        elif read_only:
            raise Stop(
                FAILED,
                f"The server at {server.endpoint} asks no one to sign in, so every page may change something.",
                'give it [credentials], or login = "always" under [console] in its statewright.toml',
            )
    stdout().line(address)
    stdout().flush()
    if not only_print and not _open(address):
        stderr().line("No browser could be opened: open the address above.")
    return OK


def _asks_sign_in(address: str, endpoint: str) -> bool:
    """True if the console at an address answers only users who have signed in. Raises: Unreachable, Stop."""
    from urllib.error import HTTPError, URLError
    from urllib.request import ProxyHandler, Request, build_opener

    # A server on this machine is not reached through a proxy.
    opener = build_opener(ProxyHandler({}))
    try:
        with opener.open(Request(f"{address}/api/me"), timeout=ANSWER_SECONDS) as answer:
            if answer.headers.get_content_type() != "application/json":
                raise Unreachable(endpoint, "another program answers there")
            return False
    except HTTPError as refused:
        if refused.code == 401:
            return True
        raise Stop(
            FAILED,
            f"The server at {endpoint} has no console: it answered {refused.code}.",
            f"it may be of an earlier version; {serve_hint(endpoint)}",
        ) from None
    except (URLError, OSError, ValueError) as problem:
        raise Unreachable(endpoint, str(getattr(problem, "reason", problem))) from None


def _key(endpoint: str | None, *, read_only: bool) -> str:
    """A one-time key, signed for with the caller's access key. Raises: ApiProblem, Unreachable."""
    with Server(endpoint, service=OWN_SERVICE, identity=identity(), answer_seconds=ANSWER_SECONDS) as own:
        return str(own.call("create_console_session", readOnly=read_only)["key"])


def _open(address: str) -> bool:
    """Open an address in the user's browser; false if there is none that shows pages with scripts."""
    import webbrowser

    try:
        browser = webbrowser.get()
    except webbrowser.Error:
        return False
    if getattr(browser, "name", "") in _CANNOT_OPEN:
        return False
    return browser.open(address)
