"""Destinations of fsspec. In object stores one request makes a whole object visible, so uploads are atomic."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, BinaryIO, TypeVar

from fsspec.asyn import AsyncFileSystem
from fsspec.spec import AbstractFileSystem

from splitscan.content.storage.contract import Location, guarded
from splitscan.content.storage.destination import check_name, temporary_name, writing, writing_block
from splitscan.content.storage.remote import resolve
from splitscan.errors import SourceMissingError, Where

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
        """Throw away what was written so far."""
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
