"""The signers of requests to APIs and URLs of functions, found by the server's own verifier of signatures."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

from statewright.api import auth
from statewright.apis.authorizers.signatures import Caller
from statewright.apis.calls import Request
from statewright.config import Config
from statewright.errors import ApiError

if TYPE_CHECKING:
    from statewright.records.sessions import Sessions

SERVICE: Final = "execute-api"
_CREDENTIAL: Final = re.compile(r"Credential=(?P<key>[^/,&]+)/[0-9]{8}/[^/,&]+/(?P<service>[^/,&]+)/aws4_request")


@dataclass(frozen=True, slots=True)
class Signers:
    """Finds the signer of a request; `account` is that of the APIs, empty for the default one.

    `service` is the one that requests must be signed for.
    Without credentials in the settings nothing can be verified: then a request must name a signer, but any will do, as
    for all services of this server.
    """

    config: Config
    sessions: Sessions
    account: str
    service: str = SERVICE

    def verify(self, request: Request) -> Caller:
        """See `Verify`."""
        headers = _joined(request)
        given = headers.get("authorization")
        if given is None and "X-Amz-Signature" not in request.query_string:
            raise ApiError("MissingAuthenticationTokenException", "Missing Authentication Token", status=403)
        text = unquote(request.query_string) if given is None else given
        # With two of them, the verifier might read another than this does.
        found = _CREDENTIAL.search(text) if text.count("Credential=") == 1 else None
        signed = auth.Request(request.method, request.raw_path, request.query_string, headers, request.body)
        secrets = self.sessions.secrets(self.config, headers, request.query_string)
        key = auth.verify(signed, secrets, time.time())
        if found is None or (key is not None and key != found["key"]):
            raise ApiError("IncompleteSignatureException", "The request names no signer.", status=403)
        if found["service"] != self.service:
            text = f"Credential should be scoped to correct service: '{self.service}'."
            raise ApiError("InvalidSignatureException", text, status=403)
        return self._caller(found["key"], headers, request.query_string)

    def _caller(self, access_key: str, headers: Mapping[str, str], query: str) -> Caller:
        account = self.config.account
        session = self.sessions.session_of(headers, query)
        if session is not None and session.access_key != access_key:
            # The token of one caller beside the signature of another says nothing.
            session = None
        own = session.account == self.account if session else self.config.accounts.get(access_key, account) == account
        if not own:
            raise ApiError("AccessDeniedException", "User is not authorized to access this resource", status=403)
        if session is not None:
            return Caller(access_key, account, session.arn, session.user_id)
        return Caller(access_key, account, f"arn:aws:iam::{account}:root", account)


def _joined(request: Request) -> dict[str, str]:
    """Headers by names in lower case, repeated ones joined. Raises: ApiError for two Authorization headers."""
    headers: dict[str, str] = {}
    for name, value in request.headers:
        lower = name.lower()
        if lower == "authorization" and lower in headers:
            raise ApiError("IncompleteSignatureException", "The request has two Authorization headers.", status=403)
        headers[lower] = f"{headers[lower]},{value}" if lower in headers else value
    return headers
