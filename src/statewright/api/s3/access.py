"""Operations on access to a bucket: its ACL and its policy.

Statewright has one user, who may do everything: ACLs that say so are accepted, and policies are stored and returned but
never enforced.
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
    """Return the ACL of a bucket: full control for its owner."""
    await bucket_of(app, request)
    return whole_control(app)


@operation("s3", "PutBucketAcl")
async def put_bucket_acl(app: App, _call: Call, request: Request) -> None:
    """Accept an ACL that grants control to the owner only."""
    await bucket_of(app, request)
    set_acl(app, request)


@operation("s3", "PutBucketPolicy")
async def put_bucket_policy(app: App, _call: Call, request: Request) -> None:
    """Store a policy, which is not enforced."""
    await bucket_of(app, request)
    text = request.get("Policy") or ""
    check_policy(request["Bucket"], text)
    await app.services.objects.set_bucket_setting(request["Bucket"], POLICY, text)


@operation("s3", "GetBucketPolicy")
async def get_bucket_policy(app: App, _call: Call, request: Request) -> Request:
    """The policy of a bucket."""
    return {"Policy": await _policy(app, request)}


@operation("s3", "GetBucketPolicyStatus")
async def get_bucket_policy_status(app: App, _call: Call, request: Request) -> Request:
    """Return whether the policy of a bucket would make it public."""
    return {"PolicyStatus": {"IsPublic": is_public(await _policy(app, request))}}


@operation("s3", "DeleteBucketPolicy")
async def delete_bucket_policy(app: App, _call: Call, request: Request) -> None:
    """Delete the policy of a bucket."""
    await bucket_of(app, request)
    await app.services.objects.set_bucket_setting(request["Bucket"], POLICY, None)


async def _policy(app: App, request: Request) -> str:
    found: str = await kept(
        app, request, POLICY, without(request, "NoSuchBucketPolicy", "The bucket policy does not exist")
    )
    return found


def whole_control(app: App) -> Request:
    """The ACL of every bucket and object: full control for the owner."""
    grantee = {"Type": "CanonicalUser", **owner(app)}
    return {"Owner": owner(app), "Grants": [{"Grantee": grantee, "Permission": "FULL_CONTROL"}]}


def set_acl(app: App, request: Request) -> None:
    """Accept grants to the owner only; canned ACLs that grant more have been refused before.

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
