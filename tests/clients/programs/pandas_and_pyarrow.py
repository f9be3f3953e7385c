"""Tables in Parquet and CSV, written to S3 and read from it by pandas and by pyarrow (the SDK for C++)."""

import json

import boto3
import numpy
import pandas
import pyarrow
import pyarrow.parquet
from pyarrow import fs

ROWS = 2_000_000

boto3.client("s3").create_bucket(Bucket="frames")
orders = pandas.DataFrame({"id": range(1000), "day": [f"2026-11-{1 + each % 3:02}" for each in range(1000)]})
orders.to_parquet("s3://frames/orders.parquet")
orders.to_parquet("s3://frames/by-day/", partition_cols=["day"])
orders.to_csv("s3://frames/orders.csv.gz", index=False)
chosen = pandas.read_parquet("s3://frames/orders.parquet", columns=["id"], filters=[("id", ">=", 990)])

files, folder = fs.FileSystem.from_uri("s3://frames")
measured = pyarrow.table({"value": numpy.random.default_rng(7).random(ROWS)})
# 16 MB, so in parts.
pyarrow.parquet.write_table(measured, f"{folder}/measured.parquet", filesystem=files)
files.copy_file(f"{folder}/orders.parquet", f"{folder}/copies/orders.parquet")
files.move(f"{folder}/copies/orders.parquet", f"{folder}/copies/moved.parquet")
files.create_dir(f"{folder}/empty")
found = {
    "read": pandas.read_parquet("s3://frames/orders.parquet").equals(orders),
    "chosen": chosen["id"].tolist(),
    "partitions": sorted(pandas.read_parquet("s3://frames/by-day/")["id"]) == list(range(1000)),
    "csv": pandas.read_csv("s3://frames/orders.csv.gz").equals(orders),
    "table": pyarrow.parquet.read_table("s3://frames/orders.parquet").num_rows,
    "parts": pyarrow.parquet.read_table(f"{folder}/measured.parquet", filesystem=files).equals(measured),
    "listed": sorted(one.path for one in files.get_file_info(fs.FileSelector(f"{folder}/copies"))),
}
files.delete_dir(f"{folder}/copies")
found["empty"] = files.get_file_info(f"{folder}/empty").type.name
found["deleted"] = files.get_file_info(f"{folder}/copies/moved.parquet").type.name
print(json.dumps(found))
