"""``format("splitscan")`` by the connector: what it asks Python, who answers, and what it hands to Python."""

import io
import json
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.readwriter import DataFrameReader

import splitscan as ss
from splitscan.jar import connector_jar, jar_version
from splitscan.spark.planner import VERSION, Planner, serve

_JAR = connector_jar()
pytestmark = pytest.mark.skipif(_JAR is None, reason="the connector was not built")

_RECORDS = "".join(f'{i},"v\n{i}"\n' for i in range(200))
_OPTIONS = {"header": "true", "multiLine": "true", "blockSize": "100", "openCostInBytes": "0"}


@pytest.fixture
def notes(tmp_path: Path) -> str:
    path = tmp_path / "in" / "notes.csv"
    path.parent.mkdir()
    path.write_text(f"k,v\n{_RECORDS}", newline="")
    return str(path)


# ---------------------------------------------------------- what Python answers


def _question(about: str, path: str, schema: str = "", **others: str) -> dict[str, Any]:
    return {
        "version": str(VERSION), "connector": jar_version(_JAR), "about": about, "id": "1", "inferred": "false",
        "schema": schema, "setting": "true", "timeZone": "UTC", "slots": "2",
        "conditions": "", "limit": "-1",
        "options": {**_OPTIONS, "path": path}, **others,
    }  # fmt: skip


def _answer(planner: Planner, about: str, path: str, **others: Any) -> tuple[str, list[str]]:
    head, *lines = planner.answer(json.dumps({**_question(about, path), **others})).split("\n")
    kind, version = head.split(" ")
    assert version == str(VERSION)
    return kind, lines


def test_columns_then_who_reads_then_the_blocks_of_tasks(notes: str) -> None:
    planner = Planner()
    kind, (schema,) = _answer(planner, "schema", notes, inferred="true")
    assert (kind, [field["name"] for field in json.loads(schema)["fields"]]) == ("schema", ["k", "v"])
    kind, lines = _answer(planner, "plan", notes, inferred="true", schema=schema)
    spec, size_bytes, limit, name, files, *columns = lines
    assert (kind, int(size_bytes), limit) == ("plan", Path(notes).stat().st_size, "-1")
    assert (name, files) == (f"csv {notes}", "local")
    assert columns == [f"_metadata.file_{what}" for what in ("path", "name", "size", "modification_time")]
    assert json.loads(spec)["format"]
    Path(notes).with_name("later.csv").write_text("k,v\n")  # not seen: the files were listed with the plan
    kind, tasks = _answer(planner, "tasks", notes, inferred="true", schema=schema)
    assert kind == "tasks"
    assert len(tasks) > 1
    assert _answer(Planner(), "tasks", notes, inferred="true", schema=schema) == ("tasks", tasks)  # kept by nobody
    options = {**_OPTIONS, "path": notes, "limit": "3"}
    kind, tasks = _answer(planner, "tasks", notes, id="2", schema=schema, options=options)
    assert (kind, len(tasks)) == ("tasks", 1)
    kind, counted = _answer(planner, "tasks", notes, schema=schema, inferred="true", limit="-2")
    assert (kind, *map(json.loads, counted)) == ("tasks", {"version": 1, "blocks": [], "rows": 200})
    condition = {"is": ">", "of": [{"column": "_metadata.file_size"}, {"type": "long", "value": "1000000000"}]}
    some = {"schema": schema, "inferred": "true", "conditions": json.dumps([condition])}
    assert _answer(planner, "tasks", notes, **some) == ("tasks", [])


