"""Types of CSV columns are found in all values, whatever their order and wherever blocks are cut."""

import gzip
import logging
import random
from functools import reduce

import pyarrow as pa
import pytest

import splitscan as ss
from splitscan.engine import kernel
from splitscan.formats.csv.inference import TypeSummary, merge_summaries, summarise_columns
from splitscan.formats.csv.options import CsvOptions
from splitscan.formats.merge import spoken

CSV = CsvOptions()
TEXTS = [
    "1", "-2", "+3", "0", "-0", "007", " 12", "12 ", "\t5", "2147483647", "2147483648", "-9223372036854775808",
    "9223372036854775808", "9" * 38, "9" * 39, "1.5", "-.5", "1e3", "1E400", "NaN", "Inf", "-Inf", "3f", "1,000",
    "2020-01-31", "2020-02-30", "2020-1-31", "2020", "2020-01-31 10:00", "2020-01-31T10:00:00Z", " 2020-01-31 ",
    "2020-01-31 10:00:00 Europe/Berlin", "true", "FALSE", "yes", "", " ", "x", "Zürich", "00", "0.5", "01.5", "+", "-",
    "2020-01", "-2020-1-3", "2020-01-31T", "12D", "-.5f", " 1d", "9" * 400,
    "+4915112345678", "+123456", "+1234567 ", "1234567890123456", " 123456789012345678901", "12345678901234567.89",
    "12345678901234567.", "123456789012345.5", "1e-400", "-0e-400", "0.00001e-400", "1E+30", "1234-5-6", "5.", "1,000",
    "2020-01-31 10:00:00.1234567", "2020-01-31 10:00:00.1234560", "2020-01-31 10:00:00.000000001Z", "999-01-01",
]  # fmt: skip


def summary(texts, csv=CSV):
    return TypeSummary.of(pa.array(texts, pa.string()), csv)


@pytest.mark.parametrize(
    ("texts", "kind"),
    [
        (["1", "2"], pa.int32()),
        (["1", "2147483648"], pa.int64()),
        (["1", "9" * 20], pa.decimal128(20, 0)),
        (["1", "9" * 39], pa.string()),
        (["0.5", "9007199254740993"], pa.string()),
        (["1", "9007199254740993"], pa.int64()),
        (["0.5", "9" * 20], pa.string()),
        (["12345678901234567.89"], pa.string()),
        (["123456789012345.67"], pa.float64()),
        (["1", "1e-400"], pa.string()),
        (["+4915112345678", "+4989123456"], pa.string()),
        (["+5", "-3"], pa.int32()),
        (["1234-5-6"], pa.string()),
        (["2024-01-31 10:00:00.123456789"], pa.string()),
        (["2024-01-31 10:00:00.123456000"], pa.timestamp("us", "UTC")),
        (["1", "1.5"], pa.float64()),
        (["2020-01-31", None], pa.date32()),
        (["2020-01-31", "2020-01-31 10:00"], pa.timestamp("us", "UTC")),
        (["true", "False"], pa.bool_()),
        (["true", "1"], pa.string()),
        (["1", "x"], pa.string()),
        ([None, None], pa.null()),
        (["12345", "01234"], pa.string()),
        (["-007", "1"], pa.string()),
        (["0", "0.5"], pa.float64()),
        (["12D", "14F"], pa.string()),
        (["1", "1e400"], pa.string()),
        (["2024-01", "2024-02"], pa.string()),
        (["2024-01-31 10:00", "2024"], pa.string()),
    ],
)
def test_a_column_has_the_narrowest_type_that_all_its_values_fit(texts, kind):
    assert spoken(summary(texts).kind(CSV)) == kind


@pytest.mark.thin(2)
@pytest.mark.skipif(kernel() is None, reason="there is nothing to compare")
@pytest.mark.parametrize(
    "csv",
    [
        CSV,
        CsvOptions(date_format="dd/MM/yyyy", timestamp_format="dd/MM/yyyy HH:mm"),
        CsvOptions(nan_value="0"),
        CsvOptions(locale="de", date_format="d. MMMM yyyy"),
    ],
    ids=["plain", "patterns", "names", "locale"],
)
def test_the_kernel_finds_the_types_that_the_reference_finds(csv):
    draw = random.Random(11)
    texts = [*TEXTS, "31/01/2020", "31/01/2020 10:00", "31/02/2020", "1. März 2020", "1. MÄRZ 2020", "1.", "n.a."]
    columns = [[text] for text in texts]
    columns += [[draw.choice(texts) for _ in range(draw.randrange(1, 4))] for _ in range(600)]
    for column in columns:
        batch = pa.record_batch([pa.array(column, pa.string())], names=["c"])
        (found,) = summarise_columns([batch], csv, 1)
        expected = summary(column, csv)
        assert found.kind(csv) == expected.kind(csv), column
        assert found.kinds == expected.kinds, column


