import pytest

from splitscan import errors
from splitscan.errors import RecordError, Where
from splitscan.spark.jobs import as_raised, error_from_text, task_failed

ORIGINAL = RecordError(
    "too few fields (mode=FAILFAST)",
    Where("/in/a.csv", 7, (0, 10)),
    "b'oops'\n         and more",
    "correct it",
    "ragged",
)


def traceback_of(error, tail="\n\n\tat org.apache.spark.Foo(Foo.scala:1)\n\t... 3 more\n"):
    name = f"{type(error).__module__}.{type(error).__name__}"
    return f"An exception was thrown:\nTraceback (most recent call last):\n  File 'x', line 3\n{name}: {error}{tail}"


def raised(text):
    """What the user sees of a job that failed with this text."""
    with pytest.raises(errors.SplitscanError) as caught, as_raised():
        raise RuntimeError(text)
    return caught.value


def test_a_worker_s_error_comes_back_with_its_class_and_its_whole_message():
    error = raised(traceback_of(ORIGINAL))
    assert type(error) is RecordError
    assert str(error) == str(ORIGINAL)
    assert error.reason_code == "ragged"


@pytest.mark.parametrize("name", ["UsageError", "SourceChangedError", "SchemaError", "InvariantError"])
def test_every_class_is_found_by_its_name(name):
    assert type(raised(traceback_of(getattr(errors, name)("a rule")))).__name__ == name


def test_of_a_chain_of_errors_the_last_counts():
    text = traceback_of(ORIGINAL, "\n\nThe above exception was the cause:\n\n") + traceback_of(
        errors.IngestError("the disk is full", code="destination-failed")
    )
    assert raised(text).reason_code == "destination-failed"


def test_an_error_that_is_not_ours_is_told_with_its_end_and_without_the_stack_of_the_jvm():
    error = raised(traceback_of(ValueError("boom")))
    assert error.reason_code == "task-failed"
    assert "builtins.ValueError: boom" in str(error)
    assert "scala" not in str(error)
    assert error_from_text("splitscan.errors.Where: nonsense [x]") is None


def test_a_message_without_end_is_cut():
    assert len(str(task_failed("x" * 100_000))) < 3000


def test_workers_without_splitscan_are_recognised():
    assert "PYSPARK_PYTHON" in str(task_failed("ModuleNotFoundError: No module named 'splitscan'"))


def test_ours_stands_alone_and_another_keeps_what_spark_said():
    assert raised(traceback_of(ORIGINAL)).__suppress_context__
    assert isinstance(raised("java.lang.OutOfMemoryError").__cause__, RuntimeError)


def test_an_error_that_is_ours_already_passes_as_it_is():
    with pytest.raises(RecordError) as caught, as_raised():
        raise ORIGINAL
    assert caught.value is ORIGINAL


def test_an_interrupt_is_no_error():
    with pytest.raises(KeyboardInterrupt), as_raised():
        raise KeyboardInterrupt
