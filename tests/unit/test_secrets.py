"""A marker in every place where a user can put a secret: nothing that is written shows it."""

import contextlib
import json
import logging
import re
import traceback
from pathlib import Path

import fsspec
import pyarrow.parquet as pq
import pytest
from fsspec.implementations.memory import MemoryFileSystem
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.jobs.conftest import InProcessRunner

import splitscan
from splitscan.api.ingest_page import write_page
from splitscan.cli import main
from splitscan.jobs.file_source import FileSource
from splitscan.jobs.settings import IngestSettings
from splitscan.jobs.steps import IngestTarget, plan_ingest, run_ingest
from splitscan.messages.kafka import mask
from splitscan.messages.spec import parse_kafka_options
from splitscan.redaction import has_credentials, redact

HEAD, TAIL = "Mk9q", "zT7w"
GLUE = [
    "",
    "@",
    "@@",
    " ",
    "  ",
    "/",
    ":",
    "?",
    "#",
    "&",
    "'",
    '"',
    "%40",
    "%2F",
    ";",
    "\\",
    "é",
    "@/",
    " @ ",
    "a@b:c",
    "+",
    "//",
]
LOGINS = [
    "http://user:{}@host/", "https://user:{}@host:8080/a.csv", "s3://:{}@bucket/a",
    "s3://key:{}@bucket/dir/a.csv", "ftp://user:{}@host/a.csv", "sftp://user:{}@host/a.csv", "hdfs://user:{}@nn:8020/a",
    "user:{}@host/a.csv", "simplecache::https://user:{}@host/a.csv", "zip://a.csv::ftp://user:{}@host/a.zip",
    "postgresql://user:{}@host:5432/db?sslmode=require", "jdbc:postgresql://user:{}@host/db",
    "mongodb+srv://user:{}@host/db", "kafka://user:{}@broker:9092", "git+https://user:{}@host/a", "smb://DOM;user:{}@host/a",
    "amqp://user:{}@[::1]:5672/", "http://us er:{}@host/", "redis://:{}@host:6379/0",
]  # fmt: skip
TOKENS = ["s3://{}@bucket/a.csv", "https://{}@host/a.csv", "http://{}@host:8080/a.csv", "git+https://{}@host/a.csv"]
NAMES = [
    "code", "sas", "sig", "Signature", "token", "access_token", "X-Amz-Security-Token", "X-Amz-Signature", "password",
    "pwd", "pass", "secret", "client_secret", "api_key", "apikey", "key", "auth", "jwt", "AccountKey",
    "sharedAccessKey", "credential", "X-Goog-Credential",
    "session", "authCode", "sign", "policy", "Key-Pair-Id", "pin", "otp", "PASSWD",
]  # fmt: skip
QUERIES = [
    "https://host/a.csv?{}={}", "https://host/a.csv?x=1&{}={}", "https://host/a.csv?{}={}&x=1", "https://host/a.csv#{}={}",
    "https://host/a.csv?x=1#{}={}", "s3://bucket/a.csv;{}={}", "/data/a.csv?{}={}", "https://host/a?x=1&amp;{}={}",
    "sc://host:15002/;user=a;{}={};x=1", "jdbc:sqlserver://host:1433;user=a;{}={}",
    "https://host/a.csv?other=https%3A%2F%2Fhost%2Fb%3F{}%3D{}",
]  # fmt: skip
CERTAIN = [
    "password",
    "PASSWORD",
    "pwd",
    "secret",
    "client_secret",
    "token",
    "AccountKey",
    "api_key",
    "access-key",
    "sslpassword",
]
SETTINGS = [
    "host=h {}={} dbname=d", "host=h {}={}", "Server=h;{}={};Database=d", "{}={};Server=h",
    "org.apache.kafka.PlainLoginModule required username='a' {}='{}';", "DefaultEndpointsProtocol=https;{}={};x=1",
]  # fmt: skip
CONTEXTS = [
    "{}",
    "cannot open '{}'",
    "cannot open '{}': denied",
    'seen: "{}", and more',
    "FileNotFoundError: {}",
    "a\n{}\nb",
    "({})",
]