@pytest.mark.parametrize(
    ("texts", "kind"),
    [
        (["1", "20"], pa.int32()), (["1.234"], pa.string()), (["1", ".5"], pa.string()), (["1,5"], pa.string()),
        (["1e5"], pa.float64()), (["1. März 2020"], pa.date32()),
    ],
)  # fmt: skip
def test_a_point_makes_no_double_where_a_comma_stands_before_fractions(texts, kind):
    csv = CsvOptions(locale="de", date_format="d. MMMM yyyy")
    assert spoken(TypeSummary.of(pa.array(texts), csv).kind(csv)) == kind


def test_parts_show_together_what_the_whole_shows_in_any_order():
    draw = random.Random(7)
    for _ in range(300):
        texts = [draw.choice([*TEXTS, None]) for _ in range(draw.randrange(1, 9))]
        cut, other = sorted(draw.randrange(len(texts) + 1) for _ in range(2))
        parts = [[summary(part)] for part in (texts[:cut], texts[cut:other], texts[other:])]
        draw.shuffle(parts)
        left = merge_summaries(merge_summaries(parts[0], parts[1]), parts[2])
        right = merge_summaries(parts[0], merge_summaries(parts[1], parts[2]))
        assert left == right == reduce(merge_summaries, parts)
        assert left[0].kind(CSV) == summary(texts).kind(CSV), texts


@pytest.fixture
def late_types(tmp_path):
    """A file whose columns change their types after more than a sample."""
    lines = ["n,day,code,note"]
    lines += [f'{i},2024-01-{i % 28 + 1:02d},{i},"a\nb {i}"' for i in range(60_000)]
    lines += ["0.5,2024-01-01 10:00,00017,x"]
    path = tmp_path / "late.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


WIDE = pa.schema(
    [("n", pa.float64()), ("day", pa.timestamp("us", "UTC")), ("code", pa.string()), ("note", pa.string())]
)


@pytest.mark.parametrize("block_size", ["64k", "1m", "1g"])
def test_values_after_a_sample_count_wherever_blocks_are_cut(late_types, block_size):
    scan = ss.scan_csv(late_types, header=True, infer_schema=True, multi_line=True, block_size=block_size)
    assert scan.schema == WIDE
    table = scan.to_arrow()
    assert table.num_rows == 60_001
    assert [column.null_count for column in table.columns] == [0, 0, 0, 0]
    assert table["code"][-1].as_py() == "00017"


def test_values_at_the_end_of_a_compressed_file_count(late_types, tmp_path):
    path = tmp_path / "late.csv.gz"
    path.write_bytes(gzip.compress(late_types.read_bytes()))
    assert ss.scan_csv(path, header=True, infer_schema=True, multi_line=True).schema == WIDE


def test_every_file_counts_however_many_there_are(tmp_path):
    for number in range(40):
        (tmp_path / f"{number:02d}.csv").write_text("n\n1\n" if number != 23 else "n\nx\n")
    assert ss.scan_csv(tmp_path, header=True, infer_schema=True).schema == pa.schema([("n", pa.string())])


@pytest.mark.parametrize("sample", [{"sample_bytes": "64k"}, {"sample_files": 1}])
def test_a_sample_is_taken_where_it_is_asked_for(late_types, sample):
    found = ss.scan_csv(late_types, header=True, infer_schema=True, multi_line=True, **sample).schema
    assert found.field("n").type == pa.int32()


def test_a_sample_of_more_data_than_infer_bytes_is_said(late_types, caplog):
    with caplog.at_level(logging.WARNING, "splitscan"):
        found = ss.scan_csv(late_types, header=True, infer_schema=True, multi_line=True, infer_bytes="1m").schema
    assert found.field("n").type == pa.int32()
    assert "the schema is found in a sample" in caplog.text
    assert "raise inferBytes" in caplog.text
