# SPDX-License-Identifier: GPL-2.0-only
"""Data beyond memory: whatever is read ahead, all ways to the same rows find the same ones, of new
and old snapshots, beside writers, and after a statement was killed midway."""
import pytest

pytestmark = pytest.mark.server(options=("--loose-rowan-buffer-pool-size=8M",
                                         "--innodb-buffer-pool-size=8M"))

_ROWS = 60_000
_SUMS = "COUNT(*), SUM(id), SUM(CRC32(c)), SUM(k)"
_WAYS = {
    "full scan": "SELECT {sums} FROM t IGNORE INDEX (k) WHERE k BETWEEN {low} AND {high}",
    "index": "SELECT /*+ NO_MRR(t) */ {sums} FROM t FORCE INDEX (k) "
             "WHERE k BETWEEN {low} AND {high}",
    "few and most of the entries":
        "SELECT {sums} FROM (SELECT * FROM t FORCE INDEX (k) WHERE k BETWEEN {low} AND {high} "
        "AND k % 7 = 0 UNION ALL SELECT * FROM t FORCE INDEX (k) WHERE k BETWEEN {low} AND {high} "
        "AND k % 7 <> 0) d",
    "sorted references": "SELECT /*+ MRR(t) NO_ICP(t) */ {sums} FROM t FORCE INDEX (k) "
                         "WHERE k BETWEEN {low} AND {high}",
    "backwards": "SELECT {sums} FROM (SELECT * FROM t FORCE INDEX (k) "
                 "WHERE k BETWEEN {low} AND {high} ORDER BY k DESC LIMIT 1000000) d",
    "list of keys": "SELECT {sums} FROM t WHERE id IN ({keys})",
    "primary key backwards": "SELECT {sums} FROM (SELECT * FROM t FORCE INDEX (PRIMARY) "
                             "WHERE k BETWEEN {low} AND {high} ORDER BY id DESC LIMIT 1000000) d",
    "join": "SELECT {joined} FROM n STRAIGHT_JOIN t FORCE INDEX (k) ON t.k = n.k "
            "WHERE n.k BETWEEN {low} AND {high}",
}


def _fill(t):
    t.run("CREATE TABLE t (id INT PRIMARY KEY, k INT NOT NULL, c CHAR(200) NOT NULL, KEY k (k)) "
          "DEFAULT CHARSET latin1",
          "CREATE TABLE n (k INT PRIMARY KEY)",
          f"SET SESSION cte_max_recursion_depth = {_ROWS}",
          "INSERT INTO t WITH RECURSIVE r (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM r "
          f"WHERE i < {_ROWS}) SELECT i * 7919 % {_ROWS} * 2, i, "
          "REPEAT(LEFT(SHA2(i, 256), 32), 6) FROM r",
          "INSERT INTO n SELECT k FROM t")


def _sums(client, way, low, high, lock=""):
    joined = "COUNT(*), SUM(t.id), SUM(CRC32(t.c)), SUM(t.k)"
    keys = ""
    if way == "list of keys":  # of the rows, and as many without a row
        rows = client.query(f"SELECT id FROM t FORCE INDEX (k) WHERE k BETWEEN {low} AND {high}")
        keys = ", ".join(f"{row[0]}, {row[0] + 1}" for row in rows)
    return client.query(_WAYS[way].format(sums=_SUMS, joined=joined, low=low, high=high,
                                          keys=keys) + lock)


def test_all_ways_find_the_same_rows(t):
    _fill(t)
    client, writer = t.client(), t.client()
    ranges = [(100, 130), (20_000, 24_000), (1, 900), (55_000, 70_000)]
    client.execute("START TRANSACTION WITH CONSISTENT SNAPSHOT")
    old = {bounds: _sums(client, "full scan", *bounds) for bounds in ranges}
    writer.execute("UPDATE t SET c = REVERSE(c), k = k + 3 WHERE id % 5 = 0 AND k > 20000")
    writer.execute("DELETE FROM t WHERE k BETWEEN 22000 AND 22500")
    writer.execute("INSERT IGNORE INTO n SELECT k FROM t")
    for bounds in ranges:
        for way in _WAYS:
            t.equal(_sums(client, way, *bounds), old[bounds], f"{way}, old snapshot, {bounds}")
    client.execute("COMMIT")
    for bounds in ranges:
        new = _sums(client, "full scan", *bounds)
        for way in _WAYS:
            t.equal(_sums(client, way, *bounds), new, f"{way}, {bounds}")


def test_statements_that_lock_find_the_rows_of_those_that_read(t):
    _fill(t)
    client, other = t.client(), t.client()
    client.execute("BEGIN")
    for low, high in ((100, 130), (20_000, 24_000), (55_000, 70_000)):
        for way in ("full scan", "index", "sorted references", "list of keys"):
            t.equal(_sums(client, way, low, high, " FOR UPDATE"), _sums(client, way, low, high),
                    f"{way}, {low}")
    backwards = "SELECT id FROM t FORCE INDEX (PRIMARY) WHERE c < 'f' ORDER BY id DESC"
    t.equal(client.query(backwards + " FOR UPDATE"), client.query(backwards), "backwards")
    keys = ", ".join(str(row[0]) for row in client.query("SELECT id FROM t WHERE id % 26 = 0"))
    by_index = "UPDATE t FORCE INDEX (k) SET c = '' WHERE k BETWEEN 7 AND 3006"
    for statement, rows in ((f"UPDATE t SET c = REVERSE(c) WHERE id IN ({keys})", 4616),
                            ("UPDATE t SET c = REVERSE(c) WHERE id BETWEEN 1000 AND 41000", 20001),
                            (by_index, 3000),
                            ("DELETE FROM t WHERE id BETWEEN 1000 AND 21000", 10001),
                            ("DELETE FROM t ORDER BY id DESC LIMIT 10000", 10000)):
        t.equal(client.execute(statement).affected, rows, statement)
    t.equal(client.value("SELECT COUNT(*) FROM t"), _ROWS - 20001, "rows left")
    client.execute("ROLLBACK")
    t.equal(other.value("SELECT COUNT(*) FROM t"), _ROWS, "rows after all")
    t.check_table("t", other)
    t.run("DROP TABLE t, n")


def test_a_killed_scan_leaves_the_table_as_it_is(t):
    _fill(t)
    client, other = t.client(), t.client()
    before = _sums(other, "full scan", 1, _ROWS)
    for way in ("index", "sorted references", "full scan"):
        query = _WAYS[way].format(sums="SUM(SLEEP(id % 500 = 0))", joined="", low=1, high=_ROWS)
        client.send(query)
        t.wait_for(lambda: other.value("SELECT COUNT(*) FROM information_schema.processlist "
                                       "WHERE info LIKE 'SELECT%SLEEP(id%' AND state = "
                                       "'User sleep'"), "the scan to sleep")
        thread = other.value("SELECT id FROM information_schema.processlist "
                             "WHERE info LIKE 'SELECT%SLEEP(id%' AND state = 'User sleep'")
        other.execute(f"KILL {thread}")
        client = t.client()
        t.equal(_sums(client, way, 1, _ROWS), before, way)
    t.check_table("t", other)
    t.run("TRUNCATE t", "DROP TABLE t")