def encoded(name: str) -> list[str]:
    """Spellings of a name in a query."""
    first = f"%{ord(name[1]):02x}"
    return [name, name.upper(), f"{name[0]}{first}{name[2:]}", f"{name[0]}{first.replace('%', '%25')}{name[2:]}"]


def shows(text: str) -> list[str]:
    """What stands around the secret, each time that it is shown."""
    return [found[0] for found in re.finditer(rf".{{0,60}}(?:{HEAD}|{TAIL}).{{0,20}}", text)]


def secret(glue: str) -> str:
    return f"{HEAD}{glue}{TAIL}"


@given(st.sampled_from(LOGINS), st.sampled_from(GLUE), st.sampled_from(CONTEXTS))
def test_no_password_before_a_host_is_shown(place, glue, context):
    path = place.format(secret(glue))
    assert has_credentials(path)
    assert shows(redact(context.format(path))) == []


@given(
    st.sampled_from(TOKENS),
    st.sampled_from([glue for glue in GLUE if not set(glue) & set("/?#")]),
    st.sampled_from(CONTEXTS),
)
def test_no_token_before_an_http_host_is_shown(place, glue, context):
    path = place.format(secret(glue))
    assert has_credentials(path)
    assert shows(redact(context.format(path))) == []


@given(
    st.sampled_from(QUERIES),
    st.sampled_from(NAMES),
    st.sampled_from(range(4)),
    st.sampled_from(GLUE),
    st.sampled_from(CONTEXTS),
)
def test_no_value_of_a_query_is_shown_whose_name_tells_of_a_secret(place, name, spelling, glue, context):
    assert shows(redact(context.format(place.format(encoded(name)[spelling], secret(glue))))) == []


@given(st.sampled_from(SETTINGS), st.sampled_from(CERTAIN), st.sampled_from(GLUE), st.sampled_from(CONTEXTS))
def test_no_setting_of_a_connection_is_shown_whose_name_tells_of_a_secret(place, name, glue, context):
    if ";" in glue:
        return
    assert shows(redact(context.format(place.format(name, secret(glue))))) == []


@given(st.sampled_from(LOGINS + TOKENS), st.sampled_from(GLUE))
def test_masking_what_is_masked_changes_nothing(place, glue):
    once = redact(place.format(secret(glue)))
    assert redact(once) == once


# ----------------------------------------------------- everything that is written, with a secret in each place


def everything(*values: object) -> str:
    """All that a person may be shown of some values."""
    return "\n".join(text for value in values for text in (str(value), repr(value)))


def raised(call, *args, **options) -> str:
    """What an error says, with all errors behind it, as a log would print it."""
    with pytest.raises(splitscan.SplitscanError) as caught:
        call(*args, **options)
    return "".join(traceback.format_exception(caught.value))


def written_below(folder: Path) -> str:
    """Names and contents of all files; tables as their values."""
    texts = []
    for path in sorted(folder.rglob("*")):
        texts.append(str(path.relative_to(folder)))
        if path.is_file():
            data = path.read_bytes()
            texts.append(str(pq.read_table(path).to_pylist()) if data[:4] == b"PAR1" else data.decode("latin-1"))
    return "\n".join(texts)


AWKWARD = [secret(glue) for glue in ("", "@", " ", "&", "'", "%40", "é")]


@pytest.fixture
def source(tmp_path):
    """A file whose name has a query as addresses have it, with a record that is rejected."""

    def make(value: str) -> Path:
        path = tmp_path / "in" / f"a.csv?code={value}&x=1"
        path.parent.mkdir(exist_ok=True)
        path.write_text("id,name\n1,ada\nx,grace\n3,a,b\n")
        return path

    return make


OPTIONS = {"header": "true", "dialect": "rfc4180"}
SCHEMA = "id long, name string"


