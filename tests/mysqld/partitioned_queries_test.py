# SPDX-License-Identifier: GPL-2.0-only
"""Queries of one partitioned table, evaluated in the engine one partition after the other, beside
InnoDB's results for the same data (docs/whole_queries.md)."""
import pytest

from framework import ENGINE
from whole_queries_test import (Queries, _plan, check_among_changes, fill_both,
                                kill_repeated)

pytestmark = [
    pytest.mark.server(options=("--loose-rowan-pushdown-rows-min=0",)),
    pytest.mark.skipif(ENGINE != "ROWAN", reason="compares Rowan with InnoDB by itself")]

_COLUMNS = ("id INT NOT NULL, k INT, s VARCHAR(10), v INT NOT NULL, p DECIMAL(10,2), f DOUBLE, "
            "PRIMARY KEY (id), KEY kv (k, v, p), KEY sv (s, v)")
_HASH = "PARTITION BY HASH (id) PARTITIONS 5"
_RANGE = ("PARTITION BY RANGE (id) SUBPARTITION BY HASH (id) SUBPARTITIONS 2 (PARTITION a VALUES "
          "LESS THAN (1000), PARTITION b VALUES LESS THAN (1500), PARTITION c VALUES LESS THAN "
          "(2000), PARTITION d VALUES LESS THAN MAXVALUE)")


def _fill(t, partitioning, rows=3000):
    random = t.random

    def maybe(value):
        return "NULL" if random.random() < 0.15 else str(value)

    values = [f"({i}, {maybe(random.randint(0, 4))}, {random.choice(_TEXTS)}, "
              f"{random.randint(-50, 50)}, {maybe(random.randint(-9999, 9999) / 100)}, "
              f"{maybe(random.uniform(-5, 5))})" for i in range(rows)]
    fill_both(t, _COLUMNS, values, partitioning)


_TEXTS = ("'x'", "'X'", "'y'", "'z'", "NULL", "'é'")
_AGGREGATED = (
    "SELECT COUNT(*), SUM(v), AVG(p), MIN(k) FROM {t}",
    "SELECT SUM(p), COUNT(f) FROM {t} WHERE v < 3",
    "SELECT k, COUNT(*), SUM(p) FROM {t} IGNORE INDEX (kv) WHERE v > 0 GROUP BY k ORDER BY k",
    "SELECT s, MAX(v), AVG(v) FROM {t} IGNORE INDEX (sv) GROUP BY s ORDER BY s",
    "SELECT SUM(v), COUNT(*) FROM {t} WHERE id BETWEEN 700 AND 1700 AND v < 30",
    "SELECT k, SUM(v) FROM {t} IGNORE INDEX (kv) WHERE id BETWEEN 700 AND 1700 GROUP BY k "
    "ORDER BY k",
    "SELECT SUM(v), MAX(p) FROM {t} WHERE id IN (5, 17, 900, 1200)",
    "SELECT COUNT(*), SUM(v) FROM {t} FORCE INDEX (kv) WHERE k = 3 AND v * 2 < p",
    "SELECT COUNT(*), SUM(v) FROM {t} FORCE INDEX (kv) WHERE k BETWEEN 1 AND 2 AND v * 2 < p",
    "SELECT COUNT(DISTINCT v), SUM(v) FROM {t} WHERE v > 3")
_ROWS = (
    ("SELECT * FROM {t} WHERE v * 7 < 50 ORDER BY p, id", "filtered in batches"),
    ("SELECT id, v FROM {t} WHERE id < 1800 AND v * 7 < 50 ORDER BY v, id", "filtered in batches"),
    ("SELECT DISTINCT s, v FROM {t} IGNORE INDEX (sv) WHERE v < 9", "repeated rows dropped"),
    ("SELECT id, p FROM {t} ORDER BY p DESC, id LIMIT 5", "first 5 kept in batches"),
    ("SELECT id, f FROM {t} WHERE id > 600 AND v < 20 ORDER BY v, id DESC LIMIT 7", "first 7 kept"))


@pytest.mark.parametrize("partitioning", (_HASH, _RANGE))
def test_blocks(t, partitioning):
    _fill(t, partitioning)
    queries = Queries(t)
    for query in _AGGREGATED:
        queries.check(query, True)
    for query, says in _ROWS:
        queries.check(query, False, says=says)
    queries.client.execute("SET rowan_parallel_rows_min = 0, rowan_parallel_workers = 2")
    for query in _AGGREGATED:
        queries.check(query, True)
    for query, says in _ROWS:
        queries.check(query, False, says=says)


def test_what_is_left_to_the_server(t):
    """What comes in the order of an index, and sums that depend on their order."""
    _fill(t, _HASH)
    client = t.client()
    for query in ("SELECT k, SUM(v) FROM {t} FORCE INDEX (kv) GROUP BY k",
                  "SELECT id, v FROM {t} FORCE INDEX (PRIMARY) WHERE v * 7 < 50 ORDER BY id",
                  "SELECT id, v FROM {t} WHERE id > 1000 AND v * 7 < 50 ORDER BY id",
                  "SELECT v, p FROM {t} FORCE INDEX (kv) WHERE k = 1 AND v * 2 > 7 ORDER BY v, p",
                  "SELECT SUM(f) FROM {t}"):
        t.true("in batches" not in _plan(client, query.replace("{t}", "ours")), query)
        Queries(t, client).check(query)


