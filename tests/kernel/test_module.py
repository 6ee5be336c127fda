from __future__ import annotations

import subprocess
import sys

import pytest

from splitscan import engine

splitscan_kernel = pytest.importorskip("splitscan_kernel")


def test_the_kernel_has_the_seam_that_splitscan_needs():
    assert splitscan_kernel.SEAM == engine.SEAM


@pytest.mark.slow
def test_the_types_of_the_kernel_are_those_of_the_module(tmp_path):
    (tmp_path / "allowed").write_text("splitscan_kernel.__all__\nsplitscan_kernel.splitscan_kernel\n", encoding="utf-8")
    command = [sys.executable, "-m", "mypy.stubtest", "splitscan_kernel", "--allowlist", str(tmp_path / "allowed")]
    checked = subprocess.run(command, check=False, timeout=300, capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout
