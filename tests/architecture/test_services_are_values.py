"""What is known of a service stands in its value, and what a system is made of in `Services`: neither in a table
elsewhere, nor in a mapping of parts, nor set on an object that was made before.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import fields

from statewright.api.building import Ground
from statewright.api.operations import App
from statewright.api.services import PARTS, SERVICES, Services
from statewright.assembly import System
from tests.architecture.source import Module, broken, modules

NAMES = {name for one in SERVICES for name in (one.name, one.client, one.target, *one.sdk_names, *one.task_names)}
MOST_NAMES = 3
"""More names of our services than these, side by side, are a table of services."""
TABLES = {
    "asl/checks/fields.py": "what tasks of the cloud service may be given",
    "console/calls.py": "which operations the console's page may call",
    "cost/execution_usage.py": "whose prices are known",
    "functions/invoke_settings.py": "what destinations the cloud service has",
    "graph/services.py": "what drawings show of the services of the cloud, of which ours are a few",
    "integrations/service_names.py": "what SDKs call the services of the cloud, of which ours are a few",
    "simulation/usage_meter.py": "whose calls cost something",
}
ROOMS = {"queues", "objects", "tables", "functions", "jobs", "records", "events", "topics", "integrations", "api"}


def rows(module: Module) -> Iterator[tuple[int, list[ast.expr | None]]]:
    """The keys, values and members of each display, with its line."""
    for node in module.nodes:
        if isinstance(node, ast.Dict):
            yield node.lineno, list(node.keys)
            yield node.lineno, list(node.values)
        elif isinstance(node, ast.Set | ast.Tuple | ast.List):
            yield node.lineno, list(node.elts)


def tables(module: Module) -> Iterator[str]:
    """Displays with the names of many services."""
    for line, row in rows(module):
        found = {one.value for one in row if isinstance(one, ast.Constant) and isinstance(one.value, str)} & NAMES
        if len(found) > MOST_NAMES:
            yield f"line {line} is a table of services: {', '.join(sorted(found))}"


def assignments(module: Module) -> Iterator[str]:
    """Attributes that are set on what was made before."""
    for node in module.nodes:
        for target in node.targets if isinstance(node, ast.Assign) else ():
            name = ast.unparse(target)
            if isinstance(target, ast.Attribute) and not name.startswith("self.") and name != "clock.pauses.scale":
                yield f"line {target.lineno} sets {name}: give it to what is made when it is made"


def hooks(module: Module) -> Iterator[str]:
    """Methods and lambdas that are put into an object that was made before."""
    for node in module.nodes:
        if not isinstance(node, ast.Assign):
            continue
        given = ast.unparse(node.value)
        for target in node.targets:
            name = ast.unparse(target)
            is_another = isinstance(target, ast.Attribute) and not (name.startswith("self.") and name.count(".") == 1)
            is_hook = isinstance(node.value, ast.Attribute) and given.startswith("self.")
            if is_another and (is_hook or isinstance(node.value, ast.Lambda)):
                yield f"line {node.lineno} sets {name} to {given[:40]}: have it subscribe, or give it when it is made"


def test_no_table_of_services_stands_beside_the_list() -> None:
    assert broken(tables, [module for module in modules() if module.name not in TABLES]) == []
    assert set(TABLES) <= {module.name for module in modules()}


def test_nothing_is_set_on_a_part_once_it_is_made() -> None:
    wiring = [one for one in modules() if one.name == "assembly.py" or one.name.endswith("/service.py")]
    assert len(wiring) > len(SERVICES)
    assert broken(assignments, wiring) == []


def test_no_hook_is_set_on_what_another_module_made() -> None:
    assert broken(hooks, [one for one in modules() if one.package in ROOMS and "runtimes" not in one.name]) == []


def test_every_part_has_a_type_and_is_built_in_the_folder_of_a_service() -> None:
    untyped = {"Any", "object", "Mapping", "dict"}
    for made in (App, Ground, Services, System):
        for one in fields(made):
            assert not untyped & set(str(one.type).replace("[", " ").split()), one.name
    for part in PARTS:
        assert part.build.__annotations__["return"] not in untyped, part.name
        assert part.build.__module__ in {f"{service.package}.service" for service in SERVICES}
    names = [name for name in vars(Services) if not name.startswith("_") and not callable(getattr(Services, name))]
    assert names == [part.name for part in PARTS]


def module(text: str) -> Module:
    return Module(modules()[0].path, "cli/x.py", text, ast.parse(text))


def test_tables_and_late_settings_are_found() -> None:
    assert list(tables(module('OWN = {"sqs": 1, "sns": 2, "lambda": 3, "s3": 4}'))) != []
    assert list(tables(module('OWN = {"queues": "sqs", "a": "sns", "b": "lambda", "c": "s3"}'))) != []
    assert list(tables(module('OWN = ("sqs", "sns", "lambda", "queues")'))) == []
    assert list(assignments(module("objects.outbox = notices"))) != []
    assert list(assignments(module("objects = Objects(notices)"))) == []
    assert list(hooks(module("definitions.on_change = self.changed"))) != []
    assert list(hooks(module("self.limits.on_room = lambda name: None"))) != []
    assert list(hooks(module("self.on_room = self.room"))) == []
