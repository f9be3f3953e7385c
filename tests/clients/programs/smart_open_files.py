"""Lines and compressed files in S3 by smart_open, streamed both ways."""

import json

import boto3
from smart_open import open as smart_open
from smart_open.s3 import iter_bucket

boto3.client("s3").create_bucket(Bucket="streams")
with smart_open("s3://streams/lines.txt.gz", "w") as lines:
    lines.writelines(f"line {number}\n" for number in range(10_000))
with smart_open("s3://streams/long.bin", "wb", transport_params={"min_part_size": 5 << 20}) as long:
    for _ in range(12):
        long.write(b"y" * (1 << 20))
with smart_open("s3://streams/lines.txt.gz") as lines:
    read = list(lines)
with smart_open("s3://streams/long.bin", "rb") as long:
    long.seek(11 << 20)
    rest = len(long.read())
try:
    with smart_open("s3://streams/given-up.bin", "wb") as given_up:
        given_up.write(b"z")
        raise RuntimeError
except RuntimeError:
    pass
print(
    json.dumps(
        {
            "lines": len(read),
            "last": read[-1],
            "rest": rest,
            "keys": sorted((key, len(content)) for key, content in iter_bucket("streams", workers=2)),
        }
    )
)
