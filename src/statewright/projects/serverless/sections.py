"""`serverless.yml`: a service's functions, state machines and resources as CloudFormation has them.

Owns what the file's sections stand for, and the ids that its resources get. Variables are in
`variables.py`, events in `events.py`; what comes out is read like any other template.

Source: Serverless Framework guide, "Serverless.yml Reference"; documentation of serverless-step-functions.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from statewright.payload import Json, JsonObject
from statewright.projects.cloudformation import Identity
from statewright.projects.ordering import arrange
from statewright.projects.resources import Place, Project
from statewright.projects.sam.template import merged
from statewright.projects.serverless.events import function_events, invoke_config, machine_events
from statewright.projects.serverless.implied import add_implied
from statewright.projects.serverless.rest_apis import RestApi
from statewright.projects.serverless.service import Service, normalized, renamed
from statewright.projects.serverless.variables import Variables
from statewright.projects.sources import Sources, Steps, Template, meant
from statewright.projects.stacks import Setting, read_stack
from statewright.projects.supported import tell_unsupported

_SECTIONS: Final = (
    "app", "build", "configValidationMode", "console", "custom", "deprecationNotificationMode", "disabledDeprecations",
    "frameworkVersion", "functions", "layers", "licenseKey", "org", "outputs", "package", "params", "plugins",
    "provider", "resources", "service", "stages", "state", "stepFunctions", "tenant",
    "unresolvedVariablesNotificationMode", "useDotenv", "variablesResolutionMode",
)  # fmt: skip
DEFAULT_RUNTIME: Final = "nodejs20.x"
"""Source: Serverless Framework guide, `provider.runtime`, version 4."""
_FUNCTION: Final = {
    "description": "Description", "handler": "Handler", "layers": "Layers", "memorySize": "MemorySize",
    "reservedConcurrency": "ReservedConcurrentExecutions", "role": "Role", "runtime": "Runtime", "timeout": "Timeout",
    "fileSystemConfig": "FileSystemConfigs", "kmsKeyArn": "KmsKeyArn", "vpc": "VpcConfig",
}  # fmt: skip
_NETWORK: Final = {"securityGroupIds": "SecurityGroupIds", "subnetIds": "SubnetIds"}
_FUNCTION_OURS: Final = (
    "architecture", "condition", "dependsOn", "destinations", "disableLogs", "environment", "ephemeralStorageSize",
    "events", "image", "maximumEventAge", "maximumRetryAttempts", "name", "onError", "package",
    "provisionedConcurrency", "tags", "tracing", "url",
)  # fmt: skip
_FUNCTION_IGNORED: Final = (
    "awsKmsKeyArn", "iamManagedPolicies", "iamRoleStatements", "iamRoleStatementsInherit", "iamRoleStatementsName",
    "logRetentionInDays", "logs", "module", "runtimeManagement", "snapStart",
    "versionFunction", "build", "concurrency",
)  # fmt: skip
_SHARED: Final = ("architecture", "kmsKeyArn", "layers", "memorySize", "runtime", "timeout", "vpc")
_MACHINE_IGNORED: Final = ("alarms", "iamRoleStatements", "noOutput", "useExactVersion", "inheritGlobalTags")
_MACHINE_OURS: Final = (
    "definition", "dependsOn", "events", "id", "loggingConfig", "name", "notifications", "retain", "role", "tags",
    "tracingConfig", "type",
)  # fmt: skip
_HARMLESS: Final = re.compile(
    r"serverless-(step-functions|pseudo-parameters|offline.*|dotenv.*|prune.*|python-requirements|iam-roles.*|"
    r"deployment-bucket|latest-layer.*|export-env)"
)
_PSEUDO: Final = re.compile(r"[#$]\{(AWS::[A-Za-z]+)\}")


def read(file: Path, account: str, region: str, parameters: Mapping[str, str], stage: str | None, name: str) -> Project:
    """Read a service. Its stack is called `<service>-<stage>` unless it or `name` says otherwise."""
    sources = Sources(file.parent, old_words=False)
    if file.suffix in (".ts", ".js"):
        sources.watch(file)
        sources.error(
            Place(file),
            f"{file.name} is a program, which is not executed here: write serverless.yml, or sls print > it",
        )
        return _nothing(file, name, sources)
    template = sources.template(file)
    if template is None or not isinstance(template.value, dict):
        if template is not None:
            sources.error(template.place(), f"{file.name} must be an object with service and functions")
        return _nothing(file, name, sources)
    variables = Variables(template, sources, stage=stage, account=account, region=region, given=parameters)
    value = variables.resolve({key: part for key, part in template.value.items() if key not in ("params", "stages")})
    service = _service(template, sources, value, variables.stage)
    _make(service)
    identity = Identity(name or service.stack_name, account, region)
    stack = read_stack(
        template, identity, Setting(sources), value=service.template(), origins=service.origins, generated=service.names
    )
    add_implied(stack)
    for id_, patterns in service.patterns.items():
        if id_ in stack.resources:
            stack.resources[id_] = replace(stack.resources[id_], patterns=patterns)
    resources, order = arrange(
        stack.resources, sources, spoilt=stack.spoilt, missing=stack.missing, place_of=stack.place_of_use
    )
    tell_unsupported(resources.values(), sources)
    shown = {**parameters, "stage": service.stage}
    return Project(
        identity.name,
        file.parent,
        "serverless",
        sources.files,
        resources,
        order,
        stack.outputs,
        sources.findings,
        shown,
    )


def _nothing(file: Path, name: str, sources: Sources) -> Project:
    found = sources.findings
    return Project(name or file.parent.name, file.parent, "serverless", sources.files, {}, (), findings=found)


def _service(template: Template, sources: Sources, value: Mapping[str, Json], stage: str) -> Service:
    for section in value:
        if section not in _SECTIONS:
            sources.info(template.place((section,)), f"the section {section} is not read{meant(section, _SECTIONS)}")
    named = value.get("service")
    if isinstance(named, dict):
        named = named.get("name")
    if not isinstance(named, str) or not named:
        sources.warning(template.place(("service",)), "the file names no service; its folder's name is taken")
        named = template.path.parent.name
    provider = value.get("provider")
    if isinstance(provider, str):
        provider = {"name": provider}
    provider = provider if isinstance(provider, dict) else {}
    if provider.get("name", "aws") != "aws":
        sources.error(template.place(("provider",)), f"the provider {provider.get('name')} is not aws")
    for place in ("iam", "iamRoleStatements"):
        if place in provider:
            sources.info(template.place(("provider", place)), "permissions are ignored: nothing is restricted here")
    plugins = value.get("plugins")
    if isinstance(plugins, dict):
        plugins = plugins.get("modules")
    listed = plugins if isinstance(plugins, list) else []
    unknown = [str(found) for found in listed if not _HARMLESS.fullmatch(str(found))]
    if unknown:
        names = ", ".join(unknown)
        sources.info(template.place(("plugins",)), f"plugins are not run, so what they add is missing: {names}")
    return Service(template, sources, value, named, stage, provider)


def _make(service: Service) -> None:
    """Give the service's template everything that its sections stand for."""
    value = service.value
    _resources(service, value.get("resources"))
    rest = RestApi(service)
    functions = _merged_list(service, value.get("functions"), "functions")
    for key in functions:
        service.name(key, f"{normalized(key)}LambdaFunction")
    for key, body in functions.items():
        _function(service, rest, key, body)
    for key, body in _table(service, value.get("layers"), ("layers",)).items():
        _layer(service, key, body)
    steps = value.get("stepFunctions")
    if steps is not None:
        machines = _table(service, steps, ("stepFunctions",))
        for key, body in _merged_list(service, machines.get("stateMachines"), "stepFunctions").items():
            _machine(service, rest, key, body)
        activities = machines.get("activities")
        for index, found in enumerate(activities if isinstance(activities, list) else []):
            if isinstance(found, str):
                at: Steps = ("stepFunctions", "activities", index)
                service.add(
                    f"{normalized(found)}StepFunctionsActivity", "AWS::StepFunctions::Activity", {"Name": found}, at
                )
    rest.finish()
    _extend(service)