def test_named_and_pruned_partitions(t):
    _fill(t, _RANGE)
    queries = Queries(t)
    for query in ("SELECT COUNT(*), SUM(v), MAX(f) FROM {t} PARTITION (b, d) WHERE v < 40",
                  "SELECT COUNT(*), SUM(v), MAX(f) FROM {t} PARTITION (bsp1) WHERE v < 40",
                  "SELECT COUNT(f), SUM(v) FROM {t} WHERE id < 900 AND v > 1"):
        queries.check(query, True)
    queries.check("SELECT COUNT(*), SUM(v) FROM {t} PARTITION (a) WHERE id > 5000 AND f > 1")


def test_partitions_that_were_altered_differently(t):
    """Those made after an instant ALTER have not the same form of rows: left to the server; not so
    if the statement reads one form only."""
    _fill(t, _RANGE)
    for table in ("ours", "theirs"):
        t.run(f"ALTER TABLE {table} ADD COLUMN more INT DEFAULT 7, ALGORITHM=INSTANT",
              f"INSERT INTO {table} VALUES (9001, 1, 'x', 1, 1, 1, 11), (1, 1, 'x', 1, 1, 1, 11) "
              "ON DUPLICATE KEY UPDATE more = 12")
    queries = Queries(t)
    for query in _AGGREGATED + ("SELECT more, COUNT(*), SUM(v) FROM {t} GROUP BY more",):
        queries.check(query, True)
    for table in ("ours", "theirs"):
        t.run(f"ALTER TABLE {table} TRUNCATE PARTITION b",
              f"INSERT INTO {table} SELECT id - 1000, k, s, v, p, f, 3 FROM {table} WHERE id >= "
              "2100 AND id < 2400",
              f"ALTER TABLE {table} ADD COLUMN last INT DEFAULT 8, ALGORITHM=INSTANT",
              f"UPDATE {table} SET last = 5 WHERE id % 9 = 0")
    grouped = "SELECT more, last, COUNT(*), SUM(v) FROM {t} GROUP BY more, last"
    for query in (*_AGGREGATED, grouped):
        queries.check(query, None)
    for parts in ("b", "a, d"):
        queries.check("SELECT SUM(more), SUM(last), SUM(v) FROM {t} "
                      f"PARTITION ({parts}) WHERE f < 4", True)


def test_own_changes_old_snapshots_and_correlation(t):
    _fill(t, _HASH)
    reader, writer = t.client(), t.client()
    queries = Queries(t, reader)
    some = ("SELECT COUNT(*), SUM(v), MAX(f) FROM {t} WHERE v < 30",
            "SELECT COUNT(*), SUM(v) FROM {t} FORCE INDEX (kv) WHERE k = 2",
            "SELECT COUNT(*), MAX(f) FROM {t} WHERE id BETWEEN 100 AND 2000 AND v < 30")
    check_among_changes(t, queries, writer, some, (
        "UPDATE {t} SET k = 2, v = v + 1 WHERE id % 3 = 0",
        "UPDATE {t} SET id = id + 10001 WHERE id % 11 = 2", "DELETE FROM {t} WHERE id % 7 = 0"))
    t.run("CREATE TABLE keys_of (n INT, x INT) ENGINE=InnoDB",
          "INSERT INTO keys_of VALUES (1, 1), (2, NULL), (3, 3), (4, 77), (5, 0)")
    for inner in ("SELECT SUM(i.v) FROM {t} i WHERE i.v < o.x * 5 AND i.p > 0",
                  "SELECT COUNT(*) + SUM(i.v) FROM {t} i FORCE INDEX (kv) WHERE i.k = o.x",
                  "SELECT COUNT(*) FROM {t} i WHERE i.id BETWEEN o.n * 100 AND 2500 AND i.v < o.x"):
        queries.check(f"SELECT n, ({inner}) FROM keys_of o ORDER BY n")


def test_errors_and_the_end(t):
    _fill(t, _HASH)
    t.error("SELECT SUM(v), MAX(f) FROM ours WHERE 9223372036854775807 - id - v > 0", 1690)
    kill_repeated(t, "SELECT SUM(v), MAX(f) FROM ours WHERE v < 40", "ours")
    client = t.client()
    name = "Rowan_block_rows_examined"
    before = int(t.run(f"SHOW GLOBAL STATUS LIKE '{name}'")[0][1])
    client.query("SELECT SUM(v), MAX(f) FROM ours WHERE v < 40")
    t.equal(int(t.run(f"SHOW GLOBAL STATUS LIKE '{name}'")[0][1]) - before, 3000)
