"""From the text of a template to the plan of a stack. Start reading at `planner.py`."""
