# SPDX-License-Identifier: GPL-2.0-only
"""The other line of MySQL servers: the plugin compiles for it over the same libraries, and passes
some of the tests through a server; all of them: scripts/test --mysql 8.4."""
import os
import shutil
import subprocess
import sys

import pytest

from rowantools.build import build
from rowantools.line_tests import require_equal
from rowantools.mysql_tree import PREFIX_VARIABLE, SOURCE_VARIABLE, MysqlTree, find_tree
from rowantools.paths import BUILD, MYSQL, PLUGIN_LIBRARY, ROOT
from rowantools.server import Server

_LINE = "8.4"
_FOLDER = BUILD / "lines-tests"


def _run(*command, **variables):
    environment = {name: value for name, value in os.environ.items()
                   if name not in (PREFIX_VARIABLE, SOURCE_VARIABLE)}
    result = subprocess.run(command, env={**environment, "ROWAN_MYSQL_LINE": _LINE, **variables},
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return result.returncode, result.stdout


@pytest.fixture(scope="module")
def plugin():
    status, output = _run(str(ROOT / "scripts/setup"), "--quiet")
    if status and "fetching MySQL packages" in output:
        pytest.skip(output)
    require_equal(status, 0, output)
    build(BUILD, targets=[f"ha_rowan_{_LINE}"], name=f"building the plugin for {_LINE}")
    return BUILD / f"plugin-{_LINE}" / PLUGIN_LIBRARY


def test_the_plugin_is_built_and_works(plugin):
    tests = sorted(map(str, (ROOT / "tests/mysqld").glob("basic*_test.py")))
    status, output = _run(sys.executable, "-m", "pytest", "-q", *tests, ROWAN_PLUGIN=str(plugin),
                          ROWAN_BUILD_DIR=str(_FOLDER))
    require_equal((status, " passed" in output), (0, True), output[-3000:])


def test_a_server_of_8_4_becomes_one_of_9_7(plugin):
    """The server upgrades its dictionary, Rowan nothing."""
    home = MYSQL / _LINE
    folder = _FOLDER / "upgraded"
    shutil.rmtree(folder, ignore_errors=True)
    server = Server(folder, tree=MysqlTree(home / "prefix", home / "source"), plugin=plugin)
    try:
        server.start()
        with server.client() as client:
            for statement in _STATEMENTS:
                client.execute(statement)
            before = [client.query(query) for query in _QUERIES]
        server.stop()
        server = Server(folder, tree=find_tree())
        server.start()
        with server.client() as client:
            require_equal(client.value("SELECT VERSION()").startswith("9."), True)
            require_equal([client.query(query) for query in _QUERIES], before)
            client.execute("ALTER TABLE d.t ADD COLUMN n INT, ADD KEY (n), ALGORITHM=INPLACE")
            client.execute("UPDATE d.t SET n = id")
            for table in ("d.t", "d.p"):
                require_equal(client.query(f"CHECK TABLE {table} EXTENDED")[0][3], "OK", table)
    finally:
        server.destroy()


_STATEMENTS = (
    "CREATE DATABASE d",
    "CREATE TABLE d.t (id INT PRIMARY KEY AUTO_INCREMENT, s VARCHAR(40), x TEXT, at DATETIME(3), "
    "d DECIMAL(9,2), j JSON, g INT AS (LENGTH(s)), g2 INT AS (g + 1) STORED, KEY (s, at), KEY (g), "
    "FULLTEXT KEY (x)) ENGINE = ROWAN",
    "INSERT INTO d.t (s, x, at, d, j) WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 "
    "FROM n WHERE i < 500) SELECT CONCAT('s', i), REPEAT(CONCAT('word', i % 7, ' '), i), "
    "TIMESTAMPADD(HOUR, i, '2026-01-01'), i / 3, JSON_OBJECT('i', i) FROM n",
    "ALTER TABLE d.t ADD COLUMN later INT DEFAULT 7, ALGORITHM=INSTANT",
    "DELETE FROM d.t WHERE id % 5 = 0",
    "CREATE TABLE d.p (id INT PRIMARY KEY, k INT, KEY (k)) ENGINE = ROWAN PARTITION BY HASH (id) "
    "PARTITIONS 3",
    "INSERT INTO d.p SELECT id, id % 10 FROM d.t")
_QUERIES = ("SELECT * FROM d.t ORDER BY id", "SELECT s, at FROM d.t FORCE INDEX (s) ORDER BY s",
            "SELECT k, COUNT(*) FROM d.p GROUP BY k ORDER BY k",
            "SELECT id FROM d.t WHERE MATCH (x) AGAINST ('word3') ORDER BY id")
