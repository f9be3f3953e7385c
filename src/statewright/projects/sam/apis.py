"""APIs of the Serverless Application Model: the plain resources that APIs and their events become.

Owns the implicit APIs, the paths of REST APIs, and their deployments. An API whose callers would have to be checked by
an authorizer, or that is an OpenAPI document, is left out with its events: nothing is opened that was meant to be
closed.

Source: Serverless Application Model developer guide, "Api", "HttpApi".
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Final

from statewright.payload import Json
from statewright.projects.cloudformation import Stack
from statewright.projects.resources import Place, Resource

IMPLICIT_REST: Final = "ServerlessRestApi"
IMPLICIT_HTTP: Final = "ServerlessHttpApi"
_OPEN: Final = frozenset({"UsagePlan", "AddDefaultAuthorizerToCorsPreflight", "Authorizers"})
"""Members of an API's `Auth` that ask for no authorizer of every event."""
_HTTP_USED: Final = ("Name", "CorsConfiguration", "StageName", "StageVariables")
_REST_USED: Final = ("Name", "StageName", "BinaryMediaTypes", "Description")
_SILENT: Final = frozenset({
    "AlwaysDeploy", "Auth", "DefinitionBody", "DefinitionUri", "Description", "EndpointConfiguration", "FailOnWarnings",
    "Mode", "OpenApiVersion", "PropagateTags", "Tags", "TracingEnabled",
})  # fmt: skip
"""Properties that `closed_why` judges, or whose absence changes no answer of an API."""
_ANY: Final = ("ANY", "*", "X-AMAZON-APIGATEWAY-ANY-METHOD")


def closed_why(given: Mapping[str, Json]) -> str | None:
    """The reason why an API is left out, by its properties; `None` for one that is made."""
    auth = given.get("Auth")
    if auth is not None and not (isinstance(auth, dict) and auth.keys() <= _OPEN):
        return "authorizers and policies of APIs are not supported yet, so it stays closed"
    if given.get("DefinitionBody") or given.get("DefinitionUri"):
        return "OpenAPI documents are not read yet: give it events of functions"
    return None


def _is_guarded(given: Mapping[str, Json]) -> bool:
    """True if an event asks for an authorizer of its own."""
    auth = given.get("Auth")
    wanted = auth.get("Authorizer") if isinstance(auth, dict) else None
    return wanted not in (None, "NONE") or bool(isinstance(auth, dict) and auth.get("ResourcePolicy"))


