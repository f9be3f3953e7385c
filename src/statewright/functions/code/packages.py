"""Code packages: a folder of zip files named by their hash, each unpacked once.

Owns the folder, the checks of a zip, and deleting unused ones. A package is durable before its request is answered: on
disk, or in the store (`blobs`) if that keeps blobs. Then the folder is a cache, safe to delete while no worker
runs in it; what it has too much is deleted at the start of a server.

A package is put, or asked for again, before the row that names it is written. So an unused one is deleted only when
that was an hour ago.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import hashlib
import io
import os
import shutil
import stat
import tempfile
import threading
import zipfile
from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from typing import Final

from statewright.files.ages import is_young
from statewright.files.data_folder import FILE_MODE
from statewright.files.whole import write_bytes
from statewright.functions.code.blobs import CodeBlobs
from statewright.functions.names import invalid
from statewright.stores.blobs.protocol import ORPHAN_MS, BlobStore

UNZIPPED_BYTES: Final = 262_144_000
"""Source: service quotas, deployment package, unzipped."""
ZIPPED_BYTES: Final = 52_428_800
"""Source: service quotas, deployment package, zipped, for direct upload."""
MOST_FILES: Final = 30_000
"""Statewright's own limit: unpacking takes 0.1 ms of the processor for each."""
CACHE_BYTES: Final = 4 << 30
"""Of zips and what is unpacked from them, where the folder is a cache."""
_END_RECORD: Final = 22
_LONGEST_COMMENT: Final = 65_535
_CHUNK: Final = 1 << 20
_MERGED: Final = "layers-"
_LIST: Final = ".list"
_CANNOT_UNZIP: Final = "Could not unzip uploaded file. Please check your file, then try to upload again."


