"""Everything that fsspec reaches: object stores, HDFS, HTTP, memory. Importing this module imports fsspec."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, BinaryIO, NamedTuple, TypeVar

import fsspec
from fsspec.asyn import AsyncFileSystem
from fsspec.spec import AbstractFileSystem

from splitscan.content.storage.contract import (
    Entry,
    Location,
    NameFilter,
    RangedSource,
    guarded,
    not_a_file,
)
from splitscan.content.storage.destination import check_name, temporary_name, writing, writing_block
from splitscan.errors import SourceError, SourceMissingError, UsageError, Where
from splitscan.redaction import redact

# Names under which file systems report the same facts; the first that is there counts.
_ETAG_KEYS = ("ETag", "etag", "md5Hash", "content_md5", "checksum", "generation")
_TIME_KEYS = ("LastModified", "last_modified", "mtime", "modified", "updated", "Last-Modified", "created")


class RemotePath(NamedTuple):
    """A URI resolved to a file system."""

    filesystem: AbstractFileSystem
    name: str
    head: str
    authority: str

    def uri(self, name: str) -> str:
        """Spell a name of the file system as a URI of the same bucket or host."""
        tail = name[len(self.head) :] if name.startswith(self.head) else "/" + name.lstrip("/")
        return self.authority + tail.rstrip("/")


def resolve(location: Location, storage_options: Mapping[str, Any]) -> RemotePath:
    """Find the file system of a URI."""
    try:
        kind = fsspec.get_filesystem_class(location.scheme)
        options = {**kind._get_kwargs_from_urls(location.path), **dict(storage_options)}  # noqa: SLF001 -- fsspec's own way
        filesystem = kind(**{"use_listings_cache": False, **options})
        name = str(kind._strip_protocol(location.path))  # noqa: SLF001 -- the same
    except (AttributeError, ImportError, LookupError, OSError, TypeError, ValueError) as error:  # what fsspec raises
        shown = redact(f"{type(error).__name__}: {error}", storage_options)
        raise UsageError(
            f"no file system for {location.scheme}:// paths", Where(path=redact(location.path)), shown,
            "install the fsspec package of this storage and what it needs, and check storageOptions", "bad-storage",
        ) from None  # fmt: skip
    scheme, _, rest = location.path.partition("://")
    bucket, slash, below = rest.partition("/")
    tail = slash + below
    if not name.endswith(tail):
        return RemotePath(filesystem, name, "", f"{scheme}://")
    return RemotePath(filesystem, name, name[: len(name) - len(tail)], f"{scheme}://{bucket}")


class RemoteByteSource(RangedSource):
    """A file of fsspec, read by ranges. Nothing is cached: a block is read once anyway.

    Thread safety: ``read_at`` may run in several threads.
    Pickling: never.
    """

    def __init__(self, location: Location, storage_options: Mapping[str, Any]) -> None:
        self._remote = resolve(location, storage_options)
        info = guarded(
            lambda: self._remote.filesystem.info(self._remote.name),
            "open file", Where(path=location.path), storage_options,
        )  # fmt: skip
        if info.get("type") == "directory":
            raise not_a_file(redact(location.path))
        super().__init__(
            location.path, _size_bytes(info, location.path), remote_fingerprint(info), self._read_range,
            storage_options,
        )  # fmt: skip
        self._closed = False

    def close(self) -> None:
        self._closed = True

    def _is_closed(self) -> bool:
        return self._closed

    def _read_range(self, length_bytes: int, offset: int) -> bytes:
        piece = _read_range(self._remote, offset, length_bytes)
        if len(piece) > length_bytes:
            raise SourceError(
                "the storage ignores byte ranges", Where(path=redact(self.path), offset=offset),
                f"{len(piece)} bytes instead of {length_bytes}", "copy the file to a storage that can read ranges",
                "range-ignored",
            )  # fmt: skip
        return piece


class RemoteTree:
    """Directories of fsspec. An object store's directories are the common prefixes of its names."""

    def __init__(self, location: Location, storage_options: Mapping[str, Any]) -> None:
        self._remote = resolve(location, storage_options)
        self._scheme = location.scheme
        self._options = storage_options

    def status(self, path: str) -> Entry | None:
        name = resolve(Location(self._scheme, path), self._options).name
        where = Where(path=path)
        try:
            info = guarded(lambda: self._remote.filesystem.info(name), "look up path", where, self._options)
        except SourceMissingError:
            return None
        return self._entry(info)

    def entries(self, directory: str, keep: NameFilter, ignore_missing: bool) -> Iterator[Entry]:
        """List *directory* in path order, by one listing request (or as many as its pages take)."""
        name = resolve(Location(self._scheme, directory), self._options).name
        where = Where(path=directory)
        try:
            found = guarded(
                lambda: self._remote.filesystem.ls(name, detail=True), "list directory", where, self._options
            )
        except SourceMissingError:
            if ignore_missing:
                return
            raise
        kept: dict[str, Any] = {}
        for info in found:
            bare = str(info["name"]).rstrip("/")
            is_directory = info.get("type") == "directory"
            if bare == name.rstrip("/"):
                _check_marker(info, directory)
            elif keep(bare.rpartition("/")[2], is_directory):
                kept[bare + "/" if is_directory else bare] = info
        for key in sorted(kept):
            yield self._entry(kept.pop(key))

    def _entry(self, info: Mapping[str, Any]) -> Entry:
        path = self._remote.uri(str(info["name"]))
        if info.get("type") == "directory":
            return Entry(path, True)
        return Entry(path, False, _size_bytes(info, path), _modified_us(info), remote_fingerprint(info))


