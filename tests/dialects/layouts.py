"""Small files laid out as real ones are, in our own words and numbers, each with its right answer."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from tests.dialects.answers import RightAnswer
from tests.dialects.strange_layouts import BETWEEN_BLANKS, STRANGE

WORDS = ("amber", "birch", "cedar", "dune", "elder", "fjord", "grove", "heath", "inlet", "juniper", "kelp", "lagoon")
Make = Callable[[random.Random, int], Sequence[object]]


@dataclass(frozen=True)
class RebuiltFile:
    """One file.

    Attributes:
        layout: What real files it is laid out like.
        name: Its name: endings say something.
        data: Its bytes.
        answer: How it is written.
    """

    layout: str
    name: str
    data: bytes
    answer: RightAnswer


def _lines(make: Make, rows: int = 12, sep: str = ",", end: str = "\n") -> str:
    draw = random.Random(7)
    return "".join(sep.join(map(str, make(draw, number))) + end for number in range(rows))


def _word(draw: random.Random) -> str:
    return draw.choice(WORDS)


def _real(draw: random.Random, digits: int = 3) -> str:
    return f"{draw.uniform(0, 90):.{digits}f}"


def _texts(*words: str) -> str:
    return "\n".join(words) + "\n"


def _measures(draw: random.Random, number: int) -> Sequence[object]:
    return [number, _real(draw), _real(draw, 1), _word(draw)]


def _days(draw: random.Random, number: int) -> Sequence[object]:
    return [f"2019-03-{number + 1:02d}", _real(draw, 2), _real(draw, 2), draw.randint(10**5, 10**7)]


def _features(draw: random.Random, number: int) -> Sequence[object]:
    start = 1000 + 500 * number
    return [f"chr{1 + number % 3}", "demo", "exon", start, start + 90, ".", draw.choice("+-"), ".",
            f'gene_id "G{number}"; transcript_id "T{number}.1";']  # fmt: skip


def _quoted(*texts: object) -> list[str]:
    return ['"' + str(text).replace('"', '""') + '"' for text in texts]


_HEADER, _NONE = RightAnswer(), RightAnswer(header="no")
_RUNS, _RUNS_ONLY = RightAnswer("blanks"), RightAnswer("blanks", "no")
_TABS, _TABS_ONLY = RightAnswer("tab"), RightAnswer("tab", "no")

_PLAIN: Iterable[tuple[str, str, str, RightAnswer]] = [
    ("measures under names", "a.csv", "id,length,width,kind\n" + _lines(_measures), _HEADER),
    ("prices of days, names with blanks and an asterisk", "a.csv",
     "Date,Open,Adj. Close*,Volume\n" + _lines(_days), _HEADER),
    ("days as 19-Sep-03", "a.csv",
     "Date,Open,High\n" + _lines(lambda d, n: [f"{n + 1}-Sep-03", _real(d, 2), _real(d, 2)]), _HEADER),
    ("row names under an empty name", "a.csv",
     '"","maker","year","class"\n' + _lines(lambda d, n: [*_quoted(n + 1, _word(d)), 1999 + n, *_quoted("compact")]),
     _HEADER),
    ("an index under an empty name, without quotes", "a.csv", ",Open,High,Close\n" + _lines(_days), _HEADER),
    ("all fields quoted", "a.csv",
     '"code","name","phone"\n' + _lines(lambda d, n: _quoted(f"A{n}", _word(d), 240 + n)), _HEADER),
    ("texts quoted, numbers not", "a.csv",
     '"acid","sugar","quality"\n' + _lines(lambda d, n: [_real(d), _real(d), n]), _HEADER),
    ("addresses with commas, in quotes, CRLF", "a.csv",
     "Registry,Assignment,Organization,Address\r\n" + _lines(
         lambda d, n: ["MA-L", f"{n:06X}", _word(d).title(), f'"{n} {_word(d)} Road, Hall {n} XX 5146{n % 10} "'],
         end="\r\n"), _HEADER),
    ("line ends in quoted addresses", "a.csv",
     "Registry,Name,Address\n" + _lines(
         lambda d, n: ["MA-S", _word(d), f'"{n} {_word(d)} St\nSuite {n}, X"']), _HEADER),
    ("people with titles and doubled quotes", "a.csv",
     "PassengerId,Survived,Name,Age\n" + _lines(
         lambda d, n: [n + 1, n % 2, f'"Oakley, Mr. {_word(d).title()} ""Ned"" (Ann Hill)"', 20 + n]), _HEADER),
    ("thousands in quotes", "a.csv",
     "Age,Sex,Lives\n" + _lines(lambda d, n: [n, "Male", f'"{90 + n},{100 + n}"']), _HEADER),
    ("names with units in brackets", "a.csv",
     "wind [m/s],power (kW),share %\n" + _lines(lambda d, n: [n, _real(d), f"{n}%"]), _HEADER),
    ("empty fields at the ends of records", "a.csv",
     "route,stop,headsign,pickup,drop\n" + _lines(lambda d, n: [f"R{n}", _word(d).upper(), "", "", ""]), _HEADER),
    ("NA for what is missing", "a.csv",
     "species,bill,mass,sex\n" + _lines(lambda d, n: ["Adelie", "NA" if n % 3 else "39.1", "NA", "male"]), _HEADER),
    ("geometry in quotes", "a.csv",
     "WKT,iso,area\n" + _lines(lambda d, n: [f'"POLYGON (({n}.0 -16.06,{n}.5 -16.5,{n}.3 -16.8))"', "FJ", _real(d)]),
     _HEADER),
    ("geometry without quotes", "a.csv",
     "Id,Large,WKT\n" + _lines(lambda d, n: [n, 4294967297 + n, f"POINT({n} {n})"], 4), _HEADER),
    ("formulas of chemistry", "a.csv",
     "SMILES,ID,score\n" + _lines(lambda d, n: [f"CC1=CC(=O)C=C{n}[N+](=O)[O-]", f"MOL_{n}", _real(d)]), _HEADER),
    ("links in markup", "a.csv", _lines(
        lambda d, n: [f"<a href='http://example.org/{n}'>{_word(d)}</a>", f"<a href='http://example.net/'>{n}</a>"]),
     RightAnswer(header="either")),
    ("colours under two names", "a.csv",
     "name,hex\n" + _lines(lambda d, n: [f"{_word(d).title()} {_word(d).title()}", f"#{1193046 + n * 999:06x}"], 40),
     _HEADER),
    ("addresses of networks", "a.csv", _lines(lambda d, n: [f"10.{n}.0.0", f"10.{n}.0.255", "AU"]), _NONE),
    ("networks of 128 bits", "a.csv", _lines(
        lambda d, n: [42540528726795050063891204319802818560 + n, 42540528806023212578155541913346768895 + n, "JP"]),
     _NONE),
    ("numbers of 25 digits in exponents", "a.csv", _lines(lambda d, n: [f"{d.random():.18e}", f"{-d.random():.18e}"]),
     _NONE),
    ("codes of postal zones with leading zeros", "a.csv",
     "statefp,countyfp,name\n" + _lines(lambda d, n: [f"{n:02d}", f"{n * 2 + 1:03d}", f"{_word(d).title()} County"]),
     _HEADER),
    ("blanks after commas", "a.dat", _lines(lambda d, n: ["M", f" {_real(d)}", f" {_real(d)}", " negative"]), _NONE),
    ("fields filled up with blanks", "a.csv",
     "NAME,CODE,A\n" + _lines(lambda d, n: [f"{_word(d):<30}", "AA", f"{_real(d)} "]), _HEADER),
    ("ranges that look like dates", "a.dat", _lines(lambda d, n: [f"{4 + n}0-49", "ge40", f"{n}5-29", "0-2", "yes", n]),
     _NONE),
    ("one name and numbers", "a.csv", "weights\n" + _lines(lambda d, n: [_real(d, 14)]), RightAnswer("none")),
    ("one column of numbers", "a.txt", _lines(lambda d, n: [_real(d)]), RightAnswer("none", "no")),
    ("a byte order mark", "a.csv", "\ufeffSex,Risk,Drug,Level\n" + _lines(lambda d, n: ["M", "Low", "A", _real(d, 9)]),
     _HEADER),
    ("CR as line end", "a.csv", "Weight,Waist,Pulse\r" + _lines(lambda d, n: [n, n + 1, n * 2], end="\r"), _HEADER),
    ("lists in quotes after an empty field", "a.csv",
     'code,currencies,languages\n' + _lines(lambda d, n: [f"C{n}", "", '"ZWG,USD,ZAR,BWP"']), _HEADER),
    ("every second line is blank", "a.csv",
     "admit,gre,rank\r\n\r\n" + _lines(lambda d, n: [n % 2, 380 + n, 3], end="\r\n\r\n"), _HEADER),
    ("two lines of names: the second one is of units", "a.csv",
     "Name,Vac,Power,Loss\nUnits,V,W,1/W\n" + _lines(lambda d, n: [f"{_word(d)} {n}", 240, n * 10, _real(d)], 30),
     RightAnswer(hint="units")),
    ("categories with marks", "a.csv",
     _lines(lambda d, n: [1 + n % 2, "-+"[n % 2], f"{_word(d).title()} {n}"], 30, ";"), RightAnswer("semicolon", "no")),
    ("airfields", "a.dat", _lines(lambda d, n: ["Africa", _word(d), "DABB", _real(d, 4), _real(d, 4), n], sep=";"),
     RightAnswer("semicolon", "no")),
    ("semicolons and quotes", "a.csv",
     '"Order";"Family";"FW"\n' + _lines(lambda d, n: [*_quoted("Carnivora", _word(d)), _real(d, 1)], sep=";"),
     RightAnswer("semicolon")),
    ("a sentence beside each word", "a.csv",
     "".join(f"{word};information applies to the {word} class\n" for word in WORDS), RightAnswer("semicolon", "no")),
    ("pipes and days", "a.txt", _lines(lambda d, n: [f"{n + 1} Feb 2005", _real(d, 2)], sep="|"),
     RightAnswer("pipe", "no")),
    ("events with empty fields, CRLF", "a.txt",
     "Event|No|Site|County|Notes\r\n" + _lines(
         lambda d, n: ["Reactor", 46521 + n, _word(d).upper(), "", ""], 12, "|", "\r\n"),
     RightAnswer("pipe")),
    ("pipes in a file called .tab", "a.tab", _lines(lambda d, n: [f"1B{n}", _word(d), -n, "5.21S", 41 + n], sep="|"),
     RightAnswer("pipe", "no")),
    ("tabs in a file called .csv", "a.csv",
     "Size, m\tX (any)\tY\n" + _lines(lambda d, n: [_real(d), _real(d), ""], sep="\t"), _TABS),
    ("majors and scores", "a.txt",
     "Name\tMajor\tScore\n" + _lines(lambda d, n: [_word(d), "Arts", n], sep="\t"), _TABS),
    ("majors and scores without names", "a.txt", _lines(lambda d, n: [_word(d), "Arts", n], sep="\t"), _TABS_ONLY),
    ("features of genomes", "a.gtf", _lines(_features, sep="\t"), _TABS_ONLY),
    ("ranges of chromosomes", "a.bed",
     _lines(lambda d, n: ["chr1", n * 9, n * 9 + 7, f"a{n}", 5, "+"], 3, "\t"), _TABS_ONLY),
    ("starts of exons as lists with a comma at the end", "a.txt",
     "bin\tname\tstarts\tends\n" + _lines(lambda d, n: [n, f"NM_{n}", f"{n}1,{n}5,", f"{n}3,{n}9,"], sep="\t"), _TABS),
    ("words with values", "a.txt", _lines(lambda d, n: [f"{WORDS[n]}ed", d.randint(-5, 5)], sep="\t"), _TABS_ONLY),
    ("faces, values, and lists of votes", "a.txt", _lines(
        lambda d, n: [":-)"[n % 3 :] + "D", _real(d, 1), _real(d, 5), [d.randint(-4, 4) for _ in range(10)]], sep="\t"),
     _TABS_ONLY),
    ("a table of names whose first one is empty", "a.txt",
     "\tloc1\tloc2\n" + _lines(lambda d, n: [f"ind{n}", n % 2, 1], sep="\t"), _TABS),
    ("types in the second line", "a.tab",
     "X1\tX2\tD\nc\tc\td\n\t\tclass\n" + _lines(lambda d, n: [n, _real(d), _word(d)], sep="\t"),
     RightAnswer(hint="units")),
    ("regular expressions with pipes", "a.tsv",
     "name\tregex\tISO\n" + _lines(lambda d, n: [_word(d), f"{_word(d)}|^(?!.*north).*{n}|\\b(a|b)land", n], sep="\t"),
     _TABS),
    ("a comment above names", "a.csv", "# Data source: https://example.org, seen in May\n"
     "Date,IBM,MSFT,^GSPC\n" + _lines(_days), RightAnswer(comment="#")),
    ("a comment above records", "a.csv",
     "# made with tools, and a program\n" + _lines(lambda d, n: [f"CC1=CC{n}", _real(d, 2)]),
     RightAnswer(header="no", comment="#")),
    ("a name in a line that begins with #", "a.csv",
     "#element,production,reserve\n" + _lines(lambda d, n: [_word(d).title(), n * 100, n * 90]), _HEADER),
    ("names after ##", "a.txt",
     "#SampleID\tPrimer\tSoil\n" + _lines(lambda d, n: [f"CL{n}", f"IL_{n}", '"Pine, pH 4.9"'], sep="\t"), _TABS),
    ("a title filled up to the width", "a.csv",
     "Reference Spectra of 2003,,,\nwavelength,extra,global,direct\n" + _lines(
         lambda d, n: [280 + n, _real(d), "4.7309E-23", "2.5E-26"], 40), RightAnswer(skip=1)),
    ("counts and classes in the first line", "a.csv",
     "12,9,benign,malignant\n" + _lines(lambda d, n: [_real(d) for _ in range(9)]), RightAnswer(header="no", skip=1)),
    ("a track line above ranges", "a.bed",
     'track name=demo description="Item demonstration" visibility=2\n' + _lines(
         lambda d, n: ["test", n * 9, n * 9 + 7, f"Pos{n}", 0, "+", f"255,0,{n}"], sep="\t"),
     RightAnswer("tab", "no", skip=1)),
    ("counts of years as names", "a.csv",
     "alpha,2,3,4,5\n" + _lines(lambda d, n: [_real(d, 4) for _ in range(5)]), _HEADER),
    ("years in quotes as names", "a.csv",
     '"country","1960","1961","1962"\n' + _lines(
         lambda d, n: [*_quoted(WORDS[n]), *(_real(d, 2) for _ in range(3))], 3),
     _HEADER),
    ("speeds as names", "a.csv",
     "turbine_type,0.0,0.5,1.0,1.5,2.0\n" + _lines(
         lambda d, n: [f"E-{n}/3050", "", *(_real(d) for _ in range(4))]), _HEADER),
    ("lists with semicolons in fields", "a.txt",
     "Date,NY,SF\n" + _lines(lambda d, n: [f"2007-01-{n + 1:02d}", f"{n};{n + 5};{n + 9}", f"{n};4;48"]), _HEADER),
    ("days of mails", "a.txt", _lines(
        lambda d, n: [f"{d.choice(['Sat', 'Sun', 'Mon'])}, {n + 1:02d} Apr 2017 15:11:{n + 10} -0500"], 30),
     RightAnswer("none", "no")),
    ("languages and places, one a line", "a.txt",
     _lines(lambda d, n: [f"{WORDS[n % 12].title()}_{WORDS[n // 12]}", f"{WORDS[n % 12][:2]}_{n:02d}"], 60, "\t"),
     RightAnswer("tab", "either")),
    ("words, one a line", "a.txt", "".join(a + b + "\n" for a in WORDS for b in WORDS[:5]) + "kelp\nkelp\n",
     RightAnswer("none", "no")),
    ("colons between fields", "a.csv",
     "city:region:number\n" + _lines(lambda d, n: [_word(d), "MA", n * 100], sep=":"), RightAnswer("colon")),
    ("one blank between texts and numbers", "a.txt",
     "Target total average kind\n" + _lines(lambda d, n: [f"chr1:{n}-{n + 9}", _real(d), _real(d), "TRUE"], sep=" "),
     RightAnswer("blank")),
    ("quoted names with blanks between", "a.txt",
     '"x0" "y0" "name"\n' + _lines(lambda d, n: [_real(d, 9), _real(d, 9), f'"{_word(d)} {n}"'], sep=" "),
     RightAnswer("blank")),
    ("runs of blanks", "a.dat", "X Y First\n39.5 18.5   .06\n 5.5  1.5  .06\n36.5 32.5  5.26\n", _RUNS),
    ("columns of a fixed width", "a.txt", "A   B   C\n1   2   3\n4   5   6\n", _RUNS),
    ("names of two words, one a line", "a.txt", "".join(f"{a.title()} {b.title()}\n" for a in WORDS for b in WORDS[:3]),
     RightAnswer("none", "no")),
    ("times, one a line", "a.txt", _lines(lambda d, n: [f"2010-01-01 0{n % 10}:15:00"]), RightAnswer("none", "no")),
    ("codes, one a line", "a.tbl", "".join(f"{a}{b}{c}\n" for a in "37Z" for b in "DYX" for c in "12345"),
     RightAnswer("none", "no")),
    ("names between blanks above tabs", "a.txt",
     "      x      y  on\n  .0224  .0243\t1\n  .0243  .1028\t1\n 1.4168  .7374\t0\n", _RUNS),
]  # fmt: skip

_REFUSED: Iterable[tuple[str, str, bytes, str]] = [
    ("another character set of one byte", "a.csv",
     "City,State\nMünchen,BY\nKöln,NW\nBerlin,BE\n".encode("latin-1"), "encoding"),
    ("a character set of Japan", "a.csv",
     "".join(f"感動{n},3,3,名詞\n" for n in range(9)).encode("euc_jp"), "encoding"),
    ("sizes of chromosomes", "a.txt", b"chr1 195471971\nchr10 130694993\nchr11 122082543\n", "blanks"),
    ("row names without a name, blanks between", "a.txt",
     b'"nest" "food"\n"1" "Deprived" 22.25\n"2" "Satiated" 4.5\n"3" "Deprived" 8.1\n', "fields"),
    ("row names without a name, tabs between", "a.tab", b'"m1"\t"m2"\n"1"\t1\t2\n"2"\t2\t2\n"3"\t1\t1\n', "header"),
    ("row names beside one column", "a.tab", b'"pos"\n"1"\t0.1\n"2"\t0.2\n"3"\t0.3\n', "header"),
    ("measures with deviations that have no names", "a.csv",
     b"Date,S1,S2\n2007-01-01,94.1,10,92.7,20\n2007-01-02,9.1,10,48.7,20\n2007-01-03,9.4,10,8.7,20\n", "header"),
    ("colours of a theme", "a.txt", b"0:#0e0e0e\n2:#727272\n5:#373737\n20:#727272\n", "sep=:"),
    ("the first record is longer than others", "a.txt",
     b"1.1\t1.2\t1.3\n1.1\t1.2\n1.6\t1.8\n1.9\t2.2\n2.1\t2.5\n2.5\t2.7\n", "fields"),
    ("lists of any length", "a.tsv",
     "".join("\t".join(WORDS[: 2 + n * 5 % 11]) + "\n" for n in range(12)).encode(), "fields"),
]  # fmt: skip


def rebuilt_files() -> list[RebuiltFile]:
    """All of them."""
    read = [RebuiltFile(layout, name, text.encode(), answer) for layout, name, text, answer in _PLAIN]
    refused = [RebuiltFile(layout, name, data, RightAnswer(hint=hint)) for layout, name, data, hint in _REFUSED]
    strange = [
        RebuiltFile(layout, name, text.encode(), answer) for layout, name, text, answer in (*BETWEEN_BLANKS, *STRANGE)
    ]
    return [*read, *refused, *strange]
