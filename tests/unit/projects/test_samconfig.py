"""`samconfig.toml` beside a template."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.projects.reading import read, texts, write

TEMPLATE = """\
Parameters:
  Stage: {Type: String}
  Note: {Type: String, Default: none}
Resources:
  Queue: {Type: AWS::SQS::Queue, Properties: {QueueName: !Sub "${AWS::StackName}/${Stage}/${Note}"}}
"""


@pytest.mark.parametrize(
    ("config", "name"),
    [
        ('[default.deploy.parameters]\nstack_name = "shop"\nparameter_overrides = "Stage=dev"', "shop/dev/none"),
        ('[default.deploy.parameters]\nparameter_overrides = "Stage=\\"a b\\" Note=x=y"', "own/a b/x=y"),
        ('[default.deploy.parameters]\nparameter_overrides = ["Stage=dev", "Note=\'n m\'"]', "own/dev/n m"),
        ('[default.deploy.parameters]\nparameter_overrides = "ParameterKey=Stage,ParameterValue=q"', "own/q/none"),
        ("[default.deploy.parameters.parameter_overrides]\nStage = 3", "own/3/none"),
        ('[default.global.parameters]\nstack_name = "all"\nparameter_overrides = "Stage=g"', "all/g/none"),
        ('version = 0.1\n[default]\ndeploy = 3\n[default.global.parameters]\nparameter_overrides = "Stage=g"',
         "own/g/none"),
    ],
    ids=str,
)  # fmt: skip
def test_its_name_and_parameters_are_used(tmp_path: Path, config: str, name: str) -> None:
    write(tmp_path / "own", {"samconfig.toml": config})
    write(tmp_path / "own", {"template.yaml": TEMPLATE})
    project = read(tmp_path / "own", TEMPLATE)
    assert texts(project) == []
    assert project.resources["Queue"].properties["QueueName"] == name
    assert tmp_path / "own" / "samconfig.toml" in project.files


def test_the_stage_names_the_environment_and_what_is_given_goes_first(tmp_path: Path) -> None:
    config = '[prod.deploy.parameters]\nstack_name = "big"\nparameter_overrides = "Stage=prod Note=n"'
    write(tmp_path, {"samconfig.toml": config})
    project = read(tmp_path, TEMPLATE, stage="prod", parameters={"Note": "mine"})
    assert project.name == "big"
    assert project.resources["Queue"].properties["QueueName"] == "big/prod/mine"


def test_a_mistake_in_it_is_told(tmp_path: Path) -> None:
    write(tmp_path, {"samconfig.toml": "version = 0.1\n[default\n"})
    found = texts(read(tmp_path, TEMPLATE), "ERROR")
    assert found[0].startswith("2: samconfig.toml cannot be read")
