"""The settings of copies: those of the source, and those that the request gives; copies of an object onto itself.

Source: service API reference, CopyObject; which requests count as a change is observed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from statewright.objects.encryption import ALGORITHM, ENCRYPTION
from statewright.objects.records import Bucket, ObjectView, Settings

_REDIRECT: Final = "WebsiteRedirectLocation"


@dataclass(frozen=True, slots=True)
class Wish:
    """The settings that a request to copy gives; storage class and encryption are always taken from it.

    With `replaces`, its headers and metadata take the place of the source's; `tags` take the place of its tags unless
    `None`. `names_class` is True if it names a storage class, were it the same.
    """

    given: Settings = field(default_factory=Settings)
    replaces: bool = False
    tags: Mapping[str, str] | None = None
    names_class: bool = False

    def settings(self, source: Settings) -> Settings:
        """The settings of the copy. Where a website would redirect to is never copied."""
        headers = {name: text for name, text in source.headers.items() if name != _REDIRECT}
        if _REDIRECT in self.given.headers:
            headers[_REDIRECT] = self.given.headers[_REDIRECT]
        kept = self.given if self.replaces else replace(source, headers=headers)
        return replace(
            kept,
            tags=dict(self.tags if self.tags is not None else source.tags),
            storage_class=self.given.storage_class,
            encryption=dict(self.given.encryption),
        )

    def changes(self, source: ObjectView, bucket: Bucket) -> bool:
        """True if an object of a bucket may be copied onto itself so."""
        return (
            self.replaces
            or self.names_class
            or bool(self.given.encryption)
            or _REDIRECT in self.given.headers
            or ENCRYPTION in bucket.settings
            or source.settings.encryption.get(ALGORITHM, "").startswith("aws:kms")
        )


AS_IT_IS: Final = Wish()