class Packages:
    """The packages of one server. Its methods access files; call them from a thread."""

    def __init__(self, folder: Path, blobs: BlobStore | None = None) -> None:
        self.folder = folder
        self._blobs = None if blobs is None else CodeBlobs(blobs)
        self._sizes: dict[str, int] = {}
        """Of the zips in the store, for those that are not in the folder."""
        self._changing = threading.Lock()
        """Held between looking at the age of a zip and deleting it."""

    @property
    def is_cache(self) -> bool:
        """True if the store has the packages."""
        return self._blobs is not None

    def put(self, data: bytes) -> tuple[str, str, int]:
        """Store a zip and unpack it; return its name, its SHA-256 in base64 and its size.

        A row may name it within the next hour.

        Raises: ApiError (`InvalidParameterValueException`) if it is no zip, too large, or has members outside of it;
        Unavailable.
        """
        digest = hashlib.sha256(data).digest()
        name = digest.hex()
        zipped = self.folder / f"{name}.zip"
        self._touch(zipped)
        if not zipped.exists() or not (self.folder / name).is_dir():
            self.folder.mkdir(parents=True, exist_ok=True)
            self._unpack(data, name)
            write_bytes(zipped, data, durable=True, mode=FILE_MODE)
        if self._blobs is not None:
            self._blobs.keep(name, data)
            self._sizes[name] = len(data)
        return name, base64.b64encode(digest).decode(), len(data)

    def renew(self, names: Iterable[str]) -> None:
        """Let rows name packages within the next hour that a row names now. Raises: Unavailable."""
        for name in names:
            self._touch(self.zip_of(name))
            if self._blobs is not None:
                self._blobs.renew(name)

    def zip_of(self, name: str) -> Path:
        """Path of a package's zip."""
        return self.folder / f"{name}.zip"

    def size_of(self, name: str) -> int:
        """Bytes of a package's zip; 0 if it is missing. One quick look at the file system: needs no thread."""
        try:
            return self.zip_of(name).stat().st_size
        except OSError:
            return self._sizes.get(name, 0)

    def fetched(self, name: str) -> Path:
        """Path of a package's zip, which is brought from the store if it is missing. Raises: OSError, StoreError."""
        zipped = self.zip_of(name)
        if self._blobs is not None and not zipped.exists():
            self._blobs.fetch(name, zipped)
        return zipped

    def unpacked(self, name: str) -> Path:
        """The folder of a package, unpacked again if it is missing. Raises: OSError, ApiError, StoreError."""
        folder = self.folder / name
        if not folder.is_dir():
            self._unpack(self._checked(name), name)
        if self._blobs is not None:
            self._touch(self.zip_of(name))
        return folder

    def _checked(self, name: str) -> bytes:
        """The bytes of a zip whose SHA-256 is its name; a damaged file is replaced from the store."""
        zipped = self.fetched(name)
        data = zipped.read_bytes()
        if hashlib.sha256(data).hexdigest() == name:
            return data
        if self._blobs is None:
            raise OSError(f"{zipped} is damaged: its SHA-256 is not its name")
        self._blobs.fetch(name, zipped)
        return zipped.read_bytes()

    def merged(self, names: list[str]) -> str:
        """The name of a folder with the files of several packages, of which later ones win; empty for none.

        Files are linked, not copied. Raises: OSError, ApiError, StoreError.
        """
        folders = [self.unpacked(name) for name in names]
        if len(folders) < 2:
            return names[0] if names else ""
        found = f"{_MERGED}{hashlib.sha256(' '.join(names).encode()).hexdigest()}"
        if not (self.folder / found).is_dir():
            staging = Path(tempfile.mkdtemp(prefix=".merging-", dir=self.folder))
            try:
                for folder in folders:
                    _link(folder, staging)
                listed = self.folder / f"{found}{_LIST}"
                write_bytes(listed, " ".join(names).encode(), durable=True, mode=FILE_MODE)
                _close(staging)
                staging.rename(self.folder / found)
            except OSError:
                # Another call has merged the same packages meanwhile.
                if not (self.folder / found).is_dir():
                    raise
            finally:
                _remove(staging)
        return found

    def keep_only(self, names: set[str]) -> None:
        """Delete every old package that is not in `names`, and what was merged from such packages."""
        if self._blobs is not None:
            self._sizes = self._blobs.sizes()
            self._blobs.remove_old(self._sizes.keys() - names)
        if not self.folder.is_dir():
            return
        with self._changing:
            self._keep_only(names)

    def _keep_only(self, names: set[str]) -> None:
        for path in self.folder.glob("*.zip"):
            with contextlib.suppress(FileNotFoundError):
                if is_young(path.stat(), ORPHAN_MS):
                    names = names | {path.stem}
        for path in self.folder.glob(f"{_MERGED}*{_LIST}"):
            if names.issuperset(path.read_text().split()):
                names = names | {path.name.partition(".")[0]}
        for entry in self.folder.iterdir():
            if entry.name.partition(".")[0] in names or entry.name.startswith("."):
                continue
            if entry.is_dir():
                _remove(entry)
            else:
                entry.unlink(missing_ok=True)

    def missing_in_store(self) -> set[str]:
        """The packages of the folder that the store does not have: an older version wrote them, or they are unused."""
        assert self._blobs is not None
        self._sizes = self._blobs.sizes()
        found = {path.stem for path in self.folder.glob("*.zip")}
        # A blob without all its pieces was never named, or is being written now.
        return {name for name in found if self._sizes.get(name) != self.size_of(name)}

    def move_into_store(self, names: Iterable[str]) -> None:
        """Have zips of the folder in the store, too; damaged ones stay where they are. Raises: OSError, Unavailable."""
        assert self._blobs is not None
        for name in names:
            data = self.zip_of(name).read_bytes()
            if hashlib.sha256(data).hexdigest() == name:
                self._blobs.keep(name, data)
                self._sizes[name] = len(data)

    def shrink(self, most_bytes: int = CACHE_BYTES) -> None:
        """Delete packages of the cache above a size, the least recently used first; no worker may be using them."""
        kept = 0
        with self._changing:
            seen = [(path.stat().st_mtime_ns, path) for path in self.folder.glob("*.zip") if path.stem in self._sizes]
            for _, path in sorted(seen, reverse=True):
                kept += _weight(path)
                if kept > most_bytes:
                    _remove(self.folder / path.stem)
                    path.unlink(missing_ok=True)

    def _touch(self, zipped: Path) -> None:
        with self._changing, contextlib.suppress(FileNotFoundError):
            os.utime(zipped)

    def _unpack(self, data: bytes, name: str) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        _refuse_many(_declared_members(data))
        try:
            archive = zipfile.ZipFile(io.BytesIO(data))
        except (zipfile.BadZipFile, NotImplementedError, ValueError, OverflowError):
            raise invalid(_CANNOT_UNZIP) from None
        with archive:
            members = [member for member in archive.infolist() if not member.filename.endswith("/")]
            if not members:
                raise invalid("Uploaded file must be a non-empty zip")
            _refuse_many(len(archive.filelist))
            if sum(member.file_size for member in members) > UNZIPPED_BYTES:
                raise _too_large()
            places = [_place(member) for member in members]
            staging = Path(tempfile.mkdtemp(prefix=".unpacking-", dir=self.folder))
            try:
                self._write(archive, members, places, staging)
                _close(staging)
                staging.rename(self.folder / name)
            except (zipfile.BadZipFile, EOFError, RuntimeError, NotImplementedError):
                raise invalid(_CANNOT_UNZIP) from None
            except OSError:
                # Another call has unpacked the same zip meanwhile, or it has a file and a folder of one name.
                if not (self.folder / name).is_dir():
                    raise invalid(_CANNOT_UNZIP) from None
            finally:
                _remove(staging)

    def _write(
        self, archive: zipfile.ZipFile, members: list[zipfile.ZipInfo], places: list[PurePosixPath], staging: Path
    ) -> None:
        left = UNZIPPED_BYTES
        for member, place in zip(members, places, strict=True):
            target = staging / place
            target.parent.mkdir(parents=True, exist_ok=True)
            with archive.open(member) as source, target.open("wb") as sink:
                while chunk := source.read(_CHUNK):
                    # The sizes that a zip declares may be false.
                    left -= len(chunk)
                    if left < 0:
                        raise _too_large()
                    sink.write(chunk)
            target.chmod(0o500 if (member.external_attr >> 16) & 0o111 else 0o400)


