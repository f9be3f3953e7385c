"""Short tags of CloudFormation templates: read where they are wanted, refused in definitions."""

import pytest

from statewright.asl.reader import ReadError, read_document
from statewright.payload import Json


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("!Ref Queue", {"Ref": "Queue"}),
        ("!Ref 012", {"Ref": "012"}),
        ("!Condition Yes", {"Condition": "Yes"}),
        ("!GetAtt Queue.Arn", {"Fn::GetAtt": ["Queue", "Arn"]}),
        ("!GetAtt Child.Outputs.Url", {"Fn::GetAtt": ["Child", "Outputs.Url"]}),
        ("!GetAtt [Queue, Arn]", {"Fn::GetAtt": ["Queue", "Arn"]}),
        ("!GetAtt Queue", {"Fn::GetAtt": "Queue"}),
        ('!Sub "a ${B}"', {"Fn::Sub": "a ${B}"}),
        ("!Sub\n  - a\n  - {B: !Ref C}", {"Fn::Sub": ["a", {"B": {"Ref": "C"}}]}),
        ("!Join [',', [!Ref A, 1]]", {"Fn::Join": [",", [{"Ref": "A"}, 1]]}),
        ("!If [Yes, {a: !Base64 x}, !Ref AWS::NoValue]",
         {"Fn::If": ["Yes", {"a": {"Fn::Base64": "x"}}, {"Ref": "AWS::NoValue"}]}),
        ("!GetAZs ''", {"Fn::GetAZs": ""}),
        ("!Transform {Name: AWS::Include}", {"Fn::Transform": {"Name": "AWS::Include"}}),
        ("- &q !Ref Queue\n- *q", [{"Ref": "Queue"}, {"Ref": "Queue"}]),
    ],
)  # fmt: skip
def test_short_tags_stand_for_functions(text: str, value: Json) -> None:
    assert read_document(text, syntax="yaml", template=True).value == value


def test_their_parts_know_where_they_stand() -> None:
    document = read_document("a:\n  b: !Join\n    - x\n    - [!Ref C]\n", syntax="yaml", template=True)
    assert document.position(("a", "b")) == (2, 6)
    assert document.position(("a", "b", "Fn::Join", 0)) == (3, 7)
    assert document.position(("a", "b", "Fn::Join", 1, 0)) == (4, 8)


@pytest.mark.parametrize(("text", "template"), [("!Ref Queue", False), ("!Nothing x", True), ("!Sub {a: }b", True)])
def test_other_tags_are_refused(text: str, template: bool) -> None:
    with pytest.raises(ReadError):
        read_document(text, syntax="yaml", template=template)


def test_a_tag_is_no_name() -> None:
    with pytest.raises(ReadError, match="expected a string"):
        read_document("!Ref a: 1\n", syntax="yaml", template=True)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("[yes, No, ON, off]", [True, False, True, False]),
        ("['yes', \"no\", !Ref on, yEs]", ["yes", "no", {"Ref": "on"}, "yEs"]),
        ("{on: yes, no: true}", {"on": True, "no": True}),
        ("yes", True),
    ],
)
def test_truth_values_of_older_yaml(text: str, value: Json) -> None:
    assert read_document(text, syntax="yaml", template=True, old_words=True).value == value
    assert read_document("[yes, off]", syntax="yaml", template=True).value == ["yes", "off"]
