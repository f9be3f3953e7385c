"""Events of a service's functions and state machines: the mappings, rules, schedules and subscriptions behind them.

Source: Serverless Framework guide, "Events"; documentation of serverless-step-functions, "Events".
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from statewright.payload import Json, JsonMapping
from statewright.projects.serverless.apis import add_route, add_url
from statewright.projects.serverless.rest_apis import RestApi
from statewright.projects.serverless.service import Service, normalized, renamed
from statewright.projects.sources import Steps, meant

_LOST: Final = {
    "httpApi": "an HTTP API reaches functions only",
    "websocket": "WebSocket APIs are not supported",
    "alb": "load balancers are not supported",
    "kafka": "Kafka is not supported",
    "msk": "Kafka is not supported",
    "activemq": "SQS is the only supported message broker",
    "rabbitmq": "SQS is the only supported message broker",
    "iot": "IoT is not supported",
    "iotFleetProvisioning": "IoT is not supported",
    "alexaSkill": "Alexa is not supported",
    "alexaSmartHome": "Alexa is not supported",
    "cognitoUserPool": "Cognito is not supported",
    "cloudFront": "CloudFront is not supported",
    "alarms": "alarms are created of AWS::CloudWatch::Alarm resources only",
}

_ROLE: Final = {"Fn::Sub": "arn:${AWS::Partition}:iam::${AWS::AccountId}:role/${AWS::StackName}-events"}
_NAMES: Final = {"name": "Name", "description": "Description"}
_OF_STREAM: Final = {
    "batchWindow": "MaximumBatchingWindowInSeconds",
    "bisectBatchOnFunctionError": "BisectBatchOnFunctionError",
    "maximumRecordAgeInSeconds": "MaximumRecordAgeInSeconds",
    "maximumRetryAttempts": "MaximumRetryAttempts",
    "parallelizationFactor": "ParallelizationFactor",
    "tumblingWindowInSeconds": "TumblingWindowInSeconds",
}
PROVISIONED: Final = "provisioned"
"""The alias of a function with `provisionedConcurrency`. Source: Serverless Framework guide, "Functions"."""
_RETRIES: Final = {"maximumEventAge": "MaximumEventAgeInSeconds", "maximumRetryAttempts": "MaximumRetryAttempts"}


class _Target:
    """The target of an event: the name and ARN of a function, its alias or a machine, and where the event stands."""

    def __init__(self, service: Service, rest: RestApi, key: str, id_: str, arn: Json, *, is_machine: bool) -> None:
        self.service = service
        self.rest = rest
        self.key = key
        self.id = id_
        self.name: Json = {"Ref": id_}
        self.arn = arn
        self.is_machine = is_machine
        self.counts: dict[str, int] = {}

    def next_id(self, word: str) -> str:
        self.counts[word] = self.counts.get(word, 0) + 1
        return f"{normalized(self.key)}{word}{self.counts[word]}"


def function_events(
    service: Service, rest: RestApi, key: str, id_: str, body: Mapping[str, Json], at: Steps
) -> None:  # fmt: skip
    """Make what the events and the URL of a function stand for, or of its alias with workers that are started ahead."""
    target = _Target(service, rest, key, id_, {"Fn::GetAtt": [id_, "Arn"]}, is_machine=False)
    alias = None
    if body.get("provisionedConcurrency"):
        alias = _add_alias(service, key, id_, body, at)
        target = _Target(service, rest, key, alias, {"Ref": alias}, is_machine=False)
    add_url(service, key, id_, alias, body.get("url"), (*at, "url"))
    _make(target, body, at, _OF_FUNCTIONS)


def machine_events(
    service: Service, rest: RestApi, key: str, id_: str, body: Mapping[str, Json], at: Steps
) -> None:  # fmt: skip
    """Make what the events of a state machine stand for."""
    _make(_Target(service, rest, key, id_, {"Ref": id_}, is_machine=True), body, at, _OF_MACHINES)


def _add_alias(service: Service, key: str, id_: str, body: Mapping[str, Json], at: Steps) -> str:
    """Make the version and the alias of a function with provisioned concurrency; returns the alias's id."""
    version, alias = f"{id_}Version", f"{normalized(key)}ProvConcLambdaAlias"
    service.add(version, "AWS::Lambda::Version", {"FunctionName": {"Ref": id_}}, at)
    properties: dict[str, Json] = {
        "Name": PROVISIONED,
        "FunctionName": {"Ref": id_},
        "FunctionVersion": {"Fn::GetAtt": [version, "Version"]},
        "ProvisionedConcurrencyConfig": {"ProvisionedConcurrentExecutions": body["provisionedConcurrency"]},
    }
    service.add(alias, "AWS::Lambda::Alias", properties, at)
    return alias


