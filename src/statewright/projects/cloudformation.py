"""CloudFormation templates as projects: sections, parameters, conditions, order.

Owns what a template's sections mean. Its functions are in `intrinsics.py`.
"""

from __future__ import annotations

from statewright.projects.intrinsics import Lookup, Unresolved, resolve

__all__ = ["Lookup", "Unresolved", "resolve"]
