"""Starts a round: takes it off the count and sets how many users remain."""


def handler(event, context):
    count = event["notification_count"] - 1
    return {**event, "notification_count": count, "first": False, "remaining": event["users"]}
