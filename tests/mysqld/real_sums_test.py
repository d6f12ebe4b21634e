# SPDX-License-Identifier: GPL-2.0-only
"""SUM and AVG of DOUBLE and FLOAT in the engine: bit by bit what the server comes to, beside InnoDB
(docs/whole_queries.md). The order of the additions shows in all of these sums."""
import pytest

from framework import ENGINE
from whole_queries_test import Queries, _plan, fill_both

pytestmark = [
    pytest.mark.server(options=("--loose-rowan-pushdown-rows-min=0",)),
    pytest.mark.skipif(ENGINE != "ROWAN", reason="compares Rowan with InnoDB by itself")]

_COLUMNS = ("id INT PRIMARY KEY, g INT, h INT NOT NULL, s VARCHAR(5), f DOUBLE, r FLOAT, "
            "z DOUBLE NOT NULL, m DOUBLE(12,3), KEY g (g)")

_A, _UPPER, _B = "'a'", "'A'", "'b'"


def _fill(t, rows=3000):
    random = t.random

    def real():
        return random.choice(("NULL", f"{random.uniform(-1, 1) * 10 ** random.randint(-5, 17)!r}",
                              f"{random.uniform(-9, 9)!r}", "-0e0", "1e16", "-1e16", "0.1"))

    def row(i):
        zero = "-0e0" if i % 4 else "0e0"
        return (f"({i}, {random.choice(('NULL', 1, 2, 3))}, {random.randint(0, 40)}, "
                f"{random.choice(('NULL', _A, _UPPER, _B))}, "
                f"{real()}, {random.uniform(-5, 5)!r}, {zero}, "
                f"{random.randint(-9999, 9999)}.125)")

    fill_both(t, _COLUMNS, [row(i) for i in range(rows)])


_SUMS = ("SUM(f), AVG(f)", "SUM(r), AVG(r), COUNT(*)", "AVG(f * 2 + z), SUM(f * f)",
         "SUM(z), AVG(z)", "SUM(m), MAX(f), MIN(id)", "SUM(f - r), SUM(h), AVG(m)")
_QUERIES = ("SELECT {sums} FROM {t}", "SELECT {sums} FROM {t} WHERE h < 30",
            "SELECT {sums} FROM {t} WHERE h > 99", "SELECT {sums} FROM {t} WHERE id >= 500",
            "SELECT g, {sums} FROM {t} IGNORE INDEX (g) GROUP BY g",
            "SELECT h, g, {sums} FROM {t} IGNORE INDEX (g) WHERE f * 2 <> 0.2 OR h < 20 GROUP BY "
            "h, g HAVING COUNT(*) > 1")


def test_sums_are_those_of_the_server(t):
    _fill(t)
    queries = Queries(t)
    for sums in _SUMS:
        for query in _QUERIES:
            queries.check(query.replace("{sums}", sums), True)
    for table in ("ours", "theirs"):
        t.run(f"ALTER TABLE {table} DROP PRIMARY KEY, ADD PRIMARY KEY (h, id)",
              f"ANALYZE TABLE {table}")
    queries.check("SELECT h, SUM(f), AVG(f) FROM {t} FORCE INDEX (PRIMARY) GROUP BY h ORDER BY h",
                  True)
    queries.check("SELECT AVG(f) FROM {t} WHERE h < 30 HAVING SUM(f) IS NOT NULL", True)


def test_sums_whose_parts_would_change_places(t):
    """Groups of texts and expressions may come in parts, the server must add their rows up."""
    _fill(t)
    queries = Queries(t)
    for query in ("SELECT s, SUM(f) FROM {t} GROUP BY s",
                  "SELECT h % 3, AVG(f) FROM {t} GROUP BY 1",
                  "SELECT COUNT(DISTINCT h), SUM(f) FROM {t}", "SELECT SUM(s) FROM {t}"):
        queries.check(query, False)


def test_no_workers_and_filters_with_them(t):
    _fill(t)
    queries = Queries(t)
    queries.client.execute("SET rowan_parallel_rows_min = 0, rowan_parallel_workers = 2")
    queries.check("SELECT SUM(f) FROM {t}", True)
    t.true("workers" not in _plan(queries.client, "SELECT SUM(f) FROM ours"), "no workers")
    queries.check("SELECT SUM(f) FROM {t} WHERE h = 3", False,
                  says="filtered in batches by up to 2 workers")
    queries.check("SELECT SUM(f) FROM {t} WHERE h <> 3", True)


def test_rows_that_the_server_evaluates(t):
    """After the first one, all are left to it: those of an earlier form of the table, and those
    whose programs overflow."""
    _fill(t)
    for table in ("ours", "theirs"):
        t.run(f"ALTER TABLE {table} ADD COLUMN more BIGINT NOT NULL DEFAULT 7, ALGORITHM=INSTANT",
              f"UPDATE {table} SET more = 8 WHERE id < 700 OR id BETWEEN 900 AND 1800 OR "
              "id % 5 = 0")
    queries = Queries(t)
    for query in ("SELECT SUM(f), AVG(f), SUM(z) FROM {t}",
                  "SELECT g, SUM(f), AVG(r), AVG(z) FROM {t} IGNORE INDEX (g) GROUP BY g",
                  "SELECT h, SUM(f), COUNT(*) FROM {t} WHERE id >= 650 GROUP BY h"):
        queries.check(query, True)
    for table in ("ours", "theirs"):
        t.run(f"UPDATE {table} SET more = IF(id = 1500, 9223372036854775807, id)")
    queries.check("SELECT SUM(f), MAX(z) FROM {t} WHERE id < 1500 OR more + 1 > 5")
    queries.check("SELECT SUM(f), MAX(z) FROM {t} WHERE more - 10 < 9223372036854775800", True)


def test_more_groups_than_memory_for_them(t):
    t.run("CREATE TABLE n (i INT PRIMARY KEY)",
          "INSERT INTO n WITH RECURSIVE s(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM s WHERE i < "
          "999) SELECT i FROM s")
    for table, engine in (("ours", "ROWAN"), ("theirs", "InnoDB")):
        t.run(f"CREATE TABLE {table} (id INT PRIMARY KEY, g BIGINT NOT NULL, v DOUBLE, "
              f"pad CHAR(200)) ENGINE={engine}",
              f"INSERT INTO {table} SELECT a.i * 1000 + b.i, (a.i * 1000 + b.i) * 7919 % 60001, "
              "POW(10, (a.i + b.i) % 33 - 16) * (1 - b.i % 2 * 2) / 3, REPEAT('x', 190) FROM n a "
              "JOIN n b WHERE a.i < 180")
    queries = Queries(t)
    queries.check("SELECT COUNT(*), MAX(m), MIN(m), BIT_XOR(CRC32(m)), "
                  "BIT_XOR(CRC32(CONCAT(g, m, a))) FROM (SELECT g, SUM(v) m, AVG(v) a FROM {t} "
                  "GROUP BY g) d",
                  says="aggregated in batches")
    before = t.run("SHOW GLOBAL STATUS LIKE 'Rowan_block_rows_aside'")[0][1]
    t.run("SELECT g, SUM(v) m FROM ours GROUP BY g ORDER BY m LIMIT 1")
    after = t.run("SHOW GLOBAL STATUS LIKE 'Rowan_block_rows_aside'")[0][1]
    t.true(int(after) > int(before), "rows behind the first groups are left to the server")
