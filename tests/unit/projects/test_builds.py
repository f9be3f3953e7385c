"""What `sam build` and `serverless package` have written: where it is found, and when it takes the source's place."""

from __future__ import annotations

import json
import os
import zipfile
from pathlib import Path

from statewright.projects.reading import read_project
from statewright.projects.resources import Project
from tests.unit.projects.reading import ACCOUNT, REGION, texts, write

TEMPLATE = """\
Transform: AWS::Serverless-2016-10-31
Resources:
  Work:
    Type: AWS::Serverless::Function
    Properties: {Runtime: RUNTIME, Handler: app.handler, CodeUri: CODE}
"""
PYTHON = "def handler(event, context): ...\n"


def project_of(folder: Path) -> Project:
    return read_project(folder, account=ACCOUNT, region=REGION)


def sam(folder: Path, runtime: str, source: dict[str, str], build: dict[str, str]) -> Project:
    template = TEMPLATE.replace("RUNTIME", runtime)
    write(folder, {"template.yaml": template.replace("CODE", "src/")})
    write(folder, {f"src/{name}": text for name, text in source.items()})
    write(folder, {f".aws-sam/build/Work/{name}": text for name, text in build.items()})
    write(folder, {".aws-sam/build/template.yaml": template.replace("CODE", "Work")})
    return project_of(folder)


def touch(path: Path, seconds: int) -> None:
    at = path.stat().st_mtime + seconds
    os.utime(path, (at, at))


def test_a_build_runs_where_the_source_has_no_handler(tmp_path: Path) -> None:
    project = sam(tmp_path, "nodejs22.x", {"app.ts": "", "package.json": "{}"}, {"app.js": ""})
    assert texts(project) == []
    assert project.resources["Work"].code == tmp_path / ".aws-sam/build/Work"
    touch(tmp_path / "src/app.ts", 60)
    assert texts(project_of(tmp_path)) == [
        "3: Work: src has changed since sam build, and the build is used: run sam build again"
    ]


def test_a_build_brings_packages_until_the_source_changes(tmp_path: Path) -> None:
    source = {"app.py": PYTHON, "requirements.txt": "requests\n"}
    built = {"app.py": PYTHON, "requirements.txt": "requests\n", "requests-1.dist-info/METADATA": ""}
    assert sam(tmp_path, "python3.12", source, built).resources["Work"].code == tmp_path / ".aws-sam/build/Work"
    touch(tmp_path / "src/app.py", 60)
    project = project_of(tmp_path)
    assert project.resources["Work"].code == tmp_path / "src"
    assert "so that the source runs: run sam build for its packages" in texts(project)[0]


def test_a_source_that_runs_is_preferred(tmp_path: Path) -> None:
    project = sam(tmp_path, "python3.12", {"app.py": PYTHON}, {"app.py": PYTHON})
    assert project.resources["Work"].code == tmp_path / "src"


def test_a_build_alone_is_a_project(tmp_path: Path) -> None:
    folder = tmp_path / "shop"
    sam(folder, "python3.12", {"app.py": PYTHON}, {"app.py": PYTHON})
    (folder / "template.yaml").unlink()
    project = project_of(folder)
    assert (project.name, texts(project)) == ("shop", [])
    assert project.resources["Work"].code == folder / ".aws-sam/build/Work"


def test_a_packaged_service_has_its_zip_beside_its_template(tmp_path: Path) -> None:
    folder = tmp_path / "shop"
    bucket = {"Ref": "ServerlessDeploymentBucket"}
    code = {"S3Bucket": bucket, "S3Key": "serverless/shop/dev/1700000000000-2023-11-14T22:13:20.000Z/shop.zip"}
    properties = {"Code": code, "Handler": "app.handler", "Runtime": "python3.12", "FunctionName": "shop-dev-work"}
    template = {
        "Resources": {
            "ServerlessDeploymentBucket": {"Type": "AWS::S3::Bucket"},
            "WorkLambdaFunction": {"Type": "AWS::Lambda::Function", "Properties": properties},
        }
    }
    name = ".serverless/cloudformation-template-update-stack.json"
    write(folder, {name: json.dumps(template), "serverless.ts": "export default {}"})
    with zipfile.ZipFile(folder / ".serverless/shop.zip", "w") as archive:
        archive.writestr("app.py", PYTHON)
    for place in (folder, folder / name):
        project = project_of(place)
        assert (project.name, project.kind, texts(project)) == ("shop", "sam", [])
        assert project.resources["WorkLambdaFunction"].code == folder / ".serverless/shop.zip"
