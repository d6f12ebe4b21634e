# SPDX-License-Identifier: GPL-2.0-only
"""Rows of which the scan delivers equal ones once, for DISTINCT and aggregates of distinct values,
beside InnoDB's results for the same data (docs/whole_queries.md)."""
import pytest

from framework import ENGINE
from whole_queries_test import _add_keys, _AGGREGATES, _CONDITIONS, Queries, _fill, _plan

pytestmark = [
    pytest.mark.server(options=("--loose-rowan-pushdown-rows-min=0",)),
    pytest.mark.skipif(ENGINE != "ROWAN", reason="compares Rowan with InnoDB by itself")]

_DISTINCTS = ("COUNT(DISTINCT k)", "COUNT(DISTINCT s)", "COUNT(DISTINCT c, k)", "SUM(DISTINCT k)",
              "AVG(DISTINCT price)", "COUNT(DISTINCT d)", "SUM(DISTINCT tiny)", "COUNT(DISTINCT e)",
              "SUM(DISTINCT f)", "COUNT(DISTINCT wide)", "COUNT(DISTINCT t)", "AVG(DISTINCT u)",
              "COUNT(DISTINCT k + tiny)", "COUNT(DISTINCT YEAR(d), 5)", "COUNT(DISTINCT bin)")


def test_aggregates_of_distinct_values(t):
    _fill(t)
    _add_keys(t)
    queries = Queries(t)
    for query in ("SELECT COUNT(DISTINCT k) FROM {t} WHERE price > 0",
                  "SELECT COUNT(DISTINCT s), COUNT(*), SUM(price), MAX(k) FROM {t} WHERE k < 4",
                  "SELECT SUM(DISTINCT k), AVG(DISTINCT tiny), id, s FROM {t}",
                  "SELECT k, COUNT(DISTINCT price), SUM(price) FROM {t} FORCE INDEX (kp) "
                  "GROUP BY k ORDER BY k",
                  "SELECT COUNT(DISTINCT s) + SUM(price) FROM {t} HAVING COUNT(DISTINCT s) > 2"):
        queries.check(query, True)
    for query in ("SELECT k, COUNT(DISTINCT s), SUM(DISTINCT tiny) FROM {t} IGNORE INDEX (kp, sk) "
                  "GROUP BY k",
                  "SELECT d, k, COUNT(DISTINCT e), MAX(k) FROM {t} WHERE tiny > 0 GROUP BY d, k "
                  "HAVING COUNT(DISTINCT e) > 1 ORDER BY d, k",
                  "SELECT k + 1, COUNT(DISTINCT c) * 2 + k FROM {t} IGNORE INDEX (kp, sk) "
                  "GROUP BY k"):
        queries.check(query, False, says="repeated rows dropped in batches")
    for query in ("SELECT s, COUNT(DISTINCT k) FROM {t} GROUP BY s",
                  "SELECT k, id, COUNT(DISTINCT s) FROM {t} IGNORE INDEX (kp, sk) "
                  "GROUP BY k",
                  "SELECT k, COUNT(DISTINCT s), COUNT(*) FROM {t} IGNORE INDEX (kp, sk) "
                  "GROUP BY k"):
        queries.check(query, False)
        t.true("batches" not in _plan(queries.client, query.replace("{t}", "ours")), query)
    for _ in range(80):
        shown = ", ".join(t.random.sample(_DISTINCTS, t.random.randint(1, 2))
                          + t.random.sample(_AGGREGATES, t.random.choice((0, 0, 1, 2))))
        group = t.random.choice(("", "", "k", "d", "k, e", "u", "s", "price"))
        # Which of equal texts stands for a group of sorted rows, the sort decides.
        key = f"{group}, " if group not in ("", "s") else ""
        queries.check(f"SELECT {key}{shown} FROM {{t}} WHERE "
                      f"{t.random.choice(_CONDITIONS)}" + (f" GROUP BY {group}" if group else ""))
    print(f"{queries.pushed} of {queries.all} pushed")
    t.true(queries.pushed * 3 > queries.all, f"{queries.pushed} of {queries.all} pushed")


def test_distinct_rows(t):
    """Without an order they come as the server has them: in the order of the scan."""
    _fill(t)
    queries = Queries(t)
    for query in ("SELECT DISTINCT k FROM {t}", "SELECT DISTINCT s, k FROM {t} WHERE tiny > 0",
                  "SELECT DISTINCT k, 5, tiny + 1 FROM {t} WHERE price > 0 LIMIT 4",
                  "SELECT DISTINCT c FROM {t} ORDER BY k, c",
                  "SELECT COUNT(*), MAX(s) FROM (SELECT DISTINCT s, e FROM {t}) d",
                  "SELECT DISTINCT at, f FROM {t} WHERE k = 3 UNION ALL SELECT DISTINCT d, k FROM "
                  "{t}"):
        queries.check(query, False, says="repeated rows dropped in batches")
    for query in ("SELECT DISTINCT HEX(s) FROM {t}", "SELECT DISTINCT k, RAND(1) < 2 FROM {t}",
                  "SELECT DISTINCT id, k FROM {t}",
                  "SELECT DISTINCT k + (SELECT MAX(id) FROM {t}) FROM {t}",
                  "SELECT DISTINCT @a := k FROM {t}", "SELECT DISTINCT s + 0 FROM {t}",
                  "SELECT DISTINCT SUM(price) OVER (PARTITION BY k) FROM {t}"):
        queries.check(query, False)
        t.true("repeated" not in _plan(queries.client, query.replace("{t}", "ours")), query)
    columns = ("k", "s", "c", "d", "e", "tiny", "price", "at", "u", "wide", "f", "bin", "t", "rate")
    for _ in range(80):
        shown = ", ".join(t.random.sample(columns, t.random.randint(1, 3)))
        order = t.random.choice(("", "", f" ORDER BY {shown}", " LIMIT 20"))
        queries.check(f"SELECT DISTINCT {shown} FROM {{t}} WHERE {t.random.choice(_CONDITIONS)}"
                      f"{order if 's' not in shown and 'c' not in shown else ''}")
    print(f"{queries.pushed} of {queries.all} pushed")
    t.true(queries.pushed * 2 > queries.all, f"{queries.pushed} of {queries.all} pushed")


def test_more_distinct_rows_than_memory_for_them(t):
    t.run("CREATE TABLE n (i INT PRIMARY KEY)",
          "INSERT INTO n WITH RECURSIVE s(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM s WHERE i < "
          "999) SELECT i FROM s")
    for table, engine in (("ours", "ROWAN"), ("theirs", "InnoDB")):
        t.run(f"CREATE TABLE {table} (id INT PRIMARY KEY, g VARCHAR(900), v INT) ENGINE={engine}",
              f"INSERT INTO {table} SELECT a.i * 1000 + b.i, CONCAT((a.i * 1000 + b.i) "
              f"DIV 2 * 7919 % 24001, REPEAT('g', 800)), b.i FROM n a JOIN n b WHERE a.i < 50")
    queries = Queries(t)
    queries.check("SELECT COUNT(*), MIN(g), SUM(CRC32(g)) FROM (SELECT DISTINCT g FROM {t}) d")
    queries.check("SELECT COUNT(DISTINCT g), COUNT(*), SUM(v) FROM {t} WHERE v >= 0", True)
    queries.check("SELECT COUNT(DISTINCT id, v) FROM {t} IGNORE INDEX (PRIMARY)", True)
