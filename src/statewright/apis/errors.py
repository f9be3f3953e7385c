"""The refusals of API Gateway's own operations."""

from __future__ import annotations

from statewright.errors import ApiError


def not_found(text: str) -> ApiError:
    """A `NotFoundException`."""
    return ApiError("NotFoundException", text, status=404)


def bad_request(text: str) -> ApiError:
    """A `BadRequestException`."""
    return ApiError("BadRequestException", text, status=400)


def conflict(text: str) -> ApiError:
    """A `ConflictException`."""
    return ApiError("ConflictException", text, status=409)