def _resources(service: Service, found: Json) -> None:
    """The section `resources`: a template, or a list of them."""
    for part in found if isinstance(found, list) else [found]:
        if part is None:
            continue
        if not isinstance(part, dict):
            service.sources.error(service.place(("resources",)), "resources must be an object with Resources")
            continue
        for name, section in part.items():
            if name == "extensions" and isinstance(section, dict):
                service.extensions.update(section)
            elif isinstance(section, dict) and name not in ("Description", "AWSTemplateFormatVersion"):
                service.sections.setdefault(name, {}).update(section)
                for id_ in section if name == "Resources" else ():
                    service.origins[id_] = ("resources", "Resources", id_)


def _extend(service: Service) -> None:
    resources = service.sections.get("Resources", {})
    for id_, body in service.extensions.items():
        if id_ in resources and isinstance(body, dict):
            resources[id_] = merged(resources[id_], body)
        else:
            place = service.place(("resources", "extensions", id_))
            service.sources.error(place, f"there is no {id_} to extend{meant(id_, resources)}")


def _function(service: Service, rest: RestApi, key: str, body: Json) -> None:
    at: Steps = ("functions", key)
    if not isinstance(body, dict):
        service.sources.error(service.place(at), f"the function {key} must be an object with a handler")
        return
    known = (*_FUNCTION, *_FUNCTION_OURS, *_FUNCTION_IGNORED)
    for name in body:
        if name not in known:
            service.sources.warning(service.place((*at, name)), f"a function has no {name}{meant(name, known)}")
    provider = service.provider
    given: JsonObject = {**{name: provider[name] for name in _SHARED if name in provider}, **body}
    properties: dict[str, Json] = {"FunctionName": body.get("name") or f"{service.name_}-{service.stage}-{key}"}
    properties.update(renamed(given, _FUNCTION))
    properties.setdefault("MemorySize", 1024)
    properties.setdefault("Timeout", 6)
    variables = {**_part(provider, "environment"), **_part(body, "environment")}
    if variables:
        kept = {name: value for name, value in variables.items() if value is not None}
        properties["Environment"] = {"Variables": kept}
    tags = {**_part(provider, "tags"), **_part(body, "tags")}
    if tags:
        properties["Tags"] = [{"Key": name, "Value": value} for name, value in tags.items()]
    if isinstance(properties.get("VpcConfig"), dict):
        properties["VpcConfig"] = renamed(properties["VpcConfig"], _NETWORK)
    if isinstance(properties.get("Role"), str) and not str(properties["Role"]).startswith("arn:"):
        properties["Role"] = {"Fn::GetAtt": [properties["Role"], "Arn"]}
    if given.get("architecture"):
        properties["Architectures"] = [given["architecture"]]
    if body.get("ephemeralStorageSize"):
        properties["EphemeralStorage"] = {"Size": body["ephemeralStorageSize"]}
    if body.get("onError"):
        properties["DeadLetterConfig"] = {"TargetArn": body["onError"]}
    if body.get("image"):
        properties.update(PackageType="Image", Code={"ImageUri": body["image"]})
    else:
        properties["Code"] = _package(service, body)
        service.patterns[f"{normalized(key)}LambdaFunction"] = _patterns(service, body)
        if "handler" not in body:
            service.sources.error(service.place(at), f"the function {key} has no handler")
        if "Runtime" not in properties:
            properties["Runtime"] = DEFAULT_RUNTIME
            service.sources.info(service.place(at), f"the function {key} has no runtime, so it gets {DEFAULT_RUNTIME}")
    id_ = f"{normalized(key)}LambdaFunction"
    service.add(
        id_, "AWS::Lambda::Function", properties, at, needs=body.get("dependsOn"), condition=body.get("condition")
    )
    function_events(service, rest, key, id_, body, at)
    invoke_config(service, key, id_, body, at)


