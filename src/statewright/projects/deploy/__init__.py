"""Projects made real: every resource is created, updated or left as it is, in order, through a server's API.

`deployment.py` walks a project; `registry.py` lists the types it knows, the modules beside it say how one is applied.
"""
