"""Serverless templates (SAM): their types turned into plain ones.

Owns what `AWS::Serverless::*` resources stand for, and `Globals`. What their events stand for is in `events.py`;
all the rest of a template is `cloudformation.py`'s.

Source: Serverless Application Model developer guide, "AWS SAM resources" and "Generated CloudFormation resources".
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from statewright.payload import Json
from statewright.projects.cloudformation import Stack
from statewright.projects.evaluation import NO_VALUE, waits
from statewright.projects.expansion import SERVERLESS, transforms_of
from statewright.projects.resources import Resource
from statewright.projects.sam.apis import ApiEvents
from statewright.projects.sam.events import (
    Making,
    function_events,
    function_url,
    invoke_config,
    is_lost,
    machine_events,
)
from statewright.projects.sources import meant

_PREFIX: Final = "AWS::Serverless::"
_GLOBALS: Final = ("Api", "CapacityProvider", "Function", "HttpApi", "LayerVersion", "SimpleTable", "StateMachine")
_FUNCTION: Final = (
    "Architectures", "CodeSigningConfigArn", "Description", "Environment", "EphemeralStorage", "FileSystemConfigs",
    "FunctionName", "Handler", "ImageConfig", "KmsKeyArn", "Layers", "LoggingConfig", "MemorySize", "PackageType",
    "RecursiveLoop", "ReservedConcurrentExecutions", "Role", "Runtime", "RuntimeManagementConfig", "SnapStart",
    "Timeout", "VpcConfig",
)  # fmt: skip
_FUNCTION_OURS: Final = (
    "AutoPublishAlias", "CodeUri", "DeadLetterQueue", "EventInvokeConfig", "Events", "FunctionUrlConfig", "ImageUri",
    "InlineCode",
    "ProvisionedConcurrencyConfig", "Tags", "Tracing",
)  # fmt: skip
_FUNCTION_IGNORED: Final = (
    "AssumeRolePolicyDocument", "AutoPublishAliasAllProperties", "AutoPublishCodeSha256", "PermissionsBoundary",
    "Policies", "PropagateTags", "RolePath", "SourceKMSKeyArn", "VersionDeletionPolicy", "VersionDescription",
)  # fmt: skip
_FUNCTION_LOST: Final = {
    "CapacityProviderConfig": "functions run on this machine",
    "DeploymentPreference": "an alias moves to new code immediately",
    "DurableConfig": "durable functions are not supported",
    "FunctionScalingConfig": "functions run on this machine",
    "PublishToLatestPublished": "functions run on this machine",
    "TenancyConfig": "tenants share workers",
}
_PROVISIONED: Final = "ProvisionedConcurrencyConfig"
_MACHINE: Final = {
    "DefinitionSubstitutions": "DefinitionSubstitutions", "Logging": "LoggingConfiguration", "Name": "StateMachineName",
    "Role": "RoleArn", "Tracing": "TracingConfiguration", "Type": "StateMachineType", "Definition": "Definition",
}  # fmt: skip
_MACHINE_OURS: Final = ("AutoPublishAlias", "DefinitionUri", "Events", "Tags", "UseAliasAsEventTarget")
_MACHINE_IGNORED: Final = ("DeploymentPreference", "PermissionsBoundary", "Policies", "PropagateTags", "RolePath")
_IDLE: Final = {
    "Function": frozenset((*_FUNCTION_IGNORED, *_FUNCTION_LOST)),
    "StateMachine": frozenset(_MACHINE_IGNORED),
}
"""Properties whose values change nothing here."""
_APIS: Final = (f"{_PREFIX}Api", f"{_PREFIX}HttpApi")
_IMPLICIT: Final = {
    "ServerlessRestApi": "AWS::ApiGateway::RestApi",
    "ServerlessRestApiDeployment": "AWS::ApiGateway::Deployment",
    "ServerlessRestApiProdStage": "AWS::ApiGateway::Stage",
    "ServerlessHttpApi": "AWS::ApiGatewayV2::Api",
    "ServerlessHttpApiApiGatewayDefaultStage": "AWS::ApiGatewayV2::Stage",
}
_OF_APIS: Final = {
    "ApiKey": "AWS::ApiGateway::ApiKey",
    "BasePathMapping": "AWS::ApiGateway::BasePathMapping",
    "Deployment": "AWS::ApiGateway::Deployment",
    "DomainName": "AWS::ApiGateway::DomainName",
    "Stage": "AWS::ApiGateway::Stage",
    "UsagePlan": "AWS::ApiGateway::UsagePlan",
    "UsagePlanKey": "AWS::ApiGateway::UsagePlanKey",
}
"""Resources that the transform makes beside an API, by the name after the dot in references to them."""


def is_serverless(stack: Stack) -> bool:
    """True if a template's resources need the transform; without a Transform, their types decide."""
    found = [resource for resource in stack.resources.values() if resource.type.startswith(_PREFIX)]
    if SERVERLESS in transforms_of(stack.value):
        return True
    if found:
        stack.sources.warning(
            found[0].place,
            f"the template has {found[0].type}, but no Transform: {SERVERLESS}; it is read as if it had one",
        )
    return bool(found)


def name_generated(stack: Stack) -> None:
    """Let names such as `Price.Alias` mean what the transform will make."""
    shared = stack.section("Globals").get("Function")
    for id_, body in stack.section("Resources").items():
        properties = body.get("Properties") if isinstance(body, dict) else None
        kind = body.get("Type") if isinstance(body, dict) else None
        if kind in (f"{_PREFIX}Api", f"{_PREFIX}HttpApi"):
            _name_of_api(stack, id_, kind, properties if isinstance(properties, dict) else {})
        if not isinstance(properties, dict) or kind not in (f"{_PREFIX}Function", f"{_PREFIX}StateMachine"):
            continue
        alias = properties.get("AutoPublishAlias")
        if alias is None and kind == f"{_PREFIX}Function" and isinstance(shared, dict):
            alias = shared.get("AutoPublishAlias")
        own = stack.prefix + id_
        if alias is not None:
            name = stack.fold(alias, (*stack.steps(id_), "Properties", "AutoPublishAlias"))
            if isinstance(name, str):
                stack.generated[f"{id_}.Alias"] = _alias_id(own, name)
            stack.generated[f"{id_}.Version"] = version_id(stack, own, properties)
        stack.generated[f"{id_}.DestinationQueue"] = f"{own}OnFailureQueue"
        stack.generated[f"{id_}.DestinationTopic"] = f"{own}OnFailureTopic"


def _name_of_api(stack: Stack, id_: str, kind: str, properties: Mapping[str, Json]) -> None:
    """Let `Web.Stage` and its kin mean resources that are left out."""
    for part, made in _OF_APIS.items():
        own = f"{stack.prefix}{id_}{part}"
        stack.generated[f"{id_}.{part}"] = own
        if kind.endswith("HttpApi"):
            made = made.replace("ApiGateway", "ApiGatewayV2")
        named = properties.get("StageName", "$default") if part == "Stage" else None
        given = {"StageName": named} if isinstance(named, str) else {}
        stack.implied[own] = Resource(own, made, given, (), stack.place(stack.steps(id_)))


def without_lost(stack: Stack) -> None:
    """Take out of the template what has no effect here, so that nothing in it can fail: some properties and events.

    They stay by name, so that what is lost can be reported.
    """
    resources = stack.section("Resources")
    changed: dict[str, Json] = {}
    for id_, body in resources.items():
        kind = body.get("Type") if isinstance(body, dict) else None
        properties = body.get("Properties") if isinstance(body, dict) else None
        idle = _IDLE.get(kind.removeprefix(_PREFIX)) if isinstance(kind, str) and kind.startswith(_PREFIX) else None
        if idle is None or not isinstance(properties, dict):
            continue
        kept = {name: True if name in idle and value else value for name, value in properties.items()}
        if isinstance(properties.get("Events"), dict):
            kept["Events"] = {name: _event(event) for name, event in properties["Events"].items()}
        changed[id_] = {**body, "Properties": kept}
    if changed:
        stack.value = {**stack.value, "Resources": {**resources, **changed}}


def _event(event: Json) -> Json:
    return {"Type": event["Type"]} if isinstance(event, dict) and is_lost(event.get("Type")) else event


def transform(stack: Stack) -> None:
    """Turn the serverless resources of a stack into plain ones, those that they bring along behind each."""
    shared = _read_globals(stack)
    made: dict[str, Resource] = {}
    apis = ApiEvents(stack, stack.section("Globals"))
    for resource in stack.resources.values():
        if resource.type in _APIS and apis.declare(resource, stack.body(resource.id).get("Properties")) is not None:
            made[resource.id] = resource
    for resource in stack.resources.values():
        if resource.type in _APIS:
            continue
        if not resource.type.startswith(_PREFIX):
            made[resource.id] = resource
            continue
        kind = resource.type.removeprefix(_PREFIX)
        making = Making(stack, resource, merged(shared.get(kind), resource.properties), apis)
        work = _KINDS.get(kind)
        if work is not None:
            work(making)
        else:
            making.add(resource.id, resource.type, resource.properties)
        for added in making.made:
            if added.id in made or (added.id != resource.id and added.id in stack.resources):
                stack.sources.error(added.place, f"{resource.id} generates {added.id}, which already exists")
            else:
                made[added.id] = added
    for added in apis.finished():
        made.setdefault(added.id, added)
    stack.resources = made


def merged(shared: Json, own: Json) -> Json:
    """A resource's properties with the Globals: objects are merged, lists concatenated, other values replaced."""
    if shared is None:
        return own
    if isinstance(shared, dict) and isinstance(own, dict) and not _is_function(shared) and not _is_function(own):
        return {
            **shared,
            **{name: merged(shared.get(name), value) for name, value in own.items()},
        }
    if isinstance(shared, list) and isinstance(own, list):
        return [*shared, *own]
    return own


def _is_function(value: Mapping[str, Json]) -> bool:
    return len(value) == 1 and waits(value) and next(iter(value)).startswith(("Fn::", "Ref"))


def _read_globals(stack: Stack) -> dict[str, Json]:
    shared: dict[str, Json] = {}
    for name, value in stack.section("Globals").items():
        if name not in _GLOBALS:
            stack.sources.error(stack.place(("Globals", name)), f"Globals knows no {name}{meant(name, _GLOBALS)}")
            continue
        if name not in _KINDS:
            continue
        idle = _IDLE.get(name, ())
        if isinstance(value, dict):
            value = {key: True if key in idle and part else part for key, part in value.items()}
        folded = stack.fold(value, ("Globals", name))
        if isinstance(folded, dict):
            shared[name] = folded
        elif folded is not None and folded is not NO_VALUE:
            stack.sources.error(stack.place(("Globals", name)), f"Globals.{name} must be an object")
    return shared


def _function(making: Making) -> None:
    given = making.given
    making.check((*_FUNCTION, *_FUNCTION_OURS, *_FUNCTION_IGNORED, *_FUNCTION_LOST))
    for name, why in _FUNCTION_LOST.items():
        if name in given:
            making.warn(name, f"{making.id}: {name} changes nothing here: {why}")
    if given.get("Policies"):
        making.note_policies()
    properties = {name: given[name] for name in _FUNCTION if name in given}
    properties["Code"] = _code(given)
    if isinstance(properties["Code"], str):
        making.refuse_local("CodeUri", "Either 'InlineCode' or 'CodeUri' must be set.")
    dead = given.get("DeadLetterQueue")
    if isinstance(dead, dict) and "TargetArn" in dead:
        properties["DeadLetterConfig"] = {"TargetArn": dead["TargetArn"]}
    if "Tracing" in given:
        properties["TracingConfig"] = {"Mode": given["Tracing"]}
    _tag(given, properties)
    making.add(making.id, "AWS::Lambda::Function", properties)
    alias = given.get("AutoPublishAlias")
    if isinstance(alias, str):
        version = version_id(making.stack, making.id, given)
        making.add(version, "AWS::Lambda::Version", {"FunctionName": {"Ref": making.id}})
        making.target = {"Ref": _alias_id(making.id, alias)}
        making.qualifier = alias
        making.add(
            _alias_id(making.id, alias),
            "AWS::Lambda::Alias",
            {
                "Name": alias,
                "FunctionName": {"Ref": making.id},
                "FunctionVersion": {"Fn::GetAtt": [version, "Version"]},
                **({_PROVISIONED: given[_PROVISIONED]} if _PROVISIONED in given else {}),
            },
        )
    elif _PROVISIONED in given:
        making.warn(_PROVISIONED, f"{making.id}: {_PROVISIONED} needs AutoPublishAlias")
    if isinstance(given.get("EventInvokeConfig"), dict):
        invoke_config(making, given["EventInvokeConfig"])
    function_url(making)
    function_events(making)


def _code(given: Mapping[str, Json]) -> Json:
    if "InlineCode" in given:
        return {"ZipFile": given["InlineCode"]}
    if "ImageUri" in given:
        return {"ImageUri": given["ImageUri"]}
    uri = given.get("CodeUri", ".")
    if isinstance(uri, dict) and "Bucket" in uri:
        renamed = {"S3Bucket": uri.get("Bucket"), "S3Key": uri.get("Key"), "S3ObjectVersion": uri.get("Version")}
        return {name: value for name, value in renamed.items() if value is not None}
    return _bucket_of(uri)


def _bucket_of(uri: Json) -> Json:
    """An S3 URI as bucket and key; a local path as it is."""
    if isinstance(uri, str) and uri.startswith("s3://"):
        bucket, _, key = uri.removeprefix("s3://").partition("/")
        return {"S3Bucket": bucket, "S3Key": key}
    return uri


def _machine(making: Making) -> None:
    given = making.given
    making.check((*_MACHINE, *_MACHINE_OURS, *_MACHINE_IGNORED))
    if given.get("Policies"):
        making.note_policies()
    properties = {plain: given[name] for name, plain in _MACHINE.items() if name in given}
    uri = given.get("DefinitionUri")
    if uri is not None:
        properties["DefinitionS3Location"] = uri
        if isinstance(uri, str) and not uri.startswith("s3://"):
            making.refuse_local("DefinitionUri")
    _tag(given, properties)
    making.add(making.id, "AWS::StepFunctions::StateMachine", properties)
    alias = given.get("AutoPublishAlias")
    making.target = {"Ref": making.id}
    if isinstance(alias, str):
        version = version_id(making.stack, making.id, given)
        making.add(version, "AWS::StepFunctions::StateMachineVersion", {"StateMachineArn": {"Ref": making.id}})
        making.add(
            _alias_id(making.id, alias),
            "AWS::StepFunctions::StateMachineAlias",
            {"Name": alias, "RoutingConfiguration": [{"StateMachineVersionArn": {"Ref": version}, "Weight": 100}]},
        )
        if given.get("UseAliasAsEventTarget") in (True, "true"):
            making.target = {"Ref": _alias_id(making.id, alias)}
    machine_events(making)


def version_id(stack: Stack, id_: str, given: Mapping[str, Json]) -> str:
    """The id of the version of a function or machine.

    In a stack it changes with the code, so that an update publishes another version. A file's deployment compares
    the code itself. Source: Serverless Application Model developer guide, "Generated CloudFormation resources".
    """
    if not stack.is_served:
        return f"{id_}Version"
    code = [given.get(name) for name in ("CodeUri", "InlineCode", "DefinitionUri", "Definition")]
    return f"{id_}Version{hashlib.sha256(json.dumps(code, sort_keys=True).encode()).hexdigest()[:10]}"


def _alias_id(id_: str, alias: str) -> str:
    return f"{id_}Alias{''.join(char for char in alias if char.isalnum())}"


def _table(making: Making) -> None:
    given = making.given
    making.check(
        (
            "PrimaryKey",
            "ProvisionedThroughput",
            "TableName",
            "Tags",
            "SSESpecification",
            "PointInTimeRecoverySpecification",
        )
    )
    key = given.get("PrimaryKey")
    key = key if isinstance(key, dict) else {}
    name = key.get("Name", "id")
    kind = {"String": "S", "Number": "N", "Binary": "B"}.get(str(key.get("Type", "String")), key.get("Type"))
    properties: dict[str, Json] = {
        "AttributeDefinitions": [{"AttributeName": name, "AttributeType": kind}],
        "KeySchema": [{"AttributeName": name, "KeyType": "HASH"}],
    }
    for member in ("TableName", "SSESpecification", "PointInTimeRecoverySpecification", "ProvisionedThroughput"):
        if member in given:
            properties[member] = given[member]
    if "ProvisionedThroughput" not in given:
        properties["BillingMode"] = "PAY_PER_REQUEST"
    _tag(given, properties)
    making.add(making.id, "AWS::DynamoDB::Table", properties)


def _layer(making: Making) -> None:
    given = making.given
    passed = ("CompatibleArchitectures", "CompatibleRuntimes", "Description", "LayerName", "LicenseInfo")
    making.check((*passed, "ContentUri", "RetentionPolicy", "PublishLambdaVersion"))
    properties = {name: given[name] for name in passed if name in given}
    properties.setdefault("LayerName", making.id)
    uri = given.get("ContentUri", ".")
    if isinstance(uri, dict) and "Bucket" in uri:
        uri = {"S3Bucket": uri.get("Bucket"), "S3Key": uri.get("Key")}
    properties["Content"] = _bucket_of(uri)
    making.add(making.id, "AWS::Lambda::LayerVersion", properties)


def _connector(making: Making) -> None:
    stack = making.stack
    stack.missing[making.id] = "which is a connector and has no value"
    stack.sources.info(making.place, f"the connector {making.id} grants permissions, which are not needed here")


def _tag(given: Mapping[str, Json], properties: dict[str, Json]) -> None:
    tags = given.get("Tags")
    if isinstance(tags, dict):
        properties["Tags"] = [{"Key": key, "Value": value} for key, value in tags.items()]


_ROLES: Final = {
    "AWS::Lambda::Function": ("Role", "lambda", ["arn:aws:iam::aws:policy/service-role/AWSLambdaBasicExecutionRole"]),
    "AWS::StepFunctions::StateMachine": ("RoleArn", "states", []),
}
"""For types that need a role: its property, the service that assumes it, and the policies that it has."""


def add_roles(stack: Stack) -> None:
    """Make the role of every function and machine that names none, as the transform does on the service's side.

    Source: developer guide, "Generated CloudFormation resources": `PriceRole` of the function `Price`.
    """
    for owner, resource in list(stack.resources.items()):
        kind, name = _ROLES.get(resource.type), f"{owner}Role"
        if kind is None or not str(stack.body(owner).get("Type", "")).startswith(_PREFIX) or name in stack.resources:
            continue
        member, service, policies = kind
        if resource.properties.get(member) is not None:
            continue
        properties = {
            "AssumeRolePolicyDocument": _trust(service),
            **({"ManagedPolicyArns": policies} if policies else {}),
        }
        stack.resources[name] = Resource(name, "AWS::IAM::Role", properties, (), resource.place)
        stack.resources[owner] = replace(
            resource, properties={**resource.properties, member: {"Fn::GetAtt": [name, "Arn"]}},
            depends_on=(*resource.depends_on, name),
        )  # fmt: skip


def add_referenced(stack: Stack) -> None:
    """Make what a transform would make besides, where the template refers to it: roles and implicit APIs."""
    used = stack.names_used()
    for name in sorted(used - set(stack.resources)):
        owner = name.removesuffix("Role")
        if owner != name and owner in stack.resources and stack.body(owner).get("Type", "").startswith(_PREFIX):
            service = "states" if stack.resources[owner].type.startswith("AWS::StepFunctions") else "lambda"
            stack.resources[name] = Resource(
                name,
                "AWS::IAM::Role",
                {"AssumeRolePolicyDocument": _trust(service)},
                (),
                stack.resources[owner].place,
            )
        elif name in stack.implied:
            stack.resources[name] = stack.implied[name]
        elif name in _IMPLICIT:
            stack.resources[name] = Resource(
                name, _IMPLICIT[name], {}, (), stack.place_of_use(name, name) or stack.template.place()
            )


def _trust(service: str) -> Json:
    principal = {"Service": [f"{service}.amazonaws.com"]}
    return {
        "Version": "2012-10-17",
        "Statement": [{"Effect": "Allow", "Principal": principal, "Action": ["sts:AssumeRole"]}],
    }


def _application(making: Making) -> None:
    """A template in a bucket, as a nested stack; one beside the template of a file is read in its place."""
    given = dict(making.given)
    if not making.stack.is_served:
        making.add(making.id, making.resource.type, given)
        return
    making.check(("Location", "Parameters", "NotificationARNs", "Tags", "TimeoutInMinutes"))
    location = given.pop("Location", None)
    if isinstance(location, dict) and "ApplicationId" in location:
        making.stack.sources.error(
            making.place,
            f"{making.id} is an application of the Serverless Application Repository, which is not here: put its "
            "template into a bucket",
        )
    making.add(making.id, "AWS::CloudFormation::Stack", {"TemplateURL": location, **given})


_KINDS: Final[dict[str, Callable[[Making], None]]] = {
    "Function": _function,
    "StateMachine": _machine,
    "SimpleTable": _table,
    "LayerVersion": _layer,
    "Connector": _connector,
    "Application": _application,
}
