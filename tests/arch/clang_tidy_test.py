# SPDX-License-Identifier: GPL-2.0-only
"""clang-tidy finds nothing in the libraries. Takes minutes: part of scripts/test --long."""
import os
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor

import pytest

from rowantools.build import cores
from rowantools.cpp_source import LAYERS, sources
from rowantools.line_tests import Failure, require_none
from rowantools.paths import BUILD, ROOT

pytestmark = [
    pytest.mark.skipif(not os.environ.get("ROWAN_TEST_LONG"),
                       reason="clang-tidy takes minutes: scripts/test --long"),
    pytest.mark.skipif(shutil.which("clang-tidy") is None,
                       reason="there is no clang-tidy; scripts/test --long installs it")]


def _findings(path, *options):
    result = subprocess.run(["clang-tidy", "--quiet", *options, str(path)], capture_output=True,
                            text=True, cwd=ROOT)
    return [line.removeprefix(f"{ROOT}/") for line in result.stdout.splitlines()
            if " error: " in line or " warning: " in line]


def test_the_libraries_are_tidy():
    paths = sources([folder for folder in LAYERS if folder != "plugin"], (".cc",))
    with ThreadPoolExecutor(cores()) as pool:
        found = pool.map(lambda path: _findings(path, "-p", str(BUILD)), paths)
    require_none(sorted({line for lines in found for line in lines}), "findings of clang-tidy")


def test_a_finding_is_found():
    sample = BUILD / "untidy.cc"
    sample.write_text("struct A { virtual void f(); };\nstruct B : A { void f(); };\n")
    found = _findings(sample, f"--config-file={ROOT / '.clang-tidy'}")
    sample.unlink()
    if not any("modernize-use-override" in line for line in found):
        raise Failure("an untidy line is not found")
