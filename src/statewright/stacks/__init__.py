"""CloudFormation: stacks made from templates, change sets, operations and events. Start reading at `stacks.py`."""
