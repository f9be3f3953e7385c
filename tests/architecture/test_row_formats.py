"""No stored row changes its fields without a new version and a reader for the old one."""

from __future__ import annotations

import pytest

from tests.row_formats import COMMAND, DOCUMENT, Line, formats, noted, written

TO_DO = """The fields of '{name}' (in {module}) are not those of its format {version} any more:
  noted: {noted}
  now:   {now}
Rows of format {version} lie in data folders. Give the format the version {next} and an upgrade from {version}
(`form=Form({next}, upgrades={{{version}: ...}})` for an entry, a branch in the decoder for a compact body), run
`{command}`, which notes the new fields, and make a data folder of the new format with tests/formats/making.py."""


def lines() -> list[Line]:
    return formats()


def complaint(line: Line, known: dict[str, dict[str, dict[str, str]]]) -> str | None:
    """What is to be done about a format; None when it is as noted."""
    found = known.get(line.name, {}).get(str(line.version))
    if found is None:
        return f"'{line.name}' has a new format {line.version}: run `{COMMAND}`, which notes its fields"
    if found["fields"] != line.fields:
        return TO_DO.format(
            name=line.name, module=line.module, version=line.version, noted=found["fields"], now=line.fields,
            next=line.version + 1, command=COMMAND,
        )  # fmt: skip
    return None


def test_fields_are_those_of_the_format() -> None:
    known = noted()
    found = [said for said in (complaint(line, known) for line in formats()) if said is not None]
    assert not found, "\n\n".join(found)


def test_no_format_was_forgotten_or_taken_back() -> None:
    now = {line.name: line.version for line in formats()}
    for name, versions in noted().items():
        assert name in now, f"rows of '{name}' lie in data folders: its reader must stay"
        assert sorted(map(int, versions)) == list(range(1, now[name] + 1)), name


def test_a_field_more_is_found_and_the_message_says_what_to_do() -> None:
    queue = next(line for line in formats() if line.name == "queue")
    more = Line(queue.name, queue.module, queue.version, queue.fields + ", wings: int")
    said = complaint(more, noted())
    assert said is not None
    following = queue.version + 1
    assert f"Give the format the version {following} and an upgrade from {queue.version}" in said
    assert "wings: int" in said
    assert complaint(Line(queue.name, queue.module, following, more.fields), noted()) == (
        f"'queue' has a new format {following}: run `{COMMAND}`, which notes its fields"
    )


@pytest.mark.parametrize("name", ["queue", "function", "machine", "the call of a task", "the state of an execution"])
def test_what_every_folder_has_is_among_them(name: str) -> None:
    assert name in {line.name for line in formats()}


def test_the_list_of_formats_is_that_of_the_code() -> None:
    assert DOCUMENT.read_text() == written(), f"docs/row-formats.md is stale: run {COMMAND}"
