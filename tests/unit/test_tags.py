from __future__ import annotations

import pytest

from statewright.errors import ApiError
from statewright.tags import KEY_CHARACTERS, MOST_TAGS, VALUE_CHARACTERS, TagRule, retagged, tag_list, tags_by_key

RULE = TagRule(
    lambda count: ApiError("TooMany", str(count)),
    lambda key: ApiError("BadKey", key),
    lambda value: ApiError("BadValue", value),
    lambda key: ApiError("Reserved", key),
)


def test_tags_are_put_and_taken_away() -> None:
    assert retagged({"a": "1", "b": "2"}, {"b": "3", "c": "4"}, ["a", "unknown"]) == {"b": "3", "c": "4"}


def test_lists_of_requests_and_answers() -> None:
    listed = [{"Key": "a", "Value": "1"}, {"Key": "b", "Value": "2"}]
    assert tags_by_key(listed) == {"a": "1", "b": "2"}
    assert tag_list(tags_by_key(listed)) == listed
    assert tags_by_key(None) == {}


def test_a_resource_has_so_many_tags_and_a_key_that_is_there_counts_once() -> None:
    present = {str(number): "" for number in range(MOST_TAGS)}
    assert RULE.put(present, {"0": "new"})["0"] == "new"
    with pytest.raises(ApiError) as refused:
        RULE.put(present, {"more": ""})
    assert (refused.value.code, refused.value.message) == ("TooMany", str(MOST_TAGS + 1))


@pytest.mark.parametrize(
    ("key", "value", "code"),
    [
        ("", "", "BadKey"),
        ("k" * (KEY_CHARACTERS + 1), "", "BadKey"),
        ("k", "v" * (VALUE_CHARACTERS + 1), "BadValue"),
        ("AWS:k", "", "Reserved"),
    ],
)
def test_what_a_tag_may_not_be(key: str, value: str, code: str) -> None:
    with pytest.raises(ApiError) as refused:
        RULE.put({}, {key: value})
    assert refused.value.code == code


def test_a_check_without_an_answer_is_not_made() -> None:
    lenient = TagRule(RULE.too_many)
    assert lenient.put({}, {"": "v" * 300, "aws:x": ""}) == {"": "v" * 300, "aws:x": ""}
