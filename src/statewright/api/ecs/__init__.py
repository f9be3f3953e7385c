"""The API of ECS: task definitions, clusters, tasks."""
