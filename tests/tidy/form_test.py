# SPDX-License-Identifier: GPL-2.0-only
"""Our C++ has the form that .clang-format describes, as clang-format 14 understands it."""
import re
import shutil
import subprocess

import pytest

from rowantools.cpp_source import CODE_FOLDERS, sources
from rowantools.line_tests import Failure, require_none
from rowantools.paths import ROOT

VERSION = "14"  # others break some lines elsewhere


def _clang_format():
    """The program of the right version, or None."""
    for name in (f"clang-format-{VERSION}", "clang-format"):
        path = shutil.which(name)
        if path is None:
            continue
        text = subprocess.run([path, "--version"], capture_output=True, text=True).stdout
        if re.search(rf"version {VERSION}\.", text):
            return path
    return None


pytestmark = pytest.mark.skipif(
    _clang_format() is None,
    reason=f"there is no clang-format {VERSION}; it is in Debian 12's package clang-format")


def _misformed(program, paths):
    result = subprocess.run([program, "--dry-run", "--ferror-limit=1", *map(str, paths)],
                            capture_output=True, text=True, cwd=ROOT)
    return sorted({line.split(":")[0].removeprefix(f"{ROOT}/")
                   for line in result.stderr.splitlines() if "clang-format-violations" in line})


def test_sources_have_our_form():
    program = _clang_format()
    paths = sources(CODE_FOLDERS + ("tests",))
    require_none(_misformed(program, paths), "files to run clang-format -i on")


def test_a_misformed_line_is_seen(tmp=ROOT / "build" / "misformed.cc"):
    tmp.parent.mkdir(exist_ok=True)
    tmp.write_text("int  f( ) {return 1;}\n")
    found = _misformed(_clang_format(), [tmp])
    tmp.unlink()
    if len(found) != 1:
        raise Failure("a misformed line is not seen")
