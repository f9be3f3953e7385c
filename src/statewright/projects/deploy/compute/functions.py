"""Functions and their layers.

Owns what becomes of a function's code and configuration. Versions, aliases and mappings are `function_parts.py`'s,
packages `packages.py`'s.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from statewright.payload import Json, JsonMapping, JsonObject
from statewright.projects.deploy.calls import CallRefused
from statewright.projects.deploy.compute.packages import inline_package, package_of, sha256_of
from statewright.projects.deploy.kinds import (
    TO_COME,
    CannotApply,
    Kind,
    Known,
    LeftOut,
    Site,
    Wanted,
    holds,
    text_of,
    typed,
)
from statewright.projects.functions import RUNTIME, pack

SERVICE: Final = "lambda"
NOT_RUN: Final = ("java", "dotnet", "go1", "ruby")
"""How the names of runtimes begin of which functions are left out."""
_DEFAULTS: Final[dict[str, Json]] = {
    "Timeout": 3, "MemorySize": 128, "Description": "", "Environment": {"Variables": {}}, "Layers": [],
}  # fmt: skip
"""Source: API reference, CreateFunction."""
_PLAIN: Final[dict[str, Json]] = {"Timeout": 60, "MemorySize": 512}
"""The prefix of the names of a folder's functions."""
_KEPT: Final = (
    "DeadLetterConfig", "TracingConfig", "Architectures", "EphemeralStorage", "VpcConfig", "LoggingConfig", "SnapStart",
)  # fmt: skip
_NUMBERS: Final = ("Size", "Timeout", "MemorySize")


def function(site: Site, wanted: Wanted) -> Mapping[str, Json]:
    """Create a function, give it new code, change its configuration."""
    if wanted.text("PackageType", "Zip") != "Zip" or wanted.table("Code").get("ImageUri"):
        raise LeftOut("functions cannot run from container images here: give it a folder of code")
    if wanted.text("Runtime").startswith(NOT_RUN):
        raise LeftOut(f"the runtime {wanted.text('Runtime')} cannot run here")
    code, sha256, handler = _code(site, wanted)
    shown = site.found(SERVICE, "GetFunctionConfiguration", FunctionName=wanted.name)
    # A folder's function has no settings but those that it names: what others have set stays.
    is_plain = handler is not None
    settings = _given(site, wanted, handler)
    if shown is None or not is_plain:
        defaults = _PLAIN if is_plain else _DEFAULTS
        settings = {**defaults, "Role": f"arn:aws:iam::{site.account}:role/functions", **settings}
    if shown is None:
        site.create(
            SERVICE, "CreateFunction", FunctionName=wanted.name, Code=code, Tags=wanted.tags() or None, **settings
        )
        _concurrency(site, wanted)
        return {}
    if shown.get("CodeSha256") != sha256:
        site.change(SERVICE, "UpdateFunctionCode", FunctionName=wanted.name, **code)
    if _differs(shown, settings):
        site.change(SERVICE, "UpdateFunctionConfiguration", FunctionName=wanted.name, **settings)
    _concurrency(site, wanted)
    _tag(site, wanted)
    return {}


def _code(site: Site, wanted: Wanted) -> tuple[JsonObject, str, str | None]:
    """`Code` of a request, the hash that the API will show, and the handler where the code itself says it."""
    path = wanted.resource.code
    given = wanted.table("Code")
    if path is not None:
        if wanted.properties.get("Handler") is None:
            # A plain folder: which module and which handler follows from the files.
            found = site.function_source(wanted.name)
            if found is None:
                raise CannotApply(f"{path} has no handler")
            package = pack(found)
            return {"ZipFile": package.zip}, package.sha256, package.handler
        made = package_of(path, wanted.resource.patterns)
        return {"ZipFile": made}, sha256_of(made), None
    if isinstance(given.get("ZipFile"), str):
        made = inline_package(given["ZipFile"], wanted.text("Runtime"))
        return {"ZipFile": made}, sha256_of(made), None
    if given.get("S3Bucket") and given.get("S3Key"):
        request = {"Bucket": given["S3Bucket"], "Key": given["S3Key"]}
        if given.get("S3ObjectVersion"):
            request["VersionId"] = given["S3ObjectVersion"]
        try:
            body = site.asked("s3", "GetObject", **request)["Body"]
        except CallRefused as refused:
            raise CannotApply(
                f"its code s3://{given['S3Bucket']}/{given['S3Key']} cannot be read: {refused.code}"
            ) from None
        return {"ZipFile": body}, sha256_of(body), None
    raise CannotApply("it has no code that is a local folder, a text or an object in a bucket")


