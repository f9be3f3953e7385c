"""Charges cards. The gateway is busy for as many attempts as the order says, so that retries can be seen."""

import time


class GatewayBusy(Exception):
    pass


class CardDeclined(Exception):
    pass


def handler(event, context):
    time.sleep(0.3)
    if event["attempt"] < event["busy"]:
        raise GatewayBusy("the gateway answered 503 Service Unavailable")
    if event["card"] == "declined":
        raise CardDeclined("insufficient funds on the card that ends in 4242")
    print(f"charged {event['amount']} EUR for {event['order']}")
    return {"charge": f"ch_{event['order']}", "amount": event["amount"]}
