"""`statewright.toml`: the server's account and region, the endpoints of other services, and the limits.

Owns reading the file. Leaves the tables of a project to `settings/project.py`, `[console]`, `[jobs]`, `[http]`, `[ray]`
and `[logs]` to `settings/server.py`, reporting a mistake with file, line and key to `settings/reader.py`, and the
effect of a setting to the part that uses it. Every part of the server shares the one `Config`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Final

from statewright.limits import API_RATES, AWS, PROFILES, Limits, Rate, RateSettings
from statewright.payload import JsonMapping, JsonObject
from statewright.settings.project import TABLES, ProjectSettings, checked_project, checked_tables
from statewright.settings.reader import ConfigError, Keys, Reader, meant
from statewright.settings.server import (
    BACKENDS,
    ConsoleSettings,
    HttpSettings,
    JobSettings,
    LogExportSettings,
    RaySettings,
    checked_console,
    checked_http,
    checked_jobs,
    checked_logs,
    checked_ray,
)

DEFAULT_ACCOUNT: Final = "000000000000"
DEFAULT_REGION: Final = "us-east-1"
DEFAULT_SCOPE: Final = "default"
"""The region that a call is signed for to mean the server's default region, by callers that do not know that."""
DEFAULT_PORT: Final = 4566
FILE_NAME: Final = "statewright.toml"
MOST_TIME_SCALE: Final = 1000

REGION: Final = re.compile(r"[a-z]{2}(-[a-z]+)+-[0-9]+")
"""The name of a region."""
ISOLATIONS: Final = ("auto", "none", "hardened", "namespaces")
"""Levels of isolation of handlers; `auto` is the highest that the machine has."""
NO_NAMESPACES_ON_RAY: Final = "handlers on a Ray cluster are not fenced by namespaces; use auto, hardened or none"
AUTHORISATIONS: Final = ("none", "basic", "api-key", "oauth")
"""Kinds of `auth` that a connection may name."""
TOKEN_METHODS: Final = ("POST", "GET", "PUT")
"""Methods that a token may be asked for with. Source: EventBridge API reference, ConnectionOAuthRequestParameters."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The endpoint of an external service, and the credentials that calls to it are signed with."""

    url: str
    access_key: str = "test"
    secret_key: str = field(default="test", repr=False)
    region: str | None = None


@dataclass(frozen=True, slots=True)
class Connection:
    """A connection's additions to the requests of `http:invoke` that name it; the kinds are `AUTHORISATIONS`.

    `user` and `password` serve `basic`, `header` and `value` serve `api-key`, `client_*` and `token_*` serve `oauth`
    (the client credentials grant); `headers`, `query` and `body` are added for every kind, and win over what the
    state gives.
    """

    name: str
    auth: str = "none"
    user: str = ""
    password: str = field(default="", repr=False)
    header: str = ""
    value: str = field(default="", repr=False)
    client_id: str = ""
    client_secret: str = field(default="", repr=False)
    token_url: str = ""
    token_method: str = "POST"
    token_headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    token_query: Mapping[str, str] = field(default_factory=dict, repr=False)
    token_body: Mapping[str, str] = field(default_factory=dict, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    query: Mapping[str, str] = field(default_factory=dict, repr=False)
    body: JsonMapping = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True)
class FunctionSettings:
    """How handlers run. `isolation` is one of `ISOLATIONS`; `visible` are folders that handlers in namespaces see.

    `node_modules` is the folder of the SDK for JavaScript; empty for the one in the data folder (`functions/node_sdk`).
    `backend` is one of `settings.server.BACKENDS`.
    """

    isolation: str = "auto"
    visible: tuple[str, ...] = ()
    node_modules: str = ""
    backend: str = "local"


