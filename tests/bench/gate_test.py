# SPDX-License-Identifier: GPL-2.0-only
"""The gate with real servers: it passes what is as it was and fails what is made slower.

What is compared are instructions that valgrind counts, so that the verdict does not hang on how
busy the machine is."""
import os
import shutil
import tempfile
from pathlib import Path

import pytest
from driver_support import SMALL_SERVER, run

from rowantools.bench import result
from rowantools.bench.sync_delay import library
from rowantools.line_tests import Failure
from rowantools.paths import PLUGIN_LIBRARY, ROOT

_REFERENCE = Path(__file__).with_name("gate_reference.json")
_TURNS = 570   # of a loop at each memcpy of Rowan: some 15 % of a look-up by primary key

_in_long_runs = pytest.mark.skipif("ROWAN_TEST_LONG" not in os.environ,
                                   reason="minutes: scripts/test --long")
pytestmark = pytest.mark.skipif(not shutil.which("valgrind"), reason="valgrind is not installed")


def _slowed(turns):
    """The environment in which Rowan, and nothing else of a server, is slower."""
    return {"LD_PRELOAD": str(library(ROOT / "bench" / "preload" / "busy_loop.c")),
            "ROWAN_SLOW_LIBRARY": PLUGIN_LIBRARY, "ROWAN_SLOW_TURNS": str(turns)}


@_in_long_runs
def test_a_slowdown_fails_the_gate():
    with tempfile.TemporaryDirectory() as folder:
        before, slower = Path(folder) / "before.json", Path(folder) / "slower.json"
        run(folder, "instructions", "--tests", "point-query", "--rows", "500", "--events", "20",
            "--rounds", "5", "--dir", folder, "--output", str(before), *SMALL_SERVER, **_slowed(0))
        output = run(folder, "gate", str(before), "--output", str(slower), status=1,
                     **_slowed(_TURNS))
        if "FAILED      point-query on rowan" not in output:
            raise Failure(output[-500:])
        print("\n".join(output.splitlines()[-2:]))
        slowdown = 1 - _ratio(before) / _ratio(slower)
        if not 0.12 < slowdown < 0.2:
            raise Failure(f"the artificial slowdown is {100 * slowdown:.1f} %: change _TURNS")


def _ratio(path):
    """Instructions of Rowan for one of InnoDB, in the last round."""
    found = {one["target"]: one["metrics"]["instructions"] for one in result.read(path)["runs"]}
    return found["rowan"] / found["innodb"]


@_in_long_runs
def test_the_engine_needs_no_more_instructions_than_the_reference():
    with tempfile.TemporaryDirectory() as folder:
        print(run(folder, "gate", str(_REFERENCE), "--output", str(Path(folder) / "now.json")))
