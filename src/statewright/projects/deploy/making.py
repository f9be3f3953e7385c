"""One resource on its way to a server: its properties resolved, its ARN, and its type's applier run.

Owns references between resources, and dynamic references to parameters and secrets. The order, names and the outcome of
failures are those of a deployment: `deployment.py` for projects, `statewright.stacks` for stacks.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Set
from dataclasses import dataclass

from statewright.payload import Json
from statewright.projects.deploy.calls import Call, CallRefused
from statewright.projects.deploy.kinds import TO_COME, CannotApply, Kind, Known, Site, Wanted, text_of
from statewright.projects.evaluation import Unresolved
from statewright.projects.intrinsics import resolve
from statewright.projects.resources import Resource


@dataclass(frozen=True, slots=True)
class Making:
    """The tools of making resources: the server, and the resources that exist.

    `refs` are by id; those in `noted` are left out, and references to them get a text. In a dry run nothing is changed,
    and what a resource will give may not be known yet.
    """

    call: Call
    account: str
    region: str
    refs: Mapping[str, Known]
    noted: Set[str] = frozenset()
    is_dry: bool = False

    def properties(self, resource: Resource) -> dict[str, Json]:
        """The properties of a resource without functions. Raises: Unresolved; CannotApply."""
        found = self.value(resource.properties)
        if not isinstance(found, dict):
            raise CannotApply("its properties must be an object")
        return found

    def value(self, value: Json) -> Json:
        """A value without functions. Raises: Unresolved."""
        return resolve(value, self, self._dynamic)

    def arn(self, kind: Kind, name: str) -> str:
        """The ARN of a resource; empty for a kind without."""
        if not kind.arn:
            return ""
        return "arn:aws:" + kind.arn.format(region=self.region, account=self.account, name=name)

    def ref(self, id: str) -> Json:
        """The value of `Ref`. Raises: Unresolved."""
        return self._known(id).ref

    def attribute(self, id: str, name: str) -> Json:
        """The value of `Fn::GetAtt`. Raises: Unresolved."""
        known = self._known(id)
        found: Json = known.attributes
        if name in known.attributes:
            return known.attributes[name]
        for part in name.split("."):
            found = found.get(part) if isinstance(found, Mapping) else None
        if found is not None:
            return found
        if id in self.noted:
            # References to a resource that is left out still get a string, so that the rest can be deployed.
            return f"{known.ref}.{name}"
        raise Unresolved(f"{id} ({known.type}) has no attribute {name}")

    def _known(self, id: str) -> Known:
        known = self.refs.get(id)
        if known is None:
            raise Unresolved(f"{id} does not exist")
        return known

    def _dynamic(self, reference: str) -> str:
        """The value of a `{{resolve:...}}`: a parameter or a secret of the server. Raises: Unresolved."""
        service, _, rest = reference.partition(":")
        try:
            if service in ("ssm", "ssm-secure"):
                found = self.call("ssm", "GetParameter", {"Name": rest, "WithDecryption": True})
                return str(found["Parameter"]["Value"])
            if service == "secretsmanager":
                return self._secret(rest)
        except CallRefused as refused:
            if self.is_dry and self._will_exist(service, rest):
                return TO_COME
            raise Unresolved(f"{{{{resolve:{reference}}}}}: {refused}") from None
        raise Unresolved(f"{{{{resolve:{reference}}}}} is not known here")

    def _will_exist(self, service: str, rest: str) -> bool:
        """True if the project itself makes the parameter or secret of a dynamic reference."""
        kind = "AWS::SecretsManager::Secret" if service == "secretsmanager" else "AWS::SSM::Parameter"
        name = rest.partition(":SecretString")[0]
        return any(known.type == kind and known.ref in (name, TO_COME) for known in self.refs.values())

    def _secret(self, rest: str) -> str:
        # Source: CloudFormation user guide: secret-id:secret-string:json-key:version-stage:version-id.
        secret, _, tail = rest.partition(":SecretString")
        text = str(self.call("secretsmanager", "GetSecretValue", {"SecretId": secret})["SecretString"])
        key = tail.split(":")[1] if tail.startswith(":") else ""
        if not key:
            return text
        try:
            return text_of(json.loads(text)[key])
        except (ValueError, KeyError, TypeError):
            raise Unresolved(f"the secret {secret} has no key {key}") from None


def made(site: Site, wanted: Wanted, kind: Kind) -> Known:
    """Make a resource as it is wanted, and return what references to it give.

    Raises: what `kinds.Applier` raises.
    """
    try:
        given = kind.apply(site, wanted)
    except CallRefused as refused:
        if not (site.created and refused.is_taken):
            raise
        # Another deployment has created it meanwhile: compare with what exists now.
        site.begin()
        given = kind.apply(site, wanted)
    attributes = {"Arn": wanted.arn, **given}
    ref = attributes.pop("Ref", None)
    if ref is None:
        ref = wanted.arn if kind.ref == "arn" else wanted.name
    return Known(wanted.resource.type, text_of(ref), attributes, wanted.resource.retain)
