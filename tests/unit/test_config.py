import re
from pathlib import Path

import pytest

from statewright.config import Config, Endpoint, FunctionSettings, parse_config, read_config
from statewright.limits import OPEN, Rate
from statewright.settings.reader import ConfigError

WHOLE = """
account = "123456789012"
region = "eu-west-1"

[limits]
profile = "open"
history_events = 500
payload_bytes = "none"

[credentials]
AKIAEXAMPLE = "secret"

[endpoints]
dynamodb = "http://127.0.0.1:8000/"
sqs = { url = "https://queues.example", access_key = "a", secret_key = "b", region = "us-west-2" }

[connections.billing]
auth = "basic"
user = "u"
password = "p"
headers = { X-Team = "one" }
body = { key = 1 }
"""


def test_a_whole_file():
    config = parse_config(WHOLE)
    assert (config.account, config.region) == ("123456789012", "eu-west-1")
    assert config.limits.history_events == 500
    assert config.limits.payload_bytes is None
    assert config.credentials == {"AKIAEXAMPLE": "secret"}
    assert config.endpoints["dynamodb"] == Endpoint("http://127.0.0.1:8000")
    assert config.endpoints["sqs"].region == "us-west-2"
    billing = config.connections["billing"]
    assert (billing.auth, billing.user, billing.headers, billing.body) == ("basic", "u", {"X-Team": "one"}, {"key": 1})


def test_nothing_is_required():
    assert parse_config("") == Config()
    assert parse_config('limits = "open"').limits == OPEN


def test_secrets_are_not_shown():
    shown = repr(parse_config(WHOLE))
    assert "secret" not in shown.replace("secret_key", "")
    assert "password" not in shown


@pytest.mark.parametrize(
    ("text", "where", "what"),
    [
        ("[console]\nlogin = 'never'", "f.toml:2:", "must be one of auto, always"),
        ("[console]\ntrust_header = 'Cookie'", "f.toml:2:", "must be a header that the proxy sets"),
        ("[console]\ntrust_header = 'X User'", "f.toml:2:", "must be a header that the proxy sets"),
        ("[console]\nproxies = ['proxy']", "f.toml:2:", "must be addresses or networks"),
        ("[console]\nloggin = 'auto'", "f.toml:2:", "did you mean login?"),
        ("regin = 'x'", "f.toml:1:", "did you mean region?"),
        ("\naccount = 5", "f.toml:2:", "account must be twelve digits in quotes"),
        ("account = '12'", "f.toml:1:", "not '12'"),
        ("region = 'here'", "f.toml:1:", "must be a region"),
        ("[endpoints]\nsqs = 'localhost:80'", "f.toml:2:", "endpoints.sqs must be an address"),
        ("[endpoints]\nsqs = 'http://h:99999'", "f.toml:2:", "endpoints.sqs must be an address"),
        ("[endpoints]\n\nsqs = 5", "f.toml:3:", "endpoints.sqs must be an address"),
        ("[endpoints.sqs]\nregion = 'x'", "f.toml:1:", "endpoints.sqs has no url"),
        ("[endpoints.sqs]\nurl = 'http://h'\nuser = 'x'", "f.toml:3:", "endpoints.sqs.user is not a setting"),
        ("endpoints = 5", "f.toml:1:", "must be a table"),
        ("[credentials]\nA = ''", "f.toml:2:", "must not be empty"),
        ("[connections.a]\nauth = 'magic'", "f.toml:2:", "must be one of none, basic, api-key, oauth"),
        ("[connections.a]\nauth = 'oauth'", "f.toml:1:", "needs token_url, client_id and client_secret"),
        ("[connections.a]\ntoken_url = 'x'", "f.toml:2:", "must be an address"),
        ("[connections.a]\ntoken_method = 'PATCH'", "f.toml:2:", "must be one of POST, GET, PUT"),
        ("volatile = 'no'", "f.toml:1:", "must be true or false"),
        ("[connections.a]\nauth = 'api-key'", "f.toml:1:", "needs header and value"),
        ("[connections.a]\nheaders = { X = 1 }", "f.toml:2:", "must be a string in quotes"),
        ("limits = 'huge'", "f.toml:1:", "must be one of aws, open"),
        ("[limits]\nhistory_events = -1", "f.toml:2:", "must be a whole number above 0"),
        ('limits.rates = "some"', "f.toml:1:", "must be none or aws"),
        ("[limits.rates]\nListExecution = 1", "f.toml:2:", "did you mean ListExecutions?"),
        ("[limits.rates]\nListExecutions = 1", "f.toml:2:", "must be a table"),
        ("[limits.rates]\nListExecutions = {refill = 5}", "f.toml:2:", "needs a bucket"),
        ("[limits.rates]\nListExecutions = {bucket = 5}", "f.toml:2:", "needs a refill"),
        ("[limits]\nhistory = 1", "f.toml:2:", "did you mean history_events?"),
        ("a = = 1", "f.toml:1:5:", "Invalid value"),
    ],
)
def test_a_mistake_is_reported_with_its_place(text, where, what):
    with pytest.raises(ConfigError) as caught:
        parse_config(text, "f.toml")
    assert str(caught.value).startswith(where)
    assert what in str(caught.value)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(ConfigError, match="cannot be read"):
        read_config(tmp_path / "statewright.toml")


