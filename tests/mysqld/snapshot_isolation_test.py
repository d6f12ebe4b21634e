# SPDX-License-Identifier: GPL-2.0-only
"""rowan_snapshot_isolation: the first to commit wins."""
import time

from isolation_test import Pending
from rowantools.client import MysqlError

ER_DUP_ENTRY, ER_LOCK_DEADLOCK = 1062, 1213

# What another session commits after the snapshot, and then what fails.
CONFLICTS = (
    ("UPDATE a SET v = 101 WHERE id = 1", "UPDATE a SET v = v + 1 WHERE id = 1"),
    ("UPDATE a SET v = 101 WHERE id = 1", "DELETE FROM a WHERE id = 1"),
    ("UPDATE a SET v = 101 WHERE id = 1", "SELECT * FROM a WHERE id = 1 FOR UPDATE"),
    ("UPDATE a SET v = 101 WHERE id = 1", "SELECT * FROM a WHERE u = 10 FOR SHARE"),
    ("UPDATE a SET v = 101 WHERE id = 1", "INSERT INTO b SELECT id, v FROM a"),
    ("UPDATE a SET v = 101 WHERE id = 1", "REPLACE INTO a VALUES (1, 1, 10, 7)"),
    ("UPDATE a SET v = 101 WHERE id = 1",
     "INSERT INTO a VALUES (1, 1, 10, 7) ON DUPLICATE KEY UPDATE v = 7"),
    ("UPDATE a SET k = 9 WHERE id = 1", "SELECT k FROM a FORCE INDEX (k) WHERE k = 1 FOR UPDATE"),
    ("UPDATE a SET k = 9 WHERE id = 1", "SELECT k FROM a FORCE INDEX (k) WHERE k = 9 FOR UPDATE"),
    ("DELETE FROM a WHERE id = 1", "UPDATE a SET v = 0 WHERE id = 1"),
    ("DELETE FROM a WHERE id = 1", "DELETE FROM a WHERE id <= 2"),
    ("DELETE FROM a WHERE id = 1", "UPDATE a SET v = 0 WHERE k = 1"),
    ("DELETE FROM a WHERE id = 1", "INSERT INTO a VALUES (1, 5, 50, 5)"),
    ("DELETE FROM a WHERE id = 1", "INSERT INTO a VALUES (6, 5, 10, 5)"),
    ("UPDATE a SET u = 11 WHERE id = 1", "INSERT INTO a VALUES (6, 5, 10, 5)"),
    ("UPDATE a SET u = 11 WHERE id = 1", "INSERT INTO a VALUES (6, 5, 11, 5)"),
    ("INSERT INTO a VALUES (6, 6, 60, 100)", "INSERT INTO a VALUES (6, 5, 50, 5)"),
    ("INSERT INTO a VALUES (6, 6, 60, 100)", "INSERT INTO a VALUES (7, 5, 60, 5)"),
    ("INSERT INTO a VALUES (6, 6, 60, 100)", "SELECT * FROM a FOR UPDATE"),
)
# Beside a change after the snapshot, these are no conflict.
BESIDE = (
    ("UPDATE a SET v = 101 WHERE id = 1", "UPDATE a SET v = v + 1 WHERE id = 2"),
    ("UPDATE a SET v = 101 WHERE id = 1", "SELECT v FROM a WHERE id = 1"),
    ("DELETE FROM a WHERE id = 1", "INSERT INTO a VALUES (6, 5, 50, 5)"),
    ("INSERT INTO a VALUES (6, 6, 60, 100)", "UPDATE a SET v = 1 WHERE id <= 3"),
    ("INSERT INTO a VALUES (6, 6, 60, 100); DELETE FROM a WHERE id = 6",
     "SELECT k FROM a FORCE INDEX (k) WHERE k = 6 FOR UPDATE"),
)


def _fill(t):
    t.run("DROP TABLE IF EXISTS a, b",
          "CREATE TABLE a (id INT PRIMARY KEY, k INT, u INT, v INT, KEY (k), UNIQUE (u))",
          "CREATE TABLE b (id INT PRIMARY KEY, v INT)",
          "INSERT INTO a VALUES (1, 1, 10, 100), (2, 2, 20, 100), (3, 3, 30, 100)")


def _session(t, isolation="ON"):
    if t.engine != "ROWAN":
        t.skip("InnoDB has no snapshot isolation")
    client = t.client()
    client.execute(f"SET SESSION rowan_snapshot_isolation = {isolation}")
    return client


def _play(t, own, change, statement):
    """The error number of the statement, behind a snapshot that the change came after."""
    _fill(t)
    own.execute("BEGIN")
    own.query("SELECT COUNT(*) FROM a")
    own.execute("INSERT INTO b VALUES (77, 77)")
    for part in change.split("; "):
        t.run(part)
    return own.error_code(statement)


def test_a_row_changed_after_the_snapshot_is_refused(t):
    own = _session(t)
    for change, statement in CONFLICTS:
        what = f"{change} | {statement}"
        t.equal(_play(t, own, change, statement), ER_LOCK_DEADLOCK, what)
        t.rows("SELECT COUNT(*) FROM b", [(0,)])  # all of the transaction is rolled back
        own.execute("BEGIN")  # the next try has a fresh snapshot
        own.query("SELECT COUNT(*) FROM a")
        t.true(own.error_code(statement) in (0, ER_DUP_ENTRY), what)
        own.execute("ROLLBACK")


def test_what_does_not_meet_it_goes_on(t):
    own = _session(t)
    for change, statement in BESIDE:
        t.equal(_play(t, own, change, statement), 0, f"{change} | {statement}")
        own.execute("COMMIT")
        t.rows("SELECT COUNT(*) FROM b", [(1,)])


def test_without_it_the_newest_version_is_changed(t):
    for isolation, level in (("OFF", "REPEATABLE READ"), ("ON", "READ COMMITTED")):
        own = _session(t, isolation)
        own.execute(f"SET SESSION TRANSACTION ISOLATION LEVEL {level}")
        for change, statement in CONFLICTS:
            code = _play(t, own, change, statement)
            t.true(code in (0, ER_DUP_ENTRY), f"{level}: {change} | {statement}: {code}")
            own.execute("ROLLBACK")


def test_a_wait_before_the_snapshot_is_no_conflict(t):
    """A transaction that begins with a change has no snapshot yet, nor has a lone statement."""
    other, own = _session(t), _session(t)
    _fill(t)
    for begin in ("BEGIN", "DO 0"):
        other.execute("BEGIN")
        other.execute("UPDATE a SET v = v + 1 WHERE id = 1")
        own.execute(begin)
        waiting = Pending(own, "UPDATE a SET v = v + 1 WHERE id = 1").must_wait()
        other.execute("COMMIT")
        waiting.must_finish()
        own.execute("COMMIT")
    t.rows("SELECT v FROM a WHERE id = 1", [(104,)])


def test_counting_by_many_loses_nothing(t):
    _session(t)
    _fill(t)
    counts = [0] * 4

    def count(number):
        client, end = _session(t), time.monotonic() + 1.5
        while time.monotonic() < end:
            client.execute("BEGIN")
            try:
                value = client.value("SELECT v FROM a WHERE id = 1")
                client.execute(f"UPDATE a SET v = {value + 1} WHERE id = 1")
                client.execute("COMMIT")
                counts[number] += 1
            except MysqlError as error:
                if error.code != ER_LOCK_DEADLOCK:
                    raise
    t.threads([lambda number=number: count(number) for number in range(len(counts))])
    print(f"{counts} increments")
    t.rows("SELECT v FROM a WHERE id = 1", [(100 + sum(counts),)])
