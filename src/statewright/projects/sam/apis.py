"""APIs of the Serverless Application Model: the plain resources that APIs and their events become.

Owns the implicit APIs, the paths of REST APIs, and their deployments. An API whose authorizer cannot be made is left
out with its events: nothing is opened that was meant to be closed. APIs with an OpenAPI document are made of it
(`documents.py`).

Source: Serverless Application Model developer guide, "Api", "HttpApi".
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Final

from statewright.payload import Json
from statewright.projects.cloudformation import Stack
from statewright.projects.resources import Place, Resource
from statewright.projects.sam import documents, rest_parts
from statewright.projects.sam.authorizers import NONE, ApiAuth, CannotGuard
from statewright.projects.sources import Steps

IMPLICIT_REST: Final = "ServerlessRestApi"
IMPLICIT_HTTP: Final = "ServerlessHttpApi"
_HTTP_API: Final = ("Description", "DisableExecuteApiEndpoint", "Name")
_HTTP_STAGE: Final = ("AccessLogSettings", "DefaultRouteSettings", "RouteSettings", "StageVariables")
_HTTP_USED: Final = (*_HTTP_API, *_HTTP_STAGE, *documents.PROPERTIES, "CorsConfiguration", "StageName")
_REST_USED: Final = (*rest_parts.OF_API, *rest_parts.OF_STAGE, *rest_parts.ITS_OWN, *documents.PROPERTIES)
_SILENT: Final = frozenset({
    "AlwaysDeploy", "Auth", "EndpointConfiguration", "OpenApiVersion", "PropagateTags", "Tags",
})  # fmt: skip
"""Properties that `closed_why` judges, or whose absence changes no answer of an API."""
_WRITE_IT: Final = "which is not supported: write its security there"
_ANY: Final = ("ANY", "*", "X-AMAZON-APIGATEWAY-ANY-METHOD")


def closed_why(given: Mapping[str, Json]) -> str | None:
    """The reason why an API is left out, by its properties; `None` for one that is made."""
    body = given.get("DefinitionBody")
    if isinstance(body, dict) and "Fn::Transform" in body:
        return "its OpenAPI document is in a bucket, which a file cannot include: name a local file, or deploy a stack"
    return None


class ApiEvents:
    """The APIs of one template. `shared` are the Globals by the name of their section, as they are written."""

    def __init__(self, stack: Stack, shared: Mapping[str, Json]) -> None:
        self._stack = stack
        self._made: dict[str, Resource] = {}
        self._rest: dict[str, Mapping[str, Json]] = {}
        """The properties of REST APIs, by their ids."""
        self._paths: dict[str, dict[str, set[str]]] = {}
        """The methods of REST APIs that are made, by API and path."""
        self._closed: dict[str, str] = {}
        self._documents = documents.Documents(stack)
        self._auth: dict[str, ApiAuth] = {}
        """`Auth` of the APIs, by their ids."""
        self._shared = shared
        for name, section in ((IMPLICIT_REST, "Api"), (IMPLICIT_HTTP, "HttpApi")):
            settings = shared.get(section)
            if not isinstance(settings, dict):
                continue
            why = closed_why(settings) or self._read_auth(
                stack.prefix + name, section == "HttpApi", settings.get("Auth"), ("Globals", section, "Auth")
            )
            if why is not None:
                self._closed[stack.prefix + name] = why

    def declare(self, resource: Resource, written: Json) -> str | None:
        """Make an API that the template declares, by its properties as they are written.

        Returns why it is left out, if it is.
        """
        shared = self._shared.get(resource.type.rpartition("::")[2])
        whole = {**(shared if isinstance(shared, dict) else {}), **(written if isinstance(written, dict) else {})}
        steps = (*self._stack.steps(resource.id), "Properties")
        is_http = resource.type.endswith("HttpApi")
        has_document = any(whole.get(name) for name in ("DefinitionBody", "DefinitionUri"))
        why = closed_why(whole) or self._read_auth(
            resource.id, is_http, whole.get("Auth"), (*steps, "Auth"), resource.id, has_document=has_document
        )
        if why is not None:
            self._closed[resource.id] = why
            return why
        used = _HTTP_USED if is_http else _REST_USED
        for name in whole.keys() - {*used, *_SILENT}:
            place = self._stack.place((*steps, name))
            self._stack.sources.warning(place, f"{resource.id}: {name} changes nothing here: it is not supported yet")
        kept = {name: whole[name] for name in used if name in whole}
        given = {name: self._stack.fold(value, (*steps, name), resource.id) for name, value in kept.items()}
        self._documents.declare(resource.id, given)
        if is_http:
            self._http(resource.id, resource.place, given)
        else:
            self._declare_rest(resource.id, resource.place, given)
        return None

    def http(self, owner: str, place: Place, event: str, target: Json, given: Mapping[str, Json]) -> str | None:
        """Make a route of an HTTP API to a function; returns why it is left out, if it is."""
        api = self._api_of(given.get("ApiId"), IMPLICIT_HTTP)
        if api is None:
            return "ApiId must be a Ref of an AWS::Serverless::HttpApi of the template"
        allowed = self._authorization(api, given, place, is_http=True)
        if isinstance(allowed, str):
            return allowed
        if api == self._stack.prefix + IMPLICIT_HTTP and api not in self._made:
            self._http(api, place, self._of_globals("HttpApi", _HTTP_USED, {"Name", "StageName"}))
        if api in self._documents:
            path = str(given.get("Path") or "$default")
            self._documents.write(api, path, _method_of(given), documents.http_operation(target, given))
            return None
        own = f"{owner}{event}"
        reference = {"Ref": api}
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
            "Target": {"Fn::Join": ["/", ["integrations", {"Ref": f"{own}Integration"}]]}, **allowed,
        }  # fmt: skip
        self._add(f"{own}Route", "AWS::ApiGatewayV2::Route", route, place)
        stage = self._made.get(self._http_stage_id(api))
        if stage is not None and isinstance(given.get("RouteSettings"), dict):
            settings = {**_table(stage.properties.get("RouteSettings")), key: given["RouteSettings"]}
            self._made[stage.id] = replace(stage, properties={**stage.properties, "RouteSettings": settings})
        return None

    def rest(
        self, owner: str, place: Place, event: str, target: Json, given: Mapping[str, Json], *, is_machine: bool = False
    ) -> str | None:
        """Make a method of a REST API for a function or a machine; returns why it is left out, if it is."""
        api = self._api_of(given.get("RestApiId"), IMPLICIT_REST)
        if api is None:
            return "RestApiId must be a Ref of an AWS::Serverless::Api of the template"
        allowed = self._authorization(api, given, place, is_http=False)
        if isinstance(allowed, str):
            return allowed
        if api not in self._rest:
            self._declare_rest(api, place, self._of_globals("Api", _REST_USED, {"Name", "StageName"}))
        path, method = str(given.get("Path", "/")), _method_of(given)
        if is_machine:
            integrated = rest_parts.started(target, self._uri("states:action/StartExecution"), given)
        else:
            uri = {"Fn::Join": ["", [self._uri(rest_parts.FUNCTIONS), target, "/invocations"]]}
            integrated = rest_parts.called(uri, given)
        if api in self._documents:
            # Events of other documents just allow the call.
            if self._documents.merges(api):
                self._documents.write(api, path, method, documents.rest_operation(integrated))
            return None
        settings: dict[str, Json] = {
            "RestApiId": {"Ref": api}, "ResourceId": self._path(api, path, place), "HttpMethod": method,
            **allowed, **integrated, **self._checked(api, place, given),
        }  # fmt: skip
        self._add(f"{owner}{event}Method", "AWS::ApiGateway::Method", settings, place)
        self._paths.setdefault(api, {}).setdefault(path, set()).add(method)
        return None

    def _checked(self, api: str, place: Place, given: Mapping[str, Json]) -> dict[str, Json]:
        """The parameters and the model of a method, and the validator of its API that checks them."""
        made, validated = rest_parts.checked(given)
        for kind, name in (made.get("RequestModels") or {}).items():
            if f"{api}{name}Model" in self._made:
                made["RequestModels"] = {kind: {"Ref": f"{api}{name}Model"}}
        if validated is not None:
            body, parameters = validated
            own = f"{api}{'Body' if body else ''}{'Parameters' if parameters else ''}Validator"
            properties = {
                "RestApiId": {"Ref": api}, "ValidateRequestBody": body, "ValidateRequestParameters": parameters,
            }  # fmt: skip
            self._add(own, "AWS::ApiGateway::RequestValidator", properties, place)
            made["RequestValidatorId"] = {"Ref": own}
        return made

    def _of_globals(self, section: str, used: Iterable[str], own: Collection[str]) -> dict[str, Json]:
        """The Globals of an implicit API, whose `own` properties they do not change."""
        found = self._shared.get(section)
        given = found if isinstance(found, dict) else {}
        return {
            name: self._stack.fold(given[name], ("Globals", section, name))
            for name in used
            if name in given and name not in own
        }

    def _declare_rest(self, api: str, place: Place, given: Mapping[str, Json]) -> None:
        """Make a REST API with its models and gateway responses; its stage is made at the end."""
        self._add(api, "AWS::ApiGateway::RestApi", _named(given, rest_parts.OF_API), place)
        self._rest[api] = given
        if api in self._documents:
            self._documents.add(api, _table(given.get("Models")), _table(given.get("GatewayResponses")))
            return
        for name, schema in _table(given.get("Models")).items():
            made = {"RestApiId": {"Ref": api}, **rest_parts.model(name, schema)}
            self._add(f"{api}{name}Model", "AWS::ApiGateway::Model", made, place)
        for kind, one in _table(given.get("GatewayResponses")).items():
            made = {"RestApiId": {"Ref": api}, **rest_parts.gateway_response(kind, one)}
            self._add(f"{api}{kind.title().replace('_', '')}Response", "AWS::ApiGateway::GatewayResponse", made, place)

    def finished(self) -> list[Resource]:
        """Everything that was made, with the deployments and stages of REST APIs."""
        for api, resource in self._made.items():
            if api in self._documents:
                more = self._documents.properties(api)
                self._made[api] = replace(resource, properties={**resource.properties, **more})
        for api, given in self._rest.items():
            self._share(api, given.get("Cors"))
            methods = [
                one
                for one in self._made.values()
                if one.type == "AWS::ApiGateway::Method" and one.properties["RestApiId"] == {"Ref": api}
            ]
            if not methods and api not in self._documents:
                continue
            parts: list[Json] = [one.properties for one in methods]
            parts += [one.properties for one in self._made.values() if one.type == "AWS::ApiGateway::Authorizer"]
            if api in self._documents:
                parts.append(self._documents.text(api))
            text = json.dumps(parts, sort_keys=True, default=str)
            # Another id for other methods: they are deployed anew.
            own = f"{api}Deployment{hashlib.sha256(text.encode()).hexdigest()[:10]}"
            place = methods[0].place if methods else self._made[api].place
            needs = tuple(one.id for one in methods)
            self._made[own] = Resource(own, "AWS::ApiGateway::Deployment", {"RestApiId": {"Ref": api}}, needs, place)
            stage: dict[str, Json] = {
                "RestApiId": {"Ref": api}, "DeploymentId": {"Ref": own}, "StageName": given.get("StageName") or "Prod",
                **_named(given, rest_parts.OF_STAGE),
            }  # fmt: skip
            self._add(self._stage_id(api), "AWS::ApiGateway::Stage", stage, place)
        return [*self._made.values()]

    def _share(self, api: str, cors: Json) -> None:
        """Make the methods OPTIONS of an API with CORS, where the template has none."""
        for path, methods in self._paths.get(api, {}).items() if cors else ():
            if "OPTIONS" in methods:
                continue
            place = self._made[api].place
            letters = re.sub("[^A-Za-z0-9]", "", path)
            own = f"{api}{letters}{hashlib.sha256(path.encode()).hexdigest()[:6]}Options"
            where = {"RestApiId": {"Ref": api}, "ResourceId": self._path(api, path, place)}
            self._add(own, "AWS::ApiGateway::Method", {**where, **rest_parts.shared(cors, methods)}, place)

    def _uri(self, called: str) -> str:
        who = self._stack.identity
        return f"arn:{who.partition}:apigateway:{who.region}:{called}"

    def _stage_id(self, api: str) -> str:
        if api == self._stack.prefix + IMPLICIT_REST:
            return f"{api}ProdStage"
        return f"{api}Stage"

    def _http_stage_id(self, api: str) -> str:
        is_implicit = api == self._stack.prefix + IMPLICIT_HTTP
        return f"{api}ApiGatewayDefaultStage" if is_implicit else f"{api}Stage"

    def _http(self, api: str, place: Place, given: Mapping[str, Json]) -> None:
        """Make an HTTP API and its stage."""
        made: dict[str, Json] = {"ProtocolType": "HTTP", **_named(given, _HTTP_API)}
        cors = given.get("CorsConfiguration")
        if isinstance(cors, dict):
            made["CorsConfiguration"] = cors
        elif cors in (True, "true"):
            made["CorsConfiguration"] = {"AllowOrigins": ["*"]}
        self._add(api, "AWS::ApiGatewayV2::Api", made, place)
        stage: dict[str, Json] = {
            "ApiId": {"Ref": api}, "StageName": given.get("StageName") or "$default", "AutoDeploy": True,
            **_named(given, _HTTP_STAGE),
        }  # fmt: skip
        self._add(self._http_stage_id(api), "AWS::ApiGatewayV2::Stage", stage, place)

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
        """The id of the serverless API that an event names; `None` for any other, whose routes the transform leaves."""
        own = self._stack.prefix + implicit
        found = own if named is None else named.get("Ref") if isinstance(named, dict) and len(named) == 1 else None
        return found if found == own or (isinstance(found, str) and found in (*self._made, *self._closed)) else None

    def _read_auth(
        self, api: str, is_http: bool, written: Json, steps: Steps, owner: str = "", *,
        has_document: bool = False,
    ) -> str | None:  # fmt: skip
        """Read the `Auth` of an API; returns why the API is left out, if it is."""
        given = self._stack.fold(written, steps, owner)
        plan = given.get("UsagePlan") if isinstance(given, dict) else None
        if isinstance(plan, dict) and plan.get("CreateUsagePlan") != NONE:
            words = "its UsagePlan is not created: write the plan and its keys as resources"
            self._stack.sources.warning(self._stack.place(steps), f"{api}: {words}")
        try:
            auth = self._auth[api] = ApiAuth.of(api, is_http, self._uri(rest_parts.FUNCTIONS), given)
        except CannotGuard as problem:
            return f"{problem}, so it stays closed"
        if has_document and (auth.default != NONE or auth.key_required):
            return f"its Auth would change its OpenAPI document, {_WRITE_IT}, so it stays closed"
        return None

    def _authorization(
        self, api: str, given: Mapping[str, Json], place: Place, *, is_http: bool
    ) -> dict[str, Json] | str:
        """The properties of an event's route or method; a text for one that is left out."""
        if api in self._closed:
            return self._closed[api]
        auth = self._auth.get(api) or ApiAuth(api, is_http, self._uri(rest_parts.FUNCTIONS))
        try:
            properties, name = auth.of_event(given.get("Auth"))
            if api in self._documents and properties != {"AuthorizationType": NONE}:
                raise CannotGuard(f"its Auth would change the OpenAPI document of its API, {_WRITE_IT}")
            if name is not None and auth.id(name) not in self._made:
                self._add(auth.id(name), *auth.resource(name), place)
        except CannotGuard as problem:
            return f"{problem}, so it stays closed"
        return properties

    def _add(self, own: str, kind: str, properties: Mapping[str, Json], place: Place) -> None:
        self._made[own] = Resource(own, kind, dict(properties), (), place)


def _named(given: Mapping[str, Json], names: Iterable[str]) -> dict[str, Json]:
    return {name: given[name] for name in names if given.get(name) is not None}


def _table(value: Json) -> Mapping[str, Json]:
    return value if isinstance(value, dict) else {}


def _method_of(given: Mapping[str, Json]) -> str:
    method = str(given.get("Method") or "ANY").upper()
    return "ANY" if method in _ANY else method
