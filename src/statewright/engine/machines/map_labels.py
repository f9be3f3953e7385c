"""Labels of distributed Map states: from a label to the definition that its child executions run.

Owns the search in a definition's text. Labels themselves are checked by `asl.validate`.
"""

from __future__ import annotations

from collections.abc import Iterator

from statewright.engine.machines.definitions import tree_of
from statewright.payload import Json, JsonObject, dump_json


def processor_of(definition: str, label: str, *, made_up: bool = False) -> str | None:
    """The item processor of the Map with this label, as a definition of its own; `None` if there is none.

    With `made_up`, the label may be one that a Map Run gave itself; then it belongs to the only Map without a label.
    """
    tree = tree_of(definition)
    language = tree.get("QueryLanguage")
    unlabelled = []
    for state in _states(tree):
        processor = state.get("ItemProcessor", state.get("Iterator"))
        if not isinstance(processor, dict) or processor.get("ProcessorConfig", {}).get("Mode") != "DISTRIBUTED":
            continue
        if state.get("Label") == label:
            return _alone(processor, state.get("QueryLanguage", language))
        if "Label" not in state:
            unlabelled.append(_alone(processor, state.get("QueryLanguage", language)))
    return unlabelled[0] if made_up and len(unlabelled) == 1 else None


def _alone(processor: JsonObject, language: Json) -> str:
    inherited = {} if language is None or "QueryLanguage" in processor else {"QueryLanguage": language}
    return dump_json({**inherited, **processor})


def _states(tree: JsonObject) -> Iterator[JsonObject]:
    """Every state of a definition, in any scope, without recursion."""
    scopes: list[Json] = [tree]
    while scopes:
        scope = scopes.pop()
        for state in scope.get("States", {}).values():
            yield state
            scopes += state.get("Branches", ())
            scopes += [state[name] for name in ("ItemProcessor", "Iterator") if name in state]
