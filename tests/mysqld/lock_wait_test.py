# SPDX-License-Identifier: GPL-2.0-only
"""How waits for row locks end: time-outs, kills, limits on the time of a statement."""
import time

from framework import HUNG_S
from isolation_test import Pending

ER_QUERY_INTERRUPTED, ER_QUERY_TIMEOUT, ER_LOCK_WAIT_TIMEOUT = 1317, 3024, 1205


def _table(t, rows=3):
    t.run("CREATE TABLE a (id INT PRIMARY KEY, v INT)",
          "SET SESSION cte_max_recursion_depth = 1000000",
          "INSERT INTO a WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n "
          f"WHERE i < {rows}) SELECT i, 100 FROM n")


def _took(client, statement):
    start = time.monotonic()
    return client.error_code(statement), time.monotonic() - start


def test_the_wait_is_as_long_as_innodb_waits_unless_told_otherwise(t):
    _table(t)
    holder, waiter = t.client(), t.client()
    holder.execute("BEGIN")
    holder.execute("UPDATE a SET v = 0 WHERE id = 1")
    settings = [("SET SESSION innodb_lock_wait_timeout = 1", 1),
                ("SET SESSION innodb_lock_wait_timeout = 2", 2)]
    if t.engine == "ROWAN":
        settings += [("SET SESSION rowan_lock_wait_timeout = 1", 1),
                     ("SET SESSION innodb_lock_wait_timeout = 1", 1),
                     ("SET SESSION rowan_lock_wait_timeout = DEFAULT", 1)]
    for setting, seconds in settings:
        waiter.execute(setting)
        code, took = _took(waiter, "UPDATE a SET v = 1 WHERE id = 1")
        t.equal(code, ER_LOCK_WAIT_TIMEOUT, setting)
        t.true(seconds - 0.2 < took < seconds + HUNG_S, f"{setting}: {took:.1f} s")
    holder.execute("ROLLBACK")


def _time_out_in_a_transaction(t, server):
    holder, waiter = t.client(server), t.client(server)
    holder.execute("CREATE TABLE a (id INT PRIMARY KEY, v INT)")
    holder.execute("INSERT INTO a VALUES (1, 100), (2, 100), (3, 100)")
    holder.execute("BEGIN")
    holder.execute("UPDATE a SET v = 0 WHERE id = 3")
    waiter.execute("SET SESSION innodb_lock_wait_timeout = 1")
    waiter.execute("BEGIN")
    waiter.execute("UPDATE a SET v = 1 WHERE id = 1")
    t.equal(waiter.error_code("UPDATE a SET v = v + 1 WHERE id >= 2"), ER_LOCK_WAIT_TIMEOUT)
    waiter.execute("COMMIT")
    holder.execute("ROLLBACK")
    return holder.query("SELECT v FROM a ORDER BY id")


def test_a_time_out_undoes_the_statement(t):
    t.equal(_time_out_in_a_transaction(t, t.server), [(1,), (100,), (100,)])


def test_a_time_out_undoes_the_transaction_where_that_is_asked_for(t):
    server = t.new_server(["--innodb-rollback-on-timeout=ON"])
    server.start()
    t.equal(_time_out_in_a_transaction(t, server), [(100,), (100,), (100,)])


def test_a_limit_on_the_time_of_a_statement_ends_its_wait(t):
    _table(t)
    holder, waiter = t.client(), t.client()
    holder.execute("BEGIN")
    holder.execute("UPDATE a SET v = 0 WHERE id = 1")
    for limit in ("/*+ MAX_EXECUTION_TIME(300) */", ""):
        waiter.execute(f"SET SESSION max_execution_time = {0 if limit else 300}")
        code, took = _took(waiter, f"SELECT {limit} * FROM a WHERE id = 1 FOR UPDATE")
        t.equal(code, ER_QUERY_TIMEOUT)
        t.true(0.2 < took < HUNG_S, f"{took:.1f} s")
    holder.execute("ROLLBACK")


def test_scans_that_deliver_nothing_are_ended(t):
    """All rows are locked and left out, so that the server sees none of them."""
    _table(t, 50_000)
    t.run("CREATE TABLE b (n INT)", "INSERT INTO b SELECT id FROM a WHERE id <= 5000")
    holder, scanner = t.client(), t.client()
    scan = ("SELECT /*+ NO_BNL() {} */ COUNT(*) FROM b STRAIGHT_JOIN a WHERE a.v >= b.n - 5000 "
            "FOR UPDATE OF a SKIP LOCKED")
    holder.execute("BEGIN")
    holder.execute("UPDATE a SET v = v + 1")
    code, took = _took(scanner, scan.format("MAX_EXECUTION_TIME(300)"))
    t.equal(code, ER_QUERY_TIMEOUT)
    t.true(took < HUNG_S, f"the limit took {took:.1f} s")
    number = scanner.value("SELECT CONNECTION_ID()")
    running = Pending(scanner, scan.format("")).must_wait()
    start = time.monotonic()
    t.client().execute(f"KILL QUERY {number}")
    t.equal(running.error_code(), ER_QUERY_INTERRUPTED)
    took = time.monotonic() - start
    t.true(took < HUNG_S, f"the kill took {took:.1f} s")
    holder.execute("ROLLBACK")