def invoke_config(service: Service, key: str, id_: str, body: Mapping[str, Json], at: Steps) -> None:
    """Make what `destinations`, `maximumEventAge` and `maximumRetryAttempts` stand for."""
    properties = renamed(body, _RETRIES)
    given = body.get("destinations")
    made: dict[str, Json] = {}
    for name, plain in (("onSuccess", "OnSuccess"), ("onFailure", "OnFailure")):
        found = given.get(name) if isinstance(given, dict) else None
        if isinstance(found, dict) and "arn" in found:
            found = found["arn"]
        if isinstance(found, str) and not found.startswith("arn:"):
            # A name of a function of the same service.
            found = {"Fn::GetAtt": [found, "Arn"]}
        if found is not None:
            made[plain] = {"Destination": found}
    if made:
        properties["DestinationConfig"] = made
    if properties:
        qualifier = PROVISIONED if body.get("provisionedConcurrency") else "$LATEST"
        config = {"FunctionName": {"Ref": id_}, "Qualifier": qualifier, **properties}
        service.add(f"{normalized(key)}LambdaEvConf", "AWS::Lambda::EventInvokeConfig", config, at)


def _make(target: _Target, body: Mapping[str, Json], at: Steps, makers: Mapping[str, _Maker]) -> None:
    service = target.service
    for index, kind, given in _events(service, target.key, body, at):
        here = (*at, "events", index)
        maker = makers.get(kind)
        if maker is not None:
            maker(target, given, here)
        elif kind in _LOST:
            service.sources.warning(service.place(here), f"the event {kind} of {target.key} is left out: {_LOST[kind]}")
        else:
            service.sources.warning(
                service.place(here),
                f"the event {kind} of {target.key} is not known here{meant(kind, (*makers, *_LOST))}",
            )


def _events(service: Service, key: str, body: Mapping[str, Json], at: Steps) -> Iterator[tuple[int, str, Json]]:
    found = body.get("events") or []
    if not isinstance(found, list):
        service.sources.error(service.place((*at, "events")), f"the events of {key} must be a list")
        return
    for index, event in enumerate(found):
        if isinstance(event, str):
            yield index, event, {}
        elif isinstance(event, dict) and event:
            yield index, *next(iter(event.items()))
        else:
            service.sources.error(service.place((*at, "events", index)), f"an event of {key} must be an object")


def _http(target: _Target, given: Json, at: Steps) -> None:
    if target.is_machine:
        target.rest.add_machine(target.key, target.id, given, at)
    else:
        target.rest.add_function(target.key, target.arn, given, at)


def _http_api(target: _Target, given: Json, at: Steps) -> None:
    service = target.service
    why = add_route(service, target.key, target.arn, given, at)
    if why is not None:
        service.sources.warning(service.place(at), f"the event httpApi of {target.key} is left out: {why}")


