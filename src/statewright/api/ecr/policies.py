"""Operations on the policies of repositories: who may use one, and which images expire. Stored, never enforced."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from statewright.api.ecr.repositories import named
from statewright.api.operations import App, Call, operation
from statewright.errors import ApiError
from statewright.payload import Json, JsonTextError, parse_json


@dataclass(frozen=True, slots=True)
class _Subject:
    """A kind of policy: its name in operations, the verb that stores it, its member, and the field of the record."""

    name: str
    verb: str
    member: str
    field: str


_SUBJECTS: Final = (
    _Subject("RepositoryPolicy", "Set", "policyText", "policy"),
    _Subject("LifecyclePolicy", "Put", "lifecyclePolicyText", "lifecycle"),
)


def _register(subject: _Subject) -> None:
    async def put(app: App, _call: Call, request: Json) -> Json:
        text = request[subject.member]
        _check_document(text, subject.member)
        changed = await app.services.image_repositories.set(request["repositoryName"], **{subject.field: text})
        return {**named(app, changed), subject.member: text}

    async def get(app: App, _call: Call, request: Json) -> Json:
        found = await app.services.image_repositories.get(request["repositoryName"])
        text = getattr(found, subject.field)
        if text is None:
            words = subject.name.replace("Policy", " policy")
            raise ApiError(
                f"{subject.name}NotFoundException",
                f"{words} does not exist for the repository with name '{found.name}' in the registry with id "
                f"'{app.config.account}'",
            )
        return {**named(app, found), subject.member: text}

    async def delete(app: App, call: Call, request: Json) -> Json:
        answer = await get(app, call, request)
        await app.services.image_repositories.set(request["repositoryName"], **{subject.field: None})
        return answer

    for verb, function in ((subject.verb, put), ("Get", get), ("Delete", delete)):
        operation("ecr", f"{verb}{subject.name}")(function)


def _check_document(text: str, member: str) -> None:
    """Raises: ApiError (`InvalidParameterException`) unless the text is a JSON object."""
    try:
        document = parse_json(text)
    except JsonTextError:
        document = None
    if not isinstance(document, dict):
        raise ApiError(
            "InvalidParameterException",
            f"Invalid parameter at '{member[:1].upper()}{member[1:]}' failed to satisfy constraint: 'Invalid JSON'",
        )


for _subject in _SUBJECTS:
    _register(_subject)
