"""All that is measured: inputs, and the works on them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from pyspark.sql import SparkSession

from bench import inputs
from bench.generated import write_generated_csv
from bench.generated_json import JsonLayout, write_generated_json
from bench.measure import Work
from bench.works.csv_works import CsvWorks, MemberWorks
from bench.works.json_works import JsonWorks
from bench.works.limits import limits
from bench.works.messy_works import MESSES, Mess, MessyWorks
from bench.works.record_works import RECORDS, Records, RecordWorks
from bench.works.session_works import first_query
from bench.works.text_works import EscapedWorks, FixedWorks, LineWorks

_SMALL_FILE_BYTES = 50_000


@dataclass(frozen=True)
class Suite:
    """Works on one input.

    Attributes:
        name: What ``--works`` calls it.
        title: What the input is.
        file_name: The name of the input.
        write: Writes it, of a size in bytes.
        works: The works on it; it need not be there yet.
        size_mb: Size of the input, if ``--mb`` does not say that.
    """

    name: str
    title: str
    file_name: str
    write: Callable[[Path, int], object]
    works: Callable[[SparkSession, Path, Path], dict[str, Work]]
    size_mb: int | None = None


def _csv(spark: SparkSession, source: Path, scratch: Path) -> CsvWorks:
    return CsvWorks(spark, source, scratch)


def _json(layout: JsonLayout, name: str, title: str, file_name: str) -> Suite:
    return Suite(
        name,
        title,
        file_name,
        lambda path, size_bytes: write_generated_json(path, size_bytes, layout),
        lambda spark, source, scratch: JsonWorks(spark, source, scratch, layout).all(),
    )


def _messy(mess: Mess) -> Suite:
    return Suite(
        f"messy-{mess.name}", f"{'JSON Lines' if mess.is_json else 'CSV with newlines in quotes'}: {mess.title}",
        f"messy.{'jsonl' if mess.is_json else 'csv'}", mess.write,
        lambda spark, source, scratch: MessyWorks(spark, source, scratch, mess).all(),
    )  # fmt: skip


def _records(records: Records) -> Suite:
    return Suite(
        records.record_format, records.title, records.file_name, records.write,
        lambda spark, source, scratch: RecordWorks(spark, source, scratch, records).all(),
    )  # fmt: skip


def _escaped(name: str, title: str, write: Callable[[Path, int], object], **options: str) -> Suite:
    return Suite(
        name, title, f"{name}.txt", write,
        lambda spark, source, scratch: EscapedWorks(spark, source, scratch, options).all(),
    )  # fmt: skip


def _compressed(codec: str, file_name: str) -> Suite:
    return Suite(
        codec,
        f"CSV with newlines in quotes, one {codec} stream (size uncompressed)",
        file_name,
        inputs.write_compressed,
        lambda spark, source, scratch: _csv(spark, source, scratch).all(),
    )


def _members(name: str, title: str, file_name: str) -> Suite:
    return Suite(
        name,
        f"CSV with newlines in quotes, {title} (size uncompressed)",
        file_name,
        inputs.write_members,
        lambda spark, source, scratch: MemberWorks(spark, source, inputs.one_stream(source), scratch).all(),
    )


def suites(sizes_mb: Sequence[int]) -> list[Suite]:
    """Everything, in the order in which it is measured.

    Args:
        sizes_mb: Sizes whose cost for each GB is compared.
    """
    multi_line = partial(write_generated_csv, newline="\n")
    return [
        Suite("csv-quoted", "CSV with newlines in quotes", "multiline.csv", multi_line, lambda *a: _csv(*a).all()),
        Suite(
            "csv-plain", "plain CSV", "plain.csv",
            inputs.write_lines, lambda *a: CsvWorks(*a, multi_line=False).all(),
        ),
        Suite("lines", "lines", "lines.txt", inputs.write_lines, lambda *a: LineWorks(*a).all()),
        _escaped("escaped", "lines with escaped newlines", inputs.write_escaped, escape="\\"),
        _escaped(
            "delimited", "lines with a delimiter of three bytes", inputs.write_delimited, line_sep=inputs.DELIMITER
        ),
        _json(JsonLayout.LINES, "json-lines", "JSON Lines", "records.jsonl"),
        _json(JsonLayout.ARRAY, "json-array", "pretty-printed JSON array", "array.json"),
        _json(JsonLayout.DOCUMENT, "json-path", "pretty-printed JSON array inside an object", "document.json"),
        Suite("fixed", "records of 64 bytes", "fixed.bin", inputs.write_fixed, lambda *a: FixedWorks(*a).all()),
        *(_records(records) for records in RECORDS),
        _compressed("gzip", "multiline.csv.gz"),
        _compressed("zstd", "multiline.csv.zst"),
        _members("bgzf", "BGZF", "multiline.csv.gz"),
        _members("zstd-frames", "zstd in frames of 4 MiB", "multiline.csv.zst"),
        Suite(
            "small-files", "CSV in files of 50 KB", "small",
            partial(inputs.write_small_files, file_bytes=_SMALL_FILE_BYTES), lambda *a: _csv(*a).small_files(),
        ),
        Suite("session", "a new session and a small file", "small.csv", multi_line, first_query, 1),
        *(_messy(mess) for mess in MESSES),
        Suite(
            "cores", "CSV with newlines in quotes, 2 cores and 1", "multiline.csv",
            multi_line, lambda *a: _csv(*a).cores(),
        ),
        *(
            Suite(f"size-{mb}", "CSV with newlines in quotes, by size", "multiline.csv", multi_line,
                  lambda *a: _csv(*a).sizes(), mb)
            for mb in sizes_mb
        ),
        Suite("limits", "limits: one part of the way alone", "multiline.csv", multi_line, limits),
    ]  # fmt: skip
