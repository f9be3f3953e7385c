"""Signing in to the console: which requests pass, as whom, and what a read-only sign-in may call."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import orjson
import pytest

from statewright.api.app import Api
from statewright.config import Config, parse_config
from statewright.console.asked import Lines
from statewright.console.calls import WRITING
from statewright.console.console import ConsoleApp
from statewright.records.console_sessions import CONSOLE_SESSION, ConsoleSession, ConsoleSessions, Signer
from statewright.settings.server import ConsoleSettings
from statewright.stores.entries import Entries
from statewright.stores.memory.store import MemoryStore
from statewright.virtual_clock import VirtualClock, run_virtual
from tests.unit.api.apps import app_of
from tests.unit.api.asgi import Reply, exchange, scope_of

STRICT = Config(credentials={"AKIA": "secret"})
HERE = "http://127.0.0.1:4566"
FAR = "http://10.0.0.5:4566"
PROXIED = Config(console=ConsoleSettings("auto", "x-forwarded-user", ("10.0.0.0/8",)))
SITE = frozenset({"https://console.example"})


class Place:
    """A console with sessions, in virtual time."""

    def __init__(self, config: Config, clock: VirtualClock, store: MemoryStore, origins: frozenset[str]) -> None:
        self.sessions = ConsoleSessions(store.catalogue, clock, config)
        engine = SimpleNamespace()
        app = app_of(config, clock, engine=engine, console_sessions=self.sessions)
        self.pages = ConsoleApp(app, origins)
        self.api = Api(app, pages=self.pages)

    async def ask(self, name: str, document: Any = None, client: str = "127.0.0.1", **headers: str) -> Reply:
        named = {key.replace("_", "-"): value for key, value in headers.items()}
        if document is not None:
            named = {"content-type": "application/json", **named}
        path = name if name.startswith("/") else f"/console/api/{name}"
        scope = scope_of(path, "GET" if document is None else "POST", "", named)
        scope |= {"client": (client, 5), "scheme": "http"}
        body = b"" if document is None else orjson.dumps(document)
        return await exchange(self.api, scope, [{"type": "http.request", "body": body, "more_body": False}])

    async def token(self, *, may_write: bool = True) -> str:
        key, _ = self.sessions.new_key(Signer("AKIA"), may_write=may_write)
        opened = await self.ask("session", {"key": key})
        assert opened.status == 200
        token: str = opened.json["token"]
        return token


def at(config: Config, story: Any, origins: frozenset[str] = frozenset()) -> None:
    """Play a story at a console with these settings."""

    async def main(clock: VirtualClock) -> None:
        store = MemoryStore()
        await store.open("test")
        place = Place(config, clock, store, origins)
        await place.sessions.start()
        await story(place)
        await store.close()

    run_virtual(main)


def test_a_server_with_credentials_asks_for_a_sign_in():
    async def story(place: Place) -> None:
        refused = await place.ask("me")
        assert (refused.status, refused.json["error"]) == (401, "SignInRequired")
        assert "statewright console" in refused.json["message"]
        assert refused.headers["www-authenticate"] == "Bearer"
        me = await place.ask("me", authorization=f"Bearer {await place.token()}")
        assert (me.status, me.json["user"], me.json["mayWrite"]) == (200, "AKIA", True)
        for wrong in ("Bearer x", "Bearer ", "Basic AKIA:secret", "AKIA", "bearer"):
            assert (await place.ask("me", authorization=wrong)).status == 401, wrong

    at(STRICT, story)


def test_the_console_asks_where_the_settings_say_so():
    async def asks(place: Place) -> None:
        assert (await place.ask("me")).status == 401

    async def answers(place: Place) -> None:
        assert (await place.ask("me")).json["user"] == ""
        assert (await place.ask("session", {"key": "x"})).status == 400

    at(Config(console=ConsoleSettings("always")), asks)
    at(Config(), answers)


def test_a_key_is_good_for_one_session():
    async def story(place: Place) -> None:
        key, _ = place.sessions.new_key(Signer("AKIA"), may_write=True)
        assert (await place.ask("session", {"key": key})).status == 200
        again = await place.ask("session", {"key": key})
        assert (again.status, again.json["error"]) == (401, "SignInRequired")
        wrong: list[Any] = [{}, {"key": 1}, {"key": "x" * 300}, [], "key"]
        for document in wrong:
            assert (await place.ask("session", document)).status == 400
        assert (await place.ask("session")).status == 405
        assert (await place.ask("session", {"key": key}, content_type="text/plain")).status == 415

    at(STRICT, story)


def test_a_read_only_sign_in_changes_nothing():
    async def story(place: Place) -> None:
        token = await place.token(may_write=False)
        for service, operations in WRITING.items():
            for operation in operations:
                document = {"service": service, "operation": operation, "request": {}}
                refused = await place.ask("call", document, authorization=f"Bearer {token}")
                assert (refused.status, refused.json["error"]) == (403, "AccessDenied"), operation
        other = await place.token()
        found = (await place.ask("sessions", authorization=f"Bearer {token}")).json["sessions"]
        assert [one["isThis"] for one in found].count(True) == 1
        mine, theirs = sorted(found, key=lambda one: not one["isThis"])
        bearer = f"Bearer {token}"
        assert (await place.ask("sessions/end", {"id": theirs["id"]}, authorization=bearer)).status == 403
        assert (await place.ask("sessions/end", {"id": mine["id"]}, authorization=bearer)).status == 200
        assert (await place.ask("me", authorization=bearer)).status == 401
        assert (await place.ask("me", authorization=f"Bearer {other}")).status == 200

    at(STRICT, story)


def test_a_session_is_ended_by_another():
    async def story(place: Place) -> None:
        token, other = await place.token(), await place.token()
        wanted = other.partition(".")[0]
        bearer = f"Bearer {token}"
        assert (await place.ask("sessions/end", {"id": wanted}, authorization=bearer)).status == 200
        assert (await place.ask("me", authorization=f"Bearer {other}")).status == 401
        assert (await place.ask("sessions/end", {"id": wanted}, authorization=bearer)).status == 404
        assert (await place.ask("sessions/end", {}, authorization=bearer)).status == 400

    at(STRICT, story)


@pytest.mark.parametrize("host", ["127.0.0.1:4566", "10.0.0.5:4566", "console.lan:4566"])
def test_a_signed_in_page_is_used_at_any_name_of_the_server(host):
    async def story(place: Place) -> None:
        bearer = f"Bearer {await place.token()}"
        own = {"host": host, "origin": f"http://{host}", "authorization": bearer}
        assert (await place.ask("me", **own)).status == 200
        assert (await place.ask("me", **own, sec_fetch_site="same-origin")).status == 200
        assert (await place.ask("me", host=host, authorization=bearer, accept_language="en")).status == 200
        assert (await place.ask("/console", host=host, accept_language="en")).status == 200

    at(STRICT, story)


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://127.0.0.1:3000"},
        {"origin": "http://localhost:4566"},
        {"origin": "https://127.0.0.1:4566"},
        {"origin": "null"},
        {"origin": "", "sec_fetch_site": "same-origin"},
        {"origin": HERE, "sec_fetch_site": "same-site"},
        {"origin": HERE, "sec_fetch_site": "cross-site"},
        {"sec_fetch_site": "same-site"},
        {"sec_fetch_site": "cross-site"},
        {"origin": "http://evil.example", "host": "127.0.0.1:4566"},
    ],
)
def test_no_page_of_another_origin_passes_with_a_token(headers):
    async def story(place: Place) -> None:
        bearer = f"Bearer {await place.token()}"
        refused = await place.ask("me", authorization=bearer, **headers)
        assert (refused.status, refused.json["error"]) == (403, "CrossOriginRequestRefused")
        key, _ = place.sessions.new_key(Signer("AKIA"), may_write=True)
        assert (await place.ask("session", {"key": key}, **headers)).status == 403
        assert (await place.ask("session", {"key": key})).status == 200

    at(STRICT, story)


def test_an_origin_that_was_named_passes_with_a_token():
    async def story(place: Place) -> None:
        bearer = f"Bearer {await place.token()}"
        named = {"origin": "https://console.example", "sec_fetch_site": "cross-site"}
        assert (await place.ask("me", authorization=bearer, **named)).status == 200

    at(STRICT, story, SITE)


def test_a_proxy_names_its_users():
    async def story(place: Place) -> None:
        own = {"host": "console.example", "origin": "https://console.example", "sec_fetch_site": "same-origin"}
        me = await place.ask("me", x_forwarded_user="ada", **own)
        assert (me.status, me.json["user"], me.json["mayWrite"]) == (200, "ada", True)
        assert (await place.ask("me", client="10.1.2.3", x_forwarded_user="ada", **own)).status == 200
        sessions = await place.ask("sessions", x_forwarded_user="ada", **own)
        assert sessions.json == {"sessions": [], "user": "ada"}
        assert (await place.ask("sessions/end", {"id": "x"}, x_forwarded_user="ada", **own)).status == 404

    at(PROXIED, story, SITE)


@pytest.mark.parametrize(
    ("client", "headers", "status"),
    [
        ("192.168.0.9", {"x_forwarded_user": "ada"}, 401),
        ("127.0.0.1", {}, 401),
        ("127.0.0.1", {"x_forwarded_user": " "}, 401),
        ("127.0.0.1", {"x_forwarded_user": "a\u0085b"}, 400),
        ("127.0.0.1", {"x_forwarded_user": "a" * 201}, 400),
        ("127.0.0.1", {"x_forwarded_user": "ada", "sec_fetch_site": "cross-site"}, 403),
        ("127.0.0.1", {"x_forwarded_user": "ada", "origin": "http://127.0.0.1:3000"}, 403),
        ("127.0.0.1", {"x_forwarded_user": "ada", "host": "evil.example", "origin": "http://evil.example"}, 403),
        ("127.0.0.1", {"x_forwarded_user": "ada", "authorization": "Bearer x"}, 401),
    ],
)
def test_others_name_no_user(client, headers, status):
    async def story(place: Place) -> None:
        assert (await place.ask("me", client=client, **headers)).status == status

    at(PROXIED, story, SITE)


def test_a_header_that_was_sent_twice_counts_for_nothing():
    async def story(place: Place) -> None:
        bearer = f"Bearer {await place.token()}"
        for name, value in (("x-forwarded-user", "ada"), ("authorization", bearer)):
            scope = scope_of("/console/api/me", "GET")
            scope["headers"] += [(name.encode(), value.encode())] * 2
            scope |= {"client": ("127.0.0.1", 5), "scheme": "http"}
            assert (await exchange(place.api, scope, [])).status == 400

    at(Config(credentials=STRICT.credentials, console=PROXIED.console), story, SITE)


def test_a_stream_ends_with_its_session():
    """The last line says why, and what the stream held is let go."""

    async def story(place: Place) -> None:
        held = []

        async def documents() -> Any:
            held.append("open")
            try:
                yield {"n": 1}
                await asyncio.Event().wait()
            finally:
                held.append("closed")

        async def read(_name: str, _asked: Any) -> Lines:
            return Lines(documents())

        place.pages._readers[""] = read
        token = await place.token()
        reading = asyncio.ensure_future(place.ask("any", authorization=f"Bearer {token}"))
        while not held:
            await asyncio.sleep(0)
        session = place.sessions.session_of(token)
        assert isinstance(session, ConsoleSession)
        await place.sessions.end(session)
        first, last, rest = (await reading).body.split(b"\n")
        assert (orjson.loads(first), orjson.loads(last)["error"], rest) == ({"n": 1}, "SignInRequired", b"")
        assert held == ["open", "closed"]

    at(STRICT, story)


def test_settings_of_the_console():
    found = parse_config('[console]\nlogin = "always"\ntrust_header = "X-User"\nproxies = ["10.0.0.7"]\n').console
    assert found == ConsoleSettings("always", "x-user", ("10.0.0.7",))
    assert Config().console == ConsoleSettings()


def test_sessions_that_are_over_are_forgotten_with_the_next_sign_in():
    async def main(clock: VirtualClock) -> None:
        store = MemoryStore()
        await store.open("test")
        sessions = ConsoleSessions(store.catalogue, clock, STRICT)
        await sessions.start()
        for number in range(3):
            signer = Signer(f"ASIA{number}", until_ms=clock.now_ms() + 1_000)
            assert await sessions.open(sessions.new_key(signer, may_write=True)[0]) is not None
            await clock.sleep_until(clock.now_ms() + 2_000)
        assert len(await Entries(store.catalogue, CONSOLE_SESSION).all()) == 1
        await store.close()

    run_virtual(main)


def test_a_long_document_is_read_beside_the_event_loop():
    async def story(place: Place) -> None:
        document = {"service": "states", "operation": "Nothing", "more": ["x" * 1_000] * 200}
        refused = await place.ask("call", document, authorization=f"Bearer {await place.token()}")
        assert (refused.status, refused.json["error"]) == (403, "AccessDenied")

    at(STRICT, story)
