"""Uploads by an HTML form: POST Object. A form is a PutObject whose headers are fields, bounded by its policy.

The HTTP request's own headers and query have no say in what is written: no policy covers them.

Source: S3 API reference, "POST Object"; texts of refusals are observed.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from typing import Final
from urllib.parse import quote, urlencode, urlsplit, urlunsplit

from statewright.api import shapes
from statewright.api.operations import App, Call, operation
from statewright.api.protocols.multipart_form import Form, FormError, FormTooLong, is_form
from statewright.api.protocols.rest import members_in_headers
from statewright.api.protocols.xml_bodies import HEAD, escape, read_xml
from statewright.api.protocols.xml_tree import XmlError, parse_xml
from statewright.api.s3.form_policy import Policy, check_signature, missing_field, read_policy
from statewright.api.s3.members import check_owner, checksums_in, settings_in, tags_in
from statewright.api.s3.objects import written
from statewright.errors import ApiError
from statewright.objects import faults
from statewright.objects.intake import Promise
from statewright.objects.records import ObjectView
from statewright.payload import JsonObject

Request = JsonObject
_HEADERS: Final = frozenset(
    {"content-type", "cache-control", "content-disposition", "content-encoding", "content-language", "content-md5",
     "expires"}
)  # fmt: skip
_OF_SIGNATURE: Final = frozenset(
    {"x-amz-algorithm", "x-amz-credential", "x-amz-date", "x-amz-signature", "x-amz-security-token", "policy",
     "signature", "awsaccesskeyid"}
)  # fmt: skip
_FILENAME: Final = "${filename}"


@operation("s3", "PostObject")
async def post_object(app: App, call: Call, request: Request) -> Request:
    """Write an object from a form, if its policy allows what the form asks for."""
    if not is_form("POST", call.headers):
        raise faults.precondition_failed("Bucket POST must be of the enclosure-type multipart/form-data")
    bucket = request["Bucket"]
    form = await _read(call, request)
    fields = _expanded(form)
    token = {name: fields[name] for name in ("x-amz-security-token",) if name in fields}
    secrets = app.secrets(token) if app.config.credentials else None
    key = check_signature(fields, secrets)
    if key is not None:
        app = await app.of_signer(key, token)
    scope = fields.get("x-amz-credential", "").split("/")
    if app.regions is not None and len(scope) == 5:
        app.regions.check(scope[2])
    if not fields.get("key"):
        raise missing_field("key")
    policy = read_policy(fields.get("policy"))
    policy.check(fields, bucket, int(time.time() * 1000))
    members = _members(bucket, fields)
    check_owner(app, members)
    settings = settings_in(members)
    if fields.get("tagging"):
        settings = replace(settings, tags=_tags(fields["tagging"]))
    declared = call.headers.get("content-length", "")
    proposed = int(declared) - form.head_bytes - form.end_bytes if declared.isdigit() and len(declared) < 19 else 0
    view: ObjectView = await app.services.objects.put(
        bucket,
        members["Key"],
        _within(policy, form, proposed),
        settings=settings,
        promise=Promise(
            md5=members.get("ContentMD5"), checksums=checksums_in(members), algorithm=members.get("ChecksumAlgorithm")
        ),
    )
    return _answer(view, fields, call.headers.get("host", "localhost"))


async def _read(call: Call, request: Request) -> Form:
    if request.get("Body") is None:
        raise _malformed()
    try:
        form = Form(call.headers["content-type"], aiter(request["Body"]))
        await form.read_fields()
    except FormTooLong:
        said = "Your POST request fields preceding the upload file were too large."
        raise ApiError("MaxPostPreDataLengthExceededError", said, status=400) from None
    except FormError as problem:
        if str(problem) == "the form has no file":
            said = "POST requires exactly one file upload per request."
            raise faults.invalid_argument(said, "file", 0) from None
        raise _malformed() from None
    return form


def _expanded(form: Form) -> dict[str, str]:
    """The fields, with the name of the file in place of its variable."""
    if form.filename is None:
        return form.fields
    return {
        name: text if name in _OF_SIGNATURE else text.replace(_FILENAME, form.filename)
        for name, text in form.fields.items()
    }


def _members(bucket: str, fields: Mapping[str, str]) -> Request:
    """The members of the PutObject that a form stands for. Raises: ApiError."""
    headers = {
        name: text
        for name, text in fields.items()
        if name in _HEADERS or (name.startswith("x-amz-") and name not in _OF_SIGNATURE)
    }
    if "acl" in fields:
        headers["x-amz-acl"] = fields["acl"]
    given = {**members_in_headers("s3", "PutObject", headers), "Bucket": bucket, "Key": fields["key"]}
    members: Request = shapes.validator("s3", "PutObject")(given)
    return members


def _tags(text: str) -> dict[str, str]:
    try:
        return tags_in(read_xml("s3", "Tagging", parse_xml(text.encode())))
    except (XmlError, KeyError):
        raise faults.malformed_xml() from None


async def _within(policy: Policy, form: Form, proposed: int) -> AsyncIterator[bytes]:
    """The content of the file; it breaks off if it is longer or shorter than its policy allows."""
    size = 0
    try:
        async for piece in form.file():
            size += len(piece)
            if policy.most is not None and size > policy.most:
                raise faults.too_large(max(size, proposed), policy.most)
            yield piece
    except FormError:
        raise _malformed() from None
    if size < policy.least:
        raise faults.too_short(size, policy.least)


def _answer(view: ObjectView, fields: Mapping[str, str], host: str) -> Request:
    host = host.removeprefix(f"{view.bucket}.")
    location = f"http://{host}/{view.bucket}/{quote(view.key, safe='/-_.~')}"
    etag = f'"{view.etag}"'
    answer: Request = {**written(view), "Status": 204, "Location": location}
    redirect = _redirect(fields.get("success_action_redirect") or fields.get("redirect") or "", view, etag)
    if redirect is not None:
        return {**answer, "Status": 303, "Location": redirect}
    if fields.get("success_action_status") == "201":
        shown = (("Location", location), ("Bucket", view.bucket), ("Key", view.key), ("ETag", etag))
        inside = "".join(f"<{name}>{escape(text)}</{name}>" for name, text in shown)
        body = f"{HEAD}<PostResponse>{inside}</PostResponse>".encode("utf-8", "backslashreplace")
        return {**answer, "Status": 201, "ContentType": "application/xml", "Body": body}
    if fields.get("success_action_status") == "200":
        answer["Status"] = 200
    return answer


def _redirect(url: str, view: ObjectView, etag: str) -> str | None:
    """The address to which a browser is sent; `None` for one that is no address of a page."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return None
    if parts.scheme not in ("http", "https") or not parts.netloc or not url.isprintable():
        return None
    named = urlencode({"bucket": view.bucket, "key": view.key, "etag": etag})
    return urlunsplit(parts._replace(query=f"{parts.query}&{named}" if parts.query else named))


def _malformed() -> ApiError:
    said = "The body of your POST request is not well-formed multipart/form-data."
    return ApiError("MalformedPOSTRequest", said, status=400)
