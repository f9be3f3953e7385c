"""Checks an order and adds it up."""

import uuid

PRICES = {"pen": 2, "lamp": 40, "desk": 300}


class BadOrder(Exception):
    pass


def handler(event, context):
    lines = event.get("lines")
    if not isinstance(lines, list) or not lines:
        raise BadOrder("an order has lines: a list of {item, pieces}")
    total = 0
    for line in lines:
        if line.get("item") not in PRICES:
            raise BadOrder(f"there is no {line.get('item')!r}; there are {', '.join(PRICES)}")
        total += PRICES[line["item"]] * int(line.get("pieces", 1))
    return {"orderId": event.get("orderId") or str(uuid.uuid4()), "total": total}
