"""IAM authorization: a request must be signed with Signature Version 4 for the service `execute-api`.

Owns what is done with the answer of the server's verifier. Policies of identities are not enforced, as nowhere on this
server: a genuine signature lets a caller in.

Source: API Gateway developer guide, "Control access for invoking an API"; texts of the services' common errors.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from statewright.apis.authorizers.verdicts import Refusal
from statewright.apis.calls import CallContext, Request
from statewright.errors import ApiError
from statewright.payload import JsonObject

_KINDS: Final = {
    "MissingAuthenticationTokenException": "MISSING_AUTHENTICATION_TOKEN", "ExpiredTokenException": "EXPIRED_TOKEN",
}  # fmt: skip
"""Gateway responses by the code of a refusal; all others are `INVALID_SIGNATURE`."""


@dataclass(frozen=True, slots=True)
class Caller:
    """The signer of a request, as STS shows it."""

    access_key: str
    account: str
    arn: str
    user_id: str


Verify = Callable[[Request], Caller]
"""The signer of a request. Raises: ApiError, for a request without a genuine signature."""


@dataclass(frozen=True, slots=True)
class SignatureGuard:
    """Asks for a signature."""

    verify: Verify

    async def __call__(self, request: Request, context: CallContext) -> Refusal | None:
        """See `Guard`."""
        try:
            caller = self.verify(request)
        except ApiError as error:
            return Refusal(_KINDS.get(error.code, "INVALID_SIGNATURE"), error.message, name=error.code)
        context.identity.update(
            accessKey=caller.access_key, accountId=caller.account, caller=caller.user_id, user=caller.user_id,
            userArn=caller.arn,
        )  # fmt: skip
        shown: JsonObject = {
            "accessKey": caller.access_key, "accountId": caller.account, "callerId": caller.user_id,
            "cognitoIdentity": None, "principalOrgId": None, "userArn": caller.arn, "userId": caller.user_id,
        }  # fmt: skip
        context.authorizer_2 = {"iam": shown}
        return None
