"""Operations of STS: the caller's identity, and temporary credentials.

Policies are stored but never enforced, so any role can be assumed, even one that does not exist.

Source: STS API reference.
"""

from __future__ import annotations

from typing import Final

from statewright.api import shapes
from statewright.api.operations import App, Call, operation
from statewright.errors import ApiError
from statewright.payload import Json, JsonObject
from statewright.records.assumed_roles import assumed_role
from statewright.records.sessions import Session

HOUR_SECONDS: Final = 3600
_LONGEST_SESSION_SECONDS: Final = 12 * HOUR_SECONDS


def refusal(problems: shapes.Problems) -> ApiError:
    """The error of services of the query protocol for requests that violate the service model."""
    return ApiError("ValidationError", shapes.problem_text(problems))


shapes.refuse_with("sts", refusal)


@operation("sts", "GetCallerIdentity")
async def get_caller_identity(app: App, call: Call, _request: Json) -> Json:
    """Return the caller: the session of temporary credentials, else the account."""
    session = app.services.sessions.session_of(call.headers, call.query)
    if session is not None:
        return {"UserId": session.user_id, "Account": app.config.account, "Arn": session.arn}
    return {"UserId": app.config.account, "Account": app.config.account, "Arn": _root(app)}


@operation("sts", "AssumeRole")
async def assume_role(app: App, call: Call, request: Json) -> Json:
    """Issue credentials of a role."""
    chained = app.services.sessions.session_of(call.headers, call.query)
    seconds = request.get("DurationSeconds", HOUR_SECONDS)
    if chained is not None and ":assumed-role/" in chained.arn and seconds > HOUR_SECONDS:
        raise ApiError(
            "ValidationError",
            "The requested DurationSeconds exceeds the 1 hour session limit for roles assumed by role chaining.",
        )
    answer = await _assumed(app, call, request, seconds)
    if "SourceIdentity" in request:
        answer["SourceIdentity"] = request["SourceIdentity"]
    return answer


@operation("sts", "AssumeRoleWithWebIdentity")
async def assume_role_with_web_identity(app: App, call: Call, request: Json) -> Json:
    """Issue credentials of a role for a web identity token, which is not verified.

    The call is unsigned, so a server with credentials refuses it before it reaches this operation.
    """
    answer = await _assumed(app, call, request, request.get("DurationSeconds", HOUR_SECONDS))
    return {**answer, "Provider": request.get("ProviderId"), "SubjectFromWebIdentityToken": request["RoleSessionName"]}


@operation("sts", "GetSessionToken")
async def get_session_token(app: App, call: Call, request: Json) -> Json:
    """Issue temporary credentials of the caller."""
    if app.services.sessions.session_of(call.headers, call.query) is not None:
        raise ApiError("AccessDenied", "Cannot call GetSessionToken with session credentials", status=403)
    seconds = request.get("DurationSeconds", _LONGEST_SESSION_SECONDS)
    issued = app.services.sessions.issue(_root(app), app.config.account, seconds, call.request_id, app.account)
    return {"Credentials": _shown(issued)}


@operation("sts", "GetFederationToken")
async def get_federation_token(app: App, call: Call, request: Json) -> Json:
    """Issue temporary credentials for a user named by the caller."""
    account, name = app.config.account, request["Name"]
    arn = f"arn:aws:sts::{account}:federated-user/{name}"
    seconds = request.get("DurationSeconds", _LONGEST_SESSION_SECONDS)
    issued = app.services.sessions.issue(arn, f"{account}:{name}", seconds, call.request_id, app.account)
    return {
        "Credentials": _shown(issued),
        "FederatedUser": {"FederatedUserId": f"{account}:{name}", "Arn": arn},
        "PackedPolicySize": 0,
    }


@operation("sts", "GetAccessKeyInfo")
async def get_access_key_info(app: App, _call: Call, request: Json) -> Json:
    """Return the account of an access key: the caller's for one that is not in the settings."""
    return {"Account": app.config.accounts.get(request["AccessKeyId"], app.config.account)}


@operation("sts", "DecodeAuthorizationMessage")
async def decode_authorization_message(_app: App, _call: Call, _request: Json) -> Json:
    """Refuse: Statewright forbids nothing, so it issues no messages to decode."""
    raise ApiError("InvalidAuthorizationMessageException", "Statewright forbids nothing: there is no such message.")


async def _assumed(app: App, call: Call, request: Json, seconds: int) -> JsonObject:
    if app.config.is_elsewhere(request["RoleArn"]):
        raise _not_authorised(app, call, request["RoleArn"])
    user = await assumed_role(app.services.identities, request["RoleArn"], request["RoleSessionName"])
    if user is None:
        raise ApiError("ValidationError", f"{request['RoleArn']} is invalid")
    longest = user.role.longest_seconds if user.role is not None else _LONGEST_SESSION_SECONDS
    if seconds > longest:
        raise ApiError(
            "ValidationError", "The requested DurationSeconds exceeds the MaxSessionDuration set for this role."
        )
    issued = app.services.sessions.issue(user.arn, user.user_id, seconds, call.request_id, app.account)
    shown = {"AssumedRoleId": user.user_id, "Arn": user.arn}
    return {"Credentials": _shown(issued), "AssumedRoleUser": shown, "PackedPolicySize": 0}


def _not_authorised(app: App, call: Call, role: str) -> ApiError:
    """Trust policies are not evaluated, so no role may be assumed from another account."""
    session = app.services.sessions.session_of(call.headers, call.query)
    caller = session.arn if session is not None else _root(app)
    said = f"User: {caller} is not authorized to perform: sts:AssumeRole on resource: {role}"
    return ApiError("AccessDenied", said, status=403)


def _shown(session: Session) -> JsonObject:
    return {
        "AccessKeyId": session.access_key, "SecretAccessKey": session.secret,
        "SessionToken": session.token, "Expiration": session.expires_ms,
    }  # fmt: skip


def _root(app: App) -> str:
    return f"arn:aws:iam::{app.config.account}:root"
