import ast
import re
from pathlib import Path

import splitscan as ss

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")


def python_blocks():
    return re.findall(r"^```python\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


def file_shown():
    return re.search(r"^```\n(id,note,n\n.*?)^```$", README, re.MULTILINE | re.DOTALL)[1]


def test_the_numbers_that_the_readme_says_spark_counts_are_those_that_it_counts(spark, tmp_path):
    file = tmp_path / "notes.csv"
    file.write_text(file_shown(), encoding="utf-8")
    block = python_blocks()[0].replace("notes.csv", str(file))
    said = [int(number) for number in re.findall(r"# (\d+)", block)]
    calls = [ast.unparse(statement) for statement in ast.parse(block).body]
    assert said == [3, 2]
    assert [eval(call, {"spark": spark}) for call in calls] == said


def test_the_spark_examples_of_the_readme_run(spark, tmp_path):
    file = tmp_path / "notes.csv"
    file.write_text(file_shown(), encoding="utf-8")
    examples = python_blocks()[1:]
    assert len(examples) == 2
    for example in examples:
        names = {"spark": spark, "ss": ss}
        exec(example.replace("notes.csv", str(file)), names)
        rows = {tuple(row) for row in names["df"].collect()}
        assert len(rows) == 2
        assert any("a\nb" in row for row in rows)
