"""The server's record of deployed projects: a small object for each, in a bucket of their own.

Owns where the record is and how it reads. It tells which resources a project no longer asks for; what is there is found
by name, with or without it, so that a lost record costs no more than that.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from statewright.projects.deploy.calls import Answer, Call, CallRefused
from statewright.projects.deploy.kinds import Known

BUCKET: Final = "statewright-projects"
_FIRST_REGION: Final = "us-east-1"
_VERSION: Final = 1
_ENDING: Final = ".json"
_ANOTHERS: Final = ("AccessDenied", "BucketAlreadyExists")
"""Refusals of S3 for a bucket that another account has."""


@dataclass(slots=True)
class Record:
    """The resources that deployments of a project have made, by id, in the order in which they were made."""

    project: str
    resources: dict[str, Known] = field(default_factory=dict)
    is_stored: bool = False

    def text(self) -> str:
        """The record as it is stored."""
        shown = {
            key: {"type": one.type, "ref": one.ref, "attributes": dict(one.attributes), "retain": one.retain}
            for key, one in self.resources.items()
        }
        return json.dumps({"version": _VERSION, "project": self.project, "resources": shown}, ensure_ascii=False)


def bucket_of(region: str) -> str:
    """The bucket of the records of one region: names of buckets are global, and a project may be in several."""
    return BUCKET if region == _FIRST_REGION else f"{BUCKET}-{region}"


def _in_bucket(call: Call, operation: str, region: str, request: Mapping[str, Any]) -> Answer:
    """Call S3 for the bucket of the records of a region. Raises: CallRefused.

    If another account has the bucket of that name, the account has one with its number.
    """
    name = bucket_of(region)
    try:
        return call("s3", operation, {"Bucket": name, **request})
    except CallRefused as refused:
        if refused.code not in _ANOTHERS:
            raise
    account = call("sts", "GetCallerIdentity", {})["Account"]
    return call("s3", operation, {"Bucket": f"{name}-{account}", **request})


def read_record(call: Call, project: str, region: str = _FIRST_REGION) -> Record:
    """The record of a project in a region; an empty one where there is none. Raises: CallRefused."""
    try:
        body = _in_bucket(call, "GetObject", region, {"Key": _key(project)})["Body"]
    except CallRefused as refused:
        if refused.is_missing or refused.is_unserved:
            return Record(project)
        raise
    try:
        shown = json.loads(body)
        resources = {
            key: Known(one["type"], one["ref"], one["attributes"], one.get("retain", False))
            for key, one in shown["resources"].items()
        }
    except (ValueError, KeyError, TypeError):
        return Record(project)
    return Record(project, resources, is_stored=True)


def write_record(call: Call, record: Record, region: str = _FIRST_REGION) -> None:
    """Keep a record; its bucket is made in `region` if there is none yet. Raises: CallRefused."""
    if not record.is_stored and not record.resources:
        return
    request = {"Key": _key(record.project), "Body": record.text().encode()}
    try:
        _in_bucket(call, "PutObject", region, request)
    except CallRefused as refused:
        if not refused.is_missing:
            raise
        place = {} if region == _FIRST_REGION else {"CreateBucketConfiguration": {"LocationConstraint": region}}
        _in_bucket(call, "CreateBucket", region, place)
        _in_bucket(call, "PutObject", region, request)


class OtherProjects:
    """The records of the other projects of a region, read when they are first asked for."""

    def __init__(self, call: Call, project: str, region: str = _FIRST_REGION) -> None:
        self._region = region
        self._call = call
        self._project = project
        self._read: list[Record] | None = None

    def owner_of(self, arn: str) -> str | None:
        """The project that has made the resource of an ARN; `None` if no other has. Raises: CallRefused."""
        return next((one.project for one in self._records() if _ids_of(one, arn)), None)

    def give_up(self, arns: Collection[str]) -> None:
        """Take resources out of the other projects' records, so that no --prune of theirs removes them.

        Raises: CallRefused.
        """
        for record in self._records():
            given_up = [key for arn in arns for key in _ids_of(record, arn)]
            for key in given_up:
                del record.resources[key]
            if given_up:
                write_record(self._call, record, self._region)

    def _records(self) -> list[Record]:
        if self._read is None:
            names = (key.removesuffix(_ENDING) for key in self._keys() if key.endswith(_ENDING))
            self._read = [read_record(self._call, name, self._region) for name in names if name != self._project]
        return self._read

    def _keys(self) -> Iterator[str]:
        request: dict[str, str] = {}
        while True:
            try:
                page = _in_bucket(self._call, "ListObjectsV2", self._region, request)
            except CallRefused as refused:
                if refused.is_missing or refused.is_unserved:
                    return
                raise
            yield from (one["Key"] for one in page.get("Contents", ()))
            if not page.get("NextContinuationToken"):
                return
            request["ContinuationToken"] = page["NextContinuationToken"]


def _ids_of(record: Record, arn: str) -> list[str]:
    return [key for key, known in record.resources.items() if known.attributes.get("Arn") == arn]


def _key(project: str) -> str:
    return f"{project}{_ENDING}"


def same(one: Mapping[str, Known], other: Mapping[str, Known]) -> bool:
    """True if two records are equal apart from the order."""
    return dict(one) == dict(other)
