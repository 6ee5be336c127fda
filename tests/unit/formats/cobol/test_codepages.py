"""Code pages of mainframes: those that Python does not know are those of the C library."""

import shutil
import subprocess

import pytest

from splitscan.formats.cobol.notation import code_page
from splitscan.options.table import ValueRefusedError

PAGES = ["037", "273", "277", "280", "284", "285", "297", "500", "1047", *map(str, range(1140, 1150))]
KNOWN = {"273": {0xBC}, "285": {0xA1}, "1047": {0x15, 0x25}}  # overlines and line ends on which tables differ


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.skipif(shutil.which("iconv") is None, reason="there is no iconv")
def test_pages_are_those_of_the_c_library(page):
    command = ["iconv", "-f", f"IBM{page}", "-t", "UTF-8"]
    done = subprocess.run(command, input=bytes(range(256)), capture_output=True, check=False)
    if done.returncode:
        pytest.skip("the C library does not know it")
    found = code_page(f"cp{page}").characters
    different = {byte for byte, other in enumerate(done.stdout.decode()) if found[byte] != other}
    assert different <= KNOWN.get(page, {0xBC} if page == "1141" else {0xA1} if page == "1146" else set())


def test_names_may_be_those_of_java_and_python():
    assert code_page("IBM-1047").characters[0xAD] == "["
    assert code_page("Cp1047") is not code_page("cp037")
    assert code_page("871").characters[0x4A] == "Þ"
    assert code_page("ISO-8859-1").characters[0xE9] == "é"
    for unknown in ("cp9999", "utf-8", "common", "cp930"):
        with pytest.raises(ValueRefusedError):
            code_page(unknown)
