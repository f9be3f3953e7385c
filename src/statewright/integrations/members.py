"""Converts parameters and results between a state and botocore: names, texts, instants, bytes.

Source: developer guide, "Learning to use AWS service SDK integrations"; that a JSON value may be given for a text or
for bytes is observed.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime
from typing import Final

from botocore.model import ListShape, MapShape, Shape, StructureShape

from statewright.asl.timestamps import format_timestamp
from statewright.integrations.api_values import ApiMapping, ApiObject, ApiValue
from statewright.integrations.service_names import Dialect, member_names, shown_name
from statewright.payload import Json, JsonMapping, JsonObject, dump_json

_ATTRIBUTE: Final = "AttributeValue"
"""DynamoDB's values. The optimised integration takes a text for one of type S (recorded in a published project); the
guide shows only typed values, and other JSON values are left to the table to refuse."""
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class ForeignMembers(Exception):
    """Parameters that the API does not have, by name as they were given."""

    def __init__(self, names: list[str]) -> None:
        super().__init__(", ".join(names))
        self.names = names


def to_api(shape: StructureShape | None, parameters: JsonMapping, dialect: Dialect) -> ApiObject:
    """Parameters as botocore takes them.

    Raises: ForeignMembers.
    """
    if shape is None:
        if parameters:
            raise ForeignMembers(list(parameters))
        return {}
    foreign: list[str] = []
    converted: ApiObject = _to_api(shape, parameters, dialect, foreign)
    if foreign:
        raise ForeignMembers(foreign)
    return converted


def _to_api(shape: Shape, value: Json, dialect: Dialect, foreign: list[str]) -> ApiValue:
    # Depth is that of the service's shapes, or of a value of a recursive shape, whose text was read within a limit.
    if isinstance(value, str) and dialect == "optimised" and shape.name == _ATTRIBUTE:
        return {"S": value}
    if isinstance(shape, StructureShape) and isinstance(value, dict) and not shape.is_document_type:
        names = member_names(shape, dialect)
        foreign += [name for name in value if name not in names]
        return {
            names[name]: _to_api(shape.members[names[name]], item, dialect, foreign)
            for name, item in value.items()
            if item is not None and name in names
        }
    if isinstance(shape, ListShape) and isinstance(value, list):
        return [_to_api(shape.member, item, dialect, foreign) for item in value]
    if isinstance(shape, MapShape) and isinstance(value, dict):
        return {key: _to_api(shape.value, item, dialect, foreign) for key, item in value.items()}
    if shape.type_name == "blob":
        if dialect == "aws-sdk" and shape.serialization.get("streaming"):
            # A streamed body is JSON text, that of a text too, in quotes (observed for the Body of S3's PutObject).
            return dump_json(value).encode()
        return (value if isinstance(value, str) else dump_json(value)).encode()
    if shape.type_name == "string":
        return value if isinstance(value, str) else dump_json(value)
    return value


def from_api(shape: StructureShape | None, answer: ApiMapping, dialect: Dialect) -> JsonObject:
    """An answer as results show it, without what botocore adds. Bodies are read: blocks.

    Instants are as botocore has them, or epoch milliseconds.
    """
    if shape is None:
        return {}
    return {
        shown_name(member, dialect): _from_api(shape.members[member], value, dialect)
        for member, value in answer.items()
        if member in shape.members and value is not None
    }


def _from_api(shape: Shape, value: ApiValue, dialect: Dialect) -> Json:
    if isinstance(shape, StructureShape) and isinstance(value, dict) and not shape.is_document_type:
        return from_api(shape, value, dialect)
    if isinstance(shape, ListShape):
        return [_from_api(shape.member, item, dialect) for item in value]
    if isinstance(shape, MapShape):
        return {key: _from_api(shape.value, item, dialect) for key, item in value.items()}
    if isinstance(value, datetime):
        value = round((value.astimezone(UTC) - _EPOCH).total_seconds() * 1000)
    if shape.type_name == "timestamp" and isinstance(value, int):
        return format_timestamp(value) if dialect == "aws-sdk" else value
    if isinstance(value, date):
        return value.isoformat()
    if hasattr(value, "read"):
        value = value.read()
    if isinstance(value, (bytes, bytearray)):
        return bytes(value).decode("utf-8", "replace")
    return value


def sdk_members(metadata: ApiMapping) -> Iterator[tuple[str, Json]]:
    """The members that optimised integrations add about a call, from botocore's `ResponseMetadata`."""
    headers = {str(name): str(value) for name, value in metadata.get("HTTPHeaders", {}).items()}
    shown = {
        "AllHttpHeaders": {name: [value] for name, value in headers.items()},
        "HttpHeaders": headers,
        "HttpStatusCode": metadata.get("HTTPStatusCode", 200),
    }
    yield "SdkHttpMetadata", shown
    yield "SdkResponseMetadata", {"RequestId": metadata.get("RequestId", "")}
