"""API Gateway: HTTP APIs, and the part that answers requests to APIs of every kind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from statewright.api.building import Building
from statewright.api.lambda_.service import build_functions
from statewright.api.logs.service import build_log_groups
from statewright.api.service import APART, REST, Service
from statewright.api.sts.service import build_sessions

if TYPE_CHECKING:
    from statewright.apis.apis import Apis
    from statewright.apis.data_plane import DataPlane
    from statewright.apis.function_urls import FunctionUrls

SERVICE: Final = Service(
    name="apigatewayv2",
    title="API Gateway (HTTP APIs)",
    document="apis.md",
    package=__package__,
    regions=APART,
    operations=("http_apis", "imports", "routes", "authorizers", "stages"),
    protocols=(REST,),
    wires=f"{__package__}.wires",
    signed_for="apigateway",
    paths="/v2/",
    body_bytes=8 << 20,
    sdk_names=("apigatewayv2",),
)


def build_apis(make: Building) -> Apis:
    """Build the APIs."""
    from statewright.apis.apis import Apis

    ground = make.ground
    return Apis(ground.store, ground.clock, ground.config, ground.endpoint)


def build_data_plane(make: Building) -> DataPlane:
    """Build the part that answers requests to APIs."""
    from statewright.api.apigatewayv2.signers import Signers
    from statewright.apis.access_logs import AccessLogs
    from statewright.apis.authorizers.guards import Guards
    from statewright.apis.authorizers.issuers import Issuers
    from statewright.apis.authorizers.results import Results
    from statewright.apis.data_plane import DataPlane
    from statewright.apis.integrations.first_class import FirstClass
    from statewright.apis.integrations.http_proxy import HttpProxy
    from statewright.apis.integrations.lambda_proxy import LambdaProxy
    from statewright.apis.integrations.mapping import Mappings
    from statewright.apis.integrations.service_calls import ServiceCalls

    ground, functions = make.ground, make(build_functions)
    http = HttpProxy(ground.clock, ground.config.http.allow)
    proxy = LambdaProxy(functions, ground.clock)
    return DataPlane(
        make(build_apis),
        ground.clock,
        proxy,
        FirstClass(ServiceCalls(ground.deliveries.calls), ground.clock),
        http,
        ground.wire(),
        Mappings(ground.engine.heavy.run, ground.engine.heavy.run_elsewhere),
        Guards(
            proxy.invoke,
            Results(ground.clock),
            ground.clock,
            Issuers(ground.config.issuers, ground.clock, http.send),
            Signers(ground.config, make(build_sessions), ground.account).verify,
        ),
        AccessLogs(make(build_log_groups).write, ground.clock),
    )


def build_function_urls(make: Building) -> FunctionUrls:
    """Build the part that answers requests to URLs of functions."""
    from statewright.api.apigatewayv2.signers import Signers
    from statewright.apis.function_urls import FunctionUrls

    ground = make.ground
    signers = Signers(ground.config, make(build_sessions), ground.account, "lambda")
    return FunctionUrls(make(build_functions), ground.clock, signers.verify)
