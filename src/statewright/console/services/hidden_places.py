"""Places in tables at which reading goes on, where the settings hide what such a place is made of.

A place is a key of an item. A page of items whose key is hidden has a ticket in its stead, which stands for the place
in the memory of this process. Places that hide nothing stay as the service writes them, so that an address with one
outlives a restart.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

from statewright import chance
from statewright.errors import ApiError
from statewright.payload import Json

MOST: Final = 1_000
"""Places that are kept; beyond them the one that was used longest ago is forgotten."""


class HiddenPlaces:
    """Tickets for places, each of which can be used again and again."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, Json] = OrderedDict()

    def ticket(self, place: Json) -> str:
        """A new ticket for a place."""
        made = chance.uuid4()
        self._kept[made] = place
        if len(self._kept) > MOST:
            self._kept.popitem(last=False)
        return made

    def place(self, ticket: str) -> Json:
        """The place of a ticket. Raises: ApiError (`BadRequest`) if it is not kept."""
        if ticket not in self._kept:
            text = "The place of this page is not kept any more, because it is hidden: begin with the first page."
            raise ApiError("BadRequest", text)
        self._kept.move_to_end(ticket)
        return self._kept[ticket]
