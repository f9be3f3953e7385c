"""The routes behind an address: methods, paths, what each leads to, and who may call it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from statewright.cli.client import Answer
from statewright.cli.inspection.apis.addresses import HTTP, REST, Address, Addresses

ANY: Final = "ANY"
_SERVICE: Final = re.compile(r"arn:[^:]*:apigateway:[^:]*:(?P<service>[^:]+):(?P<kind>action|path)/(?P<rest>.*)")
_FUNCTION: Final = re.compile(r".*:function:(?P<name>[^/]+)")


@dataclass(frozen=True, slots=True)
class Route:
    """One route. `target` says in words what it leads to; empty for none."""

    method: str
    path: str
    target: str
    authorization: str

    def shown(self) -> Answer:
        """The route as JSON shows it."""
        return {
            "method": self.method, "path": self.path, "target": self.target or None,
            "authorization": self.authorization,
        }  # fmt: skip


def routes_of(addresses: Addresses, address: Address) -> list[Route]:
    """The routes of an address as its API has them now, by path. Raises: Stop."""
    if address.kind == HTTP:
        found = _of_http(addresses, address.id)
    elif address.kind == REST:
        found = _of_rest(addresses, address.id)
    else:
        found = [Route(ANY, "/{proxy+}", f"function {address.name}", address.authorization)]
    return sorted(found, key=lambda one: (one.path, one.method))


def _of_http(addresses: Addresses, api: str) -> list[Route]:
    server = addresses.http
    targets = {
        one["IntegrationId"]: _integration_words(one) for one in server.pages("get_integrations", "Items", ApiId=api)
    }
    found = []
    for one in server.pages("get_routes", "Items", ApiId=api):
        method, _, path = one["RouteKey"].rpartition(" ")
        target = targets.get((one.get("Target") or "").removeprefix("integrations/"), "")
        found.append(Route(method or ANY, path, target, one.get("AuthorizationType") or "NONE"))
    return found


def _of_rest(addresses: Addresses, api: str) -> list[Route]:
    found = []
    for resource in addresses.rest.pages("get_resources", "items", restApiId=api, embed=["methods"]):
        for name, method in (resource.get("resourceMethods") or {}).items():
            integration = method.get("methodIntegration") or {}
            words = target_words(integration.get("type") or "", integration.get("uri") or "") if integration else ""
            key = " + API key" if method.get("apiKeyRequired") else ""
            found.append(Route(name, resource["path"], words, f"{method.get('authorizationType') or 'NONE'}{key}"))
    return found


def _integration_words(one: Mapping[str, str]) -> str:
    subtype = one.get("IntegrationSubtype")
    return subtype or target_words(one["IntegrationType"], one.get("IntegrationUri") or "")


def target_words(kind: str, uri: str) -> str:
    """An integration in words: `function price`, `states StartExecution`, `http://127.0.0.1:8080/`, `mock`."""
    function = _FUNCTION.fullmatch(uri.removesuffix("/invocations"))
    if function is not None:
        return f"function {function['name']}"
    service = _SERVICE.fullmatch(uri)
    if service is not None:
        return f"{service['service']} {service['rest']}"
    return uri or kind.lower()
