"""Tables in S3 by clients in Rust: frames of Polars, and a Delta table that is appended to, changed and cleaned."""

import json

import boto3
import polars
from deltalake import DeltaTable, write_deltalake

boto3.client("s3").create_bucket(Bucket="lake")
orders = polars.DataFrame({"id": range(1000), "day": [f"2026-11-{1 + each % 3:02}" for each in range(1000)]})
orders.write_parquet("s3://lake/orders.parquet")
orders.write_csv("s3://lake/orders.csv")
chosen = polars.scan_parquet("s3://lake/orders.parquet").filter(polars.col("id") >= 995).collect()

place = "s3://lake/delta"
for number in range(3):
    write_deltalake(place, orders.slice(number * 100, 100), mode="append", partition_by=["day"])
table = DeltaTable(place)
table.delete("id < 50")
table.merge(
    orders.slice(250, 100), "source.id = target.id", source_alias="source", target_alias="target"
).when_not_matched_insert_all().execute()
first = DeltaTable(place, version=0)
# Two writers that have read the same version: the second append comes after the first, as a version of its own.
for writer in (DeltaTable(place), DeltaTable(place)):
    write_deltalake(writer, orders.slice(0, 1), mode="append")
table = DeltaTable(place)
found = {
    "read": polars.read_parquet("s3://lake/orders.parquet").equals(orders),
    "csv": polars.read_csv("s3://lake/orders.csv").height,
    "chosen": chosen["id"].to_list(),
    "version": table.version(),
    "rows": polars.scan_delta(place).collect().height,
    "first": polars.scan_delta(place, version=first.version()).collect().height,
    "removed": len(table.vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False)) > 0,
}
found["left"] = polars.read_delta(place).height
print(json.dumps(found))
