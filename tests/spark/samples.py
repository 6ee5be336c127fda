"""Small files that mix all difficulties of their format."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

import splitscan as ss

CSV_SCHEMA = "id long, name string, note string"
CSV_OPTIONS = {"header": True, "multi_line": True, "escape": '"'}


@dataclass(frozen=True)
class Sample:
    """A file and how it is read."""

    name: str
    data: bytes
    format: str
    options: Mapping[str, Any]
    schema: str | None = None

    def write(self, folder: Path) -> str:
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{self.name}.dat"
        path.write_bytes(self.data)
        return str(path)

    def scan(self, path: str, **options: Any) -> ss.Scan:
        return ss.scan(path, self.format, self.schema, **{**self.options, **options})


SAMPLES = (
    Sample(
        "csv",
        'id,name,note\n1,"a\nb","x ""y"", z"\r\n2,,""\n\n3,"é\n\n""",\\\n4,"""",",\n,"\n5,"\r\n",end'.encode(),
        "csv",
        CSV_OPTIONS,
        CSV_SCHEMA,
    ),
    Sample("backslash", b'1,"a\\"\nb",\\\\\n2,"\\\\",x\n3,"\n\\"",\n', "csv", {"multi_line": True}, CSV_SCHEMA),
    Sample("lines", "a\n\nbé\r\ncc\rd\n\r\n\r\r\nlast".encode(), "text", {}),
    Sample("escaped", b"a\\\nb\n\\\\\nc\\\\\\\nd\n\\\n\ne\\", "text", {"escape": "\\"}),
    Sample("delimiter", b"xaaabyaabzaab|aabaab", "text", {"line_sep": "aab"}),
    Sample("fixed", bytes(range(7 * 6 + 3)), "fixed", {"record_length": 7}),
    Sample("width", "  1aé \n22 b\n\n333ccc and more\r\n4".encode(), "fixed_width", {"layout": "id 1 3 int, name 4 3"}),
    Sample("width-bytes", b"  1ab 22 cd333efg4", "fixed_width", {"layout": "id 1 3 int, name 4 3", "record_length": 6}),
    Sample("slices", bytes(range(50)), "slices", {"slice_size": 8}),
    Sample("utf16", "id,name\n1,\"ä\n,\"\n2,𝄞\n".encode("utf-16"), "csv",
           {"header": True, "multi_line": True, "encoding": "UTF-16"}, "id int, name string"),
)  # fmt: skip


def write_csv(folder: Path, rows: int, name: str = "a.csv") -> str:
    """A CSV file whose every record spans two lines."""
    folder.mkdir(parents=True, exist_ok=True)
    text = "id,name,note\n" + "".join(f'{i},"n\n{i}","say ""{i}"""\n' for i in range(rows))
    (folder / name).write_text(text, newline="")
    return str(folder / name)


def rows_of(table: pa.Table) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in table.to_pylist()]
