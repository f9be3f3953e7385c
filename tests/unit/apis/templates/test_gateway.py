"""The gateway's variables in templates: `$input`, `$util`, `$context`, `$stageVariables`, and the texts of values."""

from __future__ import annotations

import json

import pytest

from statewright.apis.templates.failures import BodyIsNotJson, RenderingFailed
from statewright.apis.templates.rendering import Inputs, Rendered
from statewright.apis.templates.template import compile_template
from statewright.apis.templates.values import double_text

BODY = json.dumps({
    "pet": {"name": "Rex", "tags": ["a", "b"], "owner": {"id": 7}},
    "list": [{"n": 1}, {"n": 2, "none": None}],
    "none": None,
    "text": "",
    "flag": True,
    "price": 249.99,
    "quote": "it's \"5\" / ä",
})  # fmt: skip
INPUTS = Inputs(
    BODY,
    {"path": {"id": "12"}, "querystring": {"id": "34", "q": "a b"}, "header": {"X-Name": "n", "id": "56"}},
    {"stage": "prod", "identity": {"sourceIp": "192.0.2.1"}, "requestOverride": {}, "responseOverride": {}},
    {"table": "orders"},
)


def render(text: str, inputs: Inputs = INPUTS) -> Rendered:
    return compile_template(text).render(inputs)


@pytest.mark.parametrize(
    ("text", "output"),
    [
        ("$input.path('$.pet')", '{name=Rex, tags=["a","b"], owner={id=7}}'),
        ("$input.path('$.pet').toString()", '{name=Rex, tags=["a","b"], owner={id=7}}'),
        ("$input.path('$.list')", '[{"n":1},{"n":2,"none":null}]'),
        ("$input.path('$.list')[1]", "{n=2, none=null}"),
        ("$input.path('$.list').size()", "2"),
        ("$input.path('$.list[*].n')", "[1,2]"),
        ("$input.path('$.flag')$input.path('$.price')$input.path('$.text')", "true249.99"),
        ("[$input.path('$.none')$input.path('$.no')$input.path('$.no.no[3]')]", "[]"),
        ("#if($input.path('$.no') == $null && $input.path('$.no') == '')both#end", "both"),
        ("#if($input.path('$.no'))yes#{else}no#end", "no"),
        ("$input.path('pet.name')", "Rex"),
        ("#set($k = 'name')$input.path(\"$.pet.$k\")", "Rex"),
        ("$input.json('$.pet')", '{"name":"Rex","tags":["a","b"],"owner":{"id":7}}'),
        ("$input.json('$.pet.name') $input.json('$.none') $input.json('$.no')", '"Rex" null ""'),
        ("$input.body.length() $input.body.attr", f"{len(BODY)} "),
        ("$input.params('id') $input.params('q') $input.params('X-Name') $input.params('x-name')", "12 a b n n"),
        ("[$input.params('no')]", "[]"),
        ("$input.params()", "{path={id=12}, querystring={id=34, q=a b}, header={X-Name=n, id=56}}"),
        ("$input.params().querystring.q $input.params().get('header').keySet()", "a b [X-Name, id]"),
        (
            "$context.stage $context.identity.sourceIp [$context.identity.user][$context.authorizer.x.y]",
            "prod 192.0.2.1 [][]",
        ),
        (
            "$stageVariables.table ${stageVariables.table} $stageVariables['table'] [$stageVariables.no]",
            "orders orders orders []",
        ),
        ("$util.escapeJavaScript($input.path('$.quote'))", r"it\'s \"5\" \/ \u00E4"),
        (r"""$util.escapeJavaScript($input.path('$.quote')).replaceAll("\\'","'")""", r"it's \"5\" \/ \u00E4"),
        ("$util.urlEncode('{} ~*ä') $util.urlDecode('%7B%7D+%C3%A4')", "%7B%7D+%7E*%C3%A4 {} ä"),
        ("$util.base64Encode('ä?') $util.base64Decode('w6Q/')", "w6Q/ ä?"),
        ('$util.parseJson(\'{"a": [1, {"b": 2}]}\').a[1].b', "2"),
        ("[$util.escapeJavaScript($input.path('$.no'))]", "[]"),
    ],
)
def test_variables(text: str, output: str) -> None:
    assert render(text).text == output


def test_an_empty_body_is_an_empty_object() -> None:
    assert (
        render("$input.body $input.json('$') $input.path('$') $util.urlEncode($input.body)", Inputs()).text
        == "{} {} {} %7B%7D"
    )


def test_a_body_that_is_no_json_fails_only_a_template_that_reads_json() -> None:
    assert render("$input.body", Inputs("a=b")).text == "a=b"
    with pytest.raises(BodyIsNotJson):
        render("$input.json('$.a')", Inputs("a=b"))
    with pytest.raises(RenderingFailed, match="parseJson"):
        render("$util.parseJson('{')")


