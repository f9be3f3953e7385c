"""SNS topics: subscriptions, filters, and messages fanned out to queues, functions and HTTP endpoints."""