def _queue(target: _Target, given: Json, at: Steps) -> None:
    settings = given if isinstance(given, dict) and "arn" in given else {"arn": given}
    properties: dict[str, Json] = {
        "EventSourceArn": settings["arn"],
        "FunctionName": target.name,
        "BatchSize": settings.get("batchSize", 10),
        "Enabled": settings.get("enabled", True),
    }
    properties.update(renamed(settings, {"maximumBatchingWindow": "MaximumBatchingWindowInSeconds"}))
    if "functionResponseType" in settings:
        properties["FunctionResponseTypes"] = [settings["functionResponseType"]]
    if "maximumConcurrency" in settings:
        properties["ScalingConfig"] = {"MaximumConcurrency": settings["maximumConcurrency"]}
    patterns = settings.get("filterPatterns")
    if isinstance(patterns, list):
        properties["FilterCriteria"] = {"Filters": [{"Pattern": _text(pattern)} for pattern in patterns]}
    target.service.add(target.next_id("EventSourceMappingSQS"), "AWS::Lambda::EventSourceMapping", properties, at)


def _stream(target: _Target, given: Json, at: Steps) -> None:
    service = target.service
    settings = given if isinstance(given, dict) and "arn" in given else {"arn": given}
    arn = settings["arn"]
    if settings.get("type") == "kinesis" or (isinstance(arn, str) and ":kinesis:" in arn):
        service.sources.warning(
            service.place(at), f"the event stream of {target.key} is left out: Kinesis streams are not supported"
        )
        return
    properties: dict[str, Json] = {
        "EventSourceArn": arn,
        "FunctionName": target.name,
        "BatchSize": settings.get("batchSize", 10),
        "Enabled": settings.get("enabled", True),
        "StartingPosition": settings.get("startingPosition", "TRIM_HORIZON"),
    }
    properties.update(renamed(settings, _OF_STREAM))
    if "functionResponseType" in settings:
        properties["FunctionResponseTypes"] = [settings["functionResponseType"]]
    destinations = settings.get("destinations")
    failure = destinations.get("onFailure") if isinstance(destinations, dict) else None
    if isinstance(failure, dict) and "arn" in failure:
        failure = failure["arn"]
    if failure is not None:
        properties["DestinationConfig"] = {"OnFailure": {"Destination": failure}}
    patterns = settings.get("filterPatterns")
    if isinstance(patterns, list):
        properties["FilterCriteria"] = {"Filters": [{"Pattern": _text(pattern)} for pattern in patterns]}
    service.add(target.next_id("EventSourceMappingDynamodb"), "AWS::Lambda::EventSourceMapping", properties, at)


def _text(value: Json) -> Json:
    """An object as JSON, with functions in it as they are; a text as it is."""
    return {"Fn::ToJsonString": value} if isinstance(value, (dict, list)) else value


def _schedule(target: _Target, given: Json, at: Steps) -> None:
    settings: JsonMapping = given if isinstance(given, dict) else {"rate": given}
    rates = settings.get("rate")
    for rate in rates if isinstance(rates, list) else [rates]:
        if rate is None:
            target.service.sources.error(
                target.service.place(at), f"a schedule of {target.key} needs a rate such as rate(5 minutes)"
            )
            continue
        if settings.get("method") == "scheduler" or "timezone" in settings:
            _scheduled(target, settings, rate, at)
        else:
            _rule(target, settings, {"ScheduleExpression": rate}, at, "EventsRuleSchedule")


def _scheduled(target: _Target, settings: Mapping[str, Json], rate: Json, at: Steps) -> None:
    who: dict[str, Json] = {"Arn": target.arn, "RoleArn": settings.get("role") or dict(_ROLE)}
    if "input" in settings:
        who["Input"] = _text(settings["input"])
    properties: dict[str, Json] = {
        "ScheduleExpression": rate,
        "FlexibleTimeWindow": {"Mode": "OFF"},
        "State": _state(settings),
        "Target": who,
        **renamed(settings, {**_NAMES, "timezone": "ScheduleExpressionTimezone"}),
    }
    target.service.add(target.next_id("Schedule"), "AWS::Scheduler::Schedule", properties, at)