@dataclass(frozen=True, slots=True)
class Config:
    """The settings that all parts of the server share.

    `credentials` maps access key ids to secret keys. While it is empty, unsigned and dummy-signed calls are accepted,
    on loopback only; otherwise every signature is verified. `accounts` has the account of
    each access key if they have several; otherwise it is empty. `endpoints` are by the service's name as resource ARNs
    have it (`dynamodb`, `sqs`), `default` for all others. `connections` are by name. `volatile` lets moto play the
    services that are neither ours nor at an endpoint, where it is installed. `issuers` has the paths of the key sets
    (JWKS) of issuers of tokens. `extensions` lets
    definitions use what only Statewright has. `project` and `tables` (`queues`,
    `functions` and their like, by name) are for the deployment of the folder; the server ignores them.
    """

    account: str = DEFAULT_ACCOUNT
    region: str = DEFAULT_REGION
    credentials: Mapping[str, str] = field(default_factory=dict, repr=False)
    accounts: Mapping[str, str] = field(default_factory=dict)
    endpoints: Mapping[str, Endpoint] = field(default_factory=dict)
    connections: Mapping[str, Connection] = field(default_factory=dict)
    limits: Limits = AWS
    rates: RateSettings = field(default_factory=RateSettings)
    volatile: bool = True
    jobs: JobSettings = field(default_factory=JobSettings)
    http: HttpSettings = field(default_factory=HttpSettings)
    console: ConsoleSettings = field(default_factory=ConsoleSettings)
    logs: LogExportSettings = field(default_factory=LogExportSettings)
    issuers: Mapping[str, str] = field(default_factory=dict)
    functions: FunctionSettings = field(default_factory=FunctionSettings)
    ray: RaySettings = field(default_factory=RaySettings)
    extensions: bool = False
    project: ProjectSettings = field(default_factory=ProjectSettings)
    tables: Mapping[str, Mapping[str, JsonMapping]] = field(default_factory=dict)
    time_scale: float = 1.0
    """The real length of pauses in workflows: see `clock.Pauses`."""
    regions: tuple[str, ...] = ()
    """The regions that calls may be signed for, beside `region`; all if there are none here."""
    bucket: str | None = None
    """The address of the bucket that has the large bytes of a store in PostgreSQL."""

    def arn(self, service: str, rest: str = "") -> str:
        """The ARN of a resource of this account and region; without `rest` what the ARNs of a service begin with."""
        return f"arn:aws:{service}:{self.region}:{self.account}:{rest}"

    def is_elsewhere(self, arn: str) -> bool:
        """True for the ARN of a resource in another region or account; one of the same name here is not meant."""
        parts = arn.split(":", 4)
        is_arn = len(parts) == 5 and parts[0] == "arn"
        return is_arn and (parts[3] not in ("", self.region) or self.is_of_other_account(arn))

    def is_of_other_account(self, arn: str) -> bool:
        """True for the ARN of a resource in another account; if the server has one, it takes the number of any."""
        if not self.accounts:
            return False
        parts = arn.split(":", 5)
        return len(parts) > 4 and parts[0] == "arn" and parts[4] not in ("", self.account)

    def signer(self, preferred: str | None = None) -> tuple[str, str] | None:
        """An access key of the settings and its secret: the preferred one if it is there, else the first."""
        key = preferred if preferred in self.credentials else next(iter(self.credentials), None)
        return (key, self.credentials[key]) if key is not None else None

    @property
    def here(self) -> str:
        """The region, with its account if the server has several, for texts."""
        return f"{self.region} of the account {self.account}" if self.accounts else self.region


def read_config(path: Path) -> Config:
    """Read a settings file.

    Raises: ConfigError for a file that cannot be read or holds a mistake.
    """
    try:
        text = path.read_text("utf-8")
    except UnicodeDecodeError:
        raise ConfigError(f"{path}: cannot be read: it is not UTF-8") from None
    except OSError as problem:
        raise ConfigError(f"{path}: cannot be read: {problem.strerror or problem}") from None
    return parse_config(text, str(path))


def parse_config(text: str, name: str = FILE_NAME) -> Config:
    """Read the text of a settings file; `name` is what errors call it.

    Raises: ConfigError.
    """
    # Imported here: without settings there is nothing to read.
    import tomllib

    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as problem:
        words = str(problem)
        place = re.search(r" \(at line (\d+), column (\d+)\)$", words)
        where = f":{place[1]}:{place[2]}" if place else ""
        raise ConfigError(f"{name}{where}: {words[: place.start()] if place else words}") from None
    reader = Reader(text, name)
    config = Config()
    for key, value in document.items():
        if key not in _SETTINGS:
            reader.refuse((key,), f"is not a setting{meant(key, _SETTINGS)}")
        config = _SETTINGS[key](reader, config, value)
    accounts = {key: config.accounts.get(key, config.account) for key in config.credentials}
    return replace(config, accounts=accounts if {config.account, *accounts.values()} > {config.account} else {})


def _account(reader: Reader, config: Config, value: object) -> Config:
    return replace(config, account=_account_id(reader, ("account",), value))


def _account_id(reader: Reader, where: Keys, value: object) -> str:
    text = reader.text(where, value, "twelve digits in quotes")
    if not re.fullmatch(r"[0-9]{12}", text):
        reader.refuse(where, f"must be twelve digits in quotes, not {text!r}")
    return text


def _region(reader: Reader, config: Config, value: object) -> Config:
    text = reader.text(("region",), value)
    if not REGION.fullmatch(text):
        reader.refuse(("region",), f'must be a region such as "us-east-1", not {text!r}')
    return replace(config, region=text)


