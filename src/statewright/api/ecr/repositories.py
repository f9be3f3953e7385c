"""Operations on repositories, their settings and tags, and lists of images, which are empty."""

from __future__ import annotations

from typing import Final

from statewright.api import shapes
from statewright.api.operations import App, Call, operation
from statewright.errors import ApiError
from statewright.pages import PageTokens
from statewright.payload import Json, JsonObject
from statewright.records.entries import ImageRepository
from statewright.stores.entries import Place
from statewright.tags import tag_list, tags_by_key

TOKENS: Final = PageTokens[Place](
    "ecr",
    lambda _: ApiError(
        "InvalidParameterException",
        "Invalid parameter at 'nextToken' failed to satisfy constraint: 'Invalid token'",
    ),
)
LISTED: Final = 100
_DEFAULTS: Final[JsonObject] = {
    "imageTagMutability": "MUTABLE",
    "imageScanningConfiguration": {"scanOnPush": False},
    "encryptionConfiguration": {"encryptionType": "AES256"},
}


def refusal(problems: shapes.Problems) -> ApiError:
    """The error for requests that violate the service model."""
    return ApiError("InvalidParameterException", shapes.problem_text(problems))


shapes.refuse_with("ecr", refusal)


def shown(app: App, of: ImageRepository) -> JsonObject:
    """A repository as answers show it."""
    account, region = app.config.account, app.config.region
    return {
        "repositoryArn": app.services.image_repositories.arn(of.name),
        "registryId": account,
        "repositoryName": of.name,
        "repositoryUri": f"{account}.dkr.ecr.{region}.amazonaws.com/{of.name}",
        "createdAt": of.created_ms,
        **_DEFAULTS,
        **of.settings,
    }


def named(app: App, of: ImageRepository) -> JsonObject:
    """The members with which most answers name a repository."""
    return {"registryId": app.config.account, "repositoryName": of.name}


@operation("ecr", "CreateRepository")
async def create_repository(app: App, _call: Call, request: Json) -> Json:
    """Create a repository."""
    settings = {
        member: request[member] for member in (*_DEFAULTS, "imageTagMutabilityExclusionFilters") if member in request
    }
    made = await app.services.image_repositories.create(
        request["repositoryName"], settings, tags_by_key(request.get("tags"))
    )
    return {"repository": shown(app, made)}


@operation("ecr", "DescribeRepositories")
async def describe_repositories(app: App, _call: Call, request: Json) -> Json:
    """Describe the named repositories, or all, page by page."""
    repositories = app.services.image_repositories
    if request.get("repositoryNames"):
        return {"repositories": [shown(app, await repositories.get(name)) for name in request["repositoryNames"]]}
    found, place = await repositories.page(TOKENS.read(request.get("nextToken")), request.get("maxResults", LISTED))
    return {"repositories": [shown(app, one) for one in found], "nextToken": TOKENS.write(place)}


@operation("ecr", "DeleteRepository")
async def delete_repository(app: App, _call: Call, request: Json) -> Json:
    """Delete a repository; it has no images that could keep it."""
    return {"repository": shown(app, await app.services.image_repositories.delete(request["repositoryName"]))}


@operation("ecr", "PutImageTagMutability")
async def put_image_tag_mutability(app: App, _call: Call, request: Json) -> Json:
    """Store whether tags of images may move."""
    settings = {
        "imageTagMutability": request["imageTagMutability"],
        "imageTagMutabilityExclusionFilters": request.get("imageTagMutabilityExclusionFilters"),
    }
    changed = await app.services.image_repositories.set(request["repositoryName"], settings=settings)
    return {**named(app, changed), **settings}


@operation("ecr", "PutImageScanningConfiguration")
async def put_image_scanning_configuration(app: App, _call: Call, request: Json) -> Json:
    """Store whether images are scanned when they are pushed."""
    settings = {"imageScanningConfiguration": {"scanOnPush": False, **request["imageScanningConfiguration"]}}
    changed = await app.services.image_repositories.set(request["repositoryName"], settings=settings)
    return {**named(app, changed), **settings}


# ------------------------------------------------------------------ images


@operation("ecr", "ListImages")
async def list_images(app: App, _call: Call, request: Json) -> Json:
    """Answer that a repository has no images."""
    await app.services.image_repositories.get(request["repositoryName"])
    return {"imageIds": []}


@operation("ecr", "DescribeImages")
async def describe_images(app: App, _call: Call, request: Json) -> Json:
    """Answer that a repository has no images. Raises: ApiError (`ImageNotFoundException`) for one that is named."""
    found = await app.services.image_repositories.get(request["repositoryName"])
    for one in request.get("imageIds", ()):
        digest, tag = one.get("imageDigest", "null"), one.get("imageTag", "null")
        raise ApiError(
            "ImageNotFoundException",
            f"The image with imageId {{imageDigest:'{digest}', imageTag:'{tag}'}} does not exist within the "
            f"repository with name '{found.name}' in the registry with id '{app.config.account}'",
        )
    return {"imageDetails": []}


@operation("ecr", "GetAuthorizationToken")
async def get_authorization_token(_app: App, _call: Call, _request: Json) -> Json:
    """Refuse, before a tool builds an image: there is no registry that would take it."""
    raise ApiError(
        "UnknownOperationException",
        "Statewright keeps repositories as records and has no image registry, so images cannot be pushed to it. "
        "Package functions as .zip files; tasks run images that this machine's container engine has.",
    )


# ------------------------------------------------------------------ tags


@operation("ecr", "TagResource")
async def tag_resource(app: App, _call: Call, request: Json) -> Json:
    """Add tags to a repository."""
    await app.services.image_repositories.tag(request["resourceArn"], tags_by_key(request["tags"]))
    return {}


@operation("ecr", "UntagResource")
async def untag_resource(app: App, _call: Call, request: Json) -> Json:
    """Remove tags from a repository."""
    await app.services.image_repositories.tag(request["resourceArn"], {}, request["tagKeys"])
    return {}


@operation("ecr", "ListTagsForResource")
async def list_tags_for_resource(app: App, _call: Call, request: Json) -> Json:
    """List the tags of a repository."""
    return {"tags": tag_list((await app.services.image_repositories.of_arn(request["resourceArn"])).tags)}
