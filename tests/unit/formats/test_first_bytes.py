"""Texts that hold records, and none of CSV: each is told by its first bytes, in whatever lines and marks it comes."""

from __future__ import annotations

import pytest

import splitscan as ss
from splitscan.errors import SplitscanError, UsageError
from splitscan.formats.csv.sniffing.detection import find_dialect
from splitscan.formats.csv.sniffing.found import RawSample
from splitscan.formats.first_bytes import signed_text

LIBRARY = "00079nam a2200049 a 4500001000700000245001600007\x1erec001\x1e10\x1faA title, of it\x1e\x1d" * 3
KINDS = {
    "HL7": "MSH|^~\\&|A|B|2020\rPID|1||12||DOE^J\r\fFHS|^~\\&|A\rMSH|^~\\&|A\r\fBHS|^~\\&|A\r",
    "EDIFACT": "UNA:+.? 'UNB+UNOC:3+A:14'UNH+1'\fUNB+UNOC:3+A:14'UNH+1+ORDERS:D'",
    "SWIFT": "{1:F01BANKBEBBAXXX2222123456}{2:I103BANKDEFFXXXXN}{4:\n:20:REF1\n:32A:200101EUR1000,00\n-}\n",
    "NACHA": "101 091000019 0910000192001011200A094101BANK           COMPANY     \n5200COMPANY     123 PPD\n",
    "QIF": "!Type:Bank\nD01/01/2020\nT-50.00\n^\n\fOFXHEADER:100\nDATA:OFXSGML\n\n<OFX>\n",
    "ISO 2709": LIBRARY,
    "vCard": "BEGIN:VCARD\nVERSION:3.0\nFN:Ann\nEND:VCARD\n\fBEGIN:VCALENDAR\nVERSION:2.0\nSUMMARY:Lunch, late\n",
    "BibTeX": "@article{a1,\n  author = {Lee, Ann},\n}\n\f% mine\n\n@book{b, year = 2001}\n\f\n@string {x = {y}}\n",
    "lines of tags": "TY  - JOUR\nAU  - Lee, Ann\nER  - \n\fPMID- 123\nTI  - A title, of it\n\f%0 Book\n%A Lee, Ann\n",
    "FASTA": ">s1 a gene, of it\nACGTAC\nACG\n>s2\nAC\n\f>chr1\nACGTNN\nACGTAA\n\f>p\nMKV*\nLLL-\n",
    "FASTQ": "@r1:1:2\nACGTAC\n+\nII,I;I\n@r2\nAC\n+r2\nII\n\f@x\nNNN.\n+\n!!!!\n",
    "PDB": "HEADER    HYDROLASE     20-JAN-97   1AKI\nATOM      1  N   LYS A   1      35.365  22.342\n\f"
    "ATOM      1  N   LYS A   1      35.365\n\fREMARK  1 text, of it\nHETATM    1  O   HOH A   1      1.0  2.0\n",
    "CIF": "data_1ABC\n#\n_entry.id 1ABC\n\f# made\n\ndata_x\nloop_\n_atom.id\n1\n",
    "MDL": "water\n  x  01\n\n  3  2  0  0  0  0            999 V2000\n    0.0    0.0    0.0 O   0  0\n",
    "Touchstone": "! a note\n# GHz S MA R 50\n1.0 0.9 -1.2\n\f# hz s ri r 50\n1 2 3\n\f\n!\n#  MHz Z DB R 1\n1 2\n",
    "LAS": "~VERSION INFORMATION\n VERS. 2.0 :\n~CURVE\n DEPT.M :\n~A  DEPTH  DT\n1.0 2.0\n\f# x\n~V\n~ASCII\n1 2\n",
    "GEDCOM": "0 HEAD\n1 SOUR X\n0 @I1@ INDI\n1 NAME Ann /Lee/\n",
    "gettext": 'msgid ""\nmsgstr ""\n\f# a\n#: b.c:1\nmsgid "File, open"\nmsgstr "x"\n\f\nmsgctxt "a"\nmsgid "b"\n',
    "PGN": '[Event "x"]\n[Site "Paris, France"]\n\n1. e4 e5\n',
    "SGF": "(;GM[1]FF[4]SZ[19];B[aa];W[bb])\n",
    "INI": "[main]\nname = x\n\f; note\n\n[main]\nname=x, y\n\f[a]\n[b]\nk: 1\n\f# of\n[length]\n# of it\nm: 1\n",
    "YAML": "---\n- a\n- b\n\f- name: a\n  size: 1\n\f# x\n---\na: 1\n\f%YAML 1.2\n---\n",
    "SQL": "INSERT INTO t VALUES (1,'a');\n\f-- dump\n\n/* a\nb */;\nCREATE TABLE t (\n  id int\n);\n\fSET a = 0;\n\f"
    "BEGIN;\nINSERT INTO t VALUES (1);\n\fdrop table if exists t;\n\fCOPY public.t (id, name) FROM stdin;\n1\tann\n\f"
    "create or replace view v as select 1;\n\falter table t add x int;\n\fUSE db;\n\fPRAGMA foreign_keys=OFF;\n",
    "RTF": "{\\rtf1\\ansi {\\fonttbl;}\nHello, you\\par\n}\n",
    "PostScript": "%!PS-Adobe-3.0\n%%BoundingBox: 0 0 1 1\n10 20 moveto\n",
    "LaTeX": "\\begin{tabular}{ll}\na & b \\\\\n\f% x\n\\documentclass{article}\n",
    "mails": "From a@b.c Thu Jan  1 00:00:01 2020\nFrom: Ann <a@b.c>\nTo: Bob\nSubject: Hi, you\n\nHello.\n\f"
    "Received: from a\n by b, with c\nDate: Thu\n\nx\n\fFrom: a@b.c\nTo: b, c\n\nx\n",
    "LDIF": "dn: cn=a,dc=b\nobjectClass: top\n\ndn: cn=d,dc=b\nobjectClass: top\n\fversion: 1\n\ndn: cn=a\ncn: a\n",
    "subtitles": "1\n00:00:01,000 --> 00:00:04,000\nHello, you.\n\n2\n\fWEBVTT\n\n00:01.000 --> 00:04.000\nHi\n",
    "STL": "solid x\nfacet normal 0 0 1\n outer loop\n",
    "differences": "--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n\fdiff --git a/x b/x\n--- a/x\n",
    "Phylip": "  5    42\nTurkey    AAGCTNGGGC ATTTCAGGGT\n\f2 8\na         acgtacgt\nb         acgtacgg\n\f"
    " 3 20\nSalmo gairAAGCCTTGGCAT\n",
    "Clustal": "CLUSTAL 2.1 multiple sequence alignment\n\n\na|b  ACGT\n\fMUSCLE (3.8) multiple sequence alignment\n\f"
    "# STOCKHOLM 1.0\n#=GF ID x\na  ACGT\n",
    "Newick": "(a:0.1,(b:-0.2,c:1e-3):0.5);\n\f((a,b),(c,d));\n\f(((Merychippu:0.00643,\nNannipus:0.019):0.1,x:1);\n\f"
    "#NEXUS\nbegin trees;\n",
    "hunspell": "SET ISO8859-1\nTRY esianrtolc\n\f# made by\n#\n\nSET UTF-8\n\fSFX A Y 1\nSFX A 0 e .\n",
    "TypeScript": 'import { A } from "./a.cjs";\n\n\f// of\nexport interface A { b: c }\n\f/* x, y\n */\n'
    "declare module 'x' {}\n\fimport type {\n  A, B\n} from 'a'\n\f\"use strict\";\nlet a = 1;\n",
    "CDL": "netcdf x {\ndimensions:\n\tt = 1 ;\n}\n",
    "XBM": "#define a_width 8\n#define a_height 8\n",
    "EnergyPlus": "Version,8.9;\n\f! of it\n\nBuilding,\n  Home,   !- Name\n",
    "board": 'Element[0x00000000 "a" "" 1 2]\n(\n\f(module R1 (layer F.Cu)\n\f(kicad_pcb (version 3)\n',
    "reStructuredText": ".. |a| replace:: b\n.. |c| replace:: d\n\f.. note:: of it\n\f.. _x: http://a.b\n",
    "seismologists": "BEGIN GSE2.0\nMSG_TYPE DATA\nSTOP\n",
}
CASES = [(kind, text) for kind, texts in KINDS.items() for text in texts.split("\f")]


