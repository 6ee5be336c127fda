"""What Spark shows of a scan: plans, rows and errors without the secrets of its paths and options."""

import contextlib
import io
import json

import pytest

import splitscan

SECRETS = {"storageOptions": json.dumps({"password": "Mk9qzT7w", "client_kwargs": {"secret": "Mk9q zT7w"}})}


@pytest.mark.parametrize("by", ["scan", "format"])
def test_no_plan_row_or_error_of_spark_shows_a_secret(spark, tmp_path, by):
    path = tmp_path / "a.csv?code=Mk9q zT7w&x=1"
    path.write_text("id,name\n1,ada\nx,grace\n")
    options = {"header": "true", "dialect": "rfc4180", **SECRETS}

    def frame(**more):
        given = {**options, **more}
        if by == "scan":
            scan = splitscan.scan_csv(path, "id long, name string", **given)
            return scan.select("id", "filename", "file_path", "dir0").to_spark(spark)
        reader = spark.read.format("splitscan").option("recordFormat", "csv").options(**given)
        return reader.schema("id long, name string").load(str(path))

    rows = frame()
    shown = io.StringIO()
    with contextlib.redirect_stdout(shown):
        rows.explain(extended=True)
        rows.explain(mode="formatted")
    texts = [shown.getvalue(), str(rows.collect()), repr(rows), rows._jdf.queryExecution().toString()]
    for wrong in ({"headr": "true"}, {"mode": "FAILFAST"}, {"sep": ""}):
        with pytest.raises(Exception) as caught:  # noqa: PT011 -- Spark's, with ours inside
            frame(**wrong).collect()
        texts.append(str(caught.value))
    text = "\n".join(texts)
    assert "code=***" in text
    assert [text[max(0, at - 80) : at + 20] for at in range(len(text)) if text.startswith(("Mk9q", "zT7w"), at)] == []
