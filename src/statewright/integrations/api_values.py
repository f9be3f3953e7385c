"""Types of values in the names of botocore's models: requests to services, and their answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

ApiValue = Any
"""A JSON value, or one that JSON does not have: bytes, an instant (epoch milliseconds or a datetime), a stream."""

ApiObject = dict[str, ApiValue]
"""A request or an answer, or an object in one."""

ApiMapping = Mapping[str, ApiValue]
"""An `ApiObject` that is only read."""