@pytest.mark.thin(80)
@pytest.mark.parametrize(("kind", "text"), CASES)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("rest", ["", "a, b; c\n1, 2; 3\n" * 9])
def test_text_with_a_signature_is_told_and_nothing_else_is(kind, text, end, mark, rest):
    if kind == "INI":
        rest = rest and "key = value\n" * 9
    data = (mark + (text + rest).replace("\n", end)).encode()
    told = signed_text(data)
    assert told is not None
    assert kind in told.kind
    assert find_dialect([RawSample(data, 0, is_end=True)], {}).doubts == (
        f"It begins like {told.kind}, which is no CSV: {told.hint}.",
    )


@pytest.mark.parametrize("kind", KINDS)
def test_every_door_refuses_it(tmp_path, kind):
    text = next(text for name, text in CASES if name == kind)
    (tmp_path / "a.txt").write_bytes(text.encode())
    (tmp_path / "a.csv").write_bytes(text.encode())
    with pytest.raises(UsageError, match="not-records"):
        ss.scan(tmp_path / "a.txt")
    for name in ("a.txt", "a.csv"):
        with pytest.raises(SplitscanError, match="It begins like"):
            ss.scan_csv(tmp_path / name, dialect="auto")
        assert ss.scan_csv(tmp_path / name, sep="\x1f", dialect="auto", header=False).count()