@pytest.mark.thin(3)
@pytest.mark.parametrize("value", AWKWARD)
def test_an_ingest_of_an_address_with_a_secret_writes_it_nowhere(source, tmp_path, value, caplog):
    path = source(value)
    scan = splitscan.scan_csv(path, SCHEMA, **OPTIONS).select("id", "name", "filename", "file_path", "fqn", "dir0")
    out = tmp_path / "out"
    progress = []
    target = IngestTarget(out, IngestSettings(max_reject_ratio=1), on_progress=progress.append)
    report = run_ingest(FileSource(scan), target, InProcessRunner())
    write_page(tmp_path / "out.html", report)
    rejects = []
    rows = [batch.to_pylist() for batch in scan.to_batches(on_reject=rejects.append)]
    again = plan_ingest(FileSource(scan), target)
    checked = splitscan.verify(out, deep=True)
    path.write_text("id,name\n")
    changed = raised(run_ingest, FileSource(splitscan.scan_csv(path, SCHEMA, **OPTIONS)), target, InProcessRunner())
    shown = everything(scan, scan, scan.spec, *scan.files(), *scan.blocks(), report, again, checked, rows)
    shown += (
        everything(*rejects, *progress)
        + changed
        + written_below(out)
        + (tmp_path / "out.html").read_text()
        + caplog.text
    )
    assert report.rejects == 2
    assert "code=***" in shown
    assert shows(shown) == []


def test_a_file_that_an_earlier_version_ingested_under_its_unmasked_path_is_known(source, tmp_path, monkeypatch):
    scan = splitscan.scan_csv(source("Mk9qzT7w"), SCHEMA, **OPTIONS)
    target = IngestTarget(tmp_path / "out", IngestSettings(max_reject_ratio=1))
    with monkeypatch.context() as earlier:
        earlier.setattr("splitscan.redaction.secret_ranges", lambda _: [])
        run_ingest(FileSource(scan), target, InProcessRunner())
    assert "code=Mk9q" in written_below(tmp_path / "out")
    assert run_ingest(FileSource(scan), target, InProcessRunner()).nothing_to_do


@pytest.mark.parametrize("value", AWKWARD)
@pytest.mark.parametrize(
    "command",
    [
        ("head",), ("count",), ("blocks", "--index"), ("schema",), ("stats",), ("sniff",), ("head", "--json"),
        ("head", "-c", "filename,file_path,dir0"), ("head", "-o", "mode=FAILFAST"),
        ("ingest", "OUT", "--dry-run"), ("convert", "OUT.csv"), ("index",),
    ],
    ids=" ".join,
)  # fmt: skip
def test_no_command_shows_the_secret_of_an_address(source, tmp_path, capfd, command, value):
    name, *rest = (each.replace("OUT", str(tmp_path / "out")) for each in command)
    main([name, str(source(value)), *rest])
    main([name, str(tmp_path / "none" / f"b.csv?token={value}"), *rest])
    main([name, f"https://user:{value}@localhost:1/a.csv", *rest])
    out = "".join(capfd.readouterr())
    assert "***" in out
    assert shows(out) == []


STORAGE = [
    {"password": "{}"}, {"key": "AKIA", "secret": "{}"}, {"client_kwargs": {"aws_secret_access_key": "{}"}},
    {"auth": ["user", "{}"]}, {"headers": {"Authorization": "Bearer {}", "X-Anything": "{}"}}, {"sas_token": "?sig={}"},
    {"connection_string": "AccountName=x;AccountKey={};EndpointSuffix=y"}, {"endpoint_url": "http://user:{}@host"},
    {"client_kwargs": {"headers": {"Cookie": "{}"}}}, {"proxies": {"http": "http://u:{}@proxy"}}, {"token": "{}"},
]  # fmt: skip


class Betraying(MemoryFileSystem):
    """Quotes all of its settings in its errors, as some libraries do."""

    protocol = "betraying"
    cachable = False

    def __init__(self, **settings):
        super().__init__()
        self.settings = settings

    def info(self, path, **_):
        plain = json.dumps(self.settings, ensure_ascii=False)
        log.warning("asked for %s", path)
        raise PermissionError(f"denied to {self.settings} or {plain} at https://h/?x={self.settings}")

    ls = exists = isdir = isfile = find = open = info


log = logging.getLogger("betraying")


def filled(value, marker):
    if isinstance(value, dict):
        return {name: filled(each, marker) for name, each in value.items()}
    if isinstance(value, list):
        return [filled(each, marker) for each in value]
    return value.format(marker)


@pytest.fixture
def betraying():
    fsspec.register_implementation("betraying", Betraying, clobber=True)


