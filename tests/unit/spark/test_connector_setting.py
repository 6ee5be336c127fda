"""The setting that switches the connector off: a boolean, as Spark reads booleans; and a jar that is not taken."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.errors import PySparkException

from splitscan.errors import UsageError
from splitscan.spark import connector
from splitscan.spark.connector import attach, is_switched_on


@pytest.mark.parametrize("setting", [None, "", "true", "TRUE", " true "])
def test_the_connector_is_on_unless_the_setting_says_no(setting):
    assert is_switched_on(setting)


@pytest.mark.parametrize("setting", ["false", "False", " FALSE "])
def test_the_connector_is_off_where_the_setting_says_so(setting):
    assert not is_switched_on(setting)


@pytest.mark.parametrize("setting", ["off", "0", "no", "disabled", "1", "on", "falsee"])
def test_a_setting_that_is_no_boolean_is_refused(setting):
    with pytest.raises(UsageError, match=r"(?s)connector is true or false \[bad-option\].*connector=false"):
        is_switched_on(setting)


_REFUSED = PySparkException("exists", "ARTIFACT_ALREADY_EXISTS", {})
_NO_ANSWER = PySparkException("deadline exceeded")


@pytest.mark.parametrize(
    ("answers", "attached", "sent"),
    [
        ([None], [True, True, True], 1),
        ([_REFUSED], [False, False, False], 1),
        ([_NO_ANSWER, RuntimeError("reset"), None], [False, False, True], 3),
        ([_NO_ANSWER, _REFUSED], [False, False, False], 2),
    ],
)
def test_a_jar_is_sent_until_the_server_has_answered_for_good(answers, attached, sent, monkeypatch, caplog):
    calls = []

    class Session:
        def addArtifacts(self, jar):  # noqa: N802 - Spark's name
            calls.append(jar)
            if (answer := answers[len(calls) - 1]) is not None:
                raise answer

    monkeypatch.setattr(connector, "classic_context", lambda _: None)
    monkeypatch.setattr(connector, "connector_jar", lambda: Path("a.jar"))
    session = Session()
    assert [attach(session) for _ in attached] == attached
    assert calls == ["a.jar"] * sent
    assert caplog.text.count("the server takes no jar") == sum(answer is not None for answer in answers)
