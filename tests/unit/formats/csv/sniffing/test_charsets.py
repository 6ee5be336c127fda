"""Character sets that are hinted at: those of few signs among ASCII, and those of words of other scripts."""

# ruff: noqa: RUF001 -- letters of other scripts are what is tested

from __future__ import annotations

import pytest

from splitscan.formats.csv.sniffing.charsets import likely_encodings
from splitscan.formats.csv.sniffing.found import RawSample

FEW = [
    "it’s late,she said “no”\n",
    "price,£1.50\nother,£2\n",
    "café,Zoë\nplain,words\n",
    "5 m²,10 m³\nand,more\n",
    "nº 5,1ª planta\n",
    "© 2020 Acme®,50°\n",
    "a – b,c — d\n",
    "naïve coöp,Müller\n",
    "x • y,and so on…\n",
    "½ cup,¼ tsp,2×4\n",
    "§ 5,µm\n",
    "Señor,¿qué tal?\n",
]


def likely(data):
    return likely_encodings([RawSample(data, 0, is_end=True)])


@pytest.mark.parametrize("text", FEW)
def test_few_signs_and_accents_among_ascii_are_those_of_western_europe(text):
    names = [name for name, _ in likely((text * 5).encode("cp1252"))]
    assert names[0] == "windows-1252"
    assert not {"KOI8-R", "KOI8-U", "windows-1251", "IBM866", "ISO-8859-5"} & {*names}


DAMAGED = "å£1.50 thatåÕs 4txt/Ì¼1.20 I‰Û÷m DONåÕT 18+6*å£1.50 eå£nd isn‰Û÷t 3xå£150pw"


@pytest.mark.parametrize("words", range(1, 11))
def test_damaged_signs_among_much_ascii_are_hinted_as_western_and_shown(words):
    told = ["so", "it", "goes", "on", "and", "on"] * 20
    text = "".join(f"ham,{' '.join(told[: 30 + words])} {each}\n" for each in DAMAGED.split() * words)
    assert likely(text.encode("cp1252")) == [("windows-1252", "å£1.50")]


@pytest.mark.parametrize(("codec", "name"), [
    ("cp1251", "windows-1251"), ("koi8-r", "KOI8-R"), ("cp866", "IBM866"), ("iso8859-5", "ISO-8859-5"),
])  # fmt: skip
@pytest.mark.parametrize("text", [
    "имя,город\nИван Петров,Москва\nАнна,Тверь\n", "id,Товар\n1,Сахар белый\n2,Чай\n3,Соль\n",
    "пол,имя,город\nм,Ян,Тверь\nж,Мария,Москва\nм,Пётр,Казань\n",
])  # fmt: skip
def test_runs_of_cyrillic_letters_are_cyrillic(text, codec, name):
    assert likely(text.encode(codec))[0][0] == name


@pytest.mark.parametrize(("text", "codec", "name"), [
    ("όνομα,πόλη\nΝίκος,Αθήνα\n", "cp1253", "windows-1253"), ("اسم,مدينة\nعلي,القاهرة\n", "cp1256", "windows-1256"),
    ("żółw,łódź,Gdańsk\n", "cp1250", "windows-1250"), ("שלום,ירושלים\nדוד,חיפה\n", "cp1255", "windows-1255"),
])  # fmt: skip
def test_words_of_other_scripts_keep_their_sets(text, codec, name):
    assert name in [each for each, _ in likely(text.encode(codec))]


def test_many_bytes_that_read_as_no_words_are_hinted_as_nothing():
    assert likely(f"{DAMAGED}\n".encode("cp1252") * 3) == []
