# SPDX-License-Identifier: GPL-2.0-only
"""The plugin of scripts/optimize works, and nothing of what made its profile is left in it. Long:
two builds and a training."""
import os
import subprocess

import pytest

from rowantools.line_tests import require_equal
from rowantools.optimize import PLUGIN
from rowantools.paths import BUILD, ROOT
from rowantools.server import Server

pytestmark = pytest.mark.skipif(os.environ.get("ROWAN_TEST_LONG") != "1",
                                reason="two builds and a training: ask for it with --long")


def test_the_optimised_plugin_works_and_writes_no_profile():
    result = subprocess.run([str(ROOT / "scripts/optimize")], capture_output=True, text=True)
    require_equal(result.returncode, 0, result.stdout[-2000:] + result.stderr)
    symbols = subprocess.run(["nm", "--dynamic", str(PLUGIN)], capture_output=True,
                             text=True, check=True).stdout
    require_equal("gcov" in symbols, False, "it still writes a profile")
    server = Server(BUILD / "package-tests" / "optimized", plugin=PLUGIN)
    try:
        server.initialize()
        server.start()
        client = server.client()
        client.execute("CREATE DATABASE d")
        client.execute("CREATE TABLE d.t (id INT PRIMARY KEY, k INT, KEY (k)) ENGINE = ROWAN")
        client.execute("INSERT INTO d.t WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 "
                       "FROM n WHERE i < 1000) SELECT i, i % 10 FROM n")
        require_equal(client.execute("SELECT SUM(id), COUNT(DISTINCT k) FROM d.t WHERE k < 5").rows,
                      [("249500", 5)])
        require_equal(client.execute("CHECK TABLE d.t").rows[0][3], "OK")
    finally:
        server.destroy()