@pytest.mark.parametrize(
    "text",
    [
        "id,v\n1,2\n", "[x],k\n1,2\n", ">5,1\n>6,2\n", "@home,1\n@work,2\n", "101 a\n102 b\n", "%0,a\n%1,b\n",
        "set,size\n1,2\n", "3 4\nOslo Rome\n", "(a,b)\n(c,d)\n", "(1,2);(3,4)\n", "SET,a\n",
        "import,export\n1,2\n",
        "Element,n\nH,1\n", "#define,a\n", "Version,Date\n1.0,x\n", "CLUSTAL,a\n", "(12:30,5)\n",
        "create,drop\n1,2\n", "From,To\nOslo,Rome\n", "solid,liquid\n1,2\n", "a: 1\nb: 2\nc: 3\n",
        "1\n2\n3\n", "~V,~A\n1,2\n", "# hour,wind\n1,2\n", "#\n1,2\n" * 99, "---\n1,2\n", "BEGIN,END\n1,2\n",
        "data_a,data_b\n1,2\n", "HEADER,TITLE\n1,2\n", ">s\n1,2\n", "dn,cn\na,b\n", "Date: a\n", "12345,abc\n",
    ],
)  # fmt: skip
def test_other_texts_have_no_signature(text):
    assert signed_text(text.encode()) is None


@pytest.mark.parametrize("line", ["Name: of it\n", "Name: of\n it\n\t\n", "# \n\n", "-- x\n\n", "a: b\n", "\n"])
def test_no_text_is_looked_at_for_long(line):
    assert signed_text(line.encode() * 9000 + b"!") is None


@pytest.mark.parametrize("version", [0x03, 0x30, 0x83, 0xF5])
def test_tables_of_dbase_are_refused_whatever_their_name(tmp_path, version):
    fields = b"".join(name.ljust(11, b"\0") + kind + b"\0" * 20 for name, kind in ((b"NAME", b"C"), (b"AGE", b"N")))
    head = bytes([version, 99, 5, 1, 3, 0, 0, 0, 97, 0, 31, 0]) + b"\0" * 20 + fields + b"\r"
    for name in ("a.dbf", "a.dat", "a.csv"):
        (tmp_path / name).write_bytes(head + b" Ann         31 Bob         42\x1a")
        with pytest.raises(UsageError, match=r"not-records[\s\S]*ogr2ogr"):
            ss.scan(tmp_path / name, dialect="auto").count()


TABLE = "id,v,w\n" + "".join(f"{n},{n}.5,a\n" for n in range(20))


@pytest.mark.parametrize(
    "above",
    [
        "[Header]\nInstrument=X\nDate=2020\n[Data]\n", "[Header]\nDate: 2020\n\n[Data]\n",
        "Date: 2020\nTime: 10:00\nSite: A\n\nUnit: m\n\n",
        "Date: 2020\nSubject: 12\n\n", "Operator: X\nSettings:\n  gain 5\n\n", "From: lab\nTo: office\n\n",
        "; made\n[x]\na = 1\n",
        "A: 1\nB: 2\nC: 3\n\nD: 4\n", "# Hz, dB\n", "Name: x\nItems:\n- a\n",
    ],
)  # fmt: skip
def test_lines_of_settings_above_a_table_are_no_other_kind_of_text(above):
    dialect = find_dialect([RawSample((above + TABLE).encode(), 0, is_end=True)], {})
    assert not [doubt for doubt in dialect.doubts if doubt.startswith("It begins like")]
    assert dialect.columns == 3