def test_a_file(tmp_path):
    file = tmp_path / "statewright.toml"
    file.write_text('region = "eu-west-1"')
    assert read_config(file).region == "eu-west-1"


def test_the_bucket_of_the_store():
    assert parse_config("").bucket is None
    config = parse_config('[server]\nbucket = "s3://name/prefix"\nregions = ["eu-west-1"]')
    assert (config.bucket, config.regions) == ("s3://name/prefix", ("eu-west-1",))
    with pytest.raises(ConfigError, match=r"toml:2: server.bucket must be an address such as .s3://name/prefix."):
        parse_config('[server]\nbucket = "name"')


def test_the_documented_example_is_good():
    document = Path(__file__).parents[2] / "docs" / "configuration.md"
    found = re.search(r"```toml\n(.*?)```", document.read_text(), re.DOTALL)
    assert found is not None
    config = parse_config(found[1])
    assert set(config.endpoints) == {"glue", "sqs", "default"}
    assert config.connections["billing"].query == {"tenant": "one"}


def test_rates_of_the_api():
    assert parse_config("").rates.of("us-east-1") == {}
    aws = parse_config('limits.rates = "aws"').rates
    assert aws.of("us-east-1")["ListExecutions"] == Rate(200, 5)
    assert aws.of("eu-central-1")["ListExecutions"] == Rate(100, 2)
    assert aws.of("eu-central-1")["StartExecutionExpress"] == Rate(6000, 6000)
    own = parse_config(
        'limits.rates = {profile = "aws", ListExecutions = {bucket = 7, refill = 0.5}, StopExecution = "none"}'
    )
    found = own.rates.of("us-east-1")
    assert found["ListExecutions"] == Rate(7, 0.5)
    assert "StopExecution" not in found
    assert found["DescribeExecution"] == Rate(300, 15)
    alone = parse_config("[limits.rates]\nStopExecution = {bucket = 1, refill = 0}").rates
    assert alone.of("us-east-1") == {"StopExecution": Rate(1, 0)}


def test_exceptions_over_http():
    config = parse_config('[http]\norigins = ["http://localhost:3000"]\nallow = ["169.254.170.2", "fe80::/10"]\n')
    assert config.http.origins == {"http://localhost:3000"}
    assert config.http.allow == ("169.254.170.2", "fe80::/10")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('origins = "http://a"', "must be a list of strings"),
        ('origins = ["localhost:3000"]', "must be origins such as"),
        ('origins = ["http://localhost:3000/"]', "must be origins such as"),
        ('allow = ["here"]', "must be addresses or networks such as"),
        ("deny = []", "is not a setting"),
    ],
)
def test_exceptions_over_http_that_are_none(line, said):
    with pytest.raises(ConfigError, match=said):
        parse_config(f"[http]\n{line}\n")


def test_the_isolation_of_functions_stands_beside_their_tables():
    found = parse_config(
        '[functions]\nisolation = "hardened"\nvisible = ["/srv/models"]\nnode_modules = "/srv/sdk"\n'
        "[functions.price]\ntimeout = 5\n"
    )
    assert found.functions == FunctionSettings("hardened", ("/srv/models",), "/srv/sdk")
    assert set(found.tables["functions"]) == {"price"}


@pytest.mark.parametrize(
    "text",
    ['isolation = "total"', "isolation = 1", 'visible = "/a"', 'visible = ["a"]', "x = 1", 'node_modules = "here"'],
)
def test_wrong_settings_of_functions_are_refused(text):
    with pytest.raises(ConfigError, match="functions"):
        parse_config(f"[functions]\n{text}")
