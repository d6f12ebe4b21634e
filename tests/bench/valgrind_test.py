# SPDX-License-Identifier: GPL-2.0-only
"""What the benchmark driver counts below valgrind."""
import shutil
import tempfile

import pytest
from driver_support import measured, run

from rowantools.line_tests import Failure

_needs_valgrind = pytest.mark.skipif(not shutil.which("valgrind"),
                                     reason="valgrind is not installed")


@_needs_valgrind
def test_a_profile_of_one_statement_is_its_call_tree():
    with tempfile.TemporaryDirectory() as folder:
        document = measured(folder, "profile", "--exact", "--tests", "point-query", "--rows",
                            "500", wanted=("instructions",))
        for one in document["runs"]:
            stacks = one["stacks"]["instructions"]
            if sum(stacks.values()) != one["metrics"]["instructions"] or not any(
                    "dispatch_command" in stack and "mysql_execute_command" in stack
                    for stack in stacks):
                raise Failure(f"{one['target']}: {list(stacks)[:9]}")


@_needs_valgrind
def test_instructions_and_misses_of_caches_are_counted():
    with tempfile.TemporaryDirectory() as folder:
        document = measured(folder, "instructions", "--caches", "--tests", "point-query", "--rows",
                            "500", "--events", "20",
                            wanted=("instructions", "i1_misses", "d1_misses"))
        for one in document["runs"]:
            found = one["metrics"]
            if not 5_000 < found["instructions"] < 500_000 or not (
                    found["l2_misses"] < found["d1_misses"] < found["instructions"] / 5):
                raise Failure(one)


def test_without_valgrind_it_is_said_what_to_install():
    with tempfile.TemporaryDirectory() as folder:
        output = run(folder, "instructions", status=1, PATH=folder)
        if "apt-get install valgrind" not in output:
            raise Failure(output)
