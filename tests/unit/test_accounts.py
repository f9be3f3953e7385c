"""Accounts of one system: the settings, whose bucket it is, tokens, and stores that do not fit the settings."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from statewright.assembly import assemble
from statewright.config import Config, parse_config
from statewright.errors import ApiError, StoreError
from statewright.objects.records import Bucket, bucket_of, bucket_row
from statewright.settings.reader import ConfigError
from statewright.stores.memory.store import MemoryStore
from statewright.stores.regional import account_of, add_region, place_of
from statewright.virtual_clock import VirtualClock, run_virtual

OTHER = "111122223333"
SETTINGS = f'[credentials]\nAKIAONE = "one"\nAKIATWO = {{ secret = "two", account = "{OTHER}" }}'
CONFIG = parse_config(SETTINGS)


# ------------------------------------------------------------------ settings


def test_an_access_key_may_have_an_account():
    assert CONFIG.credentials == {"AKIAONE": "one", "AKIATWO": "two"}
    assert CONFIG.accounts == {"AKIAONE": "000000000000", "AKIATWO": OTHER}


@pytest.mark.parametrize(
    "text",
    [
        '[credentials]\nAKIAONE = "one"\nAKIATWO = { secret = "two" }',
        'account = "111122223333"\n[credentials]\nAKIATWO = { secret = "two", account = "111122223333" }',
        '[credentials]\nAKIATWO = { secret = "two", account = "111122223333" }\n',
    ],
)
def test_keys_of_the_default_account_alone_are_of_one_account(text):
    found = parse_config(text)
    assert found.credentials["AKIATWO"] == "two"
    assert found.accounts == ({"AKIATWO": OTHER} if text.endswith("\n") else {})


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ('{ account = "111122223333" }', "has no secret"),
        ('{ secret = "two", account = "1111" }', "twelve digits"),
        ('{ secret = "", account = "111122223333" }', "must not be empty"),
        ('{ secret = "two", acount = "111122223333" }', "did you mean account"),
        ("7", "the secret key in quotes"),
    ],
)
def test_mistakes_in_an_entry_are_named(entry, problem):
    with pytest.raises(ConfigError, match=rf"statewright.toml:2: credentials\.AKIATWO.*{problem}"):
        parse_config(f"[credentials]\nAKIATWO = {entry}")


def test_arns_of_another_account_are_elsewhere_once_there_are_several():
    arn = "arn:aws:sqs:us-east-1:123456789012:jobs"
    assert CONFIG.is_elsewhere(arn)
    assert not Config().is_elsewhere(arn)
    assert CONFIG.is_elsewhere("arn:aws:iam::123456789012:role/r")
    assert not CONFIG.is_elsewhere("arn:aws:iam::000000000000:role/r")
    assert not CONFIG.is_elsewhere("arn:aws:s3:::bucket")


# ------------------------------------------------------------------ rows


def test_a_place_has_an_account_and_a_region():
    assert place_of("", "eu-west-1") == "eu-west-1"
    assert place_of(OTHER, "eu-west-1") == f"{OTHER}/eu-west-1"
    assert (account_of("eu-west-1"), account_of(f"{OTHER}/eu-west-1")) == ("", OTHER)


def test_only_a_bucket_of_another_account_has_a_newer_row():
    bucket = Bucket(1, "box", 5, "us-east-1")
    assert json.loads(bucket_row(bucket).body) == {"region": "us-east-1", "tags": {}}
    theirs = replace(bucket, account=OTHER)
    assert json.loads(bucket_row(theirs).body)["format"] == 2
    assert bucket_of(bucket_row(theirs)) == theirs


def test_the_default_account_cannot_become_one_that_the_store_has_beside_it():
    async def main(clock: VirtualClock) -> None:
        store = MemoryStore()
        await store.open("test")
        await add_region(store, place_of(OTHER, "us-east-1"), "us-east-1")
        system = assemble(Config(account=OTHER), clock, store, None, lambda: "")
        with pytest.raises(StoreError, match=f"this store has the account {OTHER} beside its default one"):
            await system.start()

    run_virtual(main)


# ------------------------------------------------------------------ tokens


def test_a_session_is_none_of_another_account_when_its_own_has_lost_its_keys():
    async def main(clock: VirtualClock) -> None:
        store = MemoryStore()
        await store.open("test")
        system = assemble(CONFIG, clock, store, None, lambda: "")
        await system.start()
        theirs = await system.app.of_signer("AKIATWO", {})
        assert theirs.config.account == OTHER
        assert await system.app.of_signer("AKIAONE", {}) is system.app
        session = system.app.services.sessions.issue("arn:aws:iam::1:root", "1", 900, "id", OTHER)
        token = {"x-amz-security-token": session.token}
        assert system.app.secrets(token)[session.access_key] == session.secret
        assert await system.app.of_signer(session.access_key, token) is theirs
        # The operator takes the account's only key away.
        without = replace(system.app, config=replace(CONFIG, credentials={"AKIAONE": "one"}, accounts={}))
        assert session.access_key not in without.secrets(token)
        await system.stop()
        with pytest.raises(ApiError, match="starting or shutting down"):
            await system.app.of_signer("AKIATWO", {})

    run_virtual(main)
