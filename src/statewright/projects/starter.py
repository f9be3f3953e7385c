"""The files of a new project of `statewright init`: a machine, its function, its cases, settings and a README.

Owns the texts, by the names of their files. They run as they are: `statewright test` passes, `statewright dev` serves.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_MACHINE: Final = """\
Comment: Prices an order; a large one waits a minute for second thoughts.
QueryLanguage: JSONata
StartAt: Price
States:
  Price:
    Type: Task
    Resource: arn:aws:states:::lambda:invoke
    Arguments:
      FunctionName: price
      Payload: "{% $states.input %}"
    Assign:
      price: "{% $states.result.Payload.price %}"
    Output: "{% $states.result.Payload %}"
    Retry:
      - ErrorEquals: [Lambda.TooManyRequestsException, Lambda.ServiceException]
        IntervalSeconds: 2
        MaxAttempts: 3
        BackoffRate: 2
    Catch:
      - ErrorEquals: [UnknownItem]
        Next: Refuse
    Next: Large?
  Large?:
    Type: Choice
    Choices:
      - Condition: "{% $price > 100 %}"
        Next: Wait a minute
    Default: Accept
  Wait a minute:
    Type: Wait
    Seconds: 60
    Next: Accept
  Accept:
    Type: Succeed
    Output: "{% {'accepted': true, 'price': $price} %}"
  Refuse:
    Type: Fail
    Error: Refused
    Cause: This item is not for sale.
"""

_CASES: Final = """\
cases:
  a small order:
    input: {item: book, count: 2}
    mocks:
      Price: {returns_payload: {price: 24}}
    expect:
      output: {accepted: true, price: 24}
      path: [Price, "Large?", Accept]

  a large order waits:
    input: {item: lamp, count: 9}
    mocks:
      Price: {returns_payload: {price: 360}}
    expect:
      path: [Price, "Large?", Wait a minute, Accept]
      duration: 60s

  a busy function is tried again:
    input: {item: book, count: 1}
    mocks:
      Price:
        - throws: Lambda.TooManyRequestsException
        - returns_payload: {price: 12}
    expect:
      output: {accepted: true, price: 12}
      attempts: {Price: 2}

  an unknown item:
    input: {item: moon, count: 1}
    mocks:
      Price: {throws: UnknownItem}
    expect:
      error: Refused
"""

_FUNCTION: Final = '''\
"""Computes the price of an order."""

PRICES = {"book": 12, "lamp": 40}


class UnknownItem(Exception):
    """The item is not for sale."""


def handler(event, context):
    """{"item": "book", "count": 2} -> {"price": 24}"""
    if event["item"] not in PRICES:
        raise UnknownItem(event["item"])
    return {"price": PRICES[event["item"]] * event.get("count", 1)}
'''

_SETTINGS: Final = """\
# What `statewright dev` and `statewright deploy` make, beside the machines of *.asl.yaml files and the functions of
# functions/. Names are the names that workflows and handlers use.

[project]
name = "{name}"

[functions.price]
timeout = 10
memory = 256

# [queues.orders]
# redrive = { queue = "orders-dead", receives = 3 }
# [queues.orders-dead]

# [tables.orders]
# hash = "id"

# [schedules.nightly]
# expression = "cron(0 3 * * ? *)"
# target = "machines.order"
# input = { item = "book", count = 1 }
"""

_README: Final = """\
# {name}

    statewright test                                            # the cases, in virtual time: no server, no waiting
    statewright run order.asl.yaml --case 'a large order waits' # one of them, step by step
    statewright dev                                             # a server; reloads what changes

and in a second terminal

    statewright run order -i '{{"item": "book", "count": 2}}'

| file | what it is |
|---|---|
| `order.asl.yaml` | the state machine `order` |
| `order.cases.yaml` | how it must behave |
| `functions/price.py` | the function `price` |
| `statewright.toml` | settings, and queues, tables, schedules when you need them |

`statewright deploy` puts all of it onto a server that runs elsewhere (`--endpoint URL`).
"""

_TEMPLATE: Final = """\
AWSTemplateFormatVersion: "2010-09-09"
Transform: AWS::Serverless-2016-10-31
Description: Prices orders.

Resources:
  PriceFunction:
    Type: AWS::Serverless::Function
    Properties:
      CodeUri: price/
      Handler: app.handler
      Runtime: python3.12
      Timeout: 10

  OrderMachine:
    Type: AWS::Serverless::StateMachine
    Properties:
      Name: order
      DefinitionUri: order.asl.yaml
      DefinitionSubstitutions:
        PriceFunctionArn: !GetAtt PriceFunction.Arn
      Policies:
        - LambdaInvokePolicy:
            FunctionName: !Ref PriceFunction

Outputs:
  OrderMachineArn:
    Value: !Ref OrderMachine
"""

_SAM_SETTINGS: Final = """\
[project]
name = "{name}"
template = "template.yaml"
"""

_SAM_README: Final = """\
# {name}

A SAM template, as it goes to the cloud, and here

    statewright test                  # the cases, in virtual time: no server, no waiting
    statewright dev                   # a server with everything the template asks for; reloads what changes

and in a second terminal

    statewright run order -i '{{"item": "book", "count": 2}}'

| file | what it is |
|---|---|
| `template.yaml` | what there is |
| `order.asl.yaml`, `order.cases.yaml` | the state machine, and how it must behave |
| `price/app.py` | the function |
| `statewright.toml` | which file describes the project |

`statewright deploy` puts all of it onto a server that runs elsewhere (`--endpoint URL`).
"""

STARTERS: Final[dict[str, Mapping[str, str]]] = {
    "folder": {
        "order.asl.yaml": _MACHINE,
        "order.cases.yaml": _CASES,
        "functions/price.py": _FUNCTION,
        "statewright.toml": _SETTINGS,
        "README.md": _README,
    },
    "sam": {
        "template.yaml": _TEMPLATE,
        "order.asl.yaml": _MACHINE.replace("FunctionName: price", 'FunctionName: "${PriceFunctionArn}"'),
        "order.cases.yaml": _CASES,
        "price/app.py": _FUNCTION,
        "statewright.toml": _SAM_SETTINGS,
        "README.md": _SAM_README,
    },
}
"""Files by kind of project; `{name}` stands for the project's name in settings and in the page."""


def starter_files(kind: str, name: str) -> dict[str, str]:
    """The files of a new project, by their names in its folder."""
    named = ("statewright.toml", "README.md")
    return {
        file: text.format(name=name) if file == "README.md" else text.replace("{name}", name) if file in named else text
        for file, text in STARTERS[kind].items()
    }
