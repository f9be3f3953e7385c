"""Activities as the catalogue knows them: names with ARNs.

Owns creating, describing, listing and deleting them. Who polls an activity and what work it has is in
`activities.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from statewright.arn import ACTIVITY, activity_arn, parse_arn
from statewright.engine.list_tokens import page_size, read_token, write_token
from statewright.engine.machines import records
from statewright.engine.machines.catalogue import MachineCatalogue
from statewright.engine.machines.records import Activity, TagSet, again_on_conflict
from statewright.engine.machines.settings import check_name, encryption_of, tags_with
from statewright.errors import ApiError
from statewright.payload import JsonMapping


class ActivityRecords:
    """The activities of one catalogue."""

    def __init__(self, catalogue: MachineCatalogue) -> None:
        self.catalogue = catalogue
        self.records = catalogue.records

    @again_on_conflict
    async def create(
        self,
        name: str,
        tags: Iterable[Mapping[str, str]] = (),
        encryption: JsonMapping | None = None,
    ) -> Activity:
        """Create an activity; for an existing name, the answer is the same and its tags stay as they were.

        Raises: ApiError (`InvalidName`, `InvalidEncryptionConfiguration`, `TooManyTags`, `ValidationException`,
            `ActivityAlreadyExists` when the encryption differs).
        """
        check_name(name)
        config = self.catalogue.config
        arn = activity_arn(config.region, config.account, name)
        wanted = encryption_of(encryption)
        kept = tags_with({}, tags, arn)
        present = await self.records.get(Activity, arn)
        if present is not None:
            if present.encryption != wanted:
                raise ApiError("ActivityAlreadyExists", f"Activity Already Exists: '{arn}'")
            return present
        number = await self.catalogue.store.catalogue.next_number("activity")
        activity = Activity(arn, name, number, self.catalogue.clock.now_ms(), wanted)
        await self.records.write(activity, *([TagSet(arn, kept)] if kept else []))
        return activity

    async def get(self, arn: str) -> Activity:
        """An activity. Raises: ApiError (`InvalidArn`, `ActivityDoesNotExist`). Source: observed."""
        parse_arn(arn, ACTIVITY)
        activity = await self.records.get(Activity, arn)
        if activity is None:
            raise ApiError("ActivityDoesNotExist", f"Activity Does Not Exist: '{arn}'")
        return activity

    async def list_activities(self, token: str | None, max_results: int | None) -> tuple[list[Activity], str | None]:
        """One page of the activities by name. Raises: ApiError (`InvalidToken`)."""
        now_ms = self.catalogue.clock.now_ms()
        found, place = await self.records.page(
            Activity,
            "",
            after=read_token("activities", token, now_ms),
            limit=page_size(max_results),
        )
        return found, write_token("activities", place, now_ms)

    async def delete(self, arn: str) -> None:
        """Delete an activity with its tags; harmless if it does not exist. Raises: ApiError (`InvalidArn`)."""
        parse_arn(arn, ACTIVITY)
        await self.records.write(delete=[(records.ACTIVITY.name, arn), (records.TAGS.name, arn)])
