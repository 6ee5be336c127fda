"""What speaks for a dialect, and how much; each in the smallest sample that shows it."""

import math

import pytest

import splitscan as ss
from splitscan.errors import SourceError
from splitscan.formats.csv.sniffing.detection import find_dialect
from splitscan.formats.csv.sniffing.found import Confidence, RawSample, find_encoding, wide_without_mark

ROWS = "".join(f"{number},a,b\n" for number in range(8))


def found(text, *later, is_end=True, **given):
    """The dialect of a file that begins with one text, and of which the others are samples."""
    parts = [RawSample(text, 0, is_end=is_end and not later)]
    parts += [RawSample(part.encode(), 4000 * (number + 1), is_end=True) for number, part in enumerate(later)]
    return find_dialect(parts, given)


def of_text(text, *later, **given):
    return found(text.encode(), *later, **given)


def test_the_best_readings_read_all_of_the_beginning_and_not_its_first_part_only():
    late = "".join(f"{number},plain\n" for number in range(2500)) + '1,"a\nb"\n'
    assert of_text(late).settings["multiLine"].evidence == "1 quoted value holds a line end"


@pytest.mark.parametrize(
    ("later", "is_clear"), [("lf,\nodd\n" + ROWS[:18], True), ("lf,\n" + ROWS[:6] + "odd\n", False)]
)
def test_the_first_record_of_a_later_sample_tells_nothing(later, is_clear):
    assert (not of_text(ROWS, later).doubts) == is_clear


@pytest.mark.parametrize("rows", ["1,'a, b'\n2,'c'\n", "'a;b';1\n'c';2\n", "1|'a|b'\r2|'c'\r"])
def test_quotes_that_begin_a_field_somewhere_are_tried(rows):
    assert of_text(4 * rows).quote == "'"


def test_quotes_that_are_doubled_and_escaped_leave_the_dialect_open():
    text = '1,"x ""y"" z"\n2,"x \\"y\\" z"\n'
    dialect = of_text(4 * text, quote='"')
    assert dialect.settings["escape"].confidence is Confidence.UNSURE
    assert "8 doubled quotes, 8 after a backslash." in " ".join(dialect.doubts)


@pytest.mark.parametrize(
    ("text", "seen"), [("a\nbb\nc\n", "1 field in 3 of 3 records"), (ROWS, "3 fields in 8 of 8 records")]
)
def test_the_evidence_for_a_separator_are_fields(text, seen):
    assert of_text(text).settings["sep"].evidence == seen


def test_without_a_character_set_nothing_is_said_but_what_a_word_is():
    dialect = found("id,city\n1,Zürich\n".encode("cp1252"))
    assert "only who wrote it knows: encoding=windows-1252 reads 'Zürich'. Give encoding." in dialect.doubts[0]
    assert (dialect.settings, dialect.skip_rows, dialect.columns, dialect.options()["encoding"]) == ({}, 0, 0, "")


@pytest.mark.parametrize(
    ("codec", "name", "words"),
    [
        ("cp1252", "windows-1252", "Müller,Straße"), ("latin-1", "windows-1252", "José,São Paulo"),
        ("cp1251", "windows-1251", "Иван,Москва"), ("koi8-r", "KOI8-R", "Иван,Москва"),
        ("cp1250", "windows-1250", "Łukasz,Łódź"), ("shift_jis", "Shift_JIS", "東京,日本"),
        ("gbk", "GB18030", "北京,中国"), ("big5", "Big5", "臺北,臺灣"), ("euc_kr", "EUC-KR", "서울,한국"),
        ("cp1253", "windows-1253", "Αθήνα,Ελλάδα"),
        ("cp1256", "windows-1256", "القاهرة,مصر"), ("cp850", "IBM850", "Müller,Straße"),
        ("cp866", "IBM866", "Иван,Москва"), ("mac-roman", "macintosh", "Müller,Straße"),
        ("cp1252", "windows-1252", "“Café”,l\u2019été"), ("cp1252", "windows-1252", "€ 1.50,£20"),
        ("iso8859-2", "ISO-8859-2", "Łódź,Gdańsk"), ("iso8859-2", "ISO-8859-2", "Plzeň,žluťoučký"),
        ("cp852", "IBM852", "Łódź,Kraków"),
        ("iso8859-5", "ISO-8859-5", "Москва,Россия"), ("koi8-u", "KOI8-U", "Київ,Україна"),
        ("iso8859-6", "ISO-8859-6", "القاهرة,بغداد"), ("tis-620", "TIS-620", "กรุงเทพ,ภูเก็ต"),
        ("shift_jis", "Shift_JIS", "コーヒー,日本語、テスト。"), ("cp932", "Shift_JIS", "ひらがな,田中さん"),
    ],
)  # fmt: skip
def test_character_sets_are_told_by_how_words_are_written(codec, name, words):
    text = "id,name,city\n" + "".join(f"{n},{words}\n" for n in range(12))
    [told] = found(text.encode(codec)).doubts
    assert told.partition("knows: ")[2].startswith(f"encoding={name} reads '")
    assert found(text.encode(codec), encoding=name).is_clear


