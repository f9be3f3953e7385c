from __future__ import annotations

from pathlib import Path

import pytest

from statewright.projects.code.foreign_layers import is_foreign, what_to_do
from tests.unit.projects.reading import read, texts

POWERTOOLS = "arn:aws:lambda:us-east-1:017000801446:layer:AWSLambdaPowertoolsPythonV3-python312-x86_64:4"
PIP = "into the server's environment or beside its code"


@pytest.mark.parametrize(
    ("layer", "runtime", "words"),
    [
        (POWERTOOLS, "python3.12", f"pip install aws-lambda-powertools {PIP}"),
        ("arn:aws:lambda:x:1:layer:Klayers-p312-requests:1", "python3.12", f"pip install requests {PIP}"),
        ("arn:aws:lambda:x:1:layer:Klayers-p312-arm64-numpy:1", "python3.12", f"pip install numpy {PIP}"),
        ("arn:aws:lambda:x:1:layer:AWSSDKPandas-Python312:1", "python3.12", f"pip install awswrangler {PIP}"),
        ("arn:aws:lambda:x:1:layer:AWSLambdaPowertoolsTypeScriptV2:1", "nodejs22.x",
         "npm install @aws-lambda-powertools/logger beside its code"),
        ("{{resolve:ssm:/aws/service/powertools/python/arm64/python3.12/latest}}", "python3.12",
         f"pip install aws-lambda-powertools {PIP}"),
        ("arn:aws:lambda:x:1:layer:LambdaInsightsExtension:38", "python3.12", "is an extension of another account"),
        ("arn:aws:lambda:x:1:layer:ours:38", "python3.12", "what the function needs of it must be beside its code"),
    ],
)  # fmt: skip
def test_the_package_is_named(layer: str, runtime: str, words: str) -> None:
    assert is_foreign(layer, "000000000000")
    assert words in what_to_do(layer, runtime)


def test_own_layers_and_references_stay(tmp_path: Path) -> None:
    assert not is_foreign({"Ref": "Layer"}, "000000000000")
    project = read(
        tmp_path,
        f"""\
        Resources:
          Work:
            Type: AWS::Lambda::Function
            Properties:
              Runtime: python3.12
              Handler: index.handler
              Code: {{ZipFile: "def handler(event, context): ..."}}
              Layers: [!Ref Own, "{POWERTOOLS}", !Sub "arn:aws:lambda:${{AWS::Region}}:${{AWS::AccountId}}:layer:a:1"]
          Own: {{Type: AWS::Lambda::LayerVersion, Properties: {{Content: layer}}}}
        """,
    )
    assert project.resources["Work"].properties["Layers"] == [
        {"Ref": "Own"},
        "arn:aws:lambda:eu-central-1:000000000000:layer:a:1",
    ]
    assert [text[:60] for text in texts(project, "WARNING")] == [
        "8: Work: the layer AWSLambdaPowertoolsPythonV3-python312-x86"
    ]
