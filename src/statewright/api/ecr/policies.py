"""Operations on the policies of repositories: who may use one, and which images expire. Stored, never enforced."""

from __future__ import annotations

from statewright.api.ecr.repositories import named
from statewright.api.operations import App, Call, operation
from statewright.errors import ApiError
from statewright.payload import Json, JsonTextError, parse_json


def _check_document(text: str, member: str) -> None:
    """Raises: ApiError (`InvalidParameterException`) unless the text is a JSON object."""
    try:
        document = parse_json(text)
    except JsonTextError:
        document = None
    if not isinstance(document, dict):
        raise ApiError(
            "InvalidParameterException",
            f"Invalid parameter at '{member}' failed to satisfy constraint: 'Invalid JSON'",
        )


@operation("ecr", "SetRepositoryPolicy")
async def set_repository_policy(app: App, _call: Call, request: Json) -> Json:
    """Store a repository's policy."""
    _check_document(request["policyText"], "PolicyText")
    changed = await app.services.image_repositories.set(request["repositoryName"], policy=request["policyText"])
    return {**named(app, changed), "policyText": changed.policy}


@operation("ecr", "GetRepositoryPolicy")
async def get_repository_policy(app: App, _call: Call, request: Json) -> Json:
    """Return a repository's policy. Raises: ApiError (`RepositoryPolicyNotFoundException`)."""
    found = await app.services.image_repositories.get(request["repositoryName"])
    if found.policy is None:
        raise _without(app, found.name, "RepositoryPolicyNotFoundException", "Repository policy")
    return {**named(app, found), "policyText": found.policy}


@operation("ecr", "DeleteRepositoryPolicy")
async def delete_repository_policy(app: App, call: Call, request: Json) -> Json:
    """Delete a repository's policy, and return it. Raises: ApiError (`RepositoryPolicyNotFoundException`)."""
    answer = await get_repository_policy(app, call, request)
    await app.services.image_repositories.set(request["repositoryName"], policy=None)
    return answer


@operation("ecr", "PutLifecyclePolicy")
async def put_lifecycle_policy(app: App, _call: Call, request: Json) -> Json:
    """Store which images of a repository expire."""
    _check_document(request["lifecyclePolicyText"], "LifecyclePolicyText")
    text = request["lifecyclePolicyText"]
    changed = await app.services.image_repositories.set(request["repositoryName"], lifecycle=text)
    return {**named(app, changed), "lifecyclePolicyText": text}


@operation("ecr", "GetLifecyclePolicy")
async def get_lifecycle_policy(app: App, _call: Call, request: Json) -> Json:
    """Return which images of a repository expire. Raises: ApiError (`LifecyclePolicyNotFoundException`)."""
    found = await app.services.image_repositories.get(request["repositoryName"])
    if found.lifecycle is None:
        raise _without(app, found.name, "LifecyclePolicyNotFoundException", "Lifecycle policy")
    return {**named(app, found), "lifecyclePolicyText": found.lifecycle}


@operation("ecr", "DeleteLifecyclePolicy")
async def delete_lifecycle_policy(app: App, call: Call, request: Json) -> Json:
    """Delete a repository's lifecycle, and return it. Raises: ApiError (`LifecyclePolicyNotFoundException`)."""
    answer = await get_lifecycle_policy(app, call, request)
    await app.services.image_repositories.set(request["repositoryName"], lifecycle=None)
    return answer


def _without(app: App, name: str, code: str, what: str) -> ApiError:
    return ApiError(
        code,
        f"{what} does not exist for the repository with name '{name}' in the registry with id '{app.config.account}'",
    )
