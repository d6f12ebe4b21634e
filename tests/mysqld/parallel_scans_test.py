# SPDX-License-Identifier: GPL-2.0-only
"""Query blocks whose scan is read in pieces by several threads (docs/whole_queries.md, Workers):
the same results, warnings and counts as of one thread, which other tests compare with InnoDB's.
Here all scans are read so, and small tables have a piece for each leaf."""
import os
import threading

import pytest

from damaged_files import PAGE, damage, is_leaf, newest_space
from framework import ENGINE, Failure, MysqlError
from whole_queries_test import kill_repeated

pytestmark = [
    pytest.mark.server(options=(
        "--loose-rowan-pushdown-rows-min=0", "--loose-rowan-parallel-rows-min=0",
        "--loose-rowan-parallel-workers-max=3", "--performance-schema=ON",
        "--tmp-table-size=1G", "--temptable-max-ram=2G")),
    pytest.mark.skipif(ENGINE != "ROWAN", reason="compares Rowan with itself")]

_COLUMNS = ("id INT PRIMARY KEY, k INT, big BIGINT NOT NULL, price DECIMAL(12,2) NOT NULL, "
            "wide DECIMAL(38,8), d DATE, f DOUBLE, s VARCHAR(20), c CHAR(10) NOT NULL, t TEXT, "
            "pad VARCHAR(200) NOT NULL, KEY kc (k, c), KEY down (k DESC, price DESC), KEY s (s)")
_ROW = ("SELECT i, IF(i % 11 = 0, NULL, i * 7919 % 13), i * 7919 % 100003, "
        "i * 7919 % 10007 / 100, IF(i % 5 = 0, NULL, i * 1000003 / 8), "
        "IF(i % 7 = 0, NULL, '2024-01-01' + INTERVAL i % 300 DAY), i % 97 / 4, "
        "ELT(1 + i % 6, 'a', 'A', 'b', 'B ', NULL, 'zz'), CONCAT('c', i * 31 % 40), "
        "IF(i % 500 = 3, REPEAT('x', 9000), 't'), REPEAT('p', i % 150)")
_SHAPES = (
    "SELECT COUNT(*), SUM(k), SUM(price), AVG(wide), MIN(big), MAX(d) FROM a",
    "SELECT COUNT(*), SUM(big) FROM a WHERE k < 5 AND price > 20",
    "SELECT COUNT(t), SUM(k) FROM a WHERE t LIKE 'x%'",
    "SELECT SUM(k) FROM a WHERE k > 1000",
    "SELECT SUM(k), MAX(price) FROM a WHERE id BETWEEN 700 AND 5200",
    "SELECT COUNT(*), MIN(price) FROM a WHERE id < 300 OR id BETWEEN 2000 AND 3500 OR id > 5900",
    "SELECT SUM(k), COUNT(*) FROM a FORCE INDEX (kc) WHERE k > 3 AND c > 'c2'",
    "SELECT k, COUNT(*), SUM(price), MAX(big) FROM a GROUP BY k",
    "SELECT s, COUNT(*), SUM(k), id, price FROM a GROUP BY s",
    "SELECT c, AVG(price), MIN(d) FROM a WHERE f < 20 GROUP BY c HAVING COUNT(*) > 10",
    "SELECT big % 1000, COUNT(*), t FROM a GROUP BY big % 1000 ORDER BY 1",
    "SELECT t, COUNT(*), MAX(id) FROM a GROUP BY t",
    "SELECT id, k, s FROM a WHERE price < 1",
    "SELECT * FROM a WHERE price < 95",
    "SELECT id, t FROM a WHERE t = 't' AND k = 3",
    "SELECT id, pad FROM a WHERE k = 4 LIMIT 40",
    "SELECT id FROM a WHERE k IS NULL LIMIT 200, 100",
    "SELECT id, price FROM a ORDER BY price, id LIMIT 30",
    "SELECT id, s, t FROM a WHERE k < 8 ORDER BY wide DESC, big, id LIMIT 25",
    "SELECT k, c FROM a FORCE INDEX (kc) WHERE k BETWEEN 2 AND 6 AND c < 'c3'",
    "SELECT k, price, id FROM a FORCE INDEX (down) WHERE k BETWEEN 2 AND 6 AND price > 50",
    "SELECT id, s FROM a FORCE INDEX (s) WHERE s > 'a' AND price > 50",
    "SELECT k, SUM(x) FROM (SELECT k, price x FROM a WHERE big > 500) q GROUP BY k",
    "SELECT (SELECT SUM(price) FROM a WHERE k = n.i) FROM n WHERE i < 4",
    "SELECT BIT_AND(big), BIT_OR(k), BIT_XOR(id) FROM a WHERE k < 9",
    "SELECT s, BIT_AND(big), BIT_OR(k), BIT_XOR(id) FROM a GROUP BY s",
    "SELECT COUNT(DISTINCT s), SUM(DISTINCT k), COUNT(*), MAX(price) FROM a WHERE big > 500",
    "SELECT COUNT(DISTINCT t, k), SUM(price), id, s FROM a",
    "SELECT COUNT(DISTINCT id), AVG(DISTINCT wide) FROM a",
    "SELECT DISTINCT s FROM a IGNORE INDEX (s)",
    "SELECT DISTINCT k, f FROM a WHERE price > 7",
    "SELECT DISTINCT t, s FROM a LIMIT 5",
    "SELECT DISTINCT id DIV 3, k FROM a",
    "SELECT DISTINCT s, c FROM a ORDER BY k, s, c",
    "SELECT DISTINCT s, pad FROM a WHERE price < 95")
