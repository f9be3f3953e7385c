"""Sessions of roles: the identity of an assumed role, and credentials of roles for functions and jobs.

Policies are stored but never enforced, so any role can be assumed, even one that does not exist.
Source: STS API reference, AssumedRoleUser; Lambda developer guide, "Lambda execution role".
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from statewright import chance
from statewright.credentials import Credentials
from statewright.records.entries import Identity
from statewright.records.generated_names import generated_name
from statewright.records.identities import ROLE, Identities
from statewright.records.sessions import Sessions

_ROLE: Final = re.compile(r"arn:aws[a-z-]*:iam::([0-9]{12}):role/(?:[!-~]*/)?([\w+=,.@-]{1,64})")
_OTHER: Final = re.compile(r"[^\w+=,.@-]", re.ASCII)


@dataclass(frozen=True, slots=True)
class AssumedRole:
    """A session of a role as GetCallerIdentity shows it; `role` is the stored role, if there is one."""

    arn: str
    user_id: str
    role: Identity | None


async def assumed_role(identities: Identities, role_arn: str, name: str) -> AssumedRole | None:
    """The identity of a role's session of that name; `None` if the text is no ARN of a role."""
    found = _ROLE.fullmatch(role_arn)
    if found is None:
        return None
    account, role_name = found.groups()
    role = await identities.find(ROLE, role_name)
    role_id = role.id if role is not None else generated_name("AROA", role_arn, 17)
    return AssumedRole(f"arn:aws:sts::{account}:assumed-role/{role_name}/{name}", f"{role_id}:{name}", role)


class RoleSessions:
    """Issues credentials of roles to the processes that this server starts."""

    def __init__(self, identities: Identities, sessions: Sessions, account: str, other: str) -> None:
        """`other` is the account if it is not the default one."""
        self._identities = identities
        self._sessions = sessions
        self._account = account
        self._other = other

    async def issue(self, role_arn: str, name: str, seconds: int) -> Credentials:
        """Credentials of a session; of a role without rights of its own if the text is no ARN of a role."""
        name = _OTHER.sub("-", name)[:64]
        fallback = f"arn:aws:iam::{self._account}:role/none"
        user = await assumed_role(self._identities, role_arn, name)
        user = user or await assumed_role(self._identities, fallback, name)
        assert user is not None
        await self._sessions.start()
        session = self._sessions.issue(user.arn, user.user_id, seconds, chance.uuid4(), self._other)
        return Credentials(session.access_key, session.secret, session.token, session.expires_ms)
