"""The addresses that answer HTTP on a server: stages of APIs and URLs of functions. Also the one that a name means.

Owns names and addresses. Routes are read by `routes.py`, requests are sent by `calling.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from statewright.cli.client import Answer, Server, short_name
from statewright.cli.output import NOT_FOUND, USAGE, Stop

HTTP: Final = "HTTP API"
REST: Final = "REST API"
URL: Final = "function URL"
DEFAULT: Final = "$default"


@dataclass(frozen=True, slots=True)
class Address:
    """One address: a stage of an API, or the URL of a function. `name` is the API's, or that of the function.

    An API without a stage has an empty `stage` and `url`: requests do not reach it yet. `authorization` is that of the
    URL of a function; routes of APIs have their own.
    """

    kind: str
    id: str
    name: str
    stage: str
    url: str
    authorization: str = ""

    def shown(self) -> Answer:
        """The address as JSON shows it."""
        return {"kind": self.kind, "id": self.id, "name": self.name, "stage": self.stage or None,
                "address": self.url or None}  # fmt: skip


class Addresses:
    """The addresses of the server at an endpoint."""

    def __init__(self, endpoint: str | None) -> None:
        self.http = Server(endpoint, service="apigatewayv2")
        self.rest = Server(endpoint, service="apigateway")
        self.functions = Server(endpoint, service="lambda")

    def __enter__(self) -> Addresses:
        return self

    def __exit__(self, *_problem: object) -> None:
        for server in (self.http, self.rest, self.functions):
            server.close()

    def all(self) -> list[Address]:
        """Every address, APIs first, by name. Raises: Stop."""
        return [*self._of_http(), *self._of_rest(), *self._of_functions()]

    def found(self, target: str) -> list[Address]:
        """The addresses of the API or function with an id or a name. Raises: Stop for none, and for several."""
        every = self.all()
        chosen = [one for one in every if target in (one.id, one.name)]
        ids = {one.id: one for one in chosen}
        if len(ids) > 1:
            words = ", ".join(f"{one.id} ({one.kind})" for one in ids.values())
            raise Stop(USAGE, f"{len(ids)} have the name {target}.", f"name one by its id: {words}")
        if not chosen:
            raise self._nothing(target, every)
        return chosen

    def one(self, target: str, stage: str | None) -> Address:
        """The address that a name and a stage mean; the only stage, or `$default`, needs no name. Raises: Stop."""
        chosen = self.found(target)
        named = [one for one in chosen if one.stage == (stage or DEFAULT)]
        if stage is None and not named and len(chosen) == 1:
            named = chosen
        if named and (chosen[0].kind != URL or stage is None):
            return named[0]
        stages = ", ".join(one.stage for one in chosen if one.stage)
        if not stages:
            why = "it is the URL of a function" if chosen[0].kind == URL else "deploy it to one"
            raise Stop(USAGE, f"{target} has no stages: {why}.")
        if stage is not None:
            raise Stop(NOT_FOUND, f"{target} has no stage {stage}.", f"it has: {stages}")
        raise Stop(USAGE, f"{target} has several stages.", f"choose one by --stage: {stages}")

    def _nothing(self, target: str, every: Sequence[Address]) -> Stop:
        names = sorted({name for one in every for name in (one.id, one.name)})
        hint = self.http.hint_of(target, names, "api list")
        return Stop(NOT_FOUND, f"There is no API and no function URL '{target}' on {self.http.endpoint}.", hint)

    def _of_http(self) -> Iterator[Address]:
        for api in sorted(self.http.pages("get_apis", "Items"), key=lambda one: str(one["Name"])):
            stages = [one["StageName"] for one in self.http.pages("get_stages", "Items", ApiId=api["ApiId"])]
            for name in stages:
                url = api["ApiEndpoint"] if name == DEFAULT else f"{api['ApiEndpoint']}/{name}"
                yield Address(HTTP, api["ApiId"], api["Name"], name, url)
            if not stages:
                yield Address(HTTP, api["ApiId"], api["Name"], "", "")

    def _of_rest(self) -> Iterator[Address]:
        parts = urlsplit(self.rest.endpoint)
        port = f":{parts.port}" if parts.port else ""
        for api in sorted(self.rest.pages("get_rest_apis", "items"), key=lambda one: str(one["name"])):
            host = f"{parts.scheme}://{api['id']}.execute-api.localhost{port}"
            stages = [one["stageName"] for one in self.rest.call("get_stages", restApiId=api["id"])["item"]]
            for name in stages:
                yield Address(REST, api["id"], api["name"], name, f"{host}/{name}")
            if not stages:
                yield Address(REST, api["id"], api["name"], "", "")

    def _of_functions(self) -> Iterator[Address]:
        for function in self.functions.pages("list_functions", "Functions"):
            name = function["FunctionName"]
            for one in self.functions.pages("list_function_url_configs", "FunctionUrlConfigs", FunctionName=name):
                url = str(one["FunctionUrl"]).rstrip("/")
                url_id = (urlsplit(url).hostname or "").partition(".")[0]
                yield Address(URL, url_id, short_name(one["FunctionArn"]), "", url, one["AuthType"])