@pytest.mark.parametrize(
    "words",
    ["東京,日本", "ひらがな,田中さん", "コーヒー,ヨーロッパ", "日本語、テスト。,株式会社", "名古屋,横浜",
     "１０進,２進変換",
     "鈴木・佐藤,高橋", "\uff08株\uff09山田,渡辺", "北海道,沖縄", "感動0,犬"],
)  # fmt: skip
def test_a_set_that_no_option_reads_is_named_with_what_makes_it_utf_8(words):
    [told] = found(("id,name,city\n" + "".join(f"{n},{words}\n" for n in range(12))).encode("euc_jp")).doubts
    assert ": EUC-JP reads '" in told or ", EUC-JP reads '" in told
    assert "iconv -f EUC-JP -t UTF-8" in told


@pytest.mark.parametrize(
    ("codec", "words", "name"),
    [("cp1254", "İstanbul,Muğla", "windows-1254"), ("cp1257", "Šiauliai,Panevėžys", "windows-1257"),
     ("cp1257", "Rīga,Jūrmala", "windows-1257"), ("cp1250", "Győr,Kőszeg", "windows-1250"),
     ("cp857", "İstanbul,Şişli", "IBM857"), ("iso8859-13", "Liepāja,Rēzekne", "windows-1257"),
     ("iso8859-9", "Şişli,Muğla", "windows-1254")],
)  # fmt: skip
def test_a_set_is_named_by_a_word_that_it_alone_reads_so(codec, words, name):
    [told] = found(("id,name,city\n" + "".join(f"{n},{words}\n" for n in range(12))).encode(codec)).doubts
    assert f"encoding={name} reads '" in told
    assert told.count(" reads '") == len({*told.split(" reads '")[1:]})


def test_several_character_sets_are_told_where_words_are_written_well_in_each():
    [told] = found(("id,city\n" + "1,ירושלים\n2,ישראל\n" * 6).encode("cp1255")).doubts
    assert "encoding=windows-1251 reads 'йшещмйн', encoding=windows-1255 reads 'ירושלים'" in told


def test_bytes_that_read_as_words_in_no_character_set_name_none():
    [told] = found(b"id,name\n" + b"1,a\x81\xffb\x90\xfec\n" * 9).doubts
    assert "no character set that is known reads words. Give encoding." in told


@pytest.mark.parametrize(("before", "skipped"), [("Report,2024", 1), ("Report,2024,x", 0), ("Report\n\nof,sales", 3)])
def test_lines_with_half_the_fields_or_fewer_are_no_part_of_a_table(before, skipped):
    assert of_text(before + "\n" + ROWS.replace(",b", ",b,c")).skip_rows == skipped


@pytest.mark.parametrize(
    ("text", "encoding"),
    [(b"aaaaaaaaa\0", "UTF-16LE"), (b"aaaaaaaa\0a", "UTF-16BE"), (b"aaaaaaaaaaa\0", None), (b"", None)],
)
def test_one_zero_byte_in_ten_speaks_for_utf16(text, encoding):
    assert wide_without_mark(text) == encoding


@pytest.mark.parametrize(
    ("zeros", "encoding"), [(b"a\0a\0a\0a\0\0a", "UTF-16LE"), (b"a\0a\0a\0\0a", None), (b"\0a\0a\0a\0aa\0", "UTF-16BE")]
)
def test_four_times_as_many_zeros_in_one_half_speak_for_utf16(zeros, encoding):
    assert wide_without_mark(zeros) == encoding