def decoded_zip(given: bytes | str) -> bytes:
    """A zip as bytes; text is base64. Raises: ApiError (`InvalidParameterValueException`)."""
    if isinstance(given, bytes):
        return given
    try:
        return base64.b64decode(given, validate=True)
    except (binascii.Error, ValueError):
        raise invalid(_CANNOT_UNZIP) from None


def _weight(zipped: Path) -> int:
    """Bytes that a zip and its folder take, by the word of the zip."""
    try:
        with zipfile.ZipFile(zipped) as archive:
            unpacked = sum(member.file_size for member in archive.infolist())
    except (zipfile.BadZipFile, OSError, NotImplementedError):
        unpacked = 0
    return zipped.stat().st_size + unpacked


def _declared_members(data: bytes) -> int:
    """The number of members that a zip declares at its end, before any of them is read; 0 if there is no such end."""
    place = data.rfind(b"PK\x05\x06", max(0, len(data) - _END_RECORD - _LONGEST_COMMENT))
    return int.from_bytes(data[place + 10 : place + 12], "little") if place >= 0 else 0


def _refuse_many(count: int) -> None:
    if count > MOST_FILES:
        raise invalid(f"The package holds {count} files and folders; {MOST_FILES} are the most here.")


def _place(member: zipfile.ZipInfo) -> PurePosixPath:
    """Path of a member below its package. Raises: ApiError for a link, or a path outside of the package."""
    name = member.filename
    place = PurePosixPath(name)
    if not place.parts:
        raise invalid(_CANNOT_UNZIP)
    mode = member.external_attr >> 16
    if stat.S_ISLNK(mode):
        raise invalid(f"The package holds the symbolic link {name[:200]!r}; Statewright does not unpack links.")
    if place.is_absolute() or ".." in place.parts or not place.parts or "\\" in name or ":" in place.parts[0]:
        raise invalid(f"The package holds {name[:200]!r}, which is outside of it.")
    return place


def _link(source: Path, target: Path) -> None:
    """Link the files of a folder into another, in place of those of the same name."""
    for folder, _, files in os.walk(source):
        below = target / Path(folder).relative_to(source)
        if below.is_file():
            below.unlink()
        below.mkdir(parents=True, exist_ok=True)
        for name in files:
            place = below / name
            if place.is_dir():
                shutil.rmtree(place)
            place.unlink(missing_ok=True)
            os.link(Path(folder) / name, place)


def _close(folder: Path) -> None:
    """Take away the permission to write into the folders of a package, as in the service."""
    for below, _, _ in os.walk(folder, topdown=False):
        Path(below).chmod(0o500)


def _remove(folder: Path) -> None:
    """Delete a folder, if it is there, though its folders are closed."""
    for below, _, _ in os.walk(folder):
        Path(below).chmod(0o700)
    shutil.rmtree(folder, ignore_errors=True)


def _too_large() -> Exception:
    return invalid(f"Unzipped size must be smaller than {UNZIPPED_BYTES} bytes")