def _package(service: Service, body: Mapping[str, Json]) -> Json:
    """The location of a function's code: a built package, or the folder of the service."""
    for found in (body.get("package"), service.value.get("package")):
        artifact = found.get("artifact") if isinstance(found, dict) else None
        if isinstance(artifact, str):
            return artifact
    return "."


def _patterns(service: Service, body: Mapping[str, Json]) -> tuple[str, ...]:
    """Which files below the service's folder are a function's code; the service's own file never is."""
    patterns = [f"!{service.file}"]
    for found in (service.value.get("package"), body.get("package")):
        for member, mark in (("exclude", "!"), ("include", ""), ("patterns", "")):
            listed = found.get(member) if isinstance(found, dict) else None
            patterns += [mark + part for part in listed if isinstance(part, str)] if isinstance(listed, list) else []
    return tuple(patterns)


def _layer(service: Service, key: str, body: Json) -> None:
    at: Steps = ("layers", key)
    if not isinstance(body, dict):
        service.sources.error(service.place(at), f"the layer {key} must be an object with a path")
        return
    package = body.get("package")
    artifact = package.get("artifact") if isinstance(package, dict) else None
    properties: dict[str, Json] = {
        "LayerName": body.get("name") or f"{service.name_}-{service.stage}-{key}",
        "Content": artifact or body.get("path") or key,
    }
    properties.update(renamed(body, {"description": "Description", "compatibleRuntimes": "CompatibleRuntimes"}))
    service.add(f"{normalized(key)}LambdaLayer", "AWS::Lambda::LayerVersion", properties, at)