# Repeated rows that come to a sort are examined by it, and each thread leaves its own.
_SORTED_SHAPES = (
    "SELECT k, COUNT(DISTINCT s), MAX(d) FROM a IGNORE INDEX (kc, down) GROUP BY k",
    "SELECT k, f, SUM(DISTINCT big DIV 50), MIN(k) FROM a IGNORE INDEX (kc, down) GROUP BY k, f")


def _numbers(t, count):
    t.run("CREATE TABLE n (i INT PRIMARY KEY)",
          f"SET cte_max_recursion_depth = {count + 1}",
          f"INSERT INTO n WITH RECURSIVE s(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM s WHERE i < "
          f"{count}) SELECT i FROM s")


def _fill(t, rows=6000):
    _numbers(t, rows)
    t.run(f"CREATE TABLE a ({_COLUMNS})", f"INSERT INTO a {_ROW} FROM n", "ANALYZE TABLE a")


class Pair:
    """Compares a session's results with and without workers."""

    def __init__(self, client):
        self.client, self.helped = client, 0
        client.execute("SET sql_mode = REPLACE(@@sql_mode, 'ONLY_FULL_GROUP_BY,', '')")

    def outcome(self, query, workers):
        self.client.execute(f"SET rowan_parallel_workers = {workers}")
        plan = self.client.query(f"EXPLAIN FORMAT=TREE {query}")[0][0]
        try:
            result = self.client.execute(query)
        except MysqlError as error:
            return plan, ("error", error.code)
        warnings = self.client.query("SHOW WARNINGS") if result.warnings else []
        return plan, (result.rows, warnings)

    def check(self, query, helped=None, workers=3):
        """helped: whether the plan must have workers; None: either."""
        alone_plan, alone = self.outcome(query, 0)
        plan, actual = self.outcome(query, workers)
        has_workers = f"by up to {workers} workers" in plan
        self.helped += has_workers
        if "by up to" in alone_plan or helped not in (None, has_workers):
            raise Failure(f"workers {has_workers}: {query}\n{plan}\n{alone_plan}")
        if alone != actual:
            raise Failure(f"{query}\nalone {str(alone)[:900]}\nhelped {str(actual)[:900]}\n{plan}")
        return actual[0]


