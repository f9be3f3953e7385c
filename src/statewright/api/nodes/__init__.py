"""Calls between the nodes of a cluster: which node answers what, and how a request, a call or a task gets there."""