NUMBERS = b"".join(number.to_bytes(4, "little") for number in range(1, 500))


@pytest.mark.parametrize("encoding", ["UTF-32LE", "UTF-32BE"])
@pytest.mark.parametrize("text", ["id,name\n1,ann\n", "id,n\u00e4me\r\n1,\U0001f600\r\n", "\u0a0a,\u0d0a\n" * 9])
def test_text_of_four_bytes_for_a_character_is_known_without_a_mark(encoding, text):
    assert wide_without_mark(text.encode(encoding)) == encoding
    assert find_encoding([RawSample(text.encode(encoding)[:-1], 0, is_end=False)]).value == encoding


@pytest.mark.parametrize("zeros", [NUMBERS, b"\0" * 100, b"a\0\0\0" + b"\1\0\0\0" * 9, b"ab\1\0" * 20])
def test_numbers_of_four_bytes_are_no_text(zeros):
    assert wide_without_mark(zeros) not in {"UTF-32LE", "UTF-32BE"}


@pytest.mark.parametrize("data", [NUMBERS, bytes(range(256)) * 20, b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\xff\xee" * 20])
def test_bytes_that_are_no_text_are_not_asked_for_their_encoding(tmp_path, data):
    path = tmp_path / "a.dat"
    path.write_bytes(data)
    with pytest.raises(SourceError, match=r"(?s)not-text.*format fixed"):
        ss.sniff_csv(path)


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        (b"id\n" + b"0,a\0b\n" * 9, None),
        ("id\n0,1\n".encode("utf-16-be"), "UTF-16BE"),
        ("ਊ,\r\n".encode("utf-16-le"), "UTF-16LE"),  # of whose two bytes each could be a line end
    ],
)
def test_line_ends_of_one_byte_are_those_of_no_utf16(text, encoding):
    assert wide_without_mark(text) == encoding


# a share of (1 - 0.35 / columns) for the width, the mean of 1 for each number and 0.75 for each word
@pytest.mark.parametrize(
    ("text", "score"),
    [
        (ROWS, (1 - 0.35 / 3) * (1 + 2 * 0.75) / 3),
        (ROWS.replace(",b", ""), (1 - 0.35 / 2) * 1.75 / 2),
        (ROWS.replace(",a,b", ""), 0.35),
        (ROWS.replace(",b", ","), (1 - 0.35 / 3) * (1 + 0.75 + 0.6) / 3),
        (ROWS.replace(",b", ",{}"), (1 - 0.35 / 3) * (1 + 0.75 + 0.35) / 3),
        (ROWS + "9,a\n", (8 / 9) ** 2 * (1 - 0.35 / 3) * (9 + 17 * 0.75) / 26),
        ("Report\n" + ROWS, (1 - 0.35 / 3) * (1 + 2 * 0.75) / 3 * math.exp(-0.15)),
    ],
)
def test_the_score_of_a_table(text, score):
    assert of_text(text, sep=",").score == pytest.approx(score)


def test_values_after_a_closing_quote_are_damage():
    scores = {each.quote: each.score for each in of_text('1,"a"b\n' * 8, sep=",").candidates}
    looks = (1 - 0.35 / 2) * (1 + 0.35) / 2
    assert scores == {None: pytest.approx(looks / 2), '"': pytest.approx(looks / 2 * math.exp(-2))}


def test_a_quote_that_the_file_never_closes_reads_little_of_it():
    swallowed = '9,"b\n' + "".join(f"{number},word\n" for number in range(900))
    rows = "".join(f"{number},word\n" for number in range(50))
    assert of_text(rows + swallowed).quote is None
    scores = {each.quote: each.score for each in of_text(rows + swallowed).candidates}
    assert scores['"'] < scores[None] / 5


def test_a_quote_that_is_open_where_a_sample_ends_speaks_against_no_quotes_and_leaves_the_dialect_open():
    rows = "".join(f'{number},"a, b",1\n' for number in range(5))
    dialect = of_text(rows + '9,"' + "words, and\nso on\n" * 900, is_end=False)
    assert (dialect.quote, dialect.is_cut) == ('"', True)
    assert "After line 5 a value may be quoted that does not end" in " ".join(dialect.doubts)
    assert not of_text(rows + '9,"' + "words, and\nso on\n" * 900 + '",1\n', is_end=False).is_cut