def _counts(t):
    return {name.removeprefix("Rowan_parallel_"): int(value)
            for name, value in t.run("SHOW GLOBAL STATUS LIKE 'Rowan_parallel%'")}


def test_results_are_those_of_one_thread(t):
    _fill(t)
    pair = Pair(t.client())
    before = _counts(t)
    for workers in (3, 1, 2):
        for query in _SHAPES + _SORTED_SHAPES:
            pair.check(query, workers=workers)
    t.true(pair.helped > len(_SHAPES), f"{pair.helped} plans with workers")
    after = _counts(t)
    t.true(after["scans"] - before["scans"] >= pair.helped, f"{before} {after}")
    t.true(after["pieces"] - before["pieces"] > 5 * pair.helped, f"{before} {after}")
    t.true(after["pieces_of_workers"] <= after["pieces"], str(after))


def test_what_workers_may_help_with(t):
    _fill(t, 1000)
    pair = Pair(t.client())
    for query in ("SELECT SUM(big) FROM a", "SELECT c, MAX(price) FROM a GROUP BY c",
                  "SELECT id, pad FROM a WHERE big < 3000", "SELECT BIT_XOR(big) FROM a",
                  "SELECT COUNT(DISTINCT c) FROM a WHERE big > 3", "SELECT DISTINCT c FROM a "
                  "IGNORE INDEX (kc)",
                  "SELECT id FROM a ORDER BY big LIMIT 5"):
        pair.check(query, True)
    # The first of equal texts counts; groups in index order come one by one; a few rows.
    for query in ("SELECT MIN(s) FROM a", "SELECT MAX(f) FROM a",
                  "SELECT k, COUNT(*) FROM a FORCE INDEX (kc) GROUP BY k ORDER BY k",
                  "SELECT id, k FROM a WHERE id BETWEEN 10 AND 60 ORDER BY c"):
        pair.check(query, False)
    client = t.client()
    client.execute("SET rowan_parallel_rows_min = 2000")
    Pair(client).check("SELECT SUM(big) FROM a", False)


def test_tables_of_few_leaves(t):
    _numbers(t, 40)
    t.run(f"CREATE TABLE a ({_COLUMNS})")
    pair = Pair(t.client())
    for first in (0, 40, 80):
        for query in _SHAPES:
            pair.check(query)
        t.run(f"INSERT INTO a {_ROW.replace('SELECT i,', f'SELECT i + {first},')} FROM n")


def test_rows_of_an_earlier_form(t):
    _fill(t, 3000)
    t.run("ALTER TABLE a ADD COLUMN added INT NOT NULL DEFAULT 5, ALGORITHM=INSTANT",
          "UPDATE a SET added = id % 4 WHERE id % 50 = 1", "UPDATE a SET big = 1 WHERE id = 9")
    pair = Pair(t.client())
    for query in ("SELECT added, COUNT(*), SUM(k), id FROM a GROUP BY added",
                  "SELECT id FROM a WHERE added = 3", "SELECT SUM(added) FROM a WHERE k < 5",
                  "SELECT id, added FROM a WHERE added < 5 ORDER BY price, id LIMIT 20"):
        pair.check(query, True)


def test_warnings_and_errors_come_in_order(t):
    _fill(t, 3000)
    t.run("UPDATE a SET big = 9000000000000000000 WHERE id % 400 = 7")
    pair = Pair(t.client())
    for query in ("SELECT COUNT(*) FROM a WHERE big * big > 5",
                  "SELECT id FROM a WHERE (big * 4 > 5) IS TRUE",
                  "SELECT k, SUM(big * 2) FROM a GROUP BY k",
                  "SELECT id FROM a WHERE CAST(t AS UNSIGNED) = 3",
                  "SELECT COUNT(*) FROM a WHERE s < 5", "SELECT d, COUNT(*) FROM a GROUP BY d"):
        pair.check(query)


