"""The order in which resources can be made: what each needs, and what keeps some from being made at all.

Owns implied dependencies, references that lead nowhere, and cycles.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from statewright.projects.evaluation import references
from statewright.projects.resources import Place, Resource
from statewright.projects.sources import Sources, meant


def arrange(
    resources: Mapping[str, Resource],
    sources: Sources,
    *,
    spoilt: Iterable[str] = (),
    missing: Mapping[str, str] | None = None,
    place_of: Callable[[str, str], Place | None] | None = None,
) -> tuple[dict[str, Resource], tuple[str, ...]]:
    """Every resource with all of its dependencies, and the ids in the order in which they can be made.

    `spoilt` are ids that cannot be made for a reason already reported. `missing` says why a name does not exist where
    there is more to say than that. `place_of` gives the line on which a resource names another.
    """
    complete: dict[str, Resource] = {}
    out = {found for found in spoilt if found in resources}
    for resource in resources.values():
        needed = dict.fromkeys(resource.depends_on)
        for name in references(resource.properties):
            needed[name] = None
        unknown = [name for name in needed if name not in resources]
        for name in unknown if resource.id not in out else ():
            place = (place_of and place_of(resource.id, name)) or resource.place
            sources.error(place, f"{resource.id} refers to {name}, {_why(name, resources, missing or {})}")
        if unknown:
            out.add(resource.id)
        complete[resource.id] = replace(
            resource, depends_on=tuple(name for name in needed if name in resources and name != resource.id)
        )
        if resource.id in needed:
            sources.error(resource.place, f"{resource.id} refers to itself")
            out.add(resource.id)
    for cycle in cycles({found.id: found.depends_on for found in complete.values()}):
        names = " -> ".join([*cycle, cycle[0]])
        sources.error(
            complete[cycle[0]].place, f"these resources depend on each other, so none can be created: {names}"
        )
        out.update(cycle)
    return complete, tuple(_in_order(complete, out, sources))


def _why(name: str, resources: Mapping[str, Resource], missing: Mapping[str, str]) -> str:
    if name in missing:
        return missing[name]
    return f"which is neither a resource nor a parameter here{meant(name, (*resources, *missing))}"


def _in_order(resources: Mapping[str, Resource], out: set[str], sources: Sources) -> Iterable[str]:
    """Each resource after what it needs, otherwise as they are written; what needs one that is out is out, too."""
    done: set[str] = set()
    for first in resources:
        pending = [first]
        while pending:
            id_ = pending[-1]
            if id_ in done or id_ in out:
                pending.pop()
                continue
            needs = resources[id_].depends_on
            left_out = next((need for need in needs if need in out), None)
            if left_out is not None:
                sources.error(resources[id_].place, f"{id_} is left out, because it needs {left_out}, which is")
                out.add(id_)
                continue
            open_ = [need for need in needs if need not in done]
            if open_:
                pending.extend(reversed(open_))
                continue
            done.add(id_)
            pending.pop()
            yield id_


def cycles(needs: Mapping[str, Iterable[str]]) -> list[list[str]]:
    """Groups of two or more names that need each other, each in the order in which they do.

    Tarjan's algorithm, without recursion.
    """
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    on_stack: set[str] = set()
    found: list[list[str]] = []
    for root in needs:
        if root in index:
            continue
        work = [(root, iter(needs[root]))]
        index[root] = low[root] = len(index)
        stack.append(root)
        on_stack.add(root)
        while work:
            name, rest = work[-1]
            following = next(rest, None)
            if following is None:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[name])
                if low[name] == index[name]:
                    group = _popped(stack, on_stack, name)
                    if len(group) > 1:
                        found.append(_walk(group, needs))
            elif following not in index:
                index[following] = low[following] = len(index)
                stack.append(following)
                on_stack.add(following)
                work.append((following, iter(needs[following])))
            elif following in on_stack:
                low[name] = min(low[name], index[following])
    return found


def _popped(stack: list[str], on_stack: set[str], name: str) -> list[str]:
    group = []
    while True:
        last = stack.pop()
        on_stack.discard(last)
        group.append(last)
        if last == name:
            return group[::-1]


def _walk(group: list[str], needs: Mapping[str, Iterable[str]]) -> list[str]:
    """The names of a group as a path where one leads through all; those that are off it follow."""
    inside = set(group)
    path = [group[0]]
    seen = {group[0]}
    while True:
        following = next((name for name in needs[path[-1]] if name in inside and name not in seen), None)
        if following is None:
            return path + [name for name in group if name not in seen]
        path.append(following)
        seen.add(following)
