"""Which tests belong to a package: `python -m tests.belonging queues` prints what pytest is given for it.

A package has `tests/unit/PACKAGE` (or `test_MODULE.py` for a module at the top), the files elsewhere that are named
below, and the rules of the architecture, which hold for all.
"""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).parent
ELSEWHERE: dict[str, list[str]] = {
    "api": [
        "attack", "e2e/test_bad_input.py", "e2e/test_server.py", "e2e/test_connections.py", "property/test_api_fuzz.py",
    ],
    "asl": ["property/test_reader_fuzz.py", "property/test_validate_fuzz.py", "property/test_graph_fuzz.py"],
    "cli": ["e2e/test_cli_*.py", "property/test_cli_fuzz.py"],
    "engine": [
        "conformance/test_cases_engine.py", "simulation/test_engine_chaos.py", "simulation/test_limits_chaos.py",
        "crash/test_express_children_kill.py", "crash/test_fail_points.py", "crash/test_limits_kill.py",
        "e2e/test_executions.py", "e2e/test_limits.py",
        "property/test_story_fuzz.py",
    ],
    "events": ["e2e/test_events*.py", "e2e/test_schedules.py", "crash/test_events_kill.py"],
    "functions": [
        "e2e/test_lambda*.py", "crash/test_pipeline_kill.py", "e2e/test_cli_function.py", "attack/test_handlers.py",
        "attack/test_isolation.py", "attack/test_credentials_of_processes.py", "e2e/test_ray.py",
    ],
    "graph": ["property/test_graph_fuzz.py"],
    "integrations": ["e2e/test_volatile.py", "e2e/test_workers.py"],
    "interpreter": [
        "conformance/test_cases.py", "property/test_advance.py", "property/test_codec.py",
        "property/test_map_run_fuzz.py",
    ],
    "jobs": ["e2e/test_batch.py", "e2e/test_ecs.py", "e2e/test_jobs_crash.py", "e2e/test_ray_jobs.py"],
    "metrics": ["e2e/test_metrics.py"],
    "objects": [
        "contract/test_objects_contract.py", "contract/test_blobs.py", "crash/test_blobs_kill.py", "e2e/test_s3*.py",
        "e2e/test_no_shared_disk.py",
    ],
    "projects": ["e2e/test_project*.py", "property/test_projects_fuzz.py"],
    "query": [
        "property/test_jsonata_tiers.py", "property/test_jsonpath_fuzz.py", "property/test_intrinsics_fuzz.py",
        "conformance/test_jsonata_suite.py",
    ],
    "queues": [
        "contract/test_queue_contract.py", "e2e/test_sqs*.py", "crash/test_queues_kill.py",
        "simulation/test_queues_chaos.py",
    ],
    "records": ["e2e/test_log*.py", "e2e/test_identities.py", "e2e/test_secrets_and_parameters.py"],
    "settings": ["unit/test_config.py"],
    "simulator": ["conformance/test_cases.py", "property/test_script_fuzz.py"],
    "stores": ["contract", "crash/test_sqlite_kill.py", "crash/test_store_faults.py", "crash/test_checkpoint_kill.py",
               "crash/test_postgres_outage.py"],
    "tables": ["contract/test_table*.py", "e2e/test_dynamodb*.py", "crash/test_table_pipeline_kill.py"],
    "testing": ["plugin"],
    "topics": ["e2e/test_sns*.py", "crash/test_topics_kill.py"],
}  # fmt: skip


def targets(package: str) -> list[Path]:
    """The folders and files with the tests of a package. Raises: LookupError when there are none."""
    own = [path for path in (HERE / "unit" / package, HERE / "unit" / f"test_{package}.py") if path.exists()]
    found = own + [path for pattern in ELSEWHERE.get(package, ()) for path in sorted(HERE.glob(pattern))]
    if not found:
        raise LookupError(f"no tests belong to {package}: is it a package of src/statewright?")
    return [*found, HERE / "architecture"]


def main() -> None:
    """Print the tests of the package that the first argument names."""
    try:
        print(*(path.relative_to(HERE.parent) for path in targets(sys.argv[1])))
    except LookupError as problem:
        sys.exit(str(problem))


if __name__ == "__main__":
    main()
