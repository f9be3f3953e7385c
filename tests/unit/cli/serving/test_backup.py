from __future__ import annotations

from pathlib import Path

from tests.unit.cli.conftest import Run


def test_a_copy_is_checked_and_never_replaced_by_accident(statewright: Run, data: Path, tmp_path: Path):
    result = statewright("backup", "copy.db", "--data", str(data))
    assert result.code == 0
    assert result.out.startswith("copy.db: ")
    assert result.out.endswith(" bytes, 0 executions, checked\n")
    again = statewright("backup", "copy.db", "--data", str(data))
    assert (again.code, "exists already" in again.err) == (2, True)
    assert statewright("backup", "copy.db", "--data", str(data), "--force", "-o", "json").json["schemaVersion"] >= 1
    assert not list(tmp_path.glob("*.part"))


def test_into_a_folder(statewright: Run, data: Path, tmp_path: Path):
    kept = tmp_path / "kept"
    kept.mkdir()
    assert statewright("backup", "kept", "--data", str(data)).code == 0
    assert [path.name[:12] for path in kept.iterdir()] == ["statewright-"]


def test_what_cannot_be_copied(statewright: Run, data: Path, tmp_path: Path):
    assert statewright("backup", "copy.db", "--data", "nowhere").code == 3
    assert statewright("backup", str(data / "statewright.db"), "--data", str(data), "--force").code == 2
    (data / "statewright.db").write_bytes(b"no database at all, and long enough to be looked at" * 40)
    result = statewright("backup", "copy.db", "--data", str(data))
    assert (result.code, "The backup was not made" in result.err) == (1, True)
    assert not Path("copy.db").exists()