class ApiEvents:
    """The APIs of one template. `shared` are the Globals by the name of their section, as they are written."""

    def __init__(self, stack: Stack, shared: Mapping[str, Json]) -> None:
        self._stack = stack
        self._made: dict[str, Resource] = {}
        self._stages: dict[str, str] = {}
        """The stages of REST APIs, by the id of the API."""
        self._closed: dict[str, str] = {}
        self._shared = shared
        for name, section in ((IMPLICIT_REST, "Api"), (IMPLICIT_HTTP, "HttpApi")):
            settings = shared.get(section)
            why = closed_why(settings) if isinstance(settings, dict) else None
            if why is not None:
                self._closed[stack.prefix + name] = why

    def declare(self, resource: Resource, written: Json) -> str | None:
        """Make an API that the template declares, by its properties as they are written.

        Returns why it is left out, if it is.
        """
        shared = self._shared.get(resource.type.rpartition("::")[2])
        whole = {**(shared if isinstance(shared, dict) else {}), **(written if isinstance(written, dict) else {})}
        why = closed_why(whole)
        if why is not None:
            self._closed[resource.id] = why
            return why
        steps = (*self._stack.steps(resource.id), "Properties")
        is_http = resource.type.endswith("HttpApi")
        used = _HTTP_USED if is_http else _REST_USED
        for name in whole.keys() - {*used, *_SILENT}:
            place = self._stack.place((*steps, name))
            self._stack.sources.warning(place, f"{resource.id}: {name} changes nothing here: it is not supported yet")
        kept = {name: whole[name] for name in used if name in whole}
        given = {name: self._stack.fold(value, (*steps, name), resource.id) for name, value in kept.items()}
        if is_http:
            cors = given.get("CorsConfiguration")
            stage = given.get("StageName") or "$default"
            self._http(resource.id, resource.place, given.get("Name"), cors, stage, given.get("StageVariables"))
        else:
            named = {"Name": given["Name"]} if "Name" in given else {}
            more: dict[str, Json] = {name: given[name] for name in ("BinaryMediaTypes", "Description") if name in given}
            self._add(resource.id, "AWS::ApiGateway::RestApi", {**named, **more}, resource.place)
            self._stages[resource.id] = str(given.get("StageName") or "Prod")
        return None

    def http(self, owner: str, place: Place, event: str, target: Json, given: Mapping[str, Json]) -> str | None:
        """Make a route of an HTTP API to a function; returns why it is left out, if it is."""
        api = self._api_of(given.get("ApiId"), IMPLICIT_HTTP)
        why = self._why_not(api, given)
        if why is not None:
            return why
        if api == self._stack.prefix + IMPLICIT_HTTP and api not in self._made:
            self._http(api, place, None, None, "$default", None)
        own = f"{owner}{event}"
        reference = {"Ref": api} if api else given["ApiId"]
        integration = {
            "ApiId": reference, "IntegrationType": "AWS_PROXY", "IntegrationUri": target,
            "PayloadFormatVersion": given.get("PayloadFormatVersion", "2.0"),
        }  # fmt: skip
        if "TimeoutInMillis" in given:
            integration["TimeoutInMillis"] = given["TimeoutInMillis"]
        self._add(f"{own}Integration", "AWS::ApiGatewayV2::Integration", integration, place)
        key = f"{_method_of(given)} {given['Path']}" if given.get("Path") not in (None, "$default") else "$default"
        route = {
            "ApiId": reference, "RouteKey": key,
            "Target": {"Fn::Join": ["/", ["integrations", {"Ref": f"{own}Integration"}]]},
        }  # fmt: skip
        self._add(f"{own}Route", "AWS::ApiGatewayV2::Route", route, place)
        return None

    def rest(self, owner: str, place: Place, event: str, target: Json, given: Mapping[str, Json]) -> str | None:
        """Make a method of a REST API for a function; returns why it is left out, if it is."""
        api = self._api_of(given.get("RestApiId"), IMPLICIT_REST)
        if api is None:
            return "RestApiId must be a Ref of an API of the template"
        why = self._why_not(api, given)
        if why is not None:
            return why
        if api not in self._stages:
            self._add(api, "AWS::ApiGateway::RestApi", {}, place)
            self._stages[api] = "Prod"
        auth = given.get("Auth")
        settings: dict[str, Json] = {
            "RestApiId": {"Ref": api}, "ResourceId": self._path(api, str(given.get("Path", "/")), place),
            "HttpMethod": _method_of(given), "AuthorizationType": "NONE",
            "Integration": {
                "Type": "AWS_PROXY", "IntegrationHttpMethod": "POST",
                "Uri": {"Fn::Join": ["", [self._invoked(), target, "/invocations"]]},
            },
        }  # fmt: skip
        if isinstance(auth, dict) and auth.get("ApiKeyRequired"):
            settings["ApiKeyRequired"] = True
        self._add(f"{owner}{event}Method", "AWS::ApiGateway::Method", settings, place)
        return None

    def finished(self) -> list[Resource]:
        """Everything that was made, with the deployments and stages of REST APIs."""
        for api, stage in self._stages.items():
            methods = [
                one
                for one in self._made.values()
                if one.type == "AWS::ApiGateway::Method" and one.properties["RestApiId"] == {"Ref": api}
            ]
            if not methods:
                continue
            text = json.dumps([one.properties for one in methods], sort_keys=True, default=str)
            # Another id for other methods: they are deployed anew.
            own = f"{api}Deployment{hashlib.sha256(text.encode()).hexdigest()[:10]}"
            place = methods[0].place
            needs = tuple(one.id for one in methods)
            self._made[own] = Resource(own, "AWS::ApiGateway::Deployment", {"RestApiId": {"Ref": api}}, needs, place)
            given = {"RestApiId": {"Ref": api}, "DeploymentId": {"Ref": own}, "StageName": stage}
            self._add(self._stage_id(api), "AWS::ApiGateway::Stage", given, place)
        return [*self._made.values()]

    def _invoked(self) -> str:
        who = self._stack.identity
        return f"arn:{who.partition}:apigateway:{who.region}:lambda:path/2015-03-31/functions/"

    def _stage_id(self, api: str) -> str:
        if api == self._stack.prefix + IMPLICIT_REST:
            return f"{api}ProdStage"
        return f"{api}Stage"

    def _http(self, api: str, place: Place, name: Json, cors: Json, stage: Json, variables: Json) -> None:
        given: dict[str, Json] = {"ProtocolType": "HTTP"}
        if name is not None:
            given["Name"] = name
        if isinstance(cors, dict):
            given["CorsConfiguration"] = cors
        elif cors in (True, "true"):
            given["CorsConfiguration"] = {"AllowOrigins": ["*"]}
        self._add(api, "AWS::ApiGatewayV2::Api", given, place)
        kept: dict[str, Json] = {"ApiId": {"Ref": api}, "StageName": stage, "AutoDeploy": True}
        if variables:
            kept["StageVariables"] = variables
        is_implicit = api == self._stack.prefix + IMPLICIT_HTTP
        own = f"{api}ApiGatewayDefaultStage" if is_implicit else f"{api}Stage"
        self._add(own, "AWS::ApiGatewayV2::Stage", kept, place)

    def _path(self, api: str, path: str, place: Place) -> Json:
        """A reference to the resource of a path; resources on the way are made."""
        parent: Json = {"Fn::GetAtt": [api, "RootResourceId"]}
        whole = ""
        for part in [one for one in path.split("/") if one]:
            whole += f"/{part}"
            letters = re.sub("[^A-Za-z0-9]", "", whole)
            own = f"{api}{letters}{hashlib.sha256(whole.encode()).hexdigest()[:6]}Resource"
            if own not in self._made:
                given = {"RestApiId": {"Ref": api}, "ParentId": parent, "PathPart": part}
                self._add(own, "AWS::ApiGateway::Resource", given, place)
            parent = {"Ref": own}
        return parent

    def _api_of(self, named: Json, implicit: str) -> str | None:
        """The id of the API that an event names; `None` for one elsewhere."""
        if named is None:
            return self._stack.prefix + implicit
        found = named.get("Ref") if isinstance(named, dict) and len(named) == 1 else None
        return found if isinstance(found, str) else None

    def _why_not(self, api: str | None, given: Mapping[str, Json]) -> str | None:
        if api in self._closed:
            return self._closed[api]
        return "authorizers are not supported yet, so it stays closed" if _is_guarded(given) else None

    def _add(self, own: str, kind: str, properties: Mapping[str, Json], place: Place) -> None:
        self._made[own] = Resource(own, kind, dict(properties), (), place)


def _method_of(given: Mapping[str, Json]) -> str:
    method = str(given.get("Method") or "ANY").upper()
    return "ANY" if method in _ANY else method