def _given(site: Site, wanted: Wanted, handler: str | None) -> JsonObject:
    given = typed(wanted.given("Runtime", "Handler", *_DEFAULTS, *_KEPT), numbers=_NUMBERS)
    if handler is not None:
        given["Handler"] = handler
        given.setdefault("Runtime", RUNTIME)
    variables = wanted.table("Environment").get("Variables")
    if variables is not None:
        given["Environment"] = {"Variables": {key: text_of(value) for key, value in variables.items()}}
    if wanted.properties.get("Layers"):
        given["Layers"] = [text_of(one) for one in wanted.items("Layers")]
    if wanted.properties.get("Role"):
        given["Role"] = wanted.text("Role")
    if wanted.properties.get("KmsKeyArn"):
        given["KMSKeyArn"] = wanted.text("KmsKeyArn")
    if given.get("VpcConfig"):
        site.ignored(wanted, "VpcConfig")
    site.ignored(wanted, "FileSystemConfigs", "CodeSigningConfigArn", "RuntimeManagementConfig", "ImageConfig")
    made: JsonObject = given
    return made


def _differs(shown: JsonMapping, settings: JsonMapping) -> bool:
    variables = (shown.get("Environment") or {}).get("Variables") or {}
    if "Environment" in settings and variables != settings["Environment"]["Variables"]:
        return True
    layers = [one["Arn"] for one in shown.get("Layers") or ()]
    if "Layers" in settings and layers != settings["Layers"]:
        return True
    rest = {key: value for key, value in settings.items() if key not in ("Environment", "Layers")}
    return not holds(shown, rest)


def _concurrency(site: Site, wanted: Wanted) -> None:
    reserved = wanted.number("ReservedConcurrentExecutions")
    shown = None
    if not site.created:
        answer = site.found(SERVICE, "GetFunctionConcurrency", FunctionName=wanted.name) or {}
        shown = answer.get("ReservedConcurrentExecutions")
    if reserved == shown or (reserved is None and wanted.properties.get("Handler") is None):
        return
    if reserved is None:
        site.change(SERVICE, "DeleteFunctionConcurrency", FunctionName=wanted.name)
    else:
        site.change(SERVICE, "PutFunctionConcurrency", FunctionName=wanted.name, ReservedConcurrentExecutions=reserved)


def _tag(site: Site, wanted: Wanted) -> None:
    tags = wanted.tags()
    if not tags:
        return
    there = site.asked(SERVICE, "ListTags", Resource=wanted.arn).get("Tags") or {}
    missing = {key: value for key, value in tags.items() if there.get(key) != value}
    if missing:
        site.change(SERVICE, "TagResource", Resource=wanted.arn, Tags=missing)


def layer(site: Site, wanted: Wanted) -> Mapping[str, Json]:
    """Publish a version of a layer, unless its newest one has the same content."""
    path = wanted.resource.code
    given = wanted.table("Content")
    if path is not None:
        content: JsonObject = {"ZipFile": package_of(path)}
    elif given.get("S3Bucket"):
        content = {"ZipFile": site.asked("s3", "GetObject", Bucket=given["S3Bucket"], Key=given["S3Key"])["Body"]}
    else:
        raise CannotApply("it has no content that is a local folder or an object in a bucket")
    shown = site.found(SERVICE, "ListLayerVersions", LayerName=wanted.name) or {}
    for newest in shown.get("LayerVersions", ())[:1]:
        found = site.asked(SERVICE, "GetLayerVersion", LayerName=wanted.name, VersionNumber=int(newest["Version"]))
        arn = found["LayerVersionArn"]
        if found["Content"]["CodeSha256"] == sha256_of(content["ZipFile"]):
            return {"Ref": arn, "LayerVersionArn": arn}
        site.replaced = True
    made = site.create(
        SERVICE, "PublishLayerVersion", LayerName=wanted.name, Content=content,
        **wanted.given("Description", "CompatibleRuntimes", "CompatibleArchitectures", "LicenseInfo"),
    )  # fmt: skip
    arn = made.get("LayerVersionArn", TO_COME)
    return {"Ref": arn, "LayerVersionArn": arn}


def _delete_function(site: Site, known: Known) -> None:
    site.change(SERVICE, "DeleteFunction", FunctionName=known.ref)


def _delete_layer(site: Site, known: Known) -> None:
    name, number = known.ref.split(":")[6:8]
    site.change(SERVICE, "DeleteLayerVersion", LayerName=name, VersionNumber=int(number))


KINDS: Final = {
    "AWS::Lambda::Function": Kind(
        "function", function, _delete_function, "FunctionName", 64, "lambda:{region}:{account}:function:{name}"
    ),
    "AWS::Lambda::LayerVersion": Kind(
        "layer", layer, _delete_layer, "LayerName", 64, "lambda:{region}:{account}:layer:{name}", "arn"
    ),
}
