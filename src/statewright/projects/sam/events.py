"""Events of serverless functions and state machines: the mappings, rules, schedules and subscriptions behind them.

Owns what each type of event stands for, and `EventInvokeConfig`. The resources that have events are `template.py`'s.

Source: Serverless Application Model developer guide, "EventSource".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from statewright.payload import Json
from statewright.projects.cloudformation import Stack
from statewright.projects.expansion import SERVERLESS
from statewright.projects.resources import Place, Resource
from statewright.projects.sam.apis import ApiEvents
from statewright.projects.sources import meant

_LOST: Final = {
    "Kinesis": "Kinesis is not supported",
    "MSK": "Kafka is not supported",
    "SelfManagedKafka": "Kafka is not supported",
    "MQ": "SQS is the only supported message broker",
    "DocumentDB": "DocumentDB is not supported",
    "Cognito": "Cognito is not supported",
    "IoTRule": "IoT is not supported",
    "AlexaSkill": "Alexa is not supported",
}
_MAPPING: Final = (
    "BatchSize", "Enabled", "FilterCriteria", "FunctionResponseTypes", "KmsKeyArn", "MaximumBatchingWindowInSeconds",
    "MetricsConfig", "ProvisionedPollerConfig", "ScalingConfig",
)  # fmt: skip
_OF_STREAM: Final = (
    "BisectBatchOnFunctionError", "MaximumRecordAgeInSeconds", "MaximumRetryAttempts", "ParallelizationFactor",
    "StartingPosition", "TumblingWindowInSeconds",
)  # fmt: skip
_SCHEDULE: Final = (
    "Description", "EndDate", "GroupName", "KmsKeyArn", "ScheduleExpression", "ScheduleExpressionTimezone", "StartDate",
    "State",
)  # fmt: skip
_TARGET: Final = ("Input", "InputPath", "InputTransformer", "RetryPolicy")


class Making:
    """One serverless resource and the plain ones that it becomes.

    `given` are its properties with those that all share; `target` is the ARN of what events reach, `qualifier` the
    alias behind it.
    """

    def __init__(self, stack: Stack, resource: Resource, given: Json, apis: ApiEvents) -> None:
        self.stack = stack
        self.apis = apis
        self.resource = resource
        self.id = resource.id
        self.place = resource.place
        self.given: Mapping[str, Json] = given if isinstance(given, dict) else {}
        self.made: list[Resource] = []
        self.target: Json = {"Fn::GetAtt": [resource.id, "Arn"]}
        self.qualifier: str | None = None
        self._steps = (*stack.steps(resource.id), "Properties")

    def add(
        self, id_: str, kind: str, properties: Json, *, event: str | None = None, needs: tuple[str, ...] = ()
    ) -> None:
        """Add a plain resource; the first has the dependencies of the serverless one."""
        place = self.stack.place((*self._steps, "Events", event)) if event else self.place
        needs = self.resource.depends_on if id_ == self.id else needs
        self.made.append(Resource(id_, kind, properties, needs, place, retain=self.resource.retain))

    def check(self, known: Iterable[str]) -> None:
        """Report properties that the type does not have."""
        names = list(known)
        for name in self.given:
            if name not in names:
                self.warn(name, f"{self.id}: {self.resource.type} has no property {name}{meant(name, names)}")

    def warn(self, name: str, message: str) -> None:
        """Report a property that is lost, at its line."""
        self.stack.sources.warning(self.stack.place((*self._steps, name)), message)

    def note_policies(self) -> None:
        """Say once for a template that permissions are not enforced."""
        place = self.stack.template.place()
        self.stack.sources.info(place, "Policies are ignored: functions and machines have every permission here")

    def events(self) -> Iterable[tuple[str, str, Mapping[str, Json]]]:
        """Name, type and properties of each event; anything else is reported."""
        found = self.given.get("Events") or {}
        if not isinstance(found, dict):
            self.stack.sources.error(
                self.stack.place((*self._steps, "Events")), f"the Events of {self.id} must be an object"
            )
            return
        for name, body in found.items():
            properties = body.get("Properties") or {} if isinstance(body, dict) else None
            if not isinstance(properties, dict) or not isinstance(body.get("Type"), str):
                self.refuse(name, f"the event {name} of {self.id} must be an object with a Type")
                continue
            yield name, body["Type"], properties

    def place_of(self, event: str) -> Place:
        """The line of an event."""
        return self.stack.place((*self._steps, "Events", event))

    def refuse(self, event: str, message: str) -> None:
        """Report an event that cannot be created."""
        self.stack.sources.error(self.stack.place((*self._steps, "Events", event)), message)

    def refuse_local(self, name: str, missing: str = "") -> None:
        """Report a file of a stack's template that was not uploaded. Source: the transform's own words."""
        if not self.stack.is_served:
            return
        form = "of the form 's3://bucket/key' with optional versionId query parameter."
        why = missing if name not in self.given else f"'{name}' is not a valid S3 Uri {form}"
        found = "Invalid Serverless Application Specification document. Number of errors found: 1."
        message = f"Transform {SERVERLESS} failed with: {found} Resource with id [{self.id}] is invalid. {why}"
        self.stack.sources.error(self.place, message)

    def lose(self, event: str, message: str) -> None:
        """Report an event that is left out."""
        self.stack.sources.warning(self.stack.place((*self._steps, "Events", event)), message)

    def role(self, event: str) -> str:
        """The ARN of the role that a rule or schedule would have got."""
        who = self.stack.identity
        return f"arn:{who.partition}:iam::{who.account}:role/{who.name}-{self.id}{event}Role"


def is_lost(kind: Json) -> bool:
    """True if events of a type are left out."""
    return isinstance(kind, str) and kind in _LOST


def function_events(making: Making) -> None:
    """Make what the events of a function stand for."""
    _make_events(making, _OF_FUNCTIONS)


def machine_events(making: Making) -> None:
    """Make what the events of a state machine stand for."""
    _make_events(making, _OF_MACHINES)


def function_url(making: Making) -> None:
    """Make the URL of a function, or of its alias, and what opens it. Source: "Generated CloudFormation resources"."""
    given = making.given.get("FunctionUrlConfig")
    if given is None:
        return
    if not isinstance(given, dict):
        making.warn("FunctionUrlConfig", f"{making.id}: FunctionUrlConfig must be an object with an AuthType")
        return
    properties: dict[str, Json] = {"TargetFunctionArn": {"Ref": making.id}}
    properties |= {name: given[name] for name in ("AuthType", "Cors", "InvokeMode") if name in given}
    function: Json = {"Ref": making.id}
    needs: tuple[str, ...] = ()
    if making.qualifier is not None:
        properties["Qualifier"] = making.qualifier
        function, needs = making.target, (making.target["Ref"],)
    making.add(f"{making.id}Url", "AWS::Lambda::Url", properties, needs=needs)
    if given.get("AuthType") == "NONE":
        opening = {
            "Action": "lambda:InvokeFunctionUrl", "Principal": "*", "FunctionName": function,
            "FunctionUrlAuthType": "NONE",
        }  # fmt: skip
        making.add(f"{making.id}UrlPublicPermissions", "AWS::Lambda::Permission", opening)


def _make_events(making: Making, makers: Mapping[str, _Maker]) -> None:
    for name, kind, given in making.events():
        maker = makers.get(kind)
        if maker is not None:
            maker(making, name, given)
        elif kind in _LOST:
            making.lose(name, f"the event {name} ({kind}) of {making.id} is left out: {_LOST[kind]}")
        else:
            making.refuse(
                name, f"the event {name} of {making.id} has the unknown type {kind}{meant(kind, (*makers, *_LOST))}"
            )


def _http_api(making: Making, name: str, given: Mapping[str, Json]) -> None:
    why = making.apis.http(making.id, making.place_of(name), name, making.target, given)
    if why is not None:
        making.lose(name, f"the event {name} (HttpApi) of {making.id} is left out: {why}")


def _rest_api(making: Making, name: str, given: Mapping[str, Json]) -> None:
    is_machine = making.resource.type.endswith("StateMachine")
    why = making.apis.rest(making.id, making.place_of(name), name, making.target, given, is_machine=is_machine)
    if why is not None:
        making.lose(name, f"the event {name} (Api) of {making.id} is left out: {why}")


def _queue(making: Making, name: str, given: Mapping[str, Json]) -> None:
    if "Queue" not in given:
        making.refuse(name, f"the event {name} of {making.id} needs the ARN of a Queue")
        return
    _mapping(making, f"{making.id}{name}", name, given["Queue"], given)


def _stream(making: Making, name: str, given: Mapping[str, Json]) -> None:
    if "Stream" not in given:
        making.refuse(name, f"the event {name} of {making.id} needs the ARN of a Stream")
        return
    more = {member: given[member] for member in _OF_STREAM if member in given}
    failure = (given.get("DestinationConfig") or {}).get("OnFailure")
    if isinstance(failure, dict) and "Destination" in failure:
        # Its Type is for the role's policies only.
        more["DestinationConfig"] = {"OnFailure": {"Destination": failure["Destination"]}}
    _mapping(making, f"{making.id}{name}", name, given["Stream"], given, more)


def _mapping(
    making: Making, id_: str, name: str, source: Json, given: Mapping[str, Json], more: Mapping[str, Json] | None = None
) -> None:
    function = making.target if making.qualifier else {"Ref": making.id}
    properties = {"EventSourceArn": source, "FunctionName": function, **(more or {})}
    properties.update({member: given[member] for member in _MAPPING if member in given})
    making.add(id_, "AWS::Lambda::EventSourceMapping", properties, event=name)


def _topic(making: Making, name: str, given: Mapping[str, Json]) -> None:
    if "Topic" not in given:
        making.refuse(name, f"the event {name} of {making.id} needs the ARN of a Topic")
        return
    own = f"{making.id}{name}"
    properties = {"TopicArn": given["Topic"], "Protocol": "lambda", "Endpoint": making.target}
    passed = ("FilterPolicy", "FilterPolicyScope", "RedrivePolicy", "Region")
    properties.update({member: given[member] for member in passed if member in given})
    through = given.get("SqsSubscription")
    if through in (None, False, "false"):
        making.add(own, "AWS::SNS::Subscription", properties, event=name)
        return
    settings = through if isinstance(through, dict) else {}
    arn, url = settings.get("QueueArn"), settings.get("QueueUrl")
    if arn is None:
        making.add(f"{own}Queue", "AWS::SQS::Queue", {}, event=name)
        arn, url = {"Fn::GetAtt": [f"{own}Queue", "Arn"]}, {"Ref": f"{own}Queue"}
    if url is not None:
        policy = settings.get("QueuePolicyLogicalId", f"{own}QueuePolicy")
        _admit(making, str(policy), name, url, arn, "sns.amazonaws.com", given["Topic"])
    making.add(own, "AWS::SNS::Subscription", {**properties, "Protocol": "sqs", "Endpoint": arn}, event=name)
    _mapping(making, f"{own}EventSourceMapping", name, arn, settings)


def _log_events(making: Making, name: str, given: Mapping[str, Json]) -> None:
    if "LogGroupName" not in given:
        making.refuse(name, f"the event {name} of {making.id} needs a LogGroupName")
        return
    properties = {"DestinationArn": making.target, "FilterPattern": given.get("FilterPattern", "")}
    properties["LogGroupName"] = given["LogGroupName"]
    making.add(f"{making.id}{name}", "AWS::Logs::SubscriptionFilter", properties, event=name)


def _bucket(making: Making, name: str, given: Mapping[str, Json]) -> None:
    bucket, events = given.get("Bucket"), given.get("Events")
    if bucket is None or events is None:
        making.refuse(name, f"the event {name} of {making.id} needs a Bucket and Events")
        return
    listed = events if isinstance(events, list) else [events]
    entry: dict[str, Json] = {"Events": listed, "LambdaFunctionArn": making.target}
    where = given.get("Filter")
    key = where.get("S3Key") if isinstance(where, dict) else None
    if isinstance(key, dict) and key.get("Rules"):
        entry["Filter"] = {"Key": {"FilterRules": key["Rules"]}}
    config = {"LambdaFunctionConfigurations": [entry]}
    properties: dict[str, Json] = {"BucketName": bucket, "NotificationConfiguration": config}
    making.add(f"{making.id}{name}", "Custom::S3BucketNotifications", properties, event=name)


def _admit(making: Making, id_: str, name: str, url: Json, arn: Json, service: str, source: Json) -> None:
    """A policy that lets a service send to a queue."""
    statement = {
        "Effect": "Allow",
        "Principal": {"Service": service},
        "Action": "sqs:SendMessage",
        "Resource": arn,
        "Condition": {"ArnEquals": {"aws:SourceArn": source}},
    }
    document = {"Version": "2012-10-17", "Statement": [statement]}
    making.add(id_, "AWS::SQS::QueuePolicy", {"Queues": [url], "PolicyDocument": document}, event=name)


def _scheduled_rule(making: Making, name: str, given: Mapping[str, Json]) -> None:
    if "Schedule" not in given:
        making.refuse(name, f"the event {name} of {making.id} needs a Schedule")
        return
    _rule(making, name, given, {"ScheduleExpression": given["Schedule"], "Name": given.get("Name")})


def _matching_rule(making: Making, name: str, given: Mapping[str, Json]) -> None:
    if "Pattern" not in given:
        making.refuse(name, f"the event {name} of {making.id} needs a Pattern")
        return
    properties = {
        "EventPattern": given["Pattern"],
        "EventBusName": given.get("EventBusName"),
        "Name": given.get("RuleName"),
    }
    _rule(making, name, given, properties)


def _rule(making: Making, name: str, given: Mapping[str, Json], properties: Mapping[str, Json]) -> None:
    own = f"{making.id}{name}"
    rule = {member: value for member, value in properties.items() if value is not None}
    if "Description" in given:
        rule["Description"] = given["Description"]
    if "State" in given:
        rule["State"] = given["State"]
    elif "Enabled" in given:
        rule["State"] = "ENABLED" if given["Enabled"] in (True, "true") else "DISABLED"
    named = given.get("Target")
    is_machine = making.resource.type.endswith("StateMachine")
    default = f"{own}{'StepFunctionsTarget' if is_machine else 'LambdaTarget'}"
    target: dict[str, Json] = {
        "Id": (named.get("Id") if isinstance(named, dict) else None) or default[:64],
        "Arn": making.target,
    }
    if is_machine:
        target["RoleArn"] = given.get("RoleArn") or making.role(name)
    target.update({member: given[member] for member in _TARGET if member in given})
    dead = _dead_letters(making, name, given, {"Fn::GetAtt": [own, "Arn"]})
    if dead is not None:
        target["DeadLetterConfig"] = {"Arn": dead}
    making.add(own, "AWS::Events::Rule", {**rule, "Targets": [target]}, event=name)


def _schedule(making: Making, name: str, given: Mapping[str, Json]) -> None:
    if "ScheduleExpression" not in given:
        making.refuse(name, f"the event {name} of {making.id} needs a ScheduleExpression")
        return
    own = f"{making.id}{name}"
    properties = {member: given[member] for member in _SCHEDULE if member in given}
    properties["FlexibleTimeWindow"] = given.get("FlexibleTimeWindow", {"Mode": "OFF"})
    if "Name" in given:
        properties["Name"] = given["Name"]
    elif given.get("OmitName") not in (True, "true"):
        properties["Name"] = own
    target: dict[str, Json] = {"Arn": making.target, "RoleArn": given.get("RoleArn") or making.role(name)}
    target.update({member: given[member] for member in ("Input", "RetryPolicy") if member in given})
    dead = _dead_letters(making, name, given, None)
    if dead is not None:
        target["DeadLetterConfig"] = {"Arn": dead}
    making.add(own, "AWS::Scheduler::Schedule", {**properties, "Target": target}, event=name)


def _dead_letters(making: Making, name: str, given: Mapping[str, Json], source: Json) -> Json:
    """The ARN of the queue that an event's failures go to; the queue is made where none is named."""
    found = given.get("DeadLetterConfig")
    if not isinstance(found, dict):
        return None
    if "Arn" in found:
        return found["Arn"]
    id_ = found.get("QueueLogicalId") or f"{making.id}{name}Queue"
    if not isinstance(id_, str):
        making.refuse(name, f"the QueueLogicalId of {name} must be a text")
        return None
    making.add(id_, "AWS::SQS::Queue", {}, event=name)
    arn = {"Fn::GetAtt": [id_, "Arn"]}
    if source is not None:
        _admit(making, f"{id_}Policy", name, {"Ref": id_}, arn, "events.amazonaws.com", source)
    return arn


