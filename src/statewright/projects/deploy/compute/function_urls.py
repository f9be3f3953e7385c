"""URLs of functions, and the permissions that open them.

Owns which permissions are made: those of URLs, which are enforced; all others have no effect here and are left out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Final

from statewright.payload import Json, JsonObject
from statewright.projects.deploy.kinds import TO_COME, Kind, Known, LeftOut, Site, Wanted, holds

SERVICE: Final = "lambda"
PERMISSION: Final = "AWS::Lambda::Permission"
_ACTION: Final = "lambda:InvokeFunctionUrl"
_WITHOUT_EFFECT: Final = "permissions are not enforced here, except those of function URLs: every call is allowed"
_STATEMENT: Final = (
    "Action", "Principal", "FunctionUrlAuthType", "InvokedViaFunctionUrl", "SourceArn", "SourceAccount",
    "PrincipalOrgID", "EventSourceToken",
)  # fmt: skip


def opens_url(properties: Json) -> bool:
    """True if a permission is about the URL of a function."""
    if not isinstance(properties, Mapping):
        return False
    return properties.get("Action") == _ACTION or properties.get("FunctionUrlAuthType") is not None


def url(site: Site, wanted: Wanted) -> Mapping[str, Json]:
    """Give a function or an alias a URL, or change it: its address stays."""
    function = wanted.text("TargetFunctionArn")
    where = {"FunctionName": function, **wanted.given("Qualifier")}
    given = wanted.given("AuthType", "Cors", "InvokeMode")
    shown = site.found(SERVICE, "GetFunctionUrlConfig", **where)
    if shown is None:
        shown = site.create(SERVICE, "CreateFunctionUrlConfig", **where, **given)
    elif not (holds(shown, given) and (shown.get("Cors") is None or "Cors" in given)):
        shown = site.change(SERVICE, "UpdateFunctionUrlConfig", **where, **{"Cors": {}, **given}) or shown
    address, arn = shown.get("FunctionUrl", TO_COME), shown.get("FunctionArn", TO_COME)
    if address != TO_COME:
        site.note(f"its address is {address}")
    before = wanted.before
    if before is not None and TO_COME not in (arn, before.ref) and before.ref != arn:
        # The URL of another function or alias is another one.
        _delete_url(site, before)
        site.replaced = True
    if given.get("InvokeMode") == "RESPONSE_STREAM":
        site.note("InvokeMode changes nothing here: answers are buffered")
    return {"Ref": arn, "FunctionArn": arn, "FunctionUrl": address, "Qualifier": wanted.text("Qualifier")}


def permission(site: Site, wanted: Wanted) -> Mapping[str, Json]:
    """Add a statement to the policy of a function's URL, in place of the one that this resource added before."""
    if not opens_url(wanted.properties):
        raise LeftOut(_WITHOUT_EFFECT)
    function, sid = wanted.text("FunctionName"), re.sub(r"[^A-Za-z0-9_-]", "-", wanted.name)
    statement = wanted.given(*_STATEMENT)
    made: JsonObject = {"Id": sid, "FunctionName": function, "Statement": statement}
    before, is_there = wanted.before, _is_there(site, function, sid)
    if before is not None and is_there and all(before.attributes.get(name) == one for name, one in made.items()):
        return {"Ref": sid, **made}
    if before is not None and before.attributes.get("Statement") is not None:
        _delete_permission(site, before)
        is_there = is_there and before.attributes.get("FunctionName") != function
    if is_there:
        site.take_away(SERVICE, "RemovePermission", FunctionName=function, StatementId=sid)
    site.create(SERVICE, "AddPermission", FunctionName=function, StatementId=sid, **statement)
    return {"Ref": sid, **made}


def _is_there(site: Site, function: str, sid: str) -> bool:
    shown = site.found(SERVICE, "GetPolicy", FunctionName=function)
    return shown is not None and any(one["Sid"] == sid for one in json.loads(shown["Policy"])["Statement"])


def _delete_url(site: Site, known: Known) -> None:
    qualifier = known.attributes.get("Qualifier") or None
    function = known.ref.removesuffix(f":{qualifier}") if qualifier else known.ref
    site.take_away(SERVICE, "DeleteFunctionUrlConfig", FunctionName=function, Qualifier=qualifier)


def _delete_permission(site: Site, known: Known) -> None:
    function, sid = known.attributes.get("FunctionName"), known.ref
    site.take_away(SERVICE, "RemovePermission", FunctionName=function, StatementId=sid)


KINDS: Final = {
    "AWS::Lambda::Url": Kind("function URL", url, _delete_url),
    PERMISSION: Kind("permission", permission, _delete_permission, longest=100),
}