def test_overrides_are_returned_and_the_inputs_stay_as_they_are() -> None:
    text = (
        "#set($context.responseOverride.status = 418)"
        "#set($context.responseOverride.header.x = 'y')"
        "#set($name = 'page')#set($context.requestOverride.querystring[$name] = '2')"
        "#set($done = $context.requestOverride.header.put('a', ['b', 'c']))"
        "#set($context.requestOverride.path.id = $input.params('q'))$context.requestOverride.path"
    )
    given = {"responseOverride": {"header": {"kept": "1"}}}
    rendered = render(text, Inputs("", INPUTS.parameters, given))
    assert rendered.text == "{id=a b}"
    assert rendered.response_override == {"status": 418, "header": {"kept": "1", "x": "y"}}
    assert rendered.request_override == {
        "querystring": {"page": "2"}, "header": {"a": ["b", "c"]}, "path": {"id": "a b"},
    }  # fmt: skip
    assert given == {"responseOverride": {"header": {"kept": "1"}}}


def test_no_template_changes_what_other_requests_see() -> None:
    context = {"authorizer": {"claims": {"sub": "ada"}}, "identity": {"user": "u"}}
    text = "#set($x = $context.authorizer.claims.put('sub', 'eve'))#set($y = $context.identity.put('user', 'v'))"
    assert render(text + "$context.authorizer.claims.sub", Inputs("", {}, context)).text == "eve"
    assert context == {"authorizer": {"claims": {"sub": "ada"}}, "identity": {"user": "u"}}


def test_the_state_of_a_loop_has_no_text() -> None:
    text = "#foreach($i in [1])[$foreach]#set($l = $input.path('$.list'))#set($x = $l.add($foreach))$l#end"
    assert render(text).text == '[][{"n":1},{"n":2,"none":null},""]'


def test_numbers_beyond_those_of_java() -> None:
    text = "#set($n = 0.0)#set($inf = $n.parseDouble('1e400'))#set($r = $inf % 2)$inf [$r]"
    assert render(text).text == "Infinity []"


def test_changes_of_the_body_are_those_of_one_copy() -> None:
    change = "#set($pet = $input.path('$.pet'))#set($n = $pet.put('name', 'Tom'))"
    text = f"{change}$pet.name $input.path('$.pet.name') $input.json('$.pet.name')"
    assert render(text).text == 'Tom Rex "Rex"'


def test_the_guides_template_of_all_parameters_makes_json() -> None:
    text = """#set($all = $input.params())
{
  #foreach($kind in $all.keySet())
  #set($some = $all.get($kind))
  "$kind" : {
    #foreach($name in $some.keySet())
    "$name" : "$util.escapeJavaScript($some.get($name))"
    #if($foreach.hasNext),#end
    #end
  }
  #if($foreach.hasNext),#end
  #end
}"""
    assert json.loads(render(text).text) == {kind: dict(values) for kind, values in INPUTS.parameters.items()}


def test_the_input_of_an_execution_by_placeholders_of_quotes() -> None:
    text = """#set($inputString = "@@body@@: $input.body")
#foreach($h in $input.params().header.keySet())
  #set($inputString = "$inputString, @@$h@@: @@$util.escapeJavaScript($input.params().header.get($h))@@")
#end
#set($requestContext = "{@@stage@@:@@$context.stage@@}")
#if($requestContext && !$requestContext.empty)
  #set($inputString = "$inputString, @@requestContext@@: $requestContext")
#end
#set($inputString = "{$inputString}")
#set($inputString = $inputString.replaceAll("@@",'"'))
#set($len = $inputString.length() - 1)
{"input": "{$util.escapeJavaScript($inputString.substring(1,$len)).replaceAll("\\\\'","'")}"}"""
    made = json.loads(json.loads(render(text).text)["input"])
    assert made == {"body": json.loads(BODY), "X-Name": "n", "id": "56", "requestContext": {"stage": "prod"}}


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (1.0, "1.0"), (0.001, "0.001"), (0.0001, "1.0E-4"), (9999999.5, "9999999.5"), (1e7, "1.0E7"),
        (12345678.9, "1.23456789E7"), (-1.5e-10, "-1.5E-10"), (1e22, "1.0E22"), (0.0, "0.0"), (123e20, "1.23E22"),
        (float("inf"), "Infinity"), (0.00012345, "1.2345E-4"),
    ],
)  # fmt: skip
def test_numbers_are_written_as_java_does(number: float, text: str) -> None:
    assert double_text(number) == text


def test_the_root_of_a_form_is_its_text() -> None:
    form = {"header": {"content-type": "application/x-www-form-urlencoded; charset=utf-8"}}
    template = compile_template("#foreach($one in $input.path('$').split('&'))<$one>#end")
    assert template.render(Inputs("a=1&b=2", form)).text == "<a=1><b=2>"
    for parameters in (form, {}):
        with pytest.raises(BodyIsNotJson):
            compile_template("$input.path('$.a')").render(Inputs("a=1", parameters))
    with pytest.raises(BodyIsNotJson):
        template.render(Inputs("a=1&b=2"))
