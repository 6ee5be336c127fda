"""The setting that switches the connector off: a boolean, as Spark reads booleans."""

from __future__ import annotations

import pytest

from splitscan.errors import UsageError
from splitscan.spark.connector import is_switched_on


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
