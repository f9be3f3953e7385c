"""The outputs of a stack whose resources are made: their values, and what may be exported."""

from __future__ import annotations

from collections.abc import Mapping

from statewright.projects.deploy.calls import CallRefused
from statewright.projects.evaluation import Unresolved
from statewright.stacks.planning.planner import Planner
from statewright.stacks.planning.plans import Plan
from statewright.stacks.records import Made, Output, StackEntry
from statewright.stacks.references import references_of
from statewright.stacks.resources import ResourceFailed, Resources


async def outputs_of(
    plan: Plan, stack: StackEntry, made: Mapping[str, Made], planner: Planner, resources: Resources
) -> list[Output]:
    """The values of a stack's outputs, from its resources by id.

    Refuses exports that another stack has, and changes of those that another one uses. Raises: ResourceFailed with the
    service's text.
    """
    refs = references_of(made)
    found = []
    for name, planned in plan.outputs.items():
        other = await planner.index.export(planned.export, stack.id) if planned.export else None
        if other is not None:
            owner, _ = other
            raise ResourceFailed(f"Export with name {planned.export} is already exported by stack {owner.name}.")
        try:
            value = await resources.output(planned.value, refs)
        except (Unresolved, CallRefused) as problem:
            raise ResourceFailed(_output_text(name, str(problem))) from None
        found.append(Output(name, value, planned.description, planned.export))
    now = {one.export: one.value for one in found}
    for one in stack.outputs:
        if one.export is not None and now.get(one.export) != one.value:
            users = await planner.index.users_of(one.export, stack.id)
            verb = "updated" if one.export in now else "deleted"
            if users:
                raise ResourceFailed(f"Export {one.export} cannot be {verb} as it is in use by {' and '.join(users)}.")
    return found


def _output_text(name: str, problem: str) -> str:
    """The service's text for an output without a value. Source: recorded."""
    found, words = problem.partition(" has no attribute ")[::2]
    if words and "(" in found:
        kind = found.partition("(")[2].rstrip(")")
        return f"[Error] /Outputs/{name}/Value/Fn::GetAtt: Resource type {kind} does not support attribute {{{words}}}."
    return f"[Error] /Outputs/{name}/Value: {problem}."
