"""Which file describes a project, and the examples as they are read."""

from __future__ import annotations

from pathlib import Path

import pytest

from statewright.projects.reading import read_project
from statewright.projects.resources import ProjectError, ProjectKind
from tests.unit.projects.reading import texts, write

EXAMPLES = Path(__file__).parents[3] / "examples" / "projects"
TEMPLATE = "Resources:\n  Q: {Type: AWS::SQS::Queue}\n"
SERVICE = "service: shop\nprovider: aws\n"
MANIFEST = '{"artifacts": {}}'


@pytest.mark.parametrize(
    ("files", "kind"),
    [
        ({"template.yaml": TEMPLATE, "serverless.yml": SERVICE}, "sam"),
        ({"template.yml": TEMPLATE}, "sam"),
        ({"template.json": '{"Resources": {}}'}, "sam"),
        ({"template.yaml": "title: a page\n", "serverless.yml": SERVICE}, "serverless"),
        ({"cdk.out/manifest.json": MANIFEST, "serverless.yml": SERVICE}, "cdk"),
        ({"manifest.json": MANIFEST}, "cdk"),
        ({"serverless.yaml": SERVICE}, "serverless"),
        ({"serverless.json": '{"service": "a", "provider": "aws"}'}, "serverless"),
    ],
    ids=lambda case: "+".join(case) if isinstance(case, dict) else "",
)
def test_the_first_kind_that_is_there(tmp_path: Path, files: dict[str, str], kind: ProjectKind) -> None:
    write(tmp_path, files)
    assert read_project(tmp_path, account="000000000000", region="us-east-1").kind == kind


@pytest.mark.parametrize(
    ("name", "text", "kind"),
    [
        ("stack.yaml", TEMPLATE, "sam"),
        ("serverless.prod.yml", SERVICE, "serverless"),
        ("cdk.out/manifest.json", MANIFEST, "cdk"),
    ],
)
def test_a_file_is_what_its_name_says(tmp_path: Path, name: str, text: str, kind: ProjectKind) -> None:
    write(tmp_path, {name: text})
    assert read_project(tmp_path / name, account="000000000000", region="us-east-1").kind == kind


def test_nothing_to_read(tmp_path: Path) -> None:
    write(tmp_path, {"functions/a.py": "", "manifest.json": "{}"})
    with pytest.raises(ProjectError, match="holds no project"):
        read_project(tmp_path, account="000000000000", region="us-east-1")
    with pytest.raises(ProjectError, match="there is no"):
        read_project(tmp_path / "nowhere", account="000000000000", region="us-east-1")


def test_the_name_may_be_given(tmp_path: Path) -> None:
    write(tmp_path / "1 shop!", {"template.yaml": "Resources:\n  Q: {Type: AWS::SQS::Queue}\n"})
    folder = tmp_path / "1 shop!"
    assert read_project(folder, account="000000000000", region="us-east-1").name == "project-1-shop"
    assert read_project(folder, account="000000000000", region="us-east-1", name="mine").name == "mine"


@pytest.mark.parametrize(
    ("name", "lost"), [("sam-orders", 0), ("cdk-out-etl", 1), ("serverless-signup", 0), ("order-api", 0)]
)
def test_examples(name: str, lost: int) -> None:
    project = read_project(EXAMPLES / name, account="000000000000", region="us-east-1")
    assert texts(project, "ERROR") == []
    assert len(texts(project, "WARNING")) == lost
    assert set(project.order) == set(project.resources)
    assert len(project.order) >= 10
    for resource in project.resources.values():
        if resource.type == "AWS::Lambda::Function":
            assert resource.code is not None
            assert resource.code.is_dir()