def test_own_changes_and_old_snapshots(t):
    _fill(t, 4000)
    old, own = Pair(t.client()), Pair(t.client())
    # The same whatever the plan, but for the order.
    settled = [query for query in _SHAPES
               if "LIMIT" not in query and ", id, price" not in query and ", t FROM" not in query]

    def results():
        return [sorted(map(str, old.check(query))) for query in settled]

    for isolation in ("REPEATABLE READ", "READ COMMITTED"):
        for pair in (old, own):
            pair.client.execute(f"SET SESSION TRANSACTION ISOLATION LEVEL {isolation}")
        old.client.execute("BEGIN")
        seen = results()
        own.client.execute("BEGIN")
        own.client.execute("UPDATE a SET k = k + 1, price = price * 2 WHERE id % 3 = 0")
        own.client.execute("DELETE FROM a WHERE id % 7 = 0")
        own.client.execute("INSERT INTO a (id, big, price, c, k, pad) SELECT id + 100000, big, "
                           "price, c, 2, '' FROM a WHERE id < 500")
        t.equal(results(), seen)
        for query in _SHAPES:
            own.check(query)
        own.client.execute("COMMIT")
        t.equal(results() == seen, isolation == "REPEATABLE READ")
        old.client.execute("COMMIT")
        t.run("DELETE FROM a WHERE id >= 100000")


def test_snapshots_among_writers(t):
    """Readers share three workers while rows move between accounts: each sum is the same."""
    _numbers(t, 4000)
    t.run("CREATE TABLE account (id INT PRIMARY KEY, k INT NOT NULL, v INT NOT NULL, "
          "pad CHAR(60) NOT NULL, KEY (k))",
          "INSERT INTO account SELECT i, i % 5, 100, 'x' FROM n")
    stop, failures = threading.Event(), []

    def write(number):
        client = t.client()
        for i in range(10**9):
            if stop.is_set():
                return
            one, other = (i * 7919 + number) % 4000 + 1, (i * 104729 + number) % 4000 + 1
            try:
                client.execute("BEGIN")
                client.execute(f"UPDATE account SET v = v - 7, k = k + 1 WHERE id = {one}")
                client.execute(f"UPDATE account SET v = v + 7, k = k - 1 WHERE id = {other}")
                client.execute("COMMIT" if i % 9 else "ROLLBACK")
            except MysqlError:  # a deadlock
                client.execute("ROLLBACK")

    def read():
        client = t.client()
        for i in range(60):
            if i % 2:
                rows = client.query("SELECT k, COUNT(*), SUM(v) FROM account GROUP BY k")
            else:
                rows = client.query("SELECT SUM(k), COUNT(*), SUM(v) FROM account WHERE k > -1000")
            found = (sum(int(row[1]) for row in rows), sum(int(row[2]) for row in rows))
            if found != (4000, 400000):
                failures.append((i, rows))

    writers = [threading.Thread(target=write, args=(number,)) for number in range(2)]
    readers = [threading.Thread(target=read) for _ in range(3)]
    for thread in writers + readers:
        thread.start()
    for thread in readers:
        thread.join()
    stop.set()
    for thread in writers:
        thread.join()
    t.equal(failures, [])


def _fill_large(t):
    """More groups and rows than are kept of a round."""
    _numbers(t, 1000)
    t.run("CREATE TABLE large (id INT PRIMARY KEY, g VARCHAR(60) NOT NULL, v INT NOT NULL)",
          "INSERT INTO large SELECT a.i * 1000 + b.i, CONCAT(REPEAT('g', 45), (a.i * 1000 + b.i) "
          "* 7919 % 1000003), b.i FROM n a JOIN n b WHERE a.i <= 200")