def remote_fingerprint(info: Mapping[str, Any]) -> str:
    """Identify a version of a remote file by its size and ETag, or else its modification time.

    Times are not mixed with an ETag: stores report them to the second in one request and finer in another.

    Example:
        >>> remote_fingerprint({"size": 3, "ETag": '"abc"'})
        '3-abc'
    """
    for key in _ETAG_KEYS:
        if info.get(key):
            return f"{info['size']}-{str(info[key]).strip(chr(34))}"
    return f"{info.get('size')}-{_modified_us(info)}"


def _read_range(remote: RemotePath, offset: int, length_bytes: int) -> bytes:
    filesystem, name = remote.filesystem, remote.name
    if type(filesystem).cat_file is not AbstractFileSystem.cat_file:
        return bytes(filesystem.cat_file(name, start=offset, end=offset + length_bytes))
    # the inherited cat_file reads through a read-ahead cache of several MiB
    with filesystem.open(name, "rb", cache_type="none") as opened:
        opened.seek(offset)
        return bytes(opened.read(length_bytes))


def _check_marker(info: Mapping[str, Any], directory: str) -> None:
    """Pass over the empty object that some tools put in for a directory; never over something that holds data."""
    is_empty_segment = info.get("StorageClass") == "DIRECTORY"  # s3fs's way to say: there are names with "//" below
    if is_empty_segment or (info.get("type") != "directory" and info.get("size")):
        raise SourceError(
            "names below a directory cannot be listed: they start with another /", Where(path=redact(directory)),
            f"{info['name']!r}", "rename those objects, or name each of them as a path", "path-unlistable",
        )  # fmt: skip


def _size_bytes(info: Mapping[str, Any], path: str) -> int:
    size = info.get("size")
    if size is None:
        raise SourceError(
            "the storage does not tell the length of the file", Where(path=redact(path)),
            fix="copy the file to a storage that knows lengths and can read ranges", code="size-unknown",
        )  # fmt: skip
    return int(size)


def _modified_us(info: Mapping[str, Any]) -> int:
    for key in _TIME_KEYS:
        value = info.get(key)
        if value is None or value == "":
            continue
        if isinstance(value, (int, float)):
            return round(value * 1_000_000)
        moment = value if isinstance(value, datetime) else _parse_time(str(value))
        if moment is not None:
            aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
            epoch = datetime(1970, 1, 1, tzinfo=UTC)
            delta = aware - epoch
            return (delta.days * 86_400 + delta.seconds) * 1_000_000 + delta.microseconds
    return 0


def _parse_time(text: str) -> datetime | None:
    for parse in (datetime.fromisoformat, parsedate_to_datetime):
        try:
            return parse(text)
        except (ValueError, TypeError):
            continue
    return None


T = TypeVar("T")