@pytest.mark.thin(20)
@pytest.mark.parametrize("value", AWKWARD)
@pytest.mark.parametrize("settings", STORAGE, ids=str)
def test_no_setting_of_a_storage_is_shown_even_where_its_library_quotes_it(betraying, capfd, caplog, settings, value):
    settings = filled(settings, value)
    scan = splitscan.scan_csv("betraying://bucket/a.csv", SCHEMA, storage_options=settings, **OPTIONS)
    shown = everything(scan, scan, scan.options, scan.options.files.storage_options)
    shown += raised(scan.files) + raised(scan.to_arrow)
    shown += raised(run_ingest, FileSource(scan), IngestTarget("betraying://bucket/out"), InProcessRunner())
    shown += raised(splitscan.verify, "betraying://bucket/out", storage_options=settings)
    text = json.dumps(settings)
    for command in (("head", "betraying://b/a.csv"), ("count", "betraying://b/a.csv"), ("verify", "betraying://b/out")):
        main([*command, "-o", f"storageOptions={text}"])
        main([*command, "-o", f"storageOptions={text[:-1]}"])  # JSON that is broken
        main([*command, "-o", f"storageOption={text}"])
        main([*command, "-o", f"storageOptions={text}", "-o", "storageOptions={}"])
    shown += "".join(capfd.readouterr()) + caplog.text
    assert "denied to" in shown
    assert shows(shown) == []


@pytest.mark.parametrize("value", AWKWARD)
@pytest.mark.parametrize(
    "url", ["postgresql://user:{}@localhost:1/db", "postgresql://localhost:1/db?user=a&password={}", "mysql://u:{}@h/db",
            "sqlite:///{}?x", "host=h password={}", "postgresql://u:{}@[bad/db"],
)  # fmt: skip
def test_no_password_of_a_database_is_shown(url, value, capfd):
    shown = raised(lambda: everything(splitscan.scan_table(url.format(value), "t", "id").schema))
    with contextlib.suppress(splitscan.SplitscanError):
        shown += everything(splitscan.scan_table(url.format(value), "t", "id"))
    with contextlib.suppress(splitscan.SplitscanError):
        shown += everything(splitscan.scan_table("postgresql://localhost:1/db", "t", "id", user="u", password=value))
    shown += raised(splitscan.scan_table, "postgresql://h/db", "t", "id", passwort=value)
    shown += raised(splitscan.scan_table, "postgresql://u:p@h/db", "t", "id", password=value)
    assert "sqlite" in url or shows(shown) == []  # the name of a file is none


KAFKA = [
    "kafka.sasl.password",
    "kafka.ssl.key.password",
    "kafka.sasl.oauthbearer.config",
    "kafka.ssl.key.pem",
    "kafka.sasl.jaas.config",
]


@pytest.mark.parametrize("value", AWKWARD)
@pytest.mark.parametrize("name", KAFKA)
def test_no_setting_of_kafka_is_shown(name, value):
    options = {"subscribe": "t", name: value}
    kafka = parse_kafka_options({"kafka.bootstrap.servers": "localhost:1", **options}, streams=False)
    shown = raised(splitscan.scan_kafka, "localhost:1", "json", **options)  # without a schema
    shown += everything(splitscan.scan_kafka("localhost:1", "json", "id long", **options), kafka)
    shown += raised(splitscan.scan_kafka, "localhost:1", "json", "id long", subscribePattern="x", **options)
    shown += raised(
        splitscan.scan_kafka, "localhost:1", "json", "id long", **{**options, f"{name}x": value, "x": value}
    )
    shown += mask(f"refused {value}", kafka[0])
    assert shows(shown) == []


@pytest.mark.parametrize("value", AWKWARD)
@pytest.mark.parametrize("name", ["spark.hadoop.fs.s3a.secret.key", "spark.ssl.keyPassword", "AWS_SECRET_ACCESS_KEY"])
def test_no_setting_of_spark_is_shown_that_is_written_wrongly(source, tmp_path, capfd, name, value):
    path = tmp_path / "a.csv"
    path.write_text("id\n1\n")
    for text in (f"{name}:{value}", f"={value}", f"{name} {value}"):
        assert main(["ingest", str(path), str(tmp_path / "out"), "--spark-conf", text]) == 2
    assert shows("".join(capfd.readouterr())) == []
