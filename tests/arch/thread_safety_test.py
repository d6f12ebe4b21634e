# SPDX-License-Identifier: GPL-2.0-only
"""Clang's thread-safety analysis finds nothing in any library, where there is a clang++."""
import shutil
import subprocess
import tempfile

import pytest

from rowantools.line_tests import Failure
from rowantools.paths import BUILD, ROOT

pytestmark = pytest.mark.skipif(shutil.which("clang++") is None,
                                reason="there is no clang++; scripts/test --clang installs it")

_FORGOTTEN_LOCK = """
#include "base/mutex.h"
struct Guarded {
  rowan::Mutex mutex{rowan::LatchRank::kThreadWake};
  int count ROWAN_GUARDED_BY(mutex) = 0;
  void Good() { const rowan::MutexLock lock(&mutex); ++count; }
  void Bad() { ++count; }
};
"""


def test_the_libraries_keep_what_their_annotations_say():
    result = subprocess.run(["ninja", "-C", str(BUILD), "-k", "0", "rowan_thread_safety"],
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if result.returncode != 0:
        found = [line for line in result.stdout.splitlines() if "error" in line]
        raise Failure(found or result.stdout[-2000:])


def test_a_forgotten_lock_is_found():
    with tempfile.NamedTemporaryFile("w", suffix=".cc") as source:
        source.write(_FORGOTTEN_LOCK)
        source.flush()
        result = subprocess.run(["clang++", "-std=gnu++20", f"-I{ROOT}", "-fsyntax-only",
                                 "-Wthread-safety", "-Werror", source.name],
                                capture_output=True, text=True)
    if result.stderr.count("error: ") != 1 or "requires holding mutex 'mutex'" not in result.stderr:
        raise Failure(f"not found: {result.stderr}")