def _credentials(reader: Reader, config: Config, value: object) -> Config:
    secrets, accounts = {}, {}
    for key, given in reader.table(("credentials",), value).items():
        where: Keys = ("credentials", key)
        if isinstance(given, dict):
            given = reader.table(where, given, ("secret", "account"))
            if "account" in given:
                accounts[key] = _account_id(reader, (*where, "account"), given["account"])
            if "secret" not in given:
                reader.refuse(where, 'has no secret: { secret = "...", account = "..." }')
            where, given = (*where, "secret"), given["secret"]
        secrets[key] = reader.text(where, given, "the secret key in quotes, or a table of secret and account")
        if not secrets[key]:
            reader.refuse(where, "must not be empty: it is the secret key of this access key id")
    return replace(config, credentials=secrets, accounts=accounts)


def _endpoints(reader: Reader, config: Config, value: object) -> Config:
    found = {}
    for service, given in reader.table(("endpoints",), value).items():
        keys = ("endpoints", service)
        if isinstance(given, dict):
            given = reader.table(keys, given, ("url", "access_key", "secret_key", "region"))
            if "url" not in given:
                reader.refuse(keys, "has no url")
            rest = {name: reader.text((*keys, name), item) for name, item in given.items() if name != "url"}
            found[service] = Endpoint(reader.url((*keys, "url"), given["url"]), **rest)
        else:
            found[service] = Endpoint(reader.url(keys, given))
    return replace(config, endpoints=found)


def _connections(reader: Reader, config: Config, value: object) -> Config:
    found = {}
    known = tuple(item.name for item in fields(Connection) if item.name != "name")
    for name, given in reader.table(("connections",), value).items():
        keys = ("connections", name)
        settings: JsonObject = {}
        for key, item in reader.table(keys, given, known).items():
            if key in ("headers", "query", "token_headers", "token_query", "token_body"):
                settings[key] = reader.texts((*keys, key), item)
            elif key == "body":
                settings[key] = reader.table((*keys, key), item)
            elif key == "token_url":
                settings[key] = reader.url((*keys, key), item)
            else:
                settings[key] = reader.text((*keys, key), item)
        connection = Connection(name, **settings)
        if connection.auth not in AUTHORISATIONS:
            reader.refuse((*keys, "auth"), f"must be one of {', '.join(AUTHORISATIONS)}")
        if connection.auth == "api-key" and not connection.header:
            reader.refuse(keys, 'has auth = "api-key", which needs header and value')
        if connection.auth == "oauth" and not (connection.token_url and connection.client_id):
            reader.refuse(keys, 'has auth = "oauth", which needs token_url, client_id and client_secret')
        if connection.token_method not in TOKEN_METHODS:
            reader.refuse((*keys, "token_method"), f"must be one of {', '.join(TOKEN_METHODS)}")
        found[name] = connection
    return replace(config, connections=found)


def _limits(reader: Reader, config: Config, value: object) -> Config:
    settings = {"profile": value} if isinstance(value, str) else value
    known = (*(item.name for item in fields(Limits)), "rates")
    table = reader.table(("limits",), settings, known)
    profile = table.get("profile", "aws")
    if not isinstance(profile, str) or profile not in PROFILES:
        reader.refuse(("limits", "profile"), f"must be one of {', '.join(sorted(PROFILES))}")
    limits = PROFILES[profile]
    for name, number in table.items():
        if name == "profile":
            continue
        if name == "rates":
            config = replace(config, rates=_rates(reader, number))
            continue
        if number == "none":
            number = None
        elif isinstance(number, bool) or not isinstance(number, int) or number <= 0:
            reader.refuse(("limits", name), 'must be a whole number above 0, or "none"')
        limits = replace(limits, **{name: number})
    return replace(config, limits=limits)


def _rates(reader: Reader, value: object) -> RateSettings:
    keys = ("limits", "rates")
    table = reader.table(keys, {"profile": value} if isinstance(value, str) else value, ("profile", *API_RATES))
    profile = table.get("profile", "none")
    if profile not in ("none", "aws"):
        reader.refuse((*keys, "profile") if isinstance(value, dict) else keys, "must be none or aws")
    own: dict[str, Rate | None] = {}
    for name, given in table.items():
        if name == "profile":
            continue
        if given == "none":
            own[name] = None
            continue
        rate = reader.table((*keys, name), given, ("bucket", "refill"))
        bucket, refill = rate.get("bucket"), rate.get("refill")
        if isinstance(bucket, bool) or not isinstance(bucket, int) or bucket < 1:
            reader.refuse((*keys, name), "needs a bucket, a whole number above 0: the size of a burst of calls")
        if isinstance(refill, bool) or not isinstance(refill, int | float) or refill < 0:
            reader.refuse((*keys, name), "needs a refill, a number of 0 or more: the calls added each second")
        own[name] = Rate(bucket, float(refill))
    return RateSettings(profile, own)


def _volatile(reader: Reader, config: Config, value: object) -> Config:
    if not isinstance(value, bool):
        reader.refuse(("volatile",), "must be true or false")
    return replace(config, volatile=value)


