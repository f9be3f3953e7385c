"""Layers of other accounts: functions do without them, and the user learns which package each would have brought.

Owns which layers are foreign, and the packages of the well-known ones. Own layers are resources like any other.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from statewright.payload import Json

_ARN: Final = re.compile(r"arn:[^:]*:lambda:[^:]*:([^:]*):layer:([^:]+)(?::[^:]*)?")
_PUBLIC: Final = re.compile(r"\{\{resolve:ssm:(/aws/service/[^{}]+)\}\}")
_POWERTOOLS: Final = "aws-lambda-powertools"
_PACKAGES: Final[tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], str]], ...]] = (
    (re.compile(r"AWSLambdaPowertoolsPython.*|.*/powertools/python/.*"), lambda _found: _POWERTOOLS),
    (
        re.compile(r"AWSLambdaPowertoolsTypeScript.*|.*/powertools/typescript/.*"),
        lambda _found: f"@{_POWERTOOLS}/logger",
    ),
    (re.compile(r"AWS(?:SDKPandas|DataWrangler)-.*|.*/aws-sdk-pandas/.*"), lambda _found: "awswrangler"),
    (re.compile(r"Klayers-p(?:ython)?[0-9.]+(?:-arm64)?-(.+)"), lambda found: found[1]),
    (re.compile(r"AWSLambda-Python\d+-SciPy.*"), lambda _found: "numpy scipy"),
    (re.compile(r"chrome-aws-lambda|chromium.*"), lambda _found: "chrome-aws-lambda"),
)
_EXTENSIONS: Final = re.compile(
    r"LambdaInsightsExtension.*|AWS-Parameters-and-Secrets-.*|Datadog-Extension.*|aws-otel-.*|AWSOpenTelemetry.*|"
    r"Dynatrace.*|NewRelic.*|AWS-AppConfig-Extension.*|.*LambdaAdapterLayer.*",
    re.IGNORECASE,
)


def is_foreign(layer: Json, account: str) -> bool:
    """True for the ARN of a layer that is not in this account."""
    if not isinstance(layer, str):
        return False
    found = _ARN.fullmatch(layer)
    return found[1] != account if found else _PUBLIC.fullmatch(layer) is not None


def what_to_do(layer: str, runtime: str) -> str:
    """The consequence of leaving a foreign layer out, and the remedy."""
    found, public = _ARN.fullmatch(layer), _PUBLIC.fullmatch(layer)
    name = found[2] if found else public[1] if public else layer
    if _EXTENSIONS.fullmatch(name):
        return f"the layer {name} is an extension of another account and is left out"
    package = next((of(match) for pattern, of in _PACKAGES if (match := pattern.fullmatch(name))), None)
    lead = f"the layer {name} of another account is left out"
    if package is None:
        return f"{lead}: what the function needs of it must be beside its code"
    tool = "npm install" if runtime.startswith("nodejs") else "pip install"
    where = "beside its code" if runtime.startswith("nodejs") else "into the server's environment or beside its code"
    return f"{lead}: {tool} {package} {where}"
