"""A model of PynamoDB: table, indexes, conditions, updates, batches, transactions, counters, time to live."""

import json
from datetime import UTC, datetime, timedelta

from pynamodb.attributes import (
    ListAttribute,
    MapAttribute,
    NumberAttribute,
    TTLAttribute,
    UnicodeAttribute,
    UnicodeSetAttribute,
    UTCDateTimeAttribute,
    VersionAttribute,
)
from pynamodb.connection import Connection
from pynamodb.exceptions import DoesNotExist, PutError, TransactWriteError
from pynamodb.indexes import AllProjection, GlobalSecondaryIndex
from pynamodb.models import Model
from pynamodb.transactions import TransactWrite


class ByCustomer(GlobalSecondaryIndex):
    class Meta:
        index_name = "by-customer"
        projection = AllProjection()
        read_capacity_units = 1
        write_capacity_units = 1

    customer = UnicodeAttribute(hash_key=True)
    total = NumberAttribute(range_key=True)


class Address(MapAttribute):
    city = UnicodeAttribute()


class Order(Model):
    class Meta:
        table_name = "orders"
        region = "us-east-1"
        read_capacity_units = 1
        write_capacity_units = 1

    id = UnicodeAttribute(hash_key=True)
    line = NumberAttribute(range_key=True, default=0)
    customer = UnicodeAttribute()
    total = NumberAttribute()
    tags = UnicodeSetAttribute(null=True)
    address = Address(null=True)
    steps = ListAttribute(default=list)
    made = UTCDateTimeAttribute(default=lambda: datetime(2026, 11, 22, tzinfo=UTC))
    expires = TTLAttribute(null=True)
    version = VersionAttribute()
    by_customer = ByCustomer()


Order.create_table(wait=True)
first = Order("a", customer="Ada", total=12.5, tags={"x", "y"}, address=Address(city="Paris"),
              expires=timedelta(hours=1))  # fmt: skip
first.save()
refused = []
try:
    Order("a", customer="Eve", total=1).save(Order.id.does_not_exist())
except PutError as error:
    refused.append(error.cause_response_code)
stale = Order.get("a", 0)
first.update(
    actions=[Order.total.add(2), Order.steps.set(Order.steps.append(["paid"])), Order.address.city.set("Rome")],
    condition=Order.tags.contains("x"),
)
try:
    stale.save()
except PutError as error:
    refused.append(error.cause_response_code)
with Order.batch_write() as batch:
    for number in range(60):
        batch.save(Order("b", number, customer="Bob", total=number))
with TransactWrite(connection=Connection(region="us-east-1")) as change:
    change.save(Order("c", customer="Cid", total=1))
    change.update(Order.get("b", 0), actions=[Order.total.set(1000)])
try:
    with TransactWrite(connection=Connection(region="us-east-1")) as change:
        change.condition_check(Order, "nothing", 0, condition=Order.id.exists())
        change.save(Order("d", customer="Dan", total=1))
except TransactWriteError as error:
    refused.append([reason.code if reason else None for reason in error.cancellation_reasons])
try:
    Order.get("d", 0)
except DoesNotExist:
    refused.append("DoesNotExist")
read = Order.get("a", 0, consistent_read=True)
print(
    json.dumps(
        {
            "read": [read.total, sorted(read.tags), read.address.city, read.steps, read.version, read.made.isoformat()],
            "expires": read.expires > datetime.now(UTC),
            "refused": refused,
            "query": [one.line for one in Order.query("b", Order.line >= 55, scan_index_forward=False)],
            "index": [one.total for one in Order.by_customer.query("Bob", ByCustomer.total > 57)],
            "count": Order.count(),
            "scan": len(list(Order.scan(Order.customer == "Bob", page_size=7))),
            "batch": sorted(one.line for one in Order.batch_get([("b", each) for each in range(5)])),
        }
    )
)
Order.delete_table()