class RemoteStorage:
    """A prefix of an object store, or a folder of another remote file system.

    In an object store ``rename`` and ``delete_tree`` take one request per object and are not atomic: commit by
    writing one object.
    """

    def __init__(self, location: Location, storage_options: Mapping[str, Any]) -> None:
        self._root = location.path
        self._options = storage_options
        remote = resolve(location, storage_options)
        self._filesystem = remote.filesystem
        # fsspec's object stores are its asynchronous ones; all others write in place and need a rename
        self._is_object_store = isinstance(self._filesystem, AsyncFileSystem)
        # fsspec's inherited one copies, and reads glob characters in names
        self._has_own_move = not self._is_object_store and type(self._filesystem).mv is not AbstractFileSystem.mv
        self._head = remote.name.rstrip("/")

    @property
    def root(self) -> str:
        return self._root

    def path_of(self, name: str) -> str:
        return f"{self._root}/{check_name(name, allow_root=True)}".rstrip("/")

    def exists(self, name: str) -> bool:
        """Tell whether an object has this name, or names below it."""
        inner = self._inner(name)
        try:
            self._reading(lambda: self._filesystem.info(inner), "look up", name)
        except SourceMissingError:
            return False
        return True

    def list_names(self, folder: str = "") -> list[str]:
        inner = self._inner(folder)
        try:
            found = self._reading(lambda: self._filesystem.ls(inner, detail=True), "list", folder)
        except SourceMissingError:
            return []
        names = []
        for info in found:
            bare = str(info["name"]).rstrip("/")
            if bare != inner:
                names.append(bare.rpartition("/")[2] + ("/" if info.get("type") == "directory" else ""))
        return sorted(names)

    def read_bytes(self, name: str) -> bytes:
        inner = self._inner(check_name(name))
        return bytes(self._reading(lambda: self._filesystem.cat_file(inner), "read", name))

    def write_bytes_atomic(self, name: str, data: bytes) -> None:
        inner = self._inner(check_name(name))
        if self._is_object_store:
            self._writing(lambda: self._filesystem.pipe_file(inner, data), "write", name)
            return
        with self.open_output(name) as output:
            output.write(data)

    def try_create(self, name: str, data: bytes) -> bool:
        inner = self._inner(check_name(name))

        def created() -> bool:
            try:
                self._filesystem.pipe_file(inner, data, mode="create")
            except FileExistsError:
                return False
            return True

        return self._writing(created, "create", name)

    @contextmanager
    def open_output(self, name: str) -> Iterator[BinaryIO]:
        """Write an object as a stream (in parts, if it is large); an error leaves nothing behind."""
        inner = self._inner(check_name(name))
        staged = inner if self._is_object_store else f"{inner.rpartition('/')[0]}/{temporary_name()}"
        output = self._writing(lambda: self._open_for_writing(staged), "write", name)
        try:
            with writing_block(self.path_of(name), self._options):
                yield output
            self._writing(output.close, "write", name)
            if staged != inner:
                self._writing(lambda: self._move(staged, inner), "write", name)
        except BaseException:
            self._abandon(output, staged)
            raise

    def rename(self, name: str, new_name: str) -> None:
        source, target = self._inner(check_name(name)), self._inner(check_name(new_name))

        def renamed() -> None:
            if self._has_own_move:
                self._filesystem.makedirs(target.rpartition("/")[0], exist_ok=True)
                self._filesystem.mv(source, target)
                return
            for inner in self._objects(source):
                self._filesystem.cp_file(inner, target + inner[len(source) :])
            self._remove(source)

        self._writing(renamed, "rename", name)

    def delete_tree(self, name: str) -> None:
        """Delete an object and all whose names lie below it."""
        inner = self._inner(check_name(name))

        def deleted() -> None:
            with suppress(FileNotFoundError):
                self._remove(inner)

        self._writing(deleted, "delete", name)

    def _objects(self, inner: str) -> list[str]:
        """All files of a name: itself, or what lies below. Raises ``FileNotFoundError`` when there is nothing."""
        info = self._filesystem.info(inner)
        if info.get("type") != "directory":
            return [inner]
        return sorted(str(found) for found in self._filesystem.find(inner))

    def _remove(self, inner: str) -> None:
        for found in self._objects(inner):
            with suppress(FileNotFoundError):  # someone else was faster
                self._filesystem.rm_file(found)
        if not self._is_object_store and self._filesystem.isdir(inner):
            folders = [str(found) for found in self._filesystem.find(inner, withdirs=True)]
            for folder in [*sorted(folders, reverse=True), inner]:  # the deepest first
                with suppress(FileNotFoundError):  # implied by the files that are gone
                    self._filesystem.rmdir(folder)

    def _inner(self, name: str) -> str:
        return f"{self._head}/{check_name(name, allow_root=True)}".rstrip("/")

    def _reading(self, call: Callable[[], T], doing: str, name: str) -> T:
        return guarded(call, doing, Where(path=self.path_of(name)), self._options)

    def _writing(self, call: Callable[[], T], doing: str, name: str) -> T:
        return writing(call, doing, self.path_of(name), self._options)

    def _open_for_writing(self, inner: str) -> BinaryIO:
        if not self._is_object_store:
            self._filesystem.makedirs(inner.rpartition("/")[0], exist_ok=True)
        opened: BinaryIO = self._filesystem.open(inner, "wb")
        return opened

    def _move(self, staged: str, inner: str) -> None:
        if self._has_own_move:
            self._filesystem.mv(staged, inner)
        else:
            self._filesystem.cp_file(staged, inner)
            self._filesystem.rm_file(staged)

    def _abandon(self, output: BinaryIO, staged: str) -> None:
        if self._is_object_store:
            with suppress(Exception):
                output.discard()  # type: ignore[attr-defined]
            with suppress(Exception):
                output.closed = True  # type: ignore[misc]
            return
        with suppress(Exception):
            output.close()
        with suppress(Exception):
            self._filesystem.rm_file(staged)