def _state(settings: Mapping[str, Json]) -> str:
    return "DISABLED" if settings.get("enabled") in (False, "false") else "ENABLED"


def _rule(target: _Target, settings: Mapping[str, Json], properties: Mapping[str, Json], at: Steps, word: str) -> None:
    id_ = target.next_id(word)
    who: dict[str, Json] = {"Id": f"{id_}Target"[:64], "Arn": target.arn}
    if target.is_machine:
        who["RoleArn"] = settings.get("role") or dict(_ROLE)
    if "input" in settings:
        who["Input"] = _text(settings["input"])
    who.update(renamed(settings, {"inputPath": "InputPath"}))
    transformer = settings.get("inputTransformer")
    if isinstance(transformer, dict):
        who["InputTransformer"] = {
            "InputPathsMap": transformer.get("inputPathsMap") or {},
            "InputTemplate": _template(transformer.get("inputTemplate")),
        }
    retries = settings.get("retryPolicy")
    if isinstance(retries, dict):
        who["RetryPolicy"] = renamed(retries, _RETRIES)
    dead = settings.get("deadLetterQueueArn") or settings.get("deadLetterConfig")
    if dead is not None:
        who["DeadLetterConfig"] = {"Arn": dead}
    rule = {**properties, "State": _state(settings), "Targets": [who], **renamed(settings, _NAMES)}
    target.service.add(id_, "AWS::Events::Rule", rule, at)


def _template(value: Json) -> Json:
    return json.dumps(value) if isinstance(value, (dict, list)) else value


def _bus_event(target: _Target, given: Json, at: Steps) -> None:
    service = target.service
    if not isinstance(given, dict):
        service.sources.error(service.place(at), f"the event eventBridge of {target.key} needs a pattern or a schedule")
        return
    bus = given.get("eventBus", given.get("eventBusName"))
    common: dict[str, Json] = {}
    if bus is not None:
        common["EventBusName"] = _bus(target, bus, at)
    pattern = given.get("pattern", given.get("event"))
    if given.get("schedule") is not None:
        _rule(target, given, {"ScheduleExpression": given["schedule"]}, at, "EventBridgeSchedule")
    if pattern is not None:
        _rule(target, given, {**common, "EventPattern": pattern}, at, "EventBridge")
    if pattern is None and given.get("schedule") is None:
        service.sources.error(service.place(at), f"the event eventBridge of {target.key} needs a pattern or a schedule")


def _bus(target: _Target, bus: Json, at: Steps) -> Json:
    """The bus of a rule; one that a function's event names by a mere name is made, as the framework does."""
    if not isinstance(bus, str) or bus == "default" or target.is_machine:
        return bus
    if bus.startswith("arn:"):
        return bus.rsplit("/", 1)[-1]
    id_ = f"{normalized(bus)}EventBridgeEventBus"
    resources = target.service.sections.get("Resources", {})
    named = [
        key
        for key, body in resources.items()
        if isinstance(body, dict)
        and body.get("Type") == "AWS::Events::EventBus"
        and isinstance(body.get("Properties"), dict)
        and body["Properties"].get("Name") == bus
    ]
    if not named and id_ not in resources:
        target.service.add(id_, "AWS::Events::EventBus", {"Name": bus}, at)
    return {"Ref": named[0] if named else id_}


