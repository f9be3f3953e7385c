"""Keys of issuers: from files and from the issuers themselves, and when they are looked for again."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from statewright.apis.authorizers.issuers import AGAIN_MS, KEPT_MS, MOST_BYTES, Issuers, KeysMalformed, keys_in
from statewright.apis.authorizers.tokens import TokenRefused
from statewright.apis.calls import IntegrationFailed, Response
from statewright.config import read_config
from statewright.integrations.http_requests import Request as Sent
from statewright.settings.reader import ConfigError

ISSUER = "https://issuer.example"
WHERE = f"{ISSUER}/.well-known/openid-configuration"


class Moved:
    """A clock that tests move."""

    def __init__(self) -> None:
        self.now = 1_000

    def now_ms(self) -> int:
        return self.now


class Web:
    """Answers by address, and counts requests."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.pages: dict[str, Any] = {
            WHERE: {"jwks_uri": "https://keys.example/jwks"}, "https://keys.example/jwks": key_set("one"),
        }  # fmt: skip

    async def fetch(self, sent: Sent, _timeout_ms: int) -> Response:
        self.asked.append(sent.url)
        await asyncio.sleep(0)
        page = self.pages.get(sent.url)
        if page is None:
            raise IntegrationFailed("INTEGRATION_FAILURE", "no such host")
        return Response(200, [], page if isinstance(page, bytes) else json.dumps(page).encode())


def key_set(*kids: str) -> dict[str, Any]:
    return {"keys": [{"kty": "RSA", "kid": kid} for kid in kids]}


def issuers(web: Web, clock: Moved, files: dict[str, str] | None = None) -> Issuers:
    return Issuers(files or {}, clock, web.fetch)  # type: ignore[arg-type]


def run(work: Any) -> Any:
    return asyncio.run(work)


def test_keys_are_fetched_once_for_many_requests():
    web = Web()
    keys = issuers(web, Moved())

    async def many() -> None:
        found = await asyncio.gather(*(keys.key(ISSUER, "one") for _ in range(50)))
        assert {one["kid"] for one in found} == {"one"}

    run(many())
    assert web.asked == [WHERE, "https://keys.example/jwks"]


def test_an_unknown_key_has_them_fetched_again_once_in_a_while():
    web, clock = Web(), Moved()
    keys = issuers(web, clock)

    async def story() -> None:
        await keys.key(ISSUER, "one")
        for _ in range(20):
            with pytest.raises(TokenRefused, match="no key of the token's kid"):
                await keys.key(ISSUER, "two")
        assert len(web.asked) == 2
        web.pages["https://keys.example/jwks"] = key_set("one", "two")
        clock.now += AGAIN_MS
        assert (await keys.key(ISSUER, "two"))["kid"] == "two"
        assert len(web.asked) == 4
        clock.now += KEPT_MS
        await keys.key(ISSUER, "two")
        assert len(web.asked) == 4
        clock.now += 1
        await keys.key(ISSUER, "two")
        assert len(web.asked) == 6

    run(story())


def test_an_issuer_that_is_away_is_not_asked_at_once_again(caplog):
    web, clock = Web(), Moved()
    page = web.pages.pop(WHERE)
    keys = issuers(web, clock)

    async def story() -> None:
        for _ in range(20):
            with pytest.raises(TokenRefused, match="OIDC discovery endpoint communication error"):
                await keys.key(ISSUER, "one")
        assert len(web.asked) == 1
        web.pages[WHERE] = page
        clock.now += AGAIN_MS
        await keys.key(ISSUER, "one")
        del web.pages[WHERE]
        clock.now += KEPT_MS + 1
        assert (await keys.key(ISSUER, "one"))["kid"] == "one", "the keys of before are used on"

    run(story())
    assert "cannot be read: " in caplog.text


@pytest.mark.parametrize(
    "page", [{}, [], {"jwks_uri": 1}, {"jwks_uri": "file:///etc/passwd"}, b"{", b" " * (MOST_BYTES + 1)]
)
def test_answers_that_are_no_configuration(page):
    web = Web()
    web.pages[WHERE] = page
    with pytest.raises(TokenRefused):
        run(issuers(web, Moved()).key(ISSUER, "one"))
    assert web.asked == [WHERE]


def test_a_file_is_read_instead_of_the_network(tmp_path: Path):
    web, clock, path = Web(), Moved(), tmp_path / "keys.json"
    path.write_text(json.dumps(key_set("mine")))
    keys = issuers(web, clock, {ISSUER: str(path)})

    async def story() -> None:
        assert (await keys.key(ISSUER, "mine"))["kid"] == "mine"
        path.write_text(json.dumps(key_set("next")))
        clock.now += AGAIN_MS
        assert (await keys.key(ISSUER, "next"))["kid"] == "next"

    run(story())
    assert (keys.is_given(ISSUER), keys.is_given("https://other.example"), web.asked) == (True, False, [])


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"keys": {}}', " " * (MOST_BYTES + 1)])
def test_files_that_are_no_key_sets(tmp_path: Path, text: str):
    path = tmp_path / "keys.json"
    path.write_text(text)
    web = Web()
    with pytest.raises(TokenRefused, match="communication error"):
        run(issuers(web, Moved(), {ISSUER: str(path)}).key(ISSUER, "one"))
    assert web.asked == []


def test_files_of_the_settings_are_relative_to_them(tmp_path: Path):
    settings = tmp_path / "statewright.toml"
    settings.write_text(f'[issuers]\n"{ISSUER}" = "keys.json"\n')
    assert read_config(settings).issuers == {ISSUER: str(tmp_path / "keys.json")}
    settings.write_text('[issuers]\n"issuer.example" = "keys.json"\n')
    with pytest.raises(ConfigError, match=r"statewright.toml:2: issuers.issuer.example must be an issuer such as"):
        read_config(settings)


def test_keys_without_an_id_are_left_out():
    assert keys_in({"keys": [{"kid": "a"}, {"kty": "RSA"}, 1, {"kid": 2}]}) == {"a": {"kid": "a"}}
    with pytest.raises(KeysMalformed):
        keys_in(key_set(*map(str, range(101))))