@pytest.mark.parametrize(
    ("others", "kind", "said"),
    [
        ({"setting": "false"}, "python", ""),
        ({"options": {**_OPTIONS, "ignoreMissingFiles": "true"}}, "python", "may be missing"),
        ({"options": {**_OPTIONS, "rebalance": "true"}}, "python", "rebalance"),
        (
            {"options": {"source": "kafka", "subscribe": "t", "kafka.bootstrap.servers": "h:1"}},
            "python",
            "not read files",
        ),
        ({"options": {**_OPTIONS, "headr": "1"}}, "error", "did you mean header?"),
        ({"options": {"path": "/nothing/here"}}, "error", "[PATH_NOT_FOUND] Path does not exist: /nothing/here"),
        ({"version": "0"}, "error", "[other-connector]"),
        ({"connector": "9.9.9+1"}, "error", "9.9.9+1; this splitscan has"),
        ({"slots": "many"}, "error", "a scan cannot be planned ["),
    ],
)
def test_answers_for_python_and_errors_are_answers(notes: str, others: dict[str, Any], kind: str, said: str) -> None:
    schema = '{"type":"struct","fields":[{"name":"k","type":"string","nullable":true,"metadata":{}}]}'
    options = {"path": notes, **others.pop("options", _OPTIONS)}
    about = "tasks" if "slots" in others else "plan"
    found, lines = _answer(Planner(), about, notes, schema=schema, options=options, **others)
    assert (found, said in "\n".join(lines)) == (kind, True), lines


def test_questions_of_a_stream_need_nothing_that_was_asked_before(notes: str, tmp_path: Path) -> None:
    schema = '{"type":"struct","fields":[{"name":"k","type":"string","nullable":true,"metadata":{}}]}'
    options = {**_OPTIONS, "path": str(Path(notes).parent), "recordFormat": "csv", "stateLocation": str(tmp_path / "s")}
    first = Planner()

    def ask(planner: Planner, about: str, start: str = "", end: str = "") -> tuple[str, ...]:
        of_query = {"stream": "1", "start": start, "end": end, "frozen": "false", "begun": "true"}
        kind, lines = _answer(planner, about, notes, schema=schema, options=options, **of_query)
        assert kind == "stream", lines
        return tuple(lines)

    kind, lines = _answer(first, "stream", notes, schema=schema, options=options)
    assert (kind, lines[3:]) == ("plan", [f"csv {Path(notes).parent}", "local"])
    (start,) = ask(first, "initial")
    (end,) = ask(first, "latest", start)
    assert ask(first, "latest", end) == (end,)
    tasks = ask(first, "window", start, end)
    Path(notes).with_name("later.csv").write_text("k,v\n1,2\n")
    assert tasks
    assert ask(Planner(), "window", start, end) == tasks
    assert ask(Planner(), "latest", start) == (end,)
    assert ask(Planner(), "all", end) != (end,)
    assert ask(first, "commit", end=end) == ask(first, "stop") == ask(first, "stop") == ()
    assert not first._streams


def test_a_planner_made_again_says_that_windows_in_memory_are_gone(notes: str) -> None:
    schema = '{"type":"struct","fields":[{"name":"k","type":"string","nullable":true,"metadata":{}}]}'
    options = {**_OPTIONS, "path": str(Path(notes).parent), "recordFormat": "csv", "windowLog": "none"}
    of_query = {"schema": schema, "options": options, "stream": "1", "start": "", "end": "", "frozen": "false"}
    first = Planner()
    assert _answer(first, "initial", notes, begun="false", **of_query)[0] == "stream"
    assert _answer(first, "backlog", notes, begun="true", **of_query)[0] == "stream"
    kind, lines = _answer(Planner(), "backlog", notes, begun="true", **of_query)
    assert (kind, "[stream-state-missing]" in lines[0]) == ("error", True)
    assert _answer(first, "stop", notes, begun="true", **of_query) == ("stream", [])


def test_a_process_answers_one_question_after_the_other_and_ends_with_the_last(notes: str) -> None:
    asked = [json.dumps(_question("plan", notes, options=options)) for options in ({}, {"path": "/é"})]  # type: ignore[arg-type]
    sent = b"".join(struct.pack(">i", len(text.encode())) + text.encode() for text in asked)
    out = io.BytesIO()
    serve(io.BytesIO(sent), out)
    said = out.getvalue()
    first = struct.unpack_from(">i", said)[0]
    assert said[4 : 4 + first].decode().startswith(f"error {VERSION}\na scan needs a path")
    assert said[8 + first :].decode().startswith(f"error {VERSION}\n[PATH_NOT_FOUND] Path does not exist: /é")


