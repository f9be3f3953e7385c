"""The blocks that no test runs, each with the reason; the rest of the pages is run.

An entry names a page and how the block begins; an empty beginning means every block of the page that is of no kind
that is run. An entry without a block is a mistake.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from tests.docs.blocks import Block


@dataclass(frozen=True, slots=True)
class NotRun:
    """Why a block is not run."""

    page: str
    beginning: str
    reason: str

    def means(self, block: Block) -> bool:
        """True if this entry is for the block."""
        return block.page == self.page and (
            block.text.lstrip().startswith(self.beginning) if self.beginning else block.kind == "other"
        )


_PACKAGING: Final = "tests/e2e/test_packaging.py, tests/architecture/test_packaging.py"
_REPORTS: Final = "tests/unit/projects has their texts"
_ORDER_API: Final = "examples/order_api.py, which the demo runs"
_WHEEL: Final = "tests/e2e/test_wheel.py"
NOT_RUN: Final = (
    NotRun("README.md", "$ git clone", "tests/e2e/test_demo.py runs the demo"),
    NotRun("README.md", "On a real server", "a part of what the demo prints: tests/e2e/test_demo.py"),
    NotRun("README.md", "boto3, AWS CLI", "a drawing"),
    NotRun("docs/apis.md", "", "its host has an id that the server gives: tests/e2e/test_http_apis.py"),
    NotRun("docs/apis.md", "$ statewright api", "its addresses have ids of the server: tests/e2e/test_cli_apis.py"),
    NotRun("docs/architecture.md", "", "drawings"),
    NotRun("docs/benchmarks.md", "", "measurements take minutes on a quiet machine"),
    NotRun("docs/moving.md", "$ statewright", "needs PostgreSQL: tests/e2e/test_move.py"),
    NotRun("docs/ray.md", "", "needs a Ray cluster: tests/e2e/test_ray.py"),
    NotRun("docs/phases.md", "", "drawings made from the code: tests/architecture/test_documents.py"),
    NotRun("docs/cli.md", "FILE:LINE:COLUMN", "the form of a line"),
    NotRun(
        "docs/functions.md",
        "$ aws lambda create-function-url-config",
        "its host has an id that the server gives: tests/e2e/test_function_urls.py",
    ),
    NotRun("docs/functions.md", "$ statewright setup node-sdk", "fetches packages from an index: tests/unit/cli/local"),
    NotRun("docs/functions.md", "$ statewright function logs price --since", "of a function that fails: test_cli_logs"),
    NotRun(
        "docs/functions.md",
        "$ aws lambda create-event-source-mapping",
        "needs a table and a function: test_stream_mappings",
    ),
    NotRun("examples/projects/order-api/README.md", "$ statewright", f"its address has an id: {_ORDER_API}"),
    NotRun("docs/install.md", "$ python3 -m venv", f"installs from an index: {_WHEEL}"),
    NotRun("docs/install.md", "$ pipx", f"installs from an index: {_WHEEL}"),
    NotRun("docs/install.md", "# python3 -m venv", f"changes the machine: {_PACKAGING}"),
    NotRun("docs/install.md", "$ docker build", f"needs a container engine: {_PACKAGING}"),
    NotRun("docs/install.md", "$ cat statewright.toml", f"needs a container engine: {_PACKAGING}"),
    NotRun("docs/install.md", "$ cat > .env", f"needs a container engine: {_PACKAGING}"),
    NotRun("docs/install.md", "- uses: OWNER", f"is for GitHub: {_PACKAGING}"),
    NotRun("docs/server.md", "✓ price  function updated", "what edited files bring: tests/e2e/test_cli_server.py"),
    NotRun("docs/server.md", "$ statewright machine diff", "after an edited file: tests/e2e/test_cli_server.py"),
    NotRun("docs/project-files.md", "template.yaml:7", f"lines of a report: {_REPORTS}"),
    NotRun("docs/project-files.md", "src/app.py:1", f"lines of a report: {_REPORTS}"),
    NotRun("docs/pytest.md", "pip install", "installs from an index"),
    NotRun("docs/server.md", "$ statewright serve --port 4567", "needs PostgreSQL: tests/e2e/test_postgres.py"),
    NotRun("docs/server.md", "$ statewright serve --data", "needs PostgreSQL: tests/e2e/test_no_shared_disk.py"),
    NotRun("docs/server.md", "$ export AWS_ACCESS_KEY_ID", "needs PostgreSQL and a bucket: tests/e2e/test_bucket.py"),
    NotRun("docs/high-availability.md", "", "lines of a log, and settings of other programs"),
    NotRun("docs/high-availability.md", "$ statewright serve", "needs PostgreSQL: tests/e2e/test_postgres.py"),
    NotRun("docs/high-availability.md", "$ curl", "needs PostgreSQL: tests/crash/test_standby_kill.py"),
    NotRun("docs/cluster.md", "", "lines that make demo-cluster prints: tests/crash/test_cluster_demo.py"),
    NotRun("docs/cluster.md", "$ statewright", "needs PostgreSQL: tests/e2e/test_nodes.py"),
    NotRun("docs/stacks.md", "$ export AWS_ENDPOINT_URL", "needs a template: tests/clients/stacks"),
    NotRun("docs/stacks.md", "$ cdk bootstrap", "needs the CDK: tests/clients/stacks/test_cdk.py"),
    NotRun("docs/stacks.md", "$ sam build", "needs the SAM CLI: tests/clients/stacks/test_sam.py"),
    NotRun("docs/stacks.md", '$ eval "$(statewright env --node)"', "needs the framework: tests/clients/stacks"),
    NotRun("docs/stacks.md", "$ aws s3 mb s3://artifacts", "needs a template: tests/clients/stacks/test_aws_cli.py"),
    NotRun("docs/terraform.md", "provider", "needs Terraform and its provider: tests/e2e/test_terraform_calls.py"),
)


def reason_not_to_run(block: Block) -> str | None:
    """Why the block is not run; None if it is."""
    return next((entry.reason for entry in NOT_RUN if entry.means(block)), None)
