"""API keys and usage plans through boto3 and plain HTTP: throttles, quotas, usage, imports, and wrong input."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.e2e.conftest import Server
from tests.e2e.test_api_stages import mocked, patched, statuses
from tests.e2e.test_http_apis import called
from tests.e2e.test_rest_apis import Rest


@pytest.fixture
def rest(server: Server) -> Any:
    return server.client("apigateway")


def planned(rest: Any, api: Rest, **settings: Any) -> tuple[str, str, str]:
    """A plan of an API's stage with one key: their ids, and the key's value."""
    plan = rest.create_usage_plan(name="basic", apiStages=[{"apiId": api.id, "stage": "prod"}], **settings)["id"]
    key = rest.create_api_key(name="client", enabled=True)
    rest.create_usage_plan_key(usagePlanId=plan, keyId=key["id"], keyType="API_KEY")
    return plan, key["id"], key["value"]


def test_a_plan_throttles_and_counts_the_requests_of_its_keys(server, rest):
    api = mocked(rest, ("GET", "/a"), ("GET", "/b"), apiKeyRequired=True)
    plan, key, value = planned(rest, api, quota={"limit": 4, "period": "MONTH"})
    headers = {"X-Api-Key": value}
    assert statuses(server, api.id, "/prod/a", 2, **headers) == [200, 200]
    # A key in the query string is no key.
    assert called(server, api.id, "GET", f"/prod/a?x-api-key={value}&apiKey={value}").status == 403
    shown = patched(
        rest.update_usage_plan, ("replace", f"/apiStages/{api.id}:prod/throttle//b/GET/rateLimit", "0.001"),
        ("replace", f"/apiStages/{api.id}:prod/throttle//b/GET/burstLimit", "1"),
        ("replace", "/description", "for clients"), usagePlanId=plan,
    )  # fmt: skip
    assert shown["apiStages"][0]["throttle"] == {"/b/GET": {"rateLimit": 0.001, "burstLimit": 1}}
    assert statuses(server, api.id, "/prod/b", 2, **headers) == [200, 429]
    patched(rest.update_usage_plan, ("remove", f"/apiStages/{api.id}:prod/throttle//b/GET"), usagePlanId=plan)
    assert statuses(server, api.id, "/prod/b", 1, **headers) == [200]
    answer = called(server, api.id, "GET", "/prod/a", headers)
    assert (answer.status, answer.body) == (429, b'{"message":"Limit Exceeded"}')
    assert answer.headers["x-amzn-errortype"] == ["LimitExceededException"]
    today = datetime.now(UTC).date()
    days = {"startDate": str(today - timedelta(days=40)), "endDate": str(today)}
    used = rest.get_usage(usagePlanId=plan, **days)["items"][key]
    assert (len(used), used[0], used[-1]) == (41, [0, 4], [4, 0])
    given = patched(rest.update_usage, ("replace", "/remaining", "1"), usagePlanId=plan, keyId=key)
    assert given["items"][key][-1][1] == 1
    assert statuses(server, api.id, "/prod/a", 2, **headers) == [200, 429]
    rest.put_gateway_response(
        restApiId=api.id, responseType="QUOTA_EXCEEDED", statusCode="402",
        responseTemplates={"application/json": '{"pay":$context.error.messageString}'},
    )  # fmt: skip
    api.deploy()
    answer = called(server, api.id, "GET", "/prod/a", headers)
    assert (answer.status, json.loads(answer.body)) == (402, {"pay": "Limit Exceeded"})
    patched(rest.update_usage_plan, ("remove", "/quota", None), usagePlanId=plan)
    assert statuses(server, api.id, "/prod/a", 2, **headers) == [200, 200]
    assert rest.get_usage(usagePlanId=plan, **days)["items"] == {}
    patched(
        rest.update_usage_plan, ("replace", "/throttle/rateLimit", "0.001"), ("replace", "/throttle/burstLimit", "2"),
        usagePlanId=plan,
    )  # fmt: skip
    assert statuses(server, api.id, "/prod/a", 3, **headers) == [200, 200, 429]


def test_stages_come_to_a_plan_and_leave_it(server, rest):
    api = mocked(rest, ("GET", "/a"), apiKeyRequired=True)
    plan, key, value = planned(rest, api)
    patched(rest.update_usage_plan, ("remove", "/apiStages", f"{api.id}:prod"), usagePlanId=plan)
    assert statuses(server, api.id, "/prod/a", 1, **{"x-api-key": value}) == [403]
    patched(rest.update_usage_plan, ("add", "/apiStages", f"{api.id}:prod"), usagePlanId=plan)
    assert statuses(server, api.id, "/prod/a", 1, **{"x-api-key": value}) == [200]
    given = json.dumps({"/a/GET": {"rateLimit": 0.001, "burstLimit": 1}})
    patched(rest.update_usage_plan, ("replace", f"/apiStages/{api.id}:prod/throttle", given), usagePlanId=plan)
    assert statuses(server, api.id, "/prod/a", 2, **{"x-api-key": value}) == [200, 429]
    assert [one["id"] for one in rest.get_usage_plans(keyId=key)["items"]] == [plan]
    assert rest.get_usage_plan_key(usagePlanId=plan, keyId=key)["value"] == value
    rest.delete_api_key(apiKey=key)
    assert rest.get_usage_plan_keys(usagePlanId=plan)["items"] == []
    assert rest.get_usage_plans(keyId=key)["items"] == []
    assert statuses(server, api.id, "/prod/a", 1, **{"x-api-key": value}) == [403]


@pytest.mark.parametrize(
    "settings",
    [
        {"throttle": {"rateLimit": -2.0}}, {"throttle": {"burstLimit": 2**40}},
        {"quota": {"limit": -1, "period": "DAY"}}, {"quota": {"limit": 1, "period": "YEAR"}},
        {"quota": {"limit": 1, "offset": 2, "period": "DAY"}}, {"quota": {"period": "DAY"}},
    ],
)  # fmt: skip
def test_wrong_limits_are_refused(rest, settings):
    with pytest.raises(ClientError, match=r"BadRequestException|ValidationException|SerializationException"):
        rest.create_usage_plan(name="wrong", **settings)


@pytest.mark.parametrize(
    "patch",
    [
        ("replace", "/quota/limit", "many"), ("replace", "/apiStages", "x"), ("add", "/apiStages", "nothing:prod"),
        ("replace", "/apiStages/a:b/throttle//x/GET/rateLimit", "1"), ("replace", "/throttle/rateLimit", "-7"),
        ("replace", "/quota/period", "YEAR"), ("replace", "/nothing", "1"),
    ],
)  # fmt: skip
def test_wrong_patches_of_plans_are_refused_and_change_nothing(rest, patch):
    plan = rest.create_usage_plan(name="right", quota={"limit": 5, "period": "DAY"})["id"]
    before = rest.get_usage_plan(usagePlanId=plan)
    with pytest.raises(ClientError, match=r"BadRequestException|NotFoundException"):
        patched(rest.update_usage_plan, patch, usagePlanId=plan)
    after = rest.get_usage_plan(usagePlanId=plan)
    assert {**before, "ResponseMetadata": 0} == {**after, "ResponseMetadata": 0}


@pytest.mark.parametrize(
    ("start", "end"),
    [
        ("2026-01-02", "2026-01-01"),
        ("2020-01-01", "2026-01-01"),
        ("now", "x"),
        ("9999-12-31", "9999-12-31"),
        ("0001-01-01", "0001-01-01"),
    ],
)
def test_wrong_dates_of_usage_are_refused(rest, start, end):
    plan = rest.create_usage_plan(name="right", quota={"limit": 5, "period": "DAY"})["id"]
    with pytest.raises(ClientError, match=r"BadRequestException"):
        rest.get_usage(usagePlanId=plan, startDate=start, endDate=end)


def test_keys_are_imported_from_a_file(rest):
    plan = rest.create_usage_plan(name="imported")["id"]
    values = [f"{plan}-{number}-of-twenty-letters" for number in range(3)]
    lines = [
        "Key,NAME,Enabled,usagePlanIds,Other", f'{values[0]},one,TRUE,"{plan}",x', f"{values[1]},two,false,,x",
        f"{values[2]},three,true,nothing,x", "short,four,true,,x",
    ]  # fmt: skip
    answer = rest.import_api_keys(body="\n".join(lines).encode(), format="csv")
    assert len(answer["ids"]) == 2
    assert [one.partition(":")[0] for one in answer["warnings"]] == ["Line 4", "Line 5"]
    key = rest.get_api_key(apiKey=answer["ids"][1], includeValue=True)
    assert (key["name"], key["value"], key["enabled"]) == ("two", values[1], False)
    assert [one["value"] for one in rest.get_usage_plan_keys(usagePlanId=plan)["items"]] == [values[0]]
    again = rest.import_api_keys(body=f"name,key\nother,{values[1]}\n".encode(), format="csv")
    assert again["ids"] == answer["ids"][1:]
    assert rest.get_api_key(apiKey=again["ids"][0])["enabled"] is True
    for body in (b"", b"a,b\n1,2", b"\xff\xfe\x00", b"name,key\nx,y"):
        with pytest.raises(ClientError, match=r"BadRequestException"):
            rest.import_api_keys(body=body, format="csv", failOnWarnings=True)
