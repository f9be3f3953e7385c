"""Whatever follows once the last file is final."""


def handler(event, context):
    return {"run_id": event["run_id"], **event["counts"]}
