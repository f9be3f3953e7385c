"""Ends of asynchronous EXPRESS executions, published after their commit: one list of subscribers for all cells."""

from __future__ import annotations

from collections.abc import Callable


class ExpressEnds:
    """Calls subscribers with the ARN of every asynchronous EXPRESS execution whose end is durable; none may wait."""

    def __init__(self) -> None:
        self._subscribers: tuple[Callable[[str], None], ...] = ()

    def subscribe(self, subscriber: Callable[[str], None]) -> Callable[[], None]:
        """Have a subscriber called from now on; the result, called once, ends that."""
        self._subscribers = (*self._subscribers, subscriber)

        def leave() -> None:
            self._subscribers = tuple(one for one in self._subscribers if one is not subscriber)

        return leave

    def publish(self, execution_arn: str) -> None:
        """An execution has ended."""
        for subscriber in self._subscribers:
            subscriber(execution_arn)
