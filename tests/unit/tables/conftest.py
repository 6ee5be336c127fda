"""Files of SQLite, and what the tests ask of plans."""

import sqlite3
from pathlib import Path

import pytest

import splitscan as ss
from splitscan.tables import read_pieces


@pytest.fixture
def database(tmp_path):
    """Makes a file of SQLite of statements, and returns it as a path."""
    path = tmp_path / "data.db"

    def make(*statements, many=()) -> Path:
        connection = sqlite3.connect(path)
        with connection:
            for statement in statements:
                connection.execute(statement)
            for statement, rows in many:
                connection.executemany(statement, rows)
        connection.close()
        return path

    return make


@pytest.fixture
def people(database):
    """A scan of a thousand rows with an integer key, texts of which a seventh is missing, and blobs."""
    path = database(
        "CREATE TABLE people (id INTEGER PRIMARY KEY, name TEXT, photo BLOB, height REAL)",
        many=[("INSERT INTO people VALUES (?, ?, ?, ?)", [person(number) for number in range(1000)])],
    )

    def scan(key=None, **options):
        return ss.scan_table(f"sqlite:///{path}", "people", key, **options)

    return scan


def person(number):
    name = None if number % 7 == 0 else f"name {number * 31 % 1000:04}"
    return (number, name, bytes([number % 256]) * (number % 4), number / 2)


def rows_of_tasks(plan):
    """The rows of each task, as tuples."""
    return [
        [tuple(row.values()) for batch in read_pieces(plan.spec, task, plan.version) for row in batch.to_pylist()]
        for task in plan.tasks
    ]
