"""Files of a Django application in S3, by django-storages: named, read, listed, signed for and deleted."""

import json
import urllib.request

import boto3
import django
from django.conf import settings

settings.configure(
    STORAGES={
        "default": {
            "BACKEND": "storages.backends.s3.S3Storage",
            "OPTIONS": {"bucket_name": "media", "file_overwrite": False, "default_acl": None},
        }
    }
)
django.setup()

from django.core.files.base import ContentFile  # noqa: E402  # after the settings
from django.core.files.storage import default_storage as storage  # noqa: E402

boto3.client("s3").create_bucket(Bucket="media")
first = storage.save("covers/a.txt", ContentFile(b"first"))
second = storage.save("covers/a.txt", ContentFile(b"second"))
with storage.open("covers/b.txt", "w") as written:
    written.write("written")
with storage.open("covers/b.txt") as opened:
    read = opened.read().decode()
found = {
    "names": [first, second == first],
    "read": read,
    "size": storage.size("covers/b.txt"),
    "listed": len(storage.listdir("covers")[1]),
    "signed": urllib.request.urlopen(storage.url("covers/a.txt")).read().decode(),
    "year": storage.get_modified_time("covers/a.txt").year > 2000,
}
storage.delete("covers/b.txt")
found["there"] = storage.exists("covers/b.txt")
print(json.dumps(found))
