# SPDX-License-Identifier: GPL-2.0-only
"""Queries of rows with equal keys of an index, evaluated in the engine over batches of stored rows,
beside InnoDB's results for the same data (docs/whole_queries.md)."""
import pytest

from framework import ENGINE
from whole_queries_test import (Queries, _outcome, _plan, check_among_changes, fill_both,
                                kill_repeated)

pytestmark = [
    pytest.mark.server(options=("--loose-rowan-pushdown-rows-min=0",)),
    pytest.mark.skipif(ENGINE != "ROWAN", reason="compares Rowan with InnoDB by itself")]

_COLUMNS = ("a INT, id INT, k INT, s VARCHAR(10), v INT NOT NULL, p DECIMAL(10,2), at DATE, t TEXT,"
            " PRIMARY KEY (a, id), KEY kv (k, v, p), KEY sv (s, v), KEY dk (k DESC, at)")


def _fill(t, rows=4000):
    random = t.random

    def maybe(value):
        return "NULL" if random.random() < 0.15 else str(value)

    def row(i):
        text = random.choice(("'x'", "'X'", "'y'", "'z'", "NULL", "'é'"))
        long_text = "REPEAT('x', 9000)" if random.random() < 0.01 else f"'t{i % 7}'"
        day = f"'2024-0{random.randint(1, 9)}-11'"
        return (f"({i % 5}, {i}, {maybe(random.randint(0, 4))}, {text}, {random.randint(-50, 50)}, "
                f"{maybe(random.randint(-9999, 9999) / 100)}, {maybe(day)}, {long_text})")

    fill_both(t, _COLUMNS, [row(i) for i in range(rows)])


def _looks_up(client, query):
    plan = _plan(client, query.replace("{t}", "ours"))
    return "lookup on " in plan and "in batches" in plan


def test_aggregates(t):
    _fill(t)
    queries = Queries(t)
    for query in ("SELECT SUM(v), COUNT(*) FROM {t} WHERE a = 3 AND v < 3",
                  "SELECT s, COUNT(*), MAX(p), AVG(v) FROM {t} WHERE a = 2 GROUP BY s ORDER BY s",
                  "SELECT v, SUM(p) FROM {t} FORCE INDEX (kv) WHERE k = 3 GROUP BY v ORDER BY v",
                  "SELECT SUM(v), MIN(p) FROM {t} FORCE INDEX (kv) WHERE k IS NULL",
                  "SELECT COUNT(*), SUM(v) FROM {t} FORCE INDEX (kv) WHERE k IS NULL AND v * 2 > p",
                  "SELECT SUM(v), COUNT(p) FROM {t} FORCE INDEX (kv) WHERE k = 3 OR k IS NULL",
                  "SELECT MAX(v) + 1, SUM(v) FROM {t} FORCE INDEX (sv) WHERE s = 'X'",
                  "SELECT at, COUNT(*) FROM {t} FORCE INDEX (dk) WHERE k = 1 GROUP BY at",
                  "SELECT COUNT(DISTINCT v), SUM(v) FROM {t} WHERE a = 4"):
        queries.check(query, True)
        t.true(_looks_up(queries.client, query), query)
    for query in ("SELECT SUM(v) FROM {t} FORCE INDEX (sv) WHERE s = 'x' AND p > 0",  # not covered
                  "SELECT SUM(id), SUM(v) FROM {t} WHERE a = 77",
                  "SELECT SUM(v) FROM {t} WHERE a = 1 AND RAND() < 2"):
        queries.check(query, False)


def test_rows(t):
    _fill(t)
    queries = Queries(t)
    for query, says in (
            ("SELECT * FROM {t} WHERE a = 1 AND v * 3 < 7", "filtered in batches"),
            ("SELECT id, t FROM {t} WHERE a = 1 AND v > 0 ORDER BY id LIMIT 9",
             "filtered in batches"),
            ("SELECT v, p FROM {t} FORCE INDEX (kv) WHERE k = 2 AND p * 2 > 1 ORDER BY v",
             "filtered in batches"),
            ("SELECT DISTINCT v, p FROM {t} WHERE a = 1 AND v < 9",
             "repeated rows dropped in batches"),
            ("SELECT id, p FROM {t} WHERE a = 0 ORDER BY p DESC, id LIMIT 5",
             "first 5 kept in batches"),
            ("SELECT id, p FROM {t} FORCE INDEX (PRIMARY) WHERE a = 0 AND s = 'y' ORDER BY v, id "
             "LIMIT 3", "first 3 kept in batches")):
        queries.check(query, False, says=says)
        t.true(_looks_up(queries.client, query), query)


