"""The schema of `statewright.toml`. The tables of a project bring their own, from the checks that read them."""

from __future__ import annotations

from dataclasses import fields

from statewright.cli.local.schemas.words import (
    NAMES,
    TEXT,
    TEXTS,
    TRUTH,
    about,
    by_name,
    document,
    either,
    listed,
    one_of,
    record,
    whole,
)
from statewright.config import AUTHORISATIONS, ISOLATIONS, MOST_TIME_SCALE, TOKEN_METHODS, Connection
from statewright.limits import API_RATES, PROFILES, Limits
from statewright.payload import JsonObject
from statewright.settings.project import PROJECT, TABLES
from statewright.settings.server import BACKENDS, LOGINS, PAYLOADS

_ACCOUNT: JsonObject = {"type": "string", "pattern": "^[0-9]{12}$"}
_SECRET: JsonObject = {"type": "string", "minLength": 1}
_URL: JsonObject = {"type": "string", "pattern": "^https?://"}


def schema() -> JsonObject:
    """The schema of the whole file."""
    tables = {name: by_name(check.schema) for name, check in TABLES.items()}
    members: JsonObject = {
        "account": about("The account number of the server's ARNs.", _ACCOUNT),
        "region": about(
            "The region of the server's ARNs.", {"type": "string", "pattern": "^[a-z]{2}(-[a-z]+)+-[0-9]+$"}
        ),
        "server": about(
            "Which regions calls may be signed for, beside the default one; the bucket of a store in PostgreSQL.",
            record(
                {
                    "regions": listed({"type": "string", "pattern": "^[a-z]{2}(-[a-z]+)+-[0-9]+$"}),
                    "bucket": {"type": "string", "pattern": "^s3://"},
                }
            ),
        ),
        "credentials": about(
            "Secret keys by access key id; with any, the server verifies signatures.",
            by_name(either(_SECRET, record({"secret": _SECRET, "account": _ACCOUNT}, ["secret"]))),
        ),
        "endpoints": about("Addresses of services that this server does not have, by service.", by_name(_endpoint())),
        "connections": about("Credentials and additions of http:invoke, by connection.", by_name(_connection())),
        "limits": about("The service's limits, a profile or one by one.", _limits()),
        "volatile": about("Let moto, if it is installed, emulate other services.", TRUTH),
        "time_scale": about(
            "Waits take so many times as long; 0 skips them.",
            {"type": "number", "minimum": 0, "maximum": MOST_TIME_SCALE},
        ),
        "jobs": about(
            "How ECS tasks and Batch jobs run.",
            record({"engine": TEXT, "slots": whole(), "images": TEXTS, "backend": one_of(BACKENDS)}),
        ),
        "ray": about("The Ray cluster on which handlers or jobs run, if their backend is ray.", _ray()),
        "http": about("Exceptions to what is refused over HTTP.", record({"origins": NAMES, "allow": NAMES})),
        "console": about(
            "Who has to sign in to the console, and what it shows of payloads.",
            record(
                {
                    "login": one_of(LOGINS),
                    "trust_header": TEXT,
                    "proxies": NAMES,
                    "redact": NAMES,
                    "payloads": one_of(PAYLOADS),
                }
            ),
        ),
        "logs": about(
            "The collector that log events are exported to by OTLP.",
            record({"otlp": {"type": "string", "pattern": "^(https?://.*|environment|)$"}, "headers": TEXTS}),
        ),
        "issuers": about("Files with the keys (JWKS) of issuers of tokens, by issuer.", TEXTS),
        "extensions": about("Accept what only Statewright has in definitions.", TRUTH),
        "project": about("The project of this folder.", PROJECT.schema),
        **tables,
        "buckets": either(tables["buckets"], listed({"type": "string", "minLength": 1})),
        "functions": _functions(),
    }
    return document("statewright.toml", record(members))


def _endpoint() -> JsonObject:
    return either(_URL, record({"url": _URL, "access_key": TEXT, "secret_key": TEXT, "region": TEXT}, ["url"]))


def _connection() -> JsonObject:
    special: JsonObject = {
        "auth": one_of(AUTHORISATIONS),
        "token_method": one_of(TOKEN_METHODS),
        "token_url": _URL,
        "body": {"type": "object"},
        **dict.fromkeys(("headers", "query", "token_headers", "token_query", "token_body"), TEXTS),
    }
    names = [item.name for item in fields(Connection) if item.name != "name"]
    return record({name: special.get(name, TEXT) for name in names})


def _limits() -> JsonObject:
    number = either(whole(1), one_of(["none"]))
    rate = either(
        record({"bucket": whole(1), "refill": {"type": "number", "minimum": 0}}, ["bucket", "refill"]),
        one_of(["none"]),
    )
    profiles = one_of(["none", "aws"])
    own = {
        **{item.name: number for item in fields(Limits)},
        "profile": one_of(sorted(PROFILES)),
        "rates": either(profiles, record({"profile": profiles, **dict.fromkeys(API_RATES, rate)})),
    }
    return either(one_of(sorted(PROFILES)), record(own))


def _ray() -> JsonObject:
    number: JsonObject = {"type": "number", "minimum": 0}
    needs: JsonObject = {"num_cpus": number, "num_gpus": number, "memory": whole(), "resources": by_name(number)}
    absolute: JsonObject = {"type": "string", "pattern": "^(/|$)"}
    about_cluster: JsonObject = {
        "address": TEXT, "folder": absolute, "endpoint": TEXT, "python": absolute, "functions": by_name(record(needs)),
    }  # fmt: skip
    return record({**about_cluster, **needs})


def _functions() -> JsonObject:
    """Settings of all functions, beside a table for each function."""
    absolute: JsonObject = {"type": "string", "pattern": "^/"}
    return {
        "type": "object",
        "properties": {
            "isolation": about("How handlers are kept from the machine.", one_of(ISOLATIONS)),
            "visible": about("Folders that handlers see.", listed(absolute)),
            "backend": about("Where handlers run.", one_of(BACKENDS)),
            "node_modules": about("The folder with the SDK for JavaScript.", {"type": "string", "pattern": "^(/|$)"}),
        },
        "additionalProperties": TABLES["functions"].schema,
    }
