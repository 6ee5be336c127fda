"""Destinations in mounted file systems: a file appears whole, and stays after a crash."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from splitscan.content.storage.writing import check_name, temporary_name, writing, writing_block


class LocalStorage:
    """A folder of a mounted file system: temporary file, fsync, rename, fsync of the folder."""

    def __init__(self, root: str) -> None:
        self._root = Path(root)

    @property
    def root(self) -> str:
        return str(self._root)

    def path_of(self, name: str) -> str:
        return str(self._root / check_name(name, allow_root=True))

    def exists(self, name: str) -> bool:
        return writing(lambda: os.path.lexists(self.path_of(name)), "look up", self.path_of(name))

    def list_names(self, folder: str = "") -> list[str]:
        path = self.path_of(folder)

        def listed() -> list[str]:
            with suppress(FileNotFoundError), os.scandir(path) as found:
                return sorted(item.name + "/" if item.is_dir(follow_symlinks=False) else item.name for item in found)
            return []

        return writing(listed, "list", path)

    def read_bytes(self, name: str) -> bytes:
        path = self._root / check_name(name)
        return writing(path.read_bytes, "read", str(path))

    def write_bytes_atomic(self, name: str, data: bytes) -> None:
        with self.open_output(name) as output:
            output.write(data)

    def try_create(self, name: str, data: bytes) -> bool:
        path = Path(self._root / check_name(name))

        def created() -> bool:
            make_folder(path.parent)
            temporary = path.with_name(temporary_name())
            try:
                with temporary.open("xb") as output:
                    output.write(data)
                    _sync(output)
                try:
                    os.link(temporary, path)
                except FileExistsError:
                    return False
            finally:
                _throw_away(temporary)
            sync_path(path.parent)
            return True

        return writing(created, "create", str(path))

    @contextmanager
    def open_output(self, name: str) -> Iterator[BinaryIO]:
        path = Path(self._root / check_name(name))
        temporary = path.with_name(temporary_name())

        def opened() -> BinaryIO:
            make_folder(path.parent)
            return temporary.open("xb")

        def published() -> None:
            _sync(output)
            output.close()
            temporary.replace(path)
            sync_path(path.parent)

        output = writing(opened, "write", str(path))
        try:
            with writing_block(str(path)):
                yield output
            writing(published, "write", str(path))
        finally:
            with suppress(OSError):  # a full disk fails again when the buffer is flushed
                output.close()
            _throw_away(temporary)

    def rename(self, name: str, new_name: str) -> None:
        source, target = self._root / check_name(name), self._root / check_name(new_name)

        def renamed() -> None:
            make_folder(target.parent)
            source.replace(target)
            sync_path(target.parent)
            if source.parent != target.parent:
                sync_path(source.parent)

        writing(renamed, "rename", str(source))

    def delete_tree(self, name: str) -> None:
        path = self._root / check_name(name)

        def deleted() -> None:
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)

        writing(deleted, "delete", str(path))


def make_folder(folder: Path) -> None:
    """Create a folder and its parents, so that they stay after a crash."""
    if not folder.is_dir():
        make_folder(folder.parent)
        folder.mkdir(exist_ok=True)
        sync_path(folder.parent)


def _throw_away(temporary: Path) -> None:
    """Delete an unfinished file; what is left of it is in no reader's way, and never hides why it is unfinished."""
    with suppress(OSError):
        temporary.unlink(missing_ok=True)


def _sync(output: BinaryIO) -> None:
    output.flush()
    os.fsync(output.fileno())


def sync_path(path: Path) -> None:
    """Make what a file holds, or which names a folder has, outlive a crash of the machine."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