def test_keys_of_each_execution(t):
    """Parameters, rows of an outer block; NULL finds nothing; constants are converted once."""
    _fill(t)
    client = t.client()
    for table in ("ours", "theirs"):
        client.execute(f"PREPARE {table}_a FROM 'SELECT COUNT(*), SUM(v), MAX(p) FROM {table} "
                       "WHERE a = ? AND v < ?'")
        client.execute(f"PREPARE {table}_k FROM 'SELECT COUNT(*), SUM(v) FROM {table} FORCE INDEX "
                       "(kv) WHERE k = ?'")
    for key in ("1", "2", "NULL", "77", "'3'", "'4x'", "2.0", "1.5", "9e30", "-0"):
        client.execute(f"SET @k = {key}, @v = 10")
        t.equal(_outcome(client, "EXECUTE ours_a USING @k, @v"),
                _outcome(client, "EXECUTE theirs_a USING @k, @v"))
        t.equal(_outcome(client, "EXECUTE ours_k USING @k"),
                _outcome(client, "EXECUTE theirs_k USING @k"))
    queries = Queries(t)
    t.run("CREATE TABLE keys_of (n INT, x INT) ENGINE=InnoDB",
          "INSERT INTO keys_of VALUES (1, 1), (2, NULL), (3, 3), (4, 77), (5, 0), (6, 1)")
    for inner in ("SELECT SUM(i.v) FROM {t} i WHERE i.a = o.x AND i.v < 30",
                  "SELECT COUNT(*) + SUM(i.v) FROM {t} i FORCE INDEX (kv) WHERE i.k = o.x",
                  "SELECT i.id FROM {t} i WHERE i.a = o.x ORDER BY i.p DESC, i.id LIMIT 1",
                  "SELECT MAX(d.v) FROM (SELECT DISTINCT i.v FROM {t} i WHERE i.a = 2) d"):
        queries.check(f"SELECT n, ({inner}) FROM keys_of o ORDER BY n", says="in batches")
    for query in ("SELECT n, (SELECT COUNT(*) + SUM(i.v) FROM {t} i FORCE INDEX (kv) WHERE i.k <=> "
                  "o.x) FROM keys_of o ORDER BY n",
                  "SELECT n, (SELECT COUNT(*) + SUM(i.v) FROM {t} i FORCE INDEX (kv) WHERE i.k = "
                  "o.x OR i.k IS NULL) FROM keys_of o ORDER BY n",
                  "SELECT n FROM keys_of o WHERE EXISTS (SELECT 1 FROM {t} i WHERE i.a = o.x AND "
                  "i.v > 45) ORDER BY n",
                  "SELECT n FROM keys_of o WHERE x NOT IN (SELECT k FROM {t} i WHERE i.a = 1 AND "
                  "i.v > 3) ORDER BY n",
                  "SELECT n, x IN (SELECT k FROM {t} i FORCE INDEX (kv) WHERE i.v > n) FROM "
                  "keys_of o ORDER BY n"):
        queries.check(query)


def test_own_changes_and_old_snapshots(t):
    _fill(t)
    reader, writer = t.client(), t.client()
    queries = Queries(t, reader)
    some = ("SELECT COUNT(*), SUM(v), MAX(p) FROM {t} WHERE a = 1 AND v < 30",
            "SELECT v, COUNT(*), SUM(p) FROM {t} FORCE INDEX (kv) WHERE k = 2 GROUP BY v ORDER BY "
            "v")
    check_among_changes(t, queries, writer, some, (
        "UPDATE {t} SET k = 2, v = v + 1 WHERE id % 3 = 0",
        "UPDATE {t} SET a = 1 WHERE id % 11 = 2", "DELETE FROM {t} WHERE id % 7 = 0"))


def test_by_several_threads(t):
    _fill(t)
    queries = Queries(t)
    queries.client.execute("SET rowan_parallel_rows_min = 0, rowan_parallel_workers = 2")
    t.run("CREATE TABLE keys_of (n INT) ENGINE=InnoDB", "INSERT INTO keys_of VALUES (1), (3), (9)")
    for query in ("SELECT COUNT(*), SUM(v) FROM {t} WHERE a = 2 AND v < 30",
                  "SELECT n, (SELECT SUM(i.v) FROM {t} i WHERE i.a = o.n AND i.v < 40) FROM "
                  "keys_of o ORDER BY n"):
        queries.check(query, says="by up to 2 workers")


def test_errors_and_the_end(t):
    """An error in the midst of a key's rows, KILL, and what is counted."""
    _fill(t)
    queries = Queries(t)
    queries.check("SELECT SUM(9223372036854775807 + v) FROM {t} WHERE a = 1 AND id >= 0")
    client = t.client()
    t.error("SELECT SUM(v) FROM ours WHERE a = 1 AND 9223372036854775800 + v > 0", 1690)
    kill_repeated(t, "SELECT SUM(v) FROM ours WHERE a = 1 AND v < 40", "ours")

    def read():
        return {name: int(value) for name, value in t.run("SHOW GLOBAL STATUS LIKE 'Rowan_block%'")}

    before = read()
    rows = client.query("SELECT COUNT(*), SUM(v) FROM ours WHERE a = 1")[0][0]
    after = read()
    t.equal(after["Rowan_blocks_pushed"] - before["Rowan_blocks_pushed"], 1)
    t.equal(after["Rowan_block_rows_examined"] - before["Rowan_block_rows_examined"], int(rows))
