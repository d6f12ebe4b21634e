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


def _sums(client, way, low, high):
    joined = "COUNT(*), SUM(t.id), SUM(CRC32(t.c)), SUM(t.k)"
    return client.query(_WAYS[way].format(sums=_SUMS, joined=joined, low=low, high=high))


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
