"""Queues of messages: SQS without its wire."""
