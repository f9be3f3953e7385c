"""Service models as botocore ships them, and Statewright's own: the contract of requests and answers.

Models are read from botocore's folder without importing botocore, which would cost more than the rest of a start.
"""

from __future__ import annotations

import gzip
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import orjson

from statewright.payload import JsonObject

OWN: Final = Path(__file__).parents[2] / "api" / "model"
"""Models of services that only Statewright has, in botocore's form; botocore takes the folder as one of its own."""

Model = JsonObject


@cache
def model_of(service: str) -> Model | None:
    """The newest model of a service, by botocore's name of it; `None` for a service that botocore lacks."""
    own = OWN / service
    folder = own if own.is_dir() else _data() / service
    versions = sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []
    for version in reversed(versions):
        packed = folder / version / "service-2.json.gz"
        if packed.is_file():
            return _extended(service, _read(gzip.decompress(packed.read_bytes())))
        plain = folder / version / "service-2.json"
        if plain.is_file():
            return _read(plain.read_bytes())
    return None


@cache
def _data() -> Path:
    found = find_spec("botocore")
    if found is None or not found.submodule_search_locations:
        raise RuntimeError("botocore is not installed: the service models come with it")
    return Path(found.submodule_search_locations[0]) / "data"


def _extended(service: str, model: Model) -> Model:
    """A model with what S3 has and no SDK reads: the upload by a form of a web page, and a header of lists."""
    if service == "s3":
        shapes = model["shapes"]
        shapes["ListObjectsV2Output"]["members"]["BucketRegion"] = shapes["HeadBucketOutput"]["members"]["BucketRegion"]
        place = shapes["PutObjectRequest"]["members"]
        shapes["PostObjectRequest"] = {
            "type": "structure", "required": ["Bucket"], "payload": "Body",
            "members": {"Bucket": place["Bucket"], "Body": place["Body"]},
        }  # fmt: skip
        more = {
            "Status": {"shape": "PartNumber", "location": "statusCode"},
            "Location": {"shape": "Location", "location": "header", "locationName": "Location"},
            "ContentType": place["ContentType"],
            "Body": place["Body"],
        }
        written = shapes["PutObjectOutput"]["members"]
        shapes["PostObjectOutput"] = {"type": "structure", "payload": "Body", "members": {**written, **more}}
        model["operations"]["PostObject"] = {
            "name": "PostObject", "http": {"method": "POST", "requestUri": "/{Bucket}"},
            "input": {"shape": "PostObjectRequest"}, "output": {"shape": "PostObjectOutput"},
        }  # fmt: skip
    return model


def _read(raw: bytes) -> Model:
    model: Model = orjson.loads(raw)
    return model
