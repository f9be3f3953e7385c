"""Operations on who may do what with a bucket: its ACL, its policy, the block of public access, ownership of objects.

There is one user here, who may do everything: what says so is accepted, and what is kept and shown restricts nobody.
"""

from __future__ import annotations

from statewright.api.operations import App, Call, operation
from statewright.api.s3.buckets import bucket_of, without
from statewright.api.s3.members import owner
from statewright.api.s3.settings import kept
from statewright.objects import faults
from statewright.objects.bucket_settings import POLICY, check_policy, is_public
from statewright.payload import JsonObject

Request = JsonObject


@operation("s3", "GetBucketAcl")
async def get_bucket_acl(app: App, _call: Call, request: Request) -> Request:
    """A bucket is its owner's."""
    await bucket_of(app, request)
    return whole_control(app)


@operation("s3", "PutBucketAcl")
async def put_bucket_acl(app: App, _call: Call, request: Request) -> Request:
    """Accept that a bucket stays its owner's."""
    await bucket_of(app, request)
    set_acl(app, request)
    return {}


@operation("s3", "PutBucketPolicy")
async def put_bucket_policy(app: App, _call: Call, request: Request) -> Request:
    """Keep a policy, which restricts nobody."""
    await bucket_of(app, request)
    text = request.get("Policy") or ""
    check_policy(request["Bucket"], text)
    await app.services.objects.set_bucket_setting(request["Bucket"], POLICY, text)
    return {}


@operation("s3", "GetBucketPolicy")
async def get_bucket_policy(app: App, _call: Call, request: Request) -> Request:
    """The policy of a bucket."""
    return {"Policy": await _policy(app, request)}


@operation("s3", "GetBucketPolicyStatus")
async def get_bucket_policy_status(app: App, _call: Call, request: Request) -> Request:
    """Whether the policy of a bucket would let everybody in."""
    return {"PolicyStatus": {"IsPublic": is_public(await _policy(app, request))}}


@operation("s3", "DeleteBucketPolicy")
async def delete_bucket_policy(app: App, _call: Call, request: Request) -> Request:
    """Forget the policy of a bucket."""
    await bucket_of(app, request)
    await app.services.objects.set_bucket_setting(request["Bucket"], POLICY, None)
    return {}


async def _policy(app: App, request: Request) -> str:
    found: str = await kept(
        app, request, POLICY, without(request, "NoSuchBucketPolicy", "The bucket policy does not exist")
    )
    return found


def whole_control(app: App) -> Request:
    """The list of grants that everything here has."""
    grantee = {"Type": "CanonicalUser", **owner(app)}
    return {"Owner": owner(app), "Grants": [{"Grantee": grantee, "Permission": "FULL_CONTROL"}]}


def set_acl(app: App, request: Request) -> None:
    """Accept grants to the owner alone; what a canned list opens has been refused before.

    Raises: ApiError (`NotImplemented`, `MissingSecurityHeader`).
    """
    given = request.get("AccessControlPolicy")
    if given is None:
        if request.get("ACL") is None:
            raise faults.missing_acl()
        return
    own = owner(app)["ID"]
    named = [given.get("Owner") or {}, *(grant.get("Grantee") or {} for grant in given.get("Grants") or ())]
    if any(one.get("ID", own) != own or one.get("URI") or one.get("EmailAddress") for one in named):
        raise faults.not_here("This version of Statewright has one user: grants to others are not kept.")
