"""Events `http`: the REST API of a service, its resources, methods, preflights, keys, and their deployment.

Owns the ids, which are those of the framework, since templates refer to them. What a method calls is in
`rest_integrations.py`, who may call it in `rest_authorizers.py`.

Source: Serverless Framework guide, "REST API (API Gateway v1)"; documentation of serverless-step-functions, "API
Gateway".
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from statewright.payload import Json, JsonMapping
from statewright.projects.sam.rest_parts import preflight
from statewright.projects.serverless.rest_authorizers import authorization
from statewright.projects.serverless.rest_integrations import machine_settings, method_settings, table
from statewright.projects.serverless.service import Service, normalized
from statewright.projects.sources import Steps, meant

API: Final = "ApiGatewayRestApi"
_EVENT: Final = (
    "async", "authorizer", "connectionId", "connectionType", "cors", "documentation", "integration", "method",
    "operationId", "path", "private", "request", "response", "timeoutInMillis",
)  # fmt: skip
_OF_MACHINE: Final = (
    "action", "authorizer", "cors", "documentation", "iamRole", "method", "path", "private", "request", "response",
    "responses", "timeoutInMillis",
)  # fmt: skip
_OF_API: Final = (
    "apiKeySourceType", "apiKeys", "binaryMediaTypes", "description", "disableDefaultEndpoint", "metrics",
    "minimumCompressionSize", "request", "resourcePolicy", "restApiId", "restApiResources", "restApiRootResourceId",
    "shouldStartNameWithService", "stage", "timeoutInMillis", "usagePlan", "websocketApiId",
)  # fmt: skip
_METHODS: Final = ("ANY", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT")
_HEADERS: Final = (
    "Content-Type", "X-Amz-Date", "Authorization", "X-Api-Key", "X-Amz-Security-Token", "X-Amz-User-Agent",
    "X-Amzn-Trace-Id",
)  # fmt: skip


@dataclass(slots=True)
class _Preflight:
    """The CORS settings of a path, as its events add to them."""

    origin: str = "*"
    origins: list[str] = field(default_factory=list)
    headers: list[str] = field(default_factory=list)
    methods: list[str] = field(default_factory=list)
    credentials: bool = False
    max_age: Json = None
    cache_control: Json = None
    at: Steps = ()


class RestApi:
    """The REST API of one service; nothing of it is made before its first event."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._options = table(service.provider.get("apiGateway"))
        own = self._options.get("restApiId")
        self._id: Json = {"Ref": API} if own is None else own
        root = self._options.get("restApiRootResourceId")
        self._resources: dict[str, Json] = {"": {"Fn::GetAtt": [API, "RootResourceId"]} if own is None else root}
        self._made: list[str] = []
        self._preflights: dict[str, _Preflight] = {}
        self._at: Steps = ()

    def add_function(self, key: str, arn: Json, given: Json, at: Steps) -> None:
        """Make the method of an event `http` of a function."""
        event = self._event(key, given, at, _EVENT)
        if event is not None:
            path, method, settings = event
            integrated = method_settings(self._service, key, arn, {**settings, "method": method}, at)
            if integrated is not None:
                self._add_method(path, method, settings, integrated, at)

    def add_machine(self, key: str, id_: str, given: Json, at: Steps) -> None:
        """Make the method of an event `http` of a state machine."""
        event = self._event(key, given, at, _OF_MACHINE)
        if event is not None:
            path, method, settings = event
            timeout = settings.get("timeoutInMillis", self._options.get("timeoutInMillis"))
            self._add_method(
                path, method, settings, machine_settings(id_, {**settings, "timeoutInMillis": timeout}), at
            )

    def finish(self) -> None:
        """Make what stands for all events together: preflights, the deployment with its stage, keys and plans."""
        if not self._made:
            return
        for path, shared in self._preflights.items():
            self._add_preflight(path, shared)
        resources = self._service.sections["Resources"]
        text = json.dumps([resources[one] for one in self._made], sort_keys=True, default=str)
        # Another id for other methods: they are deployed anew.
        own = f"ApiGatewayDeployment{hashlib.sha256(text.encode()).hexdigest()[:10]}"
        named = self._options.get("stage", self._service.stage)
        properties: dict[str, Json] = {"RestApiId": self._id, "StageName": named}
        if self._options.get("description"):
            properties["Description"] = self._options["description"]
        self._service.add(own, "AWS::ApiGateway::Deployment", properties, self._at, needs=list(self._made))
        self._add_plans(own, named)

    def _event(self, key: str, given: Json, at: Steps, known: tuple[str, ...]) -> tuple[str, str, JsonMapping] | None:
        """Path, method and settings of an event; `None` for one that is reported."""
        service = self._service
        if isinstance(given, str):
            word, _, rest = given.partition(" ")
            given = {"method": word, "path": rest.strip()}
        settings = table(given)
        for name in settings:
            if name not in known:
                service.sources.warning(service.place((*at, name)), f"an event http has no {name}{meant(name, known)}")
        path, method = settings.get("path"), str(settings.get("method", "")).upper()
        if not isinstance(path, str) or not method:
            service.sources.error(service.place(at), f"the event http of {key} needs a path and a method")
            return None
        method = "ANY" if method == "*" else method
        if method not in _METHODS:
            listed = ", ".join(_METHODS).lower()
            service.sources.error(
                service.place(at), f"the event http of {key} has the method {method}; it may be {listed}"
            )
            return None
        return path.removeprefix("/").removesuffix("/"), method, settings

    def _add_api(self, at: Steps) -> None:
        service, options = self._service, self._options
        for name in options:
            if name not in _OF_API:
                place = service.place(("provider", "apiGateway", name))
                service.sources.warning(place, f"provider.apiGateway has no {name}{meant(name, _OF_API)}")
        existing = options.get("restApiResources")
        listed = [{"path": path, "resourceId": id_} for path, id_ in table(existing).items()] or existing
        for one in map(table, listed if isinstance(listed, list) else ()):
            if "path" in one and "resourceId" in one:
                self._resources[str(one["path"]).strip("/")] = one["resourceId"]
        if options.get("restApiId") is not None:
            if self._resources[""] is None:
                place = service.place(("provider", "apiGateway"))
                service.sources.error(place, "provider.apiGateway.restApiId needs a restApiRootResourceId beside it")
            return
        starts_with_service = options.get("shouldStartNameWithService")
        name = f"{service.name_}-{service.stage}" if starts_with_service else f"{service.stage}-{service.name_}"
        endpoint: dict[str, Json] = {"Types": [str(service.provider.get("endpointType") or "EDGE").upper()]}
        if service.provider.get("vpcEndpointIds"):
            endpoint["VpcEndpointIds"] = service.provider["vpcEndpointIds"]
        properties: dict[str, Json] = {
            "Name": service.provider.get("apiName") or name, "EndpointConfiguration": endpoint,
            "BinaryMediaTypes": options.get("binaryMediaTypes"), "Description": options.get("description"),
            "MinimumCompressionSize": options.get("minimumCompressionSize"),
            "DisableExecuteApiEndpoint": options.get("disableDefaultEndpoint"),
        }  # fmt: skip
        if options.get("apiKeySourceType"):
            properties["ApiKeySourceType"] = str(options["apiKeySourceType"]).upper()
        if options.get("resourcePolicy"):
            properties["Policy"] = {"Version": "2012-10-17", "Statement": options["resourcePolicy"]}
        given = {name: value for name, value in properties.items() if value is not None}
        service.add(API, "AWS::ApiGateway::RestApi", given, at)

    def _add_method(
        self, path: str, method: str, settings: Mapping[str, Json], integrated: Mapping[str, Json], at: Steps
    ) -> None:
        service = self._service
        authorized = authorization(service, settings.get("authorizer"), self._id, at)
        if authorized is None:
            return
        if not self._at:
            self._at = at
            self._add_api(at)
        if settings.get("cors"):
            self._share(path, method, settings["cors"], at)
        properties: dict[str, Json] = {
            "HttpMethod": method, "ResourceId": self._resource(path, at), "RestApiId": self._id,
            "ApiKeyRequired": bool(settings.get("private")), **authorized, **integrated,
        }  # fmt: skip
        if settings.get("operationId"):
            properties["OperationName"] = settings["operationId"]
        own = f"ApiGatewayMethod{_named(path)}{method.capitalize()}"
        properties.update(self._validation(own, settings, at))
        service.add(own, "AWS::ApiGateway::Method", properties, at)
        self._made.append(own)

    def _resource(self, path: str, at: Steps) -> Json:
        """A reference to the resource of a path; resources on the way are made."""
        if path not in self._resources:
            parent, _, part = path.rpartition("/")
            own = f"ApiGatewayResource{_named(path)}"
            properties = {"ParentId": self._resource(parent, at), "PathPart": part, "RestApiId": self._id}
            self._service.add(own, "AWS::ApiGateway::Resource", properties, at)
            self._resources[path] = {"Ref": own}
        return self._resources[path]

    def _validation(self, method: str, settings: Mapping[str, Json], at: Steps) -> dict[str, Json]:
        """The parameters and models of a request, and the validator that checks them."""
        request = table(settings.get("request"))
        parameters: dict[str, Json] = {}
        for group, values in table(request.get("parameters")).items():
            for name, value in table(values).items():
                required = value.get("required", True) if isinstance(value, dict) else value
                parameters[f"method.request.{group.removesuffix('s')}.{name}"] = bool(required)
        made: dict[str, Json] = {"RequestParameters": parameters} if parameters else {}
        schemas = request.get("schemas", request.get("schema"))
        models = {kind: self._model(method, kind, schema, at) for kind, schema in table(schemas).items()}
        if models:
            made["RequestModels"] = models
        if models or any(parameters.values()):
            service = self._service
            validator = f"ApiGateway{re.sub('[^0-9A-Za-z]', '', service.name_.title())}RequestValidator"
            if validator not in service.sections["Resources"]:
                properties: dict[str, Json] = {
                    "RestApiId": self._id, "ValidateRequestBody": True, "ValidateRequestParameters": True,
                    "Name": f"{service.name_}-{service.stage} | Validate request body and querystring parameters",
                }  # fmt: skip
                service.add(validator, "AWS::ApiGateway::RequestValidator", properties, at)
            made["RequestValidatorId"] = {"Ref": validator}
        return made

    def _model(self, method: str, kind: str, schema: Json, at: Steps) -> Json:
        """A reference to the model of a schema: one of the provider by its name, or the event's own."""
        own = f"{method}{re.sub('[^0-9A-Za-z]', '', kind.title())}Model"
        shared = table(table(self._options.get("request")).get("schemas"))
        if isinstance(schema, str) and schema in shared:
            own, schema = f"ApiGateway{re.sub('[^0-9A-Za-z]', '', schema.title())}Model", shared[schema]
        if own not in self._service.sections["Resources"]:
            described = schema if isinstance(schema, dict) and "schema" in schema else {"schema": schema}
            properties = {
                "RestApiId": self._id, "ContentType": kind, "Schema": described["schema"],
                "Name": described.get("name"), "Description": described.get("description"),
            }  # fmt: skip
            given = {name: value for name, value in properties.items() if value is not None}
            self._service.add(own, "AWS::ApiGateway::Model", given, at)
        return {"Ref": own}

    def _share(self, path: str, method: str, cors: Json, at: Steps) -> None:
        settings, found = table(cors), self._preflights.setdefault(path, _Preflight(at=at))
        headers, origins = _listed(settings.get("headers") or list(_HEADERS)), _listed(settings.get("origins"))
        found.origin = "" if origins else str(settings.get("origin") or "*")
        found.origins = _joined(origins, found.origins)
        found.headers = _joined(headers, found.headers)
        found.methods = _joined([*_listed(settings.get("methods")), "OPTIONS", method], found.methods)
        found.credentials = found.credentials or bool(settings.get("allowCredentials"))
        found.max_age = settings.get("maxAge", found.max_age)
        found.cache_control = settings.get("cacheControl", found.cache_control)

    def _add_preflight(self, path: str, settings: _Preflight) -> None:
        own = f"ApiGatewayMethod{_named(path)}Options"
        if own in self._service.sections["Resources"]:
            # A function answers OPTIONS itself.
            return
        origins = settings.origins or [one.strip() for one in settings.origin.split(",")]
        methods = ",".join(settings.methods).replace("ANY", "DELETE,GET,HEAD,PATCH,POST,PUT")
        headers = {
            "Access-Control-Allow-Origin": origins[0],
            "Access-Control-Allow-Headers": ",".join(settings.headers), "Access-Control-Allow-Methods": methods,
            "Access-Control-Allow-Credentials": "true" if settings.credentials else None,
            "Access-Control-Max-Age": settings.max_age, "Cache-Control": settings.cache_control,
        }  # fmt: skip
        quoted = {name: f"'{value}'" for name, value in headers.items() if value}
        template = _answering(origins) if settings.origins or len(origins) > 1 else ""
        properties: dict[str, Json] = {
            "ResourceId": self._resource(path, settings.at), "RestApiId": self._id, **preflight(quoted, template),
        }  # fmt: skip
        self._service.add(own, "AWS::ApiGateway::Method", properties, settings.at)
        self._made.append(own)

    def _add_plans(self, deployment: str, stage: Json) -> None:
        """Make API keys and the usage plans that let them in; both may be grouped by the name of a plan."""
        keys, plans = self._options.get("apiKeys"), self._options.get("usagePlan")
        if not keys and not plans:
            return
        at: Steps = ("provider", "apiGateway")
        grouped = (
            {name: body for one in plans for name, body in table(one).items()}
            if isinstance(plans, list)
            else {"": plans}
        )
        for name, body in grouped.items():
            self._add_plan(name, table(body), deployment, stage, at)
        counts: dict[str, int] = {}
        for one in keys if isinstance(keys, list) else ():
            plan, members = next(iter(one.items())) if isinstance(one, dict) and one else ("", one)
            is_group = plan in grouped and isinstance(members, list)
            for member in members if is_group else [one]:
                group = plan if is_group else ""
                counts[group] = counts.get(group, 0) + 1
                self._add_key(group, counts[group], member, deployment, stage, at)

    def _add_plan(self, name: str, body: Mapping[str, Json], deployment: str, stage: Json, at: Steps) -> None:
        service = self._service
        titled = f"{service.name_}-{name}-{service.stage}" if name else f"{service.name_}-{service.stage}"
        properties: dict[str, Json] = {
            "UsagePlanName": titled, "ApiStages": [{"ApiId": self._id, "Stage": stage}],
            "Description": f"Usage plan for {service.name_} {service.stage} stage",
        }  # fmt: skip
        for section in ("quota", "throttle"):
            if table(body.get(section)):
                members = {one[:1].upper() + one[1:]: value for one, value in table(body[section]).items()}
                properties[section.title()] = members
        own = f"ApiGatewayUsagePlan{normalized(name)}"
        service.add(own, "AWS::ApiGateway::UsagePlan", properties, at, needs=[deployment])

    def _add_key(self, plan: str, number: int, key: Json, deployment: str, stage: Json, at: Steps) -> None:
        settings = key if isinstance(key, dict) else {"name": key}
        properties: dict[str, Json] = {
            "Enabled": settings.get("enabled", True), "Name": settings.get("name"), "Value": settings.get("value"),
            "Description": settings.get("description"), "CustomerId": settings.get("customerId"),
            "StageKeys": [{"RestApiId": self._id, "StageName": stage}],
        }  # fmt: skip
        given = {name: value for name, value in properties.items() if value is not None}
        own = f"ApiGatewayApiKey{normalized(plan)}{number}"
        self._service.add(own, "AWS::ApiGateway::ApiKey", given, at, needs=[deployment])
        link = {
            "KeyId": {"Ref": own},
            "KeyType": "API_KEY",
            "UsagePlanId": {"Ref": f"ApiGatewayUsagePlan{normalized(plan)}"},
        }
        self._service.add(
            f"ApiGatewayUsagePlanKey{normalized(plan)}{number}", "AWS::ApiGateway::UsagePlanKey", link, at
        )


def _listed(value: Json) -> list[str]:
    return [str(one) for one in (value if isinstance(value, list) else [value] if value else [])]


def _joined(added: Iterable[str], held: Iterable[str]) -> list[str]:
    """The values of an event before those of others, each once."""
    return list(dict.fromkeys([*added, *held]))


def _named(path: str) -> str:
    """A path as part of an id: `orders/{orderId}/pay-now` is `OrdersOrderidVarPayDashnow`."""
    return "".join(_named_part(part) for part in path.split("/"))


def _named_part(part: str) -> str:
    words = re.sub(r"\{(.*)\}", r"\1Var", part.capitalize().replace("-", "Dash"))
    words = re.sub("[^0-9A-Za-z]", "", words)
    return words[:1].upper() + words[1:]


def _answering(origins: list[str]) -> str:
    """A template that allows the origin of a request if it is one of several, in which `*` stands for any part."""
    tests = " || ".join(f'$origin.matches("{one.replace(".", "[.]").replace("*", ".+")}")' for one in origins)
    return (
        '#set($origin = $input.params("Origin"))#if($origin == "")#set($origin = $input.params("origin"))#end'
        f"#if({tests})#set($context.responseOverride.header.Access-Control-Allow-Origin = $origin)#end"
    )
