# SPDX-License-Identifier: GPL-2.0-only
"""The benchmark driver in the hands of users and on machines that do not do as they should: options
that make no sense, disks that are full, servers that end, interruptions."""
import tempfile

import pytest
from driver_support import LIMIT_S, start

from rowantools.line_tests import Failure


@pytest.mark.parametrize("words, part", [
    (["micro", "--threads", "0"], "'0' is not a number"),
    (["micro", "--rate", "-5"], "whole number from 0"),
    (["micro", "--sync-delay", "-1"], "whole number from 0"),
    (["micro", "--memory", "0M"], "not a size"),
    (["micro", "--tests", ""], "no microbenchmark ''"),
    (["micro", "--server-option", "oracle:--x=1"], "kinds are mysql, mariadb, postgres"),
    (["sync", "--time", "0"], "not a number of seconds"),
    (["sync", "--time", "nan"], "not a number of seconds"),
    (["tpcc", "--isolation", ""], "no isolation level ''"),
    (["json", "--sizes", "0"], "'0' is not a number"),
])
def test_what_makes_no_sense_is_refused_before_anything_starts(words, part):
    with tempfile.TemporaryDirectory() as folder:
        process = start(folder, *words)
        output = process.communicate(timeout=LIMIT_S)[0]
        if process.returncode not in (1, 2) or part not in output or "Traceback" in output:
            raise Failure(f"{words}: status {process.returncode}:\n{output}")
