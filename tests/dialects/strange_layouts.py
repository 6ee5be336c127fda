"""Fields between blanks, and files that look like tables of CSV and are laid out otherwise, with right answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from tests.dialects.answers import RightAnswer

Laid = tuple[str, str, str, RightAnswer]


def _rows(line: Callable[[int], str], rows: int = 12) -> str:
    return "".join(line(number) + "\n" for number in range(rows))


def _refused(hint: str) -> RightAnswer:
    return RightAnswer(hint=hint)


_NAMED, _BARE = RightAnswer("blanks"), RightAnswer("blanks", "no")

BETWEEN_BLANKS: Iterable[Laid] = [
    ("processes without arguments", "ps.txt",
     "USER       PID %CPU COMMAND\n" + _rows(lambda n: f"root     {n:5d}  0.{n % 10} /bin/app{n}"), _NAMED),
    ("processes with arguments", "ps.txt",
     "USER       PID %CPU COMMAND\n" + _rows(lambda n: f"root     {n:5d}  0.{n % 10} /bin/app{' -x' * (n % 3)}"),
     _refused("blanks")),
    ("sizes of disks, a name of two words", "df.txt",
     "Filesystem  Size  Used Use% Mounted on\n" + _rows(lambda n: f"/dev/sd{n:<3} {n * 9:5d} {n:5d}  {n:2d}% /m/{n}"),
     _refused("blanks")),
    ("listed files below a total", "ls.txt",
     "total 48\n" + _rows(lambda n: f"-rw-r--r-- 1 root root {n * 99:5d} Jan {n + 1:2d} 10:0{n % 10} f{n}"),
     _refused("blanks")),
    ("a table of memory", "meminfo", _rows(lambda n: f"Part{n}:{n * 1000:12d} kB"), _refused("blanks")),
    ("measures in columns, indented", "a.txt",
     "     id    name   v\n" + _rows(lambda n: f"{n:7d}    n{n:<4} {n:3d}"), _NAMED),
    ("numbers in columns without names", "a.dat", _rows(lambda n: f"{n:5d} {n * 2.5:8.2f} {n * 7:6d}"), _BARE),
    ("two columns of numbers, indented", "a.dat", _rows(lambda n: f"   {6476 + n}.09   0.{n + 10}"), _BARE),
    ("coordinates with decimals, one blank between", "a.xyz", _rows(lambda n: f"{n}.25 {n}.5 -{n}.75"), _BARE),
    ("numbers with exponents, one blank between", "a.csv", _rows(lambda n: f"{n}.5e-01 -{n}.25e+00 1.0e-02"), _BARE),
    ("decimal commas between blanks", "a.txt",
     "x    y    z\n" + _rows(lambda n: f"{n:2d},5  {n:2d},25  {n:2d},75"), _NAMED),
    ("decimal commas without names", "a.txt", _rows(lambda n: f"{n:2d},5  {n:2d},25"), _BARE),
    ("quoted names and values with blanks", "a.txt",
     '"id"   "name"       "v"\n' + _rows(lambda n: f'{n:<6} "x y {n}"   {n}.5'), _NAMED),
    ("two names above two columns", "a.txt", "interval        size\n" + _rows(lambda n: f"{n:<16}0.{n + 10}"), _NAMED),
    ("tabs and spaces between numbers", "a.txt",
     "x  y  z\n" + _rows(lambda n: f"{n}.5  {n}.25  {n}"), _NAMED),
    ("blank lines and lines of blanks between records", "a.txt",
     "x   y   z\n   \n" + _rows(lambda n: f"{n}.5   {n}.25   {n}\n    "), _NAMED),
    ("comments above columns", "a.txt",
     "# by hand\n  t    v  kind\n" + _rows(lambda n: f" {n:2d}  {n}.5  a"), RightAnswer("blanks", comment="#")),
    ("blanks at the ends of lines", "a.txt",
     "a   b   c   \n" + _rows(lambda n: f"{n:<3} {n * 2:<3} {n * 3:<3} "), _NAMED),
    ("CRLF after columns", "a.txt",
     ("a   b   c\n" + _rows(lambda n: f"{n:<3} {n:<3} {n}")).replace("\n", "\r\n"), _NAMED),
    ("names of two words in a column", "a.txt",
     "Full Name   Age\n"
     + _rows(lambda n: f"{['Ann Lee', 'Bo Xu', 'Eve Adams'][n % 3]:<11} {20 + n}"), _refused("fixed_width")),
    ("cells that are missing in a column", "a.txt",
     "id    name   v\n" + _rows(lambda n: f"{n:<5} {('n' + str(n)) if n % 3 else '':<6} {n}"), _refused("fixed_width")),
    ("atoms below two lines", "a.xyz",
     "12\nwater\n" + _rows(lambda n: f"O   {n}.125   {n}.250   {n}.375"), _refused("blanks")),
    ("names of rows have no name", "a.txt", '"a" "b"\n' + _rows(lambda n: f'"{n + 1}" {n} "x{n}"'), _refused("fields")),
    ("digits in groups, one value a line", "a.txt", _rows(lambda n: f"1 234 5{n + 10}"), RightAnswer("none", "no")),
    ("names behind a mark above columns", "a.txt",
     "#YY  MM DD HEIGHT\n" + _rows(lambda n: f"2018 08 {n + 10} 58{n:02d}.5"), _NAMED),
    ("names of capitals behind a mark, one blank between", "a.txt",
     "#YY MM V\n" + _rows(lambda n: f"2018 {n + 10} 5.{n}"), _NAMED),
    ("names behind a mark and tabs between blanks", "a.dat",
     "#t\tx\tv\n" + _rows(lambda n: f"{n:2d}.5   {n:2d}.25  7.{n % 10}"), _NAMED),
    ("names behind a mark below a comment of many words", "a.txt",
     "# made by the model of the lake, run 12\n#T   X   V\n" + _rows(lambda n: f"{n}.5 {n}.25 7.{n}"),
     RightAnswer("blanks", skip=1)),
    ("words behind a mark above as many columns", "a.txt",
     "#made by hand today\n" + _rows(lambda n: f"{n % 10}.5 {n % 10}.25 7.{n % 10} 2.5"), _refused("may be a comment")),
    ("names behind a mark and a blank", "a.txt",
     "# t x v\n" + _rows(lambda n: f"{n}.5 {n}.25 7.{n}"), _refused("name the columns")),
    ("names behind a percent sign and blanks", "a.txt",
     "% Year   Mean  Error\n" + _rows(lambda n: f"{1990 + n}  0.{n + 10}  0.0{n}"), _refused("name the columns")),
    ("names and units behind marks between blanks", "a.txt",
     "#YY MM DD HEIGHT\n#yr mo dy m\n" + _rows(lambda n: f"2018 08 {n + 10} 58{n:02d}.5"), _refused("both name")),
    ("names and units behind marks in places", "a.txt",
     "#YY   WDIR  WSPD\n#yr   degT  m/s\n" + _rows(lambda n: f"2018  {n + 100}   {n}.5"), _refused("both name")),
    ("a comment without names above columns", "a.txt",
     "# by the model\n" + _rows(lambda n: f"{n % 10}.5 {n % 10}.25 7.{n % 10} 2.5 5.5"),
     RightAnswer("blanks", "no", comment="#")),
    ("a matrix below comments", "a.txt",
     "# scores\n# of pairs\n   A  R  N\nA  4 -1 -2\nR -1  5  0\nN -2  0  6\n", _refused("skipRows=3")),
    ("sentences of five words", "a.txt",
     _rows(lambda n: f"the fox ran {['over', 'under', 'past'][n % 3]} them", 20), RightAnswer("none", "no")),
]  # fmt: skip

_HEIGHTS = _rows(lambda n: f"2018,{n + 10},58{n:02d}.5")
_TABLE = _rows(lambda n: f"{n},{n}.5")

STRANGE: Iterable[Laid] = [
    ("a query's answer with a rule", "psql.txt",
     " id | name  | qty \n----+-------+-----\n" + _rows(lambda n: f" {n:2d} | n{n:<4d} | {n * 3:3d}") + "(12 rows)\n",
     _refused("rule")),
    ("a table in a frame", "mysql.txt",
     "+----+------+\n| id | name |\n+----+------+\n" + _rows(lambda n: f"| {n:2d} | n{n:<3d} |") + "+----+------+\n",
     _refused("rule")),
    ("a table of Markdown", "a.md", "| id | name |\n|----|------|\n" + _rows(lambda n: f"| {n} | n{n} |"),
     _refused("rule")),
    ("a list of a business system", "sap.txt",
     "Dynamic List\n\n" + "-" * 40 + "\n|  Doc  |Material  |  Quantity|\n" + "-" * 40 + "\n"
     + _rows(lambda n: f"|  4500{n:03d}|MAT-{n:04d}  | 1.{n:03d},00 |"), _refused("rule")),
    ("the header again where files were joined", "a.csv",
     "id,v\n" + _TABLE + "id,v\n" + _TABLE, _refused("comes again")),
    ("names below a line of the logger", "a.dat",
     '"TOA5","CR1000","12","Std"\n"TIME","RECORD","Batt","Temp"\n"TS","RN","V","C"\n"","","Min","Avg"\n'
     + _rows(lambda n: f'"2020-01-01 00:{n:02d}:00",{n},12.{n},21.{n}'), _refused("may be the header")),
    ("years above quarters", "a.csv",
     ",2019,2019,2020\n,Q1,Q2,Q1\n" + _rows(lambda n: f"a{n},{n},{n},{n}"), _refused("may be the header")),
    ("years with blanks, colons for what is missing", "a.tsv",
     "unit,geo\\time\t2019 \t2018 \n" + _rows(lambda n: f"EUR,A{n}\t{n}.1 \t: "), RightAnswer("tab")),
    ("messages of a hospital", "a.hl7", "MSH|^~\\&|A|B|C|D|2020\rPID|1||12||DOE^J\r" * 6, _refused("HL7")),
    ("segments of an order", "a.edi", "ISA*00*  *ZZ*A~GS*PO*A*B~" + "".join(f"PO1*{n}*EA*{n}.5~" for n in range(9)),
     _refused("X12")),
    ("a matrix with its sizes", "a.mtx", "%%MatrixMarket matrix coordinate\n3 3 3\n1 1 1.5\n2 2 2.5\n3 3 3.5\n",
     _refused("Matrix Market")),
    ("account and balance above a statement", "a.csv",
     'Account,Current\nBalance,£120.50\n\nDate,Type,Text,Out,In,Balance\n'
     + _rows(lambda n: f'{n + 1:02d} Jan 2021,VIS,"SHOP, HERE",£{n}.50,,£{100 - n}.00'), RightAnswer(skip=3)),
    ("fixes of a receiver", "a.nmea", _rows(lambda n: f"$GPGGA,1235{n:02d},4807.038,N,01131.000,E,1,08,0.9,*4{n % 9}"),
     RightAnswer(header="no")),
    ("fixes of two kinds", "a.nmea",
     _rows(lambda n: f"$GPGGA,1235{n:02d},4807.038,N,01131.000,E,1,08\n$GPRMC,1235{n:02d},A,4807.038,N"),
     _refused("fields")),
    ("two tables, one below the other", "a.csv",
     "id,v\n" + _TABLE + "\nname,city,zip\n" + _rows(lambda n: f"n,c{n},0{n}"),
     _refused("names columns again")),
    ("a header and a trailer of other widths", "a.txt",
     "HDR|20200101|FILE1\n" + _rows(lambda n: f"DTL|{n}|n{n}|{n}.5") + "TRL|12\n", _refused("fields")),
    ("separators that change", "a.csv",
     "a,b,c\n" + _rows(lambda n: f"{n};{n}.5;x" if n % 2 else f"{n},{n}.5,x"), _refused("fields")),
    ("genotypes", "a.vcf",
     '##fileformat=VCFv4.2\n##INFO=<ID=DP,Description="Depth, total">\n#CHROM\tPOS\tREF\tALT\tINFO\n'
     + _rows(lambda n: f"chr1\t{100 + n}\tA\tG\tDP={n};AF=0.5"), RightAnswer("tab", skip=2)),
    ("stops with empty fields", "stops.txt",
     "stop_id,stop_name,stop_lat,parent\n" + _rows(lambda n: f'S{n},"Main St, {n}",47.{n},'), RightAnswer()),
    ("times after midnight", "a.txt",
     "trip,arrival,stop\n" + _rows(lambda n: f"T1,2{n % 6}:00:00,S{n}"), RightAnswer()),
    ("weather of an airport", "a.txt",
     _rows(lambda n: f"KJFK 0112{n:02d}Z 18005KT 10SM FEW250 {n:02d}/10 A3002"), _refused("blanks")),
    ("names of a weather station in two lines", "a.tsv",
     "\t\tTemp\tHi\nDate\tTime\tOut\tTemp\n" + _rows(lambda n: f"1/{n + 1}/20\t0:30\t{10 + n}.1\t{11 + n}.2"),
     _refused("may be the header")),
    ("names and units behind marks, commas", "a.csv", "#YY,MM,V\n#yr,mo,m\n" + _HEIGHTS, _refused("both name")),
    ("names and units behind marks, tabs", "a.tsv",
     ("#YY,MM,V\n#yr,mo,m\n" + _HEIGHTS).replace(",", "\t"), _refused("both name")),
    ("a comment with commas above names behind a mark", "a.csv",
     "# years, months, and heights that somebody measured\n#YY,MM,V\n" + _HEIGHTS, RightAnswer(skip=1)),
    ("players above and below lines with empty cells", "a.csv",
     ",,Home,,Home,\n,,11,,1,\nPeriod,Frame,Player11,,Player1,\n"
     + _rows(lambda n: f"1,{n},0.{n + 10},0.{n + 20},0.{n + 30},0.{n + 40}"), _refused("Period,Frame")),
    ("players above few records", "a.csv",
     ",,Home,,Home,\n,,11,,1,\nPeriod,Frame,Player11,,Player1,\n"
     + _rows(lambda n: f"1,{n},0.{n + 10},0.{n + 20},0.{n + 30},0.{n + 40}", 3), _refused("may be the header")),
    ("a logger with units that are missing", "a.csv",
     "TOA5,site,CR1,E7,Std,CPU\nTimestamp,RECORD,Site,Id,Spd80,Spd60\nTS,RN,,,m/s,m/s\n,,Smp,Smp,Avg,Avg\n"
     + _rows(lambda n: f"2016-01-09 15:{n + 10}:00,{n},mast,7000,8.{n},7.{n}", 5), _refused("Timestamp,RECORD")),
    ("years and kinds above names, cells between empty", "a.csv",
     "year,,2001,,2002,\nkind,,a,,b,\nname,id,x,,y,\n" + _rows(lambda n: f"foo{n},{n},3.{n},2.1,2.2,1.5", 3),
     _refused("name,id,x")),
    ("units below names, some missing", "a.csv",
     "TIMESTAMP,RECORD,Temp,RH\nTS,RN,degC,%\n,,Avg,Smp\n"
     + _rows(lambda n: f"2016-01-09 15:{n + 10}:00,{n},8.{n},7{n % 10}", 4), _refused("no record")),
    ("one line of units with empty cells", "a.tsv",
     "id\tx\ty\tnote\n\tcm\tkg\t\n" + _rows(lambda n: f"{n}\t{n}.5\t{n}.25\ta"), _refused("units")),
    ("names, units with empty cells, and names of a program", "a.csv",
     "Name,Vac,Power\nUnits,V,\n[0],ac_voltage,power_of\n" + _rows(lambda n: f"Inverter {n},{n + 110},{n}.5"),
     _refused("units")),
    ("groups above names", "a.csv",
     ",Men,,Women,\nplace,age,size,age2,size2\n" + _rows(lambda n: f"p{n},{n + 20},1.{n},{n + 30},1.{n + 5}"),
     _refused("place,age")),
    ("a first record with a missing number", "a.csv",
     "id,x,y\n1,,\n" + _rows(lambda n: f"{n},{n}.5,{n}.25"), RightAnswer()),
    ("a marker for what is missing in the first records", "a.csv",
     "id,x,y\n1,n.d.,n.d.\n" + _rows(lambda n: f"{n},{n}.5,{'n.d.' if n == 9 else n}"), RightAnswer()),
    ("an account of a bank", "a.sta", ":20:START\n:25:123/456\n" + _rows(lambda n: f":61:2001{n + 10}C{n},50NTRF"),
     _refused("MT940")),
    ("backslashes and N for what is missing", "a.txt", "a|b\n1|x\n2|y\n3|z\n\\N|E\n", RightAnswer("pipe")),
    ("a byte order mark where files were joined", "a.csv", "\ufeffid,v\n" + _TABLE + "\ufeffid,v\n" + _TABLE,
     _refused("comes again")),
]  # fmt: skip