def test_settings_of_sessions_to_come_name_the_jar() -> None:
    assert ss.recommended_conf()["spark.jars"] == str(_JAR)
    command = [sys.executable, "-m", "splitscan", "spark-conf", "--submit"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert f"--conf spark.jars={_JAR}\n" in done.stdout
    assert "--conf 'spark.driver.extraJavaOptions=-XX:" in done.stdout


# -------------------------------------------------------------------- on Spark


@pytest.fixture
def reader(spark: SparkSession) -> DataFrameReader:
    ss.register(spark)
    return spark.read.format("splitscan").options(**_OPTIONS)


def _plan(frame: DataFrame) -> str:
    return str(frame._jdf.queryExecution().toString())


def test_one_name_reads_by_the_connector_in_frames_views_and_new_sessions(
    spark: SparkSession, reader: DataFrameReader, notes: str
) -> None:
    frame = reader.schema("k int, v string").load(notes)
    assert "BatchScan splitscan" in _plan(frame)
    assert [tuple(row) for row in frame.collect()] == [(i, f"v\n{i}") for i in range(200)]
    Path(notes).with_name("later.csv").write_text("k,v\n")
    assert frame.count() == 200
    inferred = reader.option("inferSchema", "true").option("limit", "7").load(notes)
    assert (inferred.schema.simpleString(), inferred.count()) == ("struct<k:int,v:string>", 7)
    session = spark.newSession()
    session.sql(f"CREATE TEMPORARY VIEW notes USING splitscan OPTIONS(path '{notes}', header 'true', multiLine 'true')")
    view = session.sql("SELECT max(k) FROM notes")
    assert "BatchScan splitscan" in _plan(view)
    assert view.first() == ("99",)


def test_errors_of_planning_are_our_text_and_nothing_else(reader: DataFrameReader, notes: str) -> None:
    for fails in (lambda: reader.load("/nothing"), lambda: reader.schema("k int").load("/nothing").collect()):
        with pytest.raises(AnalysisException) as caught:
            fails()
        assert str(caught.value).startswith("[PATH_NOT_FOUND] Path does not exist: /nothing [path-not-found]\n")
        assert len(str(caught.value).splitlines()) == 4
    with pytest.raises(AnalysisException, match=r"^record format csv has no option headr"):
        reader.option("headr", "1").load(notes).count()


def test_what_only_python_reads_goes_on_to_python(
    spark: SparkSession, reader: DataFrameReader, notes: str, tmp_path: Path
) -> None:
    frame = reader.options(metadataColumns="file_name", ignoreMissingFiles=True).load(notes)
    assert set(frame.select("file_name").distinct().collect()) == {("notes.csv",)}
    assert "BatchScan" in _plan(frame)
    assert "csv" not in _plan(frame).partition("BatchScan")[2]
    with pytest.raises(PySparkException, match=r"\[read-only\]"):
        frame.write.format("splitscan").mode("append").save(str(tmp_path / "out"))


def test_workers_need_no_python_for_what_the_connector_reads(
    spark: SparkSession, reader: DataFrameReader, notes: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spark.sparkContext, "pythonExec", "/nothing/python")
    ss.register(spark)
    assert reader.load(notes).count() == 200
    assert ss.scan_csv(notes, header=True, multi_line=True).to_spark(spark).count() == 200


@pytest.mark.slow
def test_where_no_driver_answers_a_process_does(spark: SparkSession, reader: DataFrameReader, notes: str) -> None:
    loader = spark.sparkContext._jvm.java.lang.Thread.currentThread().getContextClassLoader()  # type: ignore[union-attr]
    fields = {}
    for name in ("driver", "interpreter"):
        fields[name] = loader.loadClass("splitscan.connector.Planner").getDeclaredField(name)
        fields[name].setAccessible(True)
    fields["driver"].set(None, None)
    try:
        fields["interpreter"].set(None, sys.executable)
        reader.load(notes)
        fields["interpreter"].set(None, "/nothing/python")
        with pytest.raises(AnalysisException, match=r"^the Python that plans (?s:.*)/nothing/python"):
            reader.load(notes)
        fields["interpreter"].set(None, sys.executable)
        frame = reader.load(notes)
        assert "BatchScan splitscan" in _plan(frame)
        assert frame.count() == 200
        with pytest.raises(AnalysisException, match=r"^\[PATH_NOT_FOUND\]"):
            reader.load("/nothing")
    finally:
        ss.register(spark)
