"""Long jobs: ECS tasks and Batch jobs as child processes that outlive the server, or as containers of an engine."""
