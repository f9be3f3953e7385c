"""kill -9 while APIs and their members are made, changed and deleted: what was acknowledged is there, nothing is half
made, and an API of another region answers after the restart as before."""

from __future__ import annotations

import random
import threading
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import BotoCoreError, ClientError

from tests.deadlines import until
from tests.e2e.conftest import Server
from tests.e2e.test_http_apis import called

MODELS = {"Empty", "Error"}


@dataclass
class Acknowledged:
    """The changes that a server has answered: keys of routes and paths of resources by API, and deletions."""

    http: dict[str, set[str]] = field(default_factory=dict)
    rest: dict[str, set[str]] = field(default_factory=dict)
    asked: set[str] = field(default_factory=set)
    """APIs whose deletion was asked for."""
    deleted: set[str] = field(default_factory=set)
    refusals: list[ClientError] = field(default_factory=list)

    def has(self, count: int) -> bool:
        """True if so many REST APIs were made."""
        return len(self.rest) >= count

    def change(self, server: Server, seed: int) -> None:
        """Make and delete APIs until the server ends."""
        drawn = random.Random(seed)
        http, rest = server._new_client("apigatewayv2"), server._new_client("apigateway")
        try:
            while True:
                self._http_api(http, drawn)
                self._rest_api(rest, drawn)
        except ClientError as refused:
            self.refusals.append(refused)
        except BotoCoreError:
            return

    def _http_api(self, http: Any, drawn: random.Random) -> None:
        api = http.create_api(Name="n", ProtocolType="HTTP", Target="http://127.0.0.1:9/")["ApiId"]
        self.http[api] = {"$default"}
        target = http.get_routes(ApiId=api)["Items"][0]["Target"]
        for number in range(drawn.randint(0, 3)):
            http.create_route(ApiId=api, RouteKey=f"GET /{number}", Target=target)
            self.http[api].add(f"GET /{number}")
        if drawn.random() < 0.3:
            self.asked.add(api)
            http.delete_api(ApiId=api)
            self.deleted.add(api)

    def _rest_api(self, rest: Any, drawn: random.Random) -> None:
        made = rest.create_rest_api(name="n")
        api, root = made["id"], made["rootResourceId"]
        self.rest[api] = {"/"}
        for number in range(drawn.randint(0, 3)):
            one = rest.create_resource(restApiId=api, parentId=root, pathPart=f"p{number}")["id"]
            self.rest[api].add(f"/p{number}")
            where = {"restApiId": api, "resourceId": one, "httpMethod": "GET"}
            rest.put_method(**where, authorizationType="NONE")
            rest.put_integration(**where, type="MOCK")
            rest.create_deployment(restApiId=api, stageName=f"s{number}")
        if drawn.random() < 0.3:
            self.asked.add(api)
            rest.delete_rest_api(restApiId=api)
            self.deleted.add(api)


def check(server: Server, made: Acknowledged) -> None:
    """Compare a server with what its predecessor has answered."""
    http, rest = server.client("apigatewayv2"), server.client("apigateway")
    shown = {one["ApiId"] for one in http.get_apis()["Items"]}
    pages = rest.get_paginator("get_rest_apis").paginate()
    shown_rest = {one["id"] for page in pages for one in page["items"]}
    assert not made.deleted & (shown | shown_rest)
    assert made.http.keys() - shown <= made.asked
    assert made.rest.keys() - shown_rest <= made.asked
    for api in shown:
        keys = {one["RouteKey"] for one in http.get_routes(ApiId=api)["Items"]}
        assert {"$default", *made.http.get(api, ())} <= keys
        assert [one["StageName"] for one in http.get_stages(ApiId=api)["Items"]] == ["$default"]
    for api in shown_rest:
        paths = {one["path"] for one in rest.get_resources(restApiId=api)["items"]}
        assert {"/", *made.rest.get(api, ())} <= paths
        assert {one["name"] for one in rest.get_models(restApiId=api)["items"]} == MODELS
        for stage in rest.get_stages(restApiId=api)["item"]:
            rest.get_deployment(restApiId=api, deploymentId=stage["deploymentId"])


@pytest.mark.slow
def test_acknowledged_changes_of_apis_survive_kills(tmp_path: Path) -> None:
    server = Server(tmp_path / "data")
    far = server.client("apigatewayv2", region="eu-west-1")
    there = far.create_api(Name="far", ProtocolType="HTTP", Target="http://127.0.0.1:9/")["ApiId"]
    before = called(server, there, "GET", "/").status
    made = Acknowledged()
    for wanted in (10, 25, 40):
        threads = [threading.Thread(target=made.change, args=(server, wanted + one)) for one in range(4)]
        for thread in threads:
            thread.start()
        until(partial(made.has, wanted), f"{wanted} APIs")
        server.kill()
        for thread in threads:
            thread.join()
        server = Server(tmp_path / "data")
        # No call has named that region since the start.
        assert called(server, there, "GET", "/").status == before != 404
        check(server, made)
    assert made.refusals == []
    assert made.deleted
    assert server.stop() == 0
