"""The API of Batch: job definitions, job queues, compute environments, jobs."""