def invoke_config(making: Making, given: Mapping[str, Json]) -> None:
    """Make what `EventInvokeConfig` stands for, with the queues and topics that it does not name."""
    properties: dict[str, Json] = {"FunctionName": {"Ref": making.id}, "Qualifier": making.qualifier or "$LATEST"}
    for member in ("MaximumEventAgeInSeconds", "MaximumRetryAttempts"):
        if member in given:
            properties[member] = given[member]
    destinations = given.get("DestinationConfig")
    made: dict[str, Json] = {}
    for member in ("OnSuccess", "OnFailure"):
        found = destinations.get(member) if isinstance(destinations, dict) else None
        if not isinstance(found, dict):
            continue
        arn = found.get("Destination")
        kind = found.get("Type")
        if arn is None and kind in ("SQS", "SNS"):
            id_ = f"{making.id}{member}{'Queue' if kind == 'SQS' else 'Topic'}"
            making.add(id_, "AWS::SQS::Queue" if kind == "SQS" else "AWS::SNS::Topic", {})
            arn = {"Fn::GetAtt": [id_, "Arn"]} if kind == "SQS" else {"Ref": id_}
        if arn is None:
            making.warn("EventInvokeConfig", f"{making.id}: {member} needs a Destination")
        else:
            made[member] = {"Destination": arn}
    if made:
        properties["DestinationConfig"] = made
    making.add(f"{making.id}EventInvokeConfig", "AWS::Lambda::EventInvokeConfig", properties)


_Maker = Callable[[Making, str, Mapping[str, Json]], None]
_OF_MACHINES: Final[dict[str, _Maker]] = {
    "Schedule": _scheduled_rule,
    "ScheduleV2": _schedule,
    "EventBridgeRule": _matching_rule,
    "CloudWatchEvent": _matching_rule,
    "Api": _rest_api,
}
_OF_FUNCTIONS: Final[dict[str, _Maker]] = {
    **_OF_MACHINES,
    "HttpApi": _http_api,
    "SQS": _queue,
    "SNS": _topic,
    "S3": _bucket,
    "CloudWatchLogs": _log_events,
    "DynamoDB": _stream,
}