def _issuers(reader: Reader, config: Config, value: object) -> Config:
    found = reader.texts(("issuers",), value)
    for issuer in found:
        if not issuer.startswith(("https://", "http://")):
            reader.refuse(("issuers", issuer), 'must be an issuer such as "https://issuer.example.com"')
    return replace(config, issuers={issuer: str(reader.folder / path) for issuer, path in found.items()})


def _time_scale(reader: Reader, config: Config, value: object) -> Config:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= MOST_TIME_SCALE:
        reader.refuse(("time_scale",), f"must be a number from 0 (no waits) to {MOST_TIME_SCALE}")
    return replace(config, time_scale=float(value))


def _jobs(reader: Reader, config: Config, value: object) -> Config:
    return replace(config, jobs=checked_jobs(reader, value))


def _http(reader: Reader, config: Config, value: object) -> Config:
    return replace(config, http=checked_http(reader, value))


def _logs(reader: Reader, config: Config, value: object) -> Config:
    return replace(config, logs=checked_logs(reader, value))


def _console(reader: Reader, config: Config, value: object) -> Config:
    return replace(config, console=checked_console(reader, value))


def _functions(reader: Reader, config: Config, value: object) -> Config:
    """The settings of all functions, which are no tables, beside the tables of single ones."""
    table = reader.table(("functions",), value)
    common = tuple(item.name for item in fields(FunctionSettings))
    rest = {key: item for key, item in table.items() if isinstance(item, dict) or key not in common}
    own = {key: item for key, item in table.items() if key not in rest}
    level = reader.text(("functions", "isolation"), own.get("isolation", "auto"))
    if level not in ISOLATIONS:
        reader.refuse(("functions", "isolation"), f"must be one of {', '.join(ISOLATIONS)}")
    visible = reader.list_of_texts(("functions", "visible"), own.get("visible", []))
    for path in visible:
        if not Path(path).is_absolute():
            reader.refuse(("functions", "visible"), f"must be absolute paths, not {path!r}")
    node_modules = reader.text(("functions", "node_modules"), own.get("node_modules", ""))
    if node_modules and not Path(node_modules).is_absolute():
        reader.refuse(("functions", "node_modules"), f"must be an absolute path, not {node_modules!r}")
    backend = reader.text(("functions", "backend"), own.get("backend", "local"))
    if backend not in BACKENDS:
        reader.refuse(("functions", "backend"), f"must be one of {', '.join(BACKENDS)}")
    if backend == "ray" and level == "namespaces":
        reader.refuse(("functions", "isolation"), f'cannot be namespaces with backend = "ray": {NO_NAMESPACES_ON_RAY}')
    config = replace(config, functions=FunctionSettings(level, tuple(visible), node_modules, backend))
    return _tables("functions")(reader, config, rest)


def _ray(reader: Reader, config: Config, value: object) -> Config:
    return replace(config, ray=checked_ray(reader, value))


def _extensions(reader: Reader, config: Config, value: object) -> Config:
    if not isinstance(value, bool):
        reader.refuse(("extensions",), "must be true or false")
    return replace(config, extensions=value)


def _server(reader: Reader, config: Config, value: object) -> Config:
    table = reader.table(("server",), value, ("regions", "bucket"))
    if "bucket" in table:
        bucket = reader.text(("server", "bucket"), table["bucket"])
        if not bucket.startswith("s3://"):
            reader.refuse(("server", "bucket"), f'must be an address such as "s3://name/prefix", not {bucket!r}')
        config = replace(config, bucket=bucket)
    regions = reader.list_of_texts(("server", "regions"), table.get("regions", []))
    for region in regions:
        if not REGION.fullmatch(region):
            reader.refuse(("server", "regions"), f'must be regions such as "us-east-1", not {region!r}')
    return replace(config, regions=tuple(regions))


def _project(reader: Reader, config: Config, value: object) -> Config:
    return replace(config, project=checked_project(reader, value))


def _tables(section: str) -> Callable[[Reader, Config, object], Config]:
    def check(reader: Reader, config: Config, value: object) -> Config:
        return replace(config, tables={**config.tables, section: checked_tables(reader, section, value)})

    return check


_SETTINGS: Final[dict[str, Callable[[Reader, Config, object], Config]]] = {
    "account": _account,
    "region": _region,
    "credentials": _credentials,
    "endpoints": _endpoints,
    "connections": _connections,
    "limits": _limits,
    "volatile": _volatile,
    "time_scale": _time_scale,
    "jobs": _jobs,
    "http": _http,
    "console": _console,
    "logs": _logs,
    "issuers": _issuers,
    "ray": _ray,
    "extensions": _extensions,
    "project": _project,
    "server": _server,
    **{section: _tables(section) for section in TABLES},
    "functions": _functions,
}
