import os
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import Future
from pathlib import Path
from traceback import walk_stack

import pytest
from pyspark.sql import SparkSession

from splitscan.cli import session
from splitscan.errors import SplitscanError, UsageError


@pytest.fixture(autouse=True)
def same_environment(monkeypatch):
    names = ("JAVA_HOME", "PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON", "SPARK_LOCAL_IP", "PYSPARK_GATEWAY_PORT")
    for name in (*names, "SPARK_REMOTE", "grpc_proxy", "https_proxy", "http_proxy"):
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)


def java_in(folder: Path) -> Path:
    java = folder / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.touch(mode=0o755)
    return folder


@pytest.mark.parametrize("text", ["spark.ui.enabled", "=true", " =true"])
def test_a_spark_setting_needs_a_name_and_a_value(text):
    with pytest.raises(UsageError, match="--spark-conf takes a name and a value"):
        session.parse_conf([text])


def test_a_spark_setting_may_hold_an_equals_sign():
    assert session.parse_conf(["spark.driver.extraJavaOptions=-Da=b"]) == {"spark.driver.extraJavaOptions": "-Da=b"}


@pytest.mark.parametrize(
    ("master", "slots"),
    [
        ("local", 1),
        ("local[4]", 4),
        ("local[2,4]", 2),
        ("local[*]", os.cpu_count()),
        ("local-cluster[2,1,1024]", None),
        ("spark://host:7077", None),
        ("localhost", None),
    ],
)
def test_only_local_masters_have_slots_here(master, slots):
    assert session.local_slots(master) == slots


def test_without_pyspark_the_message_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyspark.errors", None)
    with pytest.raises(SplitscanError, match=r"pip install 'splitscan\[spark\]'"):
        session.start_session(None, {})


def test_a_session_of_our_own_is_local_and_quiet(monkeypatch, tmp_path):
    monkeypatch.setenv("JAVA_HOME", str(java_in(tmp_path)))
    settings = session.session_settings(None, {})
    assert settings["spark.master"] == "local[*]"
    assert settings["spark.ui.enabled"] == "false"
    assert settings["spark.ui.showConsoleProgress"] == "false"
    assert settings["spark.driver.host"] == "127.0.0.1"
    assert os.environ["PYSPARK_PYTHON"] == os.environ["PYSPARK_DRIVER_PYTHON"] == sys.executable


def test_what_the_user_says_wins(monkeypatch, tmp_path):
    monkeypatch.setenv("JAVA_HOME", str(java_in(tmp_path)))
    monkeypatch.setenv("PYSPARK_PYTHON", "/opt/python")
    conf = {"spark.master": "local[7]", "spark.ui.enabled": "true", "spark.driver.memory": "9g"}
    settings = session.session_settings(None, conf)
    assert settings.items() >= conf.items()
    assert session.session_settings("local[3]", conf)["spark.master"] == "local[3]"
    assert os.environ["PYSPARK_PYTHON"] == "/opt/python"


def test_a_master_elsewhere_gets_no_local_address(monkeypatch, tmp_path):
    monkeypatch.setenv("JAVA_HOME", str(java_in(tmp_path)))
    assert "spark.driver.host" not in session.session_settings("spark://host:7077", {})


@pytest.mark.parametrize(
    ("master", "conf", "variable", "remote"),
    [
        (None, {}, "", None),
        ("sc://given", {"spark.remote": "sc://set"}, "sc://exported", "sc://given"),
        (None, {"spark.remote": "sc://set"}, "sc://exported", "sc://set"),
        (None, {}, "sc://exported", "sc://exported"),
        (None, {"spark.master": "local"}, "sc://exported", None),
        ("local[2]", {"spark.remote": "sc://set"}, "sc://exported", None),
    ],
)
def test_a_server_of_spark_connect_is_named_as_a_master_or_as_pyspark_has_it(master, conf, variable, remote):
    assert session.choose_remote(master, conf, {"SPARK_REMOTE": variable}) == remote


def test_a_server_of_spark_connect_gets_no_settings_but_the_users():
    settings = session.session_settings("sc://host", {"spark.sql.ansi.enabled": "true"})
    assert settings == {"spark.remote": "sc://host", "spark.sql.ansi.enabled": "true"}


def test_where_no_server_of_spark_connect_listens_the_command_says_so_at_once(monkeypatch):
    monkeypatch.setattr(SparkSession, "getActiveSession", lambda: None)  # another test's would be taken
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))  # and does not listen
        with pytest.raises(SplitscanError, match="check that the server runs") as caught:
            session.start_session(f"sc://127.0.0.1:{bound.getsockname()[1]}", {})
    assert "refused" in caught.value.seen


def test_the_driver_gets_no_more_memory_than_it_needs():
    given = session.session_settings(None, {})["spark.driver.memory"]
    assert 512 <= int(given.removesuffix("m")) <= 2048


def test_what_children_say_goes_to_the_log_and_ours_does_not(tmp_path, capfd):
    log = tmp_path / "spark.log"
    log.touch()
    say = [sys.executable, "-c", "import sys; print('child'); print('noise', file=sys.stderr)"]
    with session.children_write_to(log):
        subprocess.run(say, check=True)
    subprocess.run(say, check=True)
    assert capfd.readouterr() == ("child\n", "noise\n")
    assert sorted(log.read_text().split()) == ["child", "noise"]


def test_the_log_tells_why_spark_did_not_start(tmp_path):
    log = tmp_path / "spark.log"
    log.write_text("WARNING: something\nError: Java is too old\nat somewhere\n")
    assert session.last_words(log) == "Error: Java is too old"
    assert not log.exists()


def interrupt_who_waits():
    """Press Ctrl-C as soon as the main thread, which handles it, waits for what this one does."""
    main = threading.main_thread().ident
    while Future.result.__code__ not in {frame.f_code for frame, _ in walk_stack(sys._current_frames()[main])}:
        time.sleep(0.001)
    signal.pthread_kill(main, signal.SIGINT)
    time.sleep(0.01)


def test_a_start_that_is_interrupted_is_finished_and_undone():
    events = []

    class Spark:
        def stop(self):
            events.append("stopped")

    def start():
        events.append("begun")
        interrupt_who_waits()
        events.append("started")
        return Spark()

    with pytest.raises(KeyboardInterrupt):
        session.finish_once_begun(start)
    assert events == ["begun", "started", "stopped"]


def test_a_start_that_fails_after_an_interruption_is_still_an_interruption():
    def start():
        interrupt_who_waits()
        raise OSError

    with pytest.raises(KeyboardInterrupt):
        session.finish_once_begun(start)