def _topic(target: _Target, given: Json, at: Steps) -> None:
    service = target.service
    settings: Mapping[str, Json] = given if isinstance(given, dict) and not _is_reference(given) else {"arn": given}
    arn, name = settings.get("arn"), settings.get("topicName")
    if isinstance(arn, str) and not arn.startswith("arn:"):
        arn, name = None, arn
    if arn is None:
        if not isinstance(name, str) or not name:
            service.sources.error(service.place(at), f"the event sns of {target.key} needs a topicName or an arn")
            return
        id_ = f"SNSTopic{normalized(name)}"
        if id_ not in service.sections.get("Resources", {}):
            shown = {"DisplayName": settings["displayName"]} if "displayName" in settings else {}
            service.add(id_, "AWS::SNS::Topic", {"TopicName": name, **shown}, at)
        arn = {"Ref": id_}
    properties: dict[str, Json] = {"TopicArn": arn, "Protocol": "lambda", "Endpoint": target.arn}
    properties.update(renamed(settings, {"filterPolicy": "FilterPolicy", "filterPolicyScope": "FilterPolicyScope"}))
    redrive = settings.get("redrivePolicy")
    if isinstance(redrive, dict):
        dead = redrive.get("deadLetterTargetArn", redrive.get("deadLetterTargetRef"))
        if isinstance(dead, str) and not dead.startswith("arn:"):
            dead = {"Fn::GetAtt": [dead, "Arn"]}
        properties["RedrivePolicy"] = {"deadLetterTargetArn": dead}
    service.add(target.next_id("SnsSubscription"), "AWS::SNS::Subscription", properties, at)


def _log_events(target: _Target, given: Json, at: Steps) -> None:
    service = target.service
    settings: Mapping[str, Json] = (
        given if isinstance(given, dict) and not _is_reference(given) else {"logGroup": given}
    )
    if settings.get("logGroup") is None:
        service.sources.error(service.place(at), f"the event cloudwatchLog of {target.key} needs a logGroup")
        return
    properties = {
        "LogGroupName": settings["logGroup"], "FilterPattern": settings.get("filter", ""), "DestinationArn": target.arn,
    }  # fmt: skip
    service.add(target.next_id("LogsSubscriptionFilterCloudWatchLog"), "AWS::Logs::SubscriptionFilter", properties, at)


def _bucket(target: _Target, given: Json, at: Steps) -> None:
    service = target.service
    settings: Mapping[str, Json] = given if isinstance(given, dict) and not _is_reference(given) else {"bucket": given}
    bucket = settings.get("bucket")
    if bucket is None:
        service.sources.error(service.place(at), f"the event s3 of {target.key} needs a bucket")
        return
    if isinstance(bucket, str) and settings.get("existing") not in (True, "true"):
        plain = re.sub("[^0-9A-Za-z]", "", bucket)
        id_ = f"S3Bucket{plain[:1].upper()}{plain[1:]}"
        if id_ not in service.sections.get("Resources", {}):
            service.add(id_, "AWS::S3::Bucket", {"BucketName": bucket}, at)
        bucket = {"Ref": id_}
    entry: dict[str, Json] = {
        "Events": [settings.get("event", "s3:ObjectCreated:*")],
        "LambdaFunctionArn": target.arn,
    }
    rules = settings.get("rules")
    named = [rule for rule in (rules if isinstance(rules, list) else ()) if isinstance(rule, dict)]
    if named:
        found = [{"Name": name, "Value": value} for rule in named for name, value in rule.items()]
        entry["Filter"] = {"Key": {"FilterRules": found}}
    config = {"LambdaFunctionConfigurations": [entry]}
    properties = {"BucketName": bucket, "NotificationConfiguration": config}
    service.add(target.next_id("S3Event"), "Custom::S3BucketNotifications", properties, at)


def _is_reference(value: Mapping[str, Json]) -> bool:
    return len(value) == 1 and next(iter(value)).startswith(("Ref", "Fn::"))


_Maker = Callable[[_Target, Json, Steps], None]
_OF_MACHINES: Final[dict[str, _Maker]] = {
    "http": _http,
    "schedule": _schedule,
    "eventBridge": _bus_event,
    "cloudwatchEvent": _bus_event,
}
_OF_FUNCTIONS: Final[dict[str, _Maker]] = {
    **_OF_MACHINES,
    "httpApi": _http_api,
    "sqs": _queue,
    "sns": _topic,
    "s3": _bucket,
    "cloudwatchLog": _log_events,
    "stream": _stream,
}
