import sys

import pytest

from splitscan.cli import session
from splitscan.errors import SplitscanError


@pytest.fixture(autouse=True)
def nothing_here(monkeypatch, tmp_path):
    """Neither JAVA_HOME, nor a path, nor the places of this machine."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    places = [
        (str(tmp_path) + place if place.startswith("/") else place, pattern) for place, pattern in session._JAVA_PLACES
    ]
    monkeypatch.setattr(session, "_JAVA_PLACES", places)


def java_in(home, version="17.0.15"):
    executable = home / "bin" / "java"
    executable.parent.mkdir(parents=True)
    executable.touch(mode=0o755)
    if version:
        (home / "release").write_text(f'IMPLEMENTOR="X"\nJAVA_VERSION="{version}"\nJAVA_VERSION_DATE="2025"\n')
    return home


@pytest.mark.parametrize("version", ["17.0.15", "25", None])
def test_java_home_is_believed(monkeypatch, tmp_path, version):
    monkeypatch.setenv("JAVA_HOME", str(java_in(tmp_path / "here", version)))
    assert session.find_java_home() is None


def test_a_java_home_that_is_too_old_is_said_to_be(monkeypatch, tmp_path):
    monkeypatch.setenv("JAVA_HOME", str(java_in(tmp_path / "here", "1.8.0_402")))
    java_in(tmp_path / "usr/lib/jvm/java-17")
    with pytest.raises(SplitscanError, match="here is Java 8"):
        session.find_java_home()


def test_java_on_the_path_is_enough_also_behind_a_link(monkeypatch, tmp_path):
    home = java_in(tmp_path / "jdk")
    monkeypatch.setenv("PATH", str(home / "bin"))
    assert session.find_java_home() is None
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/java").symlink_to(home / "bin/java")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    assert session.find_java_home() is None


@pytest.mark.parametrize("on_path", ["11.0.2", "1.8.0_402"])
def test_an_old_java_on_the_path_is_passed_over_and_the_newest_taken(monkeypatch, tmp_path, on_path):
    monkeypatch.setenv("PATH", str(java_in(tmp_path / "old", on_path) / "bin"))
    java_in(tmp_path / "usr/lib/jvm/java-8-openjdk", "1.8.0_402")
    java_in(tmp_path / "usr/lib/jvm/java-17-openjdk")
    newest = java_in(tmp_path / "usr/lib/jvm/java-21-openjdk", "21.0.1")
    assert session.find_java_home() == str(newest)


@pytest.mark.parametrize(
    "place",
    [
        "usr/lib/jvm/java-17",
        "Library/Java/JavaVirtualMachines/Some Vendor.jdk/Contents/Home",
        "home/Library/Java/JavaVirtualMachines/corretto/Contents/Home",
        "home/.sdkman/candidates/java/17-tem",
        "opt/homebrew/opt/openjdk@17",
        "usr/local/opt/openjdk",
        "opt/java/openjdk",
    ],
)
@pytest.mark.parametrize("version", ["17.0.15", None])
def test_java_is_found_where_systems_keep_it(tmp_path, place, version):
    home = java_in(tmp_path / place, version)
    assert session.find_java_home() == str(home)


def test_the_java_of_macos_that_stands_for_none_is_none(monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "platform", "darwin")
    home = java_in(tmp_path / "stand-in", None)
    monkeypatch.setattr(session, "_MACOS_JAVA_STAND_IN", str(home / "bin/java"))
    monkeypatch.setenv("PATH", str(home / "bin"))
    with pytest.raises(SplitscanError, match="no java on the PATH"):
        session.find_java_home()


@pytest.mark.parametrize(("home", "seen"), [(None, "no java on the PATH"), ("/nowhere", "JAVA_HOME=/nowhere")])
def test_without_java_the_message_says_how_to_get_it(monkeypatch, home, seen):
    if home:
        monkeypatch.setenv("JAVA_HOME", home)
    with pytest.raises(SplitscanError, match=r"Java 17 or newer") as caught:
        session.find_java_home()
    assert seen in str(caught.value)
    assert "apt-get install openjdk-17" in str(caught.value)
    assert "brew install" in str(caught.value)