def test_more_than_memory_for_it(t):
    _fill_large(t)
    pair = Pair(t.client())
    for query in ("SELECT COUNT(*), SUM(n), SUM(m), SUM(x), SUM(a) FROM (SELECT g, COUNT(*) n, "
                  "SUM(v) m, MAX(v) x, AVG(v) a FROM large GROUP BY g) d",
                  "SELECT COUNT(*), SUM(LENGTH(g)), SUM(CRC32(g)) FROM (SELECT g FROM large "
                  "WHERE v > 10 LIMIT 150000) d", "SELECT id, v FROM large WHERE v > 500",
                  "SELECT id FROM large WHERE v > 100 LIMIT 90000, 10"):
        pair.check(query, True, workers=1)


def test_examined_rows(t):
    _fill(t, 3000)
    pair = Pair(t.client())
    for query in _SHAPES:
        examined = []
        for workers in (0, 3):
            pair.outcome(query, workers)
            examined.append(pair.client.query(
                "SELECT ROWS_EXAMINED FROM performance_schema.events_statements_history WHERE "
                "THREAD_ID = PS_CURRENT_THREAD_ID() AND SQL_TEXT LIKE 'SELECT% FROM a%' "
                "ORDER BY EVENT_ID DESC LIMIT 1"))
        t.equal(examined[1], examined[0], query)


def test_any_number_of_workers(t):
    _fill(t, 3000)
    pair = Pair(t.client())
    for most, workers in ((0, 3), (1, 3), (3, 0), (64, 64), (3, 3)):
        t.run(f"SET GLOBAL rowan_parallel_workers_max = {most}")
        pair.client.execute(f"SET rowan_parallel_workers = {workers}")
        plan = pair.client.query("EXPLAIN FORMAT=TREE SELECT SUM(big) FROM a")[0][0]
        allowed = min(most, workers)
        t.equal(f"by up to {allowed} workers" in plan, allowed > 0, plan)
        for query in _SHAPES:
            _, alone = pair.outcome(query, 0)
            _, actual = pair.outcome(query, workers)
            t.equal(actual, alone, query)
    t.run("SET GLOBAL rowan_parallel_workers_max = DEFAULT")
    default = int(t.run("SELECT @@GLOBAL.rowan_parallel_workers_max")[0][0])
    t.equal(default, max(1, min(8, os.cpu_count())))
    t.run("SET GLOBAL rowan_parallel_workers_max = 3")


def test_kill_ends_all_of_a_query(t):
    _fill_large(t)
    kill_repeated(t, "SELECT v % 7, SUM(v) FROM large WHERE v < 900 GROUP BY v", "large")
    # The workers are there for the next one.
    Pair(t.client()).check("SELECT COUNT(*), SUM(v) FROM large WHERE v < 900", True)


def test_damage_is_told_by_whoever_meets_it(t):
    server = t.new_server(("--loose-rowan-pushdown-rows-min=0",
                           "--loose-rowan-parallel-rows-min=0"))
    server.start()
    client = t.client(server)
    client.execute("CREATE TABLE a (id INT PRIMARY KEY, v INT, pad CHAR(200))")
    client.execute("SET cte_max_recursion_depth = 10000")
    client.execute("INSERT INTO a WITH RECURSIVE s(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM s "
                   "WHERE i < 5000) SELECT i, i, 'p' FROM s")
    server.stop()
    server.start()  # nothing of it is in the doublewrite file after another one
    server.stop()
    path = newest_space(server)
    leaves = [number for number in range(3, os.path.getsize(path) // PAGE)
              if is_leaf(path, number)]
    damage(path, leaves[len(leaves) // 2] * PAGE + 5000)
    server.start()
    client = t.client(server)
    for query in ("SELECT SUM(v) FROM a", "SELECT v % 3, COUNT(*) FROM a GROUP BY v % 3",
                  "SELECT id FROM a WHERE v % 1000 = 1", "SELECT id FROM a ORDER BY v LIMIT 3"):
        codes = []
        for workers in (0, 3):
            client.execute(f"SET rowan_parallel_workers = {workers}")
            try:
                codes.append(client.query(query))
            except MysqlError as error:
                codes.append(error.code)
        t.equal(codes[0], codes[1], query)
        t.true(isinstance(codes[1], int), f"{query}: no error")
