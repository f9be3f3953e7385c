"""A project on its way to a server: resource after resource, in order, each reported as it is done.

Owns order, names, references between resources, what becomes of those that depend on a failed one, and of those that
the project no longer asks for. How a resource is made is its type's business (`registry.py`).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from statewright.errors import DefinitionError, Diagnostic
from statewright.payload import Json
from statewright.projects.deploy.calls import Call, CallRefused
from statewright.projects.deploy.kinds import (
    TO_COME,
    CannotApply,
    Kind,
    Known,
    LeftOut,
    Outcome,
    Site,
    Wanted,
    text_of,
)
from statewright.projects.deploy.making import Making, made
from statewright.projects.deploy.needs import Need, needs_of
from statewright.projects.deploy.record import OtherProjects, Record
from statewright.projects.deploy.registry import IGNORED, kind_of
from statewright.projects.evaluation import Unresolved
from statewright.projects.functions import CodeError
from statewright.projects.resources import Place, Project, ProjectKind, Resource

_REVISIONS: Final = frozenset(
    {
        "AWS::Lambda::Version", "AWS::Lambda::LayerVersion", "AWS::StepFunctions::StateMachineVersion",
        "AWS::ECS::TaskDefinition", "AWS::Batch::JobDefinition",
    }
)  # fmt: skip
"""Types of which a change makes another one beside the old one, which stays for those who use it."""


_SHORTER: Final[dict[ProjectKind, str]] = {
    "sam": 'set a shorter one in statewright.toml: [project] name = "shop"',
    "folder": 'set a shorter one in statewright.toml: [project] name = "shop"',
    "cdk": "give the stack a shorter stackName in the application, and run cdk synth",
    "serverless": "give the service a shorter name, or provider.stackName",
}
"""The remedy for a stack name that is too long, by the kind of the project."""


@dataclass(frozen=True, slots=True)
class Result:
    """The outcome of one resource. `message` gives the reason, unless the outcome is an ordinary one.

    `at` is where a mistake is, if it is not at the resource's place. `stays` says that what was deployed before is
    still there.
    """

    id: str
    type: str
    noun: str
    name: str
    outcome: Outcome
    place: Place | None
    message: str = ""
    notes: tuple[str, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    known: Known | None = None
    stays: bool = False
    at: Place | None = None


@dataclass(slots=True)
class Report:
    """All of it, in order."""

    results: list[Result] = field(default_factory=list)
    outputs: dict[str, Json] = field(default_factory=dict)
    needs: list[Need] = field(default_factory=list)

    @property
    def has_failed(self) -> bool:
        """True if a resource failed."""
        return any(one.outcome in ("failed", "skipped") for one in self.results)

    def count(self, *outcomes: Outcome) -> int:
        """How many resources came out so."""
        return sum(one.outcome in outcomes for one in self.results)


@dataclass(slots=True)
class Deployment:
    """Deploys a project, perhaps again and again.

    `record` is what is known of earlier deployments, and what is made goes into it. In a dry run nothing is changed.
    `goes_on` lets what depends on a resource that cannot be changed use it as it was. `others` are the projects whose
    machines are left alone unless this one `takes_over`; none when the server has this project alone. `endpoint` is the
    address of the server, for users.
    """

    call: Call
    account: str
    region: str
    record: Record
    is_dry: bool = False
    goes_on: bool = False
    takes_over: bool = False
    endpoint: str = ""
    others: OtherProjects | None = None
    tell: Callable[[Result], None] = lambda _result: None
    _refs: dict[str, Known] = field(default_factory=dict)
    _failed: dict[str, str] = field(default_factory=dict)
    _noted: set[str] = field(default_factory=set)

    def run(
        self, project: Project, *, only: frozenset[str] | None = None, prune: bool = False, looks_back: bool = True
    ) -> Report:
        """Apply every resource of a project, or `only` some of them.

        If it `looks_back`, it handles resources that are no longer in the project.

        Raises: CallRefused only where the server itself cannot be asked.
        """
        report = Report()
        site = Site(self.call, self.account, self.region, project.root, self.is_dry, takes_over=self.takes_over)
        site.endpoint = self.endpoint
        if self.others is not None:
            site.owner = self.others.owner_of
        self._failed = {}
        for key in project.order:
            resource = project.resources[key]
            if resource.type in IGNORED or (only is not None and key not in only and key in self._refs):
                continue
            self._add(report, self._applied(site, project, resource))
        for key in project.resources.keys() - set(project.order):
            self._failed[key] = key
        if self.others is not None and self.takes_over and not self.is_dry:
            self.others.give_up([arn for one in report.results if (arn := _arn_of(one.known)) is not None])
        if looks_back:
            self._gone(site, project, report, prune)
        report.needs = needs_of(project, [one.id for one in report.results if one.outcome == "noted"])
        for name, value in project.outputs.items():
            try:
                report.outputs[name] = self._making().value(value)
            except (Unresolved, CallRefused):
                continue
        return report

    def failed(self) -> frozenset[str]:
        """The ids that the last run could not apply."""
        return frozenset(self._failed)

    def _add(self, report: Report, result: Result) -> None:
        report.results.append(result)
        self.tell(result)

    # ------------------------------------------------------------------ one resource

    def _applied(self, site: Site, project: Project, resource: Resource) -> Result:
        kind = kind_of(resource.type)
        if kind.lost:
            return self._left_out(project, resource, kind, kind.lost)
        blocked = next((one for one in resource.depends_on if self._is_blocked(one)), None)
        if blocked is not None:
            self._failed[resource.id] = blocked
            return self._result(
                resource, kind, resource.id, "skipped", f"it depends on {blocked}, which does not exist", stays=False
            )
        site.begin()
        before = self.record.resources.get(resource.id)
        name = resource.id
        try:
            wanted = self._wanted(project, resource, kind, before)
            name = shown_name(wanted)
            known = made(site, wanted, kind)
        except LeftOut as left:
            return self._left_out(project, resource, kind, str(left))
        except CallRefused as refused:
            if refused.is_unserved:
                return self._left_out(project, resource, kind, refused.message or refused.code)
            lost = next((one for one in resource.depends_on if one in self._noted), None)
            if lost is not None:
                return self._left_out(project, resource, kind, f"it uses {lost}, which is left out: {refused}")
            return self._bad(resource, kind, name, str(refused), ())
        except DefinitionError as problem:
            count = len(problem.diagnostics)
            words = f"{count} error" if count == 1 else f"{count} errors"
            at = None if resource.definition is None else Place(resource.definition)
            return self._bad(resource, kind, name, words, tuple(problem.diagnostics), at)
        except CodeError as problem:
            return self._bad(resource, kind, name, str(problem), (), Place(problem.path, problem.line))
        except OSError as problem:
            return self._bad(resource, kind, name, problem.strerror or str(problem), ())
        except UnicodeDecodeError:
            return self._bad(resource, kind, name, "it is not UTF-8", ())
        except (CannotApply, Unresolved) as problem:
            return self._bad(resource, kind, name, str(problem), ())
        except (KeyError, TypeError, ValueError, AttributeError) as problem:
            what = f"{type(problem).__name__}: {problem}"
            return self._bad(resource, kind, name, f"its properties do not have the expected form ({what})", ())
        return self._kept(site, resource, kind, name, before, known)

    def _making(self) -> Making:
        return Making(self.call, self.account, self.region, self._refs, self._noted, self.is_dry)

    def _is_blocked(self, id: str) -> bool:
        return id in self._failed and not (self.goes_on and id in self._refs)

    def _wanted(self, project: Project, resource: Resource, kind: Kind, before: Known | None) -> Wanted:
        properties = self._making().properties(resource)
        given = properties.get(kind.name) if kind.name else None
        name = text_of(given) if given else generated_name(project, resource, kind.longest)
        stack = resource.stack or project.name
        if len(name) > kind.longest and stack in name and len(name) - len(stack) < kind.longest:
            raise CannotApply(
                f"the name {name} has {len(name)} characters, at most {kind.longest} are allowed, and {stack} in it is "
                f"the name of the stack: {_SHORTER[project.kind]}"
            )
        return Wanted(resource, properties, name, self._making().arn(kind, name), before)

    def _kept(
        self, site: Site, resource: Resource, kind: Kind, name: str, before: Known | None, known: Known
    ) -> Result:
        outcome = site.outcome
        notes = tuple(site.notes)
        if before is not None and before.type == known.type and resource.type not in _REVISIONS and kind.name:
            was, now = before.attributes.get("Arn"), known.attributes.get("Arn")
            if was != now and TO_COME not in (was, now):
                # Under another name it is another resource. The old one may hold data: it goes with --prune alone.
                self.record.resources[f"{resource.id}@{before.ref}"] = before
        self._noted.discard(resource.id)
        self._refs[resource.id] = known
        self.record.resources[resource.id] = known
        return self._result(resource, kind, name, outcome, notes=notes, diagnostics=tuple(site.warnings), known=known)

    def _left_out(self, project: Project, resource: Resource, kind: Kind, reason: str) -> Result:
        given = resource.properties.get(kind.name) if kind.name and isinstance(resource.properties, dict) else None
        name = given if isinstance(given, str) else generated_name(project, resource, kind.longest)
        arn = self._making().arn(kind, name)
        known = Known(resource.type, arn if kind.ref == "arn" and arn else name, {"Arn": arn} if arn else {})
        self._refs[resource.id] = known
        self._noted.add(resource.id)
        return self._result(resource, kind, name, "noted", reason, known=known)

    def _bad(
        self,
        resource: Resource,
        kind: Kind,
        name: str,
        message: str,
        diagnostics: tuple[Diagnostic, ...],
        at: Place | None = None,
    ) -> Result:
        self._failed[resource.id] = resource.id
        before = self.record.resources.get(resource.id)
        if before is not None:
            self._refs.setdefault(resource.id, before)
        return self._result(
            resource, kind, name, "failed", message, diagnostics=diagnostics, stays=before is not None, at=at
        )

    def _result(
        self, resource: Resource, kind: Kind, name: str, outcome: Outcome, message: str = "", *,
        notes: tuple[str, ...] = (), diagnostics: tuple[Diagnostic, ...] = (), known: Known | None = None,
        stays: bool = False, at: Place | None = None,
    ) -> Result:  # fmt: skip
        return Result(
            resource.id, resource.type, kind.noun, name, outcome, resource.place, message, notes, diagnostics, known,
            stays, at,
        )  # fmt: skip

    # ------------------------------------------------------------------ what is asked for no more

    def _gone(self, site: Site, project: Project, report: Report, prune: bool) -> None:
        gone = [key for key in self.record.resources if key not in project.resources]
        for key in reversed(gone):
            known = self.record.resources[key]
            kind = kind_of(known.type)
            outcome: Outcome = "gone"
            message = ""
            if known.retain:
                message = "it outlives its project (DeletionPolicy)"
            elif prune and kind.remove is not None:
                site.begin()
                try:
                    kind.remove(site, known)
                    outcome = "removed"
                except CallRefused as refused:
                    outcome = "removed" if refused.is_missing else "failed"
                    message = "" if refused.is_missing else str(refused)
                except (KeyError, ValueError, IndexError) as problem:
                    outcome, message = "failed", f"its deployment record cannot be used: {problem!r}"
            if outcome == "removed" or known.retain:
                if not self.is_dry:
                    del self.record.resources[key]
                self._refs.pop(key, None)
            name = short_ref(known.ref)
            self._add(report, Result(key, known.type, kind.noun, name, outcome, None, message, stays=True))


def _arn_of(known: Known | None) -> str | None:
    arn = known.attributes.get("Arn") if known is not None else None
    return arn if isinstance(arn, str) and arn != TO_COME else None


def generated_name(project: Project, resource: Resource, longest: int) -> str:
    """The name of a resource that its project does not name: the same for every deployment."""
    whole = re.sub(r"[^A-Za-z0-9_-]+", "-", f"{resource.stack or project.name}-{resource.id}")
    if len(whole) <= longest:
        return whole
    mark = hashlib.sha256(whole.encode()).hexdigest()[:8]
    return f"{whole[: longest - 9]}-{mark}"


def shown_name(wanted: Wanted) -> str:
    """The name of a resource for people: its own name, if it has one, else its id."""
    return wanted.name if wanted.arn else wanted.resource.id


def short_ref(ref: str) -> str:
    """The part of an ARN or address that people know."""
    if ref.startswith("arn:"):
        rest = ref.split(":", 5)[-1]
        kind, slash, name = rest.partition("/")
        if slash and ":" not in kind:
            return name
        return rest.partition(":")[2] or rest
    return ref.rpartition("/")[2] if ref.startswith("http") else ref