def _machine(service: Service, rest: RestApi, key: str, body: Json) -> None:
    at: Steps = ("stepFunctions", "stateMachines", key)
    if not isinstance(body, dict):
        service.sources.error(service.place(at), f"the state machine {key} must be an object with a definition")
        return
    known = (*_MACHINE_OURS, *_MACHINE_IGNORED)
    for name in body:
        if name not in known:
            service.sources.warning(service.place((*at, name)), f"a state machine has no {name}{meant(name, known)}")
    properties: dict[str, Json] = {}
    named = body.get("name")
    if named is not None:
        properties["StateMachineName"] = named
    definition = body.get("definition")
    if isinstance(definition, dict):
        properties["Definition"] = _with_pseudo(definition)
    elif isinstance(definition, str):
        properties["DefinitionString"] = _with_pseudo(definition)
    if body.get("type"):
        properties["StateMachineType"] = body["type"]
    logging = body.get("loggingConfig")
    if isinstance(logging, dict):
        listed = logging.get("destinations")
        properties["LoggingConfiguration"] = {
            "Level": logging.get("level", "OFF"),
            "IncludeExecutionData": logging.get("includeExecutionData", False),
            "Destinations": [
                {"CloudWatchLogsLogGroup": {"LogGroupArn": arn}} for arn in (listed if isinstance(listed, list) else [])
            ],
        }
    if isinstance(body.get("tracingConfig"), dict):
        properties["TracingConfiguration"] = {"Enabled": body["tracingConfig"].get("enabled", False)}
    shared = _part(service.provider, "tags") if body.get("inheritGlobalTags") is not False else {}
    tags = {**shared, **_part(body, "tags")}
    if tags:
        properties["Tags"] = [{"Key": name, "Value": value} for name, value in tags.items()]
    role = body.get("role")
    if role is not None:
        is_arn = not isinstance(role, str) or role.startswith("arn:")
        properties["RoleArn"] = role if is_arn else {"Fn::GetAtt": [role, "Arn"]}
    for name, why in (
        ("alarms", "alarms are created of AWS::CloudWatch::Alarm resources only"),
        ("notifications", "changes of status are not published"),
    ):
        if name in body:
            service.sources.warning(service.place((*at, name)), f"{name} of {key}: {why}")
    id_ = _machine_id(key, body)
    service.name(key, id_)
    service.add(
        id_,
        "AWS::StepFunctions::StateMachine",
        properties,
        at,
        needs=body.get("dependsOn"),
        retain=bool(body.get("retain")),
    )
    machine_events(service, rest, key, id_, body, at)


def _machine_id(key: str, body: Mapping[str, Json]) -> str:
    if isinstance(body.get("id"), str) and body["id"]:
        return str(body["id"])
    if isinstance(body.get("name"), str) and body["name"]:
        return normalized(body["name"])
    return f"{normalized(key)}StepFunctionsStateMachine"


def _with_pseudo(value: Json) -> Json:
    """A definition in which texts with pseudo parameters have become `Fn::Sub`, as the plugin has it."""
    if isinstance(value, str):
        if not _PSEUDO.search(value):
            return value
        # Other ${...} belong to the definition.
        kept = re.sub(r"\$\{(?!AWS::)", "${!", value)
        return {"Fn::Sub": _PSEUDO.sub(r"${\1}", kept)}
    if isinstance(value, list):
        return [_with_pseudo(part) for part in value]
    if isinstance(value, dict):
        if len(value) == 1 and next(iter(value)).startswith("Fn::"):
            return value
        return {name: _with_pseudo(part) for name, part in value.items()}
    return value


def _part(body: Mapping[str, Json], name: str) -> dict[str, Json]:
    found = body.get(name)
    return found if isinstance(found, dict) else {}


def _table(service: Service, found: Json, at: Steps) -> Mapping[str, Json]:
    if found is None:
        return {}
    if not isinstance(found, dict):
        service.sources.error(service.place(at), f"{at[-1]} must be an object")
        return {}
    return found


def _merged_list(service: Service, found: Json, name: str) -> Mapping[str, Json]:
    """A section that may be a list of objects, of which each adds some."""
    if isinstance(found, list):
        parts: Iterable[Json] = [part for part in found if isinstance(part, dict)]
        return {key: body for part in parts for key, body in part.items()}
    return _table(service, found, (name,))
