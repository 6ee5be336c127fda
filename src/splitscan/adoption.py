"""``spark.read.format("splitscan")`` where splitscan is imported: sessions know the name by themselves.

Spark looks for data sources with an interpreter of its own, which often is not the one that runs the script. Where the
script has imported splitscan, the name is made known to the session when a reader is asked for it, as ``ss.register``
would. Nothing of PySpark is imported for that; queries in SQL need the call.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import wraps
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import Any
from weakref import WeakSet

_NAME = "splitscan"
_READERS = {"pyspark.sql.readwriter": "DataFrameReader", "pyspark.sql.streaming.readwriter": "DataStreamReader"}
"""The class that makes DataFrames, in its module."""

KNOWN: WeakSet[Any] = WeakSet()
"""Sessions that know the name."""


def adopt_readers() -> None:
    """Have the readers of PySpark, once they are imported, make the data source known that they are asked for."""
    if any(isinstance(finder, _ReaderFinder) for finder in sys.meta_path):
        return
    sys.meta_path.insert(0, _ReaderFinder())
    for name in _READERS:
        if name in sys.modules:
            _adopt(sys.modules[name])


def _adopt(module: ModuleType) -> None:
    reader = getattr(module, _READERS[module.__name__])
    format_of = reader.format

    @wraps(format_of)
    def format(self: Any, source: str) -> Any:
        spark = self._spark
        if source.lower() == _NAME and spark not in KNOWN:
            import_module("splitscan.spark.registration").register(spark)
        return format_of(self, source)

    reader.format = format


class _ReaderFinder(MetaPathFinder):
    """Finds the modules of PySpark's readers as any finder would, and adopts them when they are loaded."""

    _is_asking = False

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name not in _READERS or self._is_asking:
            return None
        self._is_asking = True
        try:
            spec = find_spec(name)
        finally:
            self._is_asking = False
        if spec is not None and spec.loader is not None:
            spec.loader = _AdoptingLoader(spec.loader)
        return spec


class _AdoptingLoader(Loader):
    def __init__(self, loader: Loader) -> None:
        self._loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self._loader.exec_module(module)
        _adopt(module)
