# SPDX-License-Identifier: GPL-2.0-only
"""What concurrent sessions see and wait for at READ COMMITTED and REPEATABLE READ."""
import threading
import time

from framework import HUNG_S, Failure
from rowantools.client import (ER_DUP_ENTRY, ER_LOCK_DEADLOCK, ER_LOCK_WAIT_TIMEOUT, Client,
                               MysqlError)

_BLOCKED_S = 0.3


def _table(t):
    t.run("CREATE TABLE a (id INT PRIMARY KEY, k INT, v INT, KEY (k))",
          "INSERT INTO a VALUES (1, 10, 100), (2, 20, 200), (3, 30, 300), (4, 40, 400)")


def _sessions(t, level, count=2):
    sessions = [t.client() for _ in range(count)]
    for session in sessions:
        session.execute(f"SET SESSION TRANSACTION ISOLATION LEVEL {level}")
        prefix = "innodb" if t.engine.lower() == "innodb" else "rowan"
        session.execute(f"SET SESSION {prefix}_lock_wait_timeout = 20")
    return sessions


class Pending:
    """A statement in a thread of its own that is expected to wait."""

    def __init__(self, client: Client, statement):
        self._client, self._error, self._result = client, None, None

        def run():
            try:
                self._result = client.execute(statement)
            except MysqlError as error:
                self._error = error
        self._thread = threading.Thread(target=run, daemon=True)
        self._statement = statement
        self._thread.start()

    def must_wait(self):
        """For a while from when the server began with it."""
        with Client(self._client.address) as observer:
            while not self.is_done() and not observer.value(
                    "SELECT COUNT(*) FROM information_schema.processlist WHERE command = 'Query' "
                    f"AND id = {self._client.connection_id}"):
                pass
        self._thread.join(_BLOCKED_S)
        if not self._thread.is_alive():
            raise Failure(f"did not wait: {self._statement} ({self._error or 'done'})")
        return self

    def is_done(self, within_s=0.01):
        self._thread.join(within_s)
        return not self._thread.is_alive()

    def error_code(self, limit_s=4 * HUNG_S):
        """0, or the number it failed with."""
        self._thread.join(limit_s)
        if self._thread.is_alive():
            raise Failure(f"still waits: {self._statement}")
        return self._error.code if self._error else 0

    def must_finish(self):
        code = self.error_code()
        if code:
            raise Failure(f"{self._statement} failed: {self._error}")
        return self._result


def test_read_committed_sees_each_commit(t):
    _table(t)
    reader, writer = _sessions(t, "READ COMMITTED")
    reader.execute("BEGIN")
    t.equal(reader.value("SELECT v FROM a WHERE id = 1"), 100)
    writer.execute("UPDATE a SET v = 101 WHERE id = 1")
    t.equal(reader.value("SELECT v FROM a WHERE id = 1"), 101)
    writer.execute("BEGIN")
    writer.execute("UPDATE a SET v = 102 WHERE id = 1")
    t.equal(reader.value("SELECT v FROM a WHERE id = 1"), 101, "a dirty read")
    writer.execute("ROLLBACK")
    t.equal(reader.value("SELECT v FROM a WHERE id = 1"), 101)


def test_repeatable_read_keeps_its_snapshot(t):
    _table(t)
    reader, writer = _sessions(t, "REPEATABLE READ")
    reader.execute("BEGIN")
    before = reader.query("SELECT * FROM a ORDER BY id")
    writer.execute("INSERT INTO a VALUES (5, 50, 500)")
    writer.execute("DELETE FROM a WHERE id = 2")
    writer.execute("UPDATE a SET k = 99, v = 1 WHERE id = 3")
    writer.execute("UPDATE a SET id = 77 WHERE id = 4")
    for query in ("SELECT * FROM a ORDER BY id", "SELECT * FROM a FORCE INDEX (k) WHERE k > 0 "
                  "ORDER BY id", "SELECT id, k, v FROM a ORDER BY id ASC"):
        t.equal(reader.query(query), before, query)
    t.equal(reader.query("SELECT k FROM a FORCE INDEX (k) WHERE k > 0 ORDER BY k DESC"),
            [(40,), (30,), (20,), (10,)], "covering read, backwards")
    t.equal(reader.value("SELECT COUNT(*) FROM a"), 4)
    reader.execute("COMMIT")
    t.equal(reader.query("SELECT id FROM a ORDER BY id"), [(1,), (3,), (5,), (77,)])


def test_snapshot_sees_own_changes(t):
    _table(t)
    mine, other = _sessions(t, "REPEATABLE READ")
    mine.execute("BEGIN")
    t.equal(mine.value("SELECT COUNT(*) FROM a"), 4)
    other.execute("INSERT INTO a VALUES (9, 90, 900)")
    mine.execute("INSERT INTO a VALUES (8, 80, 800)")
    mine.execute("DELETE FROM a WHERE id = 1")
    mine.execute("UPDATE a SET k = 21 WHERE id = 2")
    t.equal(mine.query("SELECT id FROM a ORDER BY id"), [(2,), (3,), (4,), (8,)])
    t.equal(mine.query("SELECT k FROM a FORCE INDEX (k) WHERE k < 35 ORDER BY k"),
            [(21,), (30,)])
    mine.execute("ROLLBACK")
    t.equal(mine.query("SELECT id FROM a ORDER BY id"), [(1,), (2,), (3,), (4,), (9,)])


def test_a_key_that_goes_and_comes_back(t):
    """Each of three snapshots sees its own interval of the same secondary key."""
    _table(t)
    first, second, third, writer = _sessions(t, "REPEATABLE READ", 4)
    query = "SELECT k FROM a FORCE INDEX (k) WHERE k IN (10, 11) ORDER BY k"
    for reader, change in ((first, 11), (second, 10), (third, 11)):
        reader.execute("BEGIN")
        reader.query(query)
        writer.execute(f"UPDATE a SET k = {change} WHERE id = 1")
    for reader, expected in ((first, 10), (second, 11), (third, 10)):
        t.equal(reader.query(query), [(expected,)])
        t.equal(reader.value("SELECT k FROM a WHERE id = 1"), expected)
    t.equal(writer.query(query), [(11,)])


def test_deleted_and_inserted_again(t):
    _table(t)
    reader, writer = _sessions(t, "REPEATABLE READ")
    reader.execute("BEGIN")
    t.equal(reader.value("SELECT v FROM a WHERE id = 1"), 100)
    for value in range(5):
        writer.execute("DELETE FROM a WHERE id = 1")
        writer.execute(f"INSERT INTO a VALUES (1, 10, {value})")
    t.equal(reader.query("SELECT id, k, v FROM a WHERE id = 1"), [(1, 10, 100)])
    t.equal(reader.query("SELECT id FROM a FORCE INDEX (k) WHERE k = 10"), [(1,)])
    t.equal(writer.query("SELECT id, k, v FROM a WHERE k = 10"), [(1, 10, 4)])


def test_snapshot_starts_at_the_first_read(t):
    _table(t)
    reader, writer = _sessions(t, "REPEATABLE READ")
    reader.execute("BEGIN")
    writer.execute("UPDATE a SET v = 1 WHERE id = 1")
    t.equal(reader.value("SELECT v FROM a WHERE id = 1"), 1)
    reader.execute("COMMIT")
    reader.execute("START TRANSACTION WITH CONSISTENT SNAPSHOT")
    writer.execute("UPDATE a SET v = 2 WHERE id = 1")
    t.equal(reader.value("SELECT v FROM a WHERE id = 1"), 1)


def test_writers_of_one_row_wait(t):
    for level in ("READ COMMITTED", "REPEATABLE READ"):
        t.run("DROP TABLE IF EXISTS a")
        _table(t)
        one, other = _sessions(t, level)
        one.execute("BEGIN")
        one.execute("UPDATE a SET v = v + 1 WHERE id = 1")
        waiting = Pending(other, "UPDATE a SET v = v + 10 WHERE id = 1").must_wait()
        t.equal(t.client().value("SELECT v FROM a WHERE id = 1"), 100, "readers never wait")
        one.execute("COMMIT")
        waiting.must_finish()
        t.rows("SELECT v FROM a WHERE id = 1", [(111,)])


def test_locking_reads(t):
    _table(t)
    one, other, third = _sessions(t, "READ COMMITTED", 3)
    one.execute("BEGIN")
    one.query("SELECT * FROM a WHERE id = 2 FOR SHARE")
    other.execute("BEGIN")
    t.equal(other.query("SELECT v FROM a WHERE id = 2 FOR SHARE"), [(200,)])
    waiting = Pending(third, "UPDATE a SET v = 0 WHERE id = 2").must_wait()
    one.execute("COMMIT")
    waiting.must_wait()
    other.execute("COMMIT")
    waiting.must_finish()
    one.execute("BEGIN")
    one.query("SELECT * FROM a WHERE id = 3 FOR UPDATE")
    waiting = Pending(other, "SELECT * FROM a WHERE id = 3 FOR SHARE").must_wait()
    one.execute("ROLLBACK")
    waiting.must_finish()


def test_rows_not_asked_for_stay_free(t):
    _table(t)
    one, other = _sessions(t, "READ COMMITTED")
    one.execute("BEGIN")
    one.execute("UPDATE a SET v = 0 WHERE id = 1")
    other.execute("UPDATE a SET v = 0 WHERE id = 2")
    other.execute("UPDATE a SET v = 0 WHERE k = 30")
    other.execute("INSERT INTO a VALUES (15, 15, 15)")
    one.execute("COMMIT")


def test_lock_wait_times_out(t):
    _table(t)
    one, other = _sessions(t, "REPEATABLE READ")
    prefix = "innodb" if t.engine.lower() == "innodb" else "rowan"
    other.execute(f"SET SESSION {prefix}_lock_wait_timeout = 1")
    one.execute("BEGIN")
    one.execute("DELETE FROM a WHERE id = 1")
    other.execute("BEGIN")
    other.execute("UPDATE a SET v = 0 WHERE id = 4")
    start = time.monotonic()
    t.error("UPDATE a SET v = 0 WHERE id = 1", ER_LOCK_WAIT_TIMEOUT, other)
    t.true(0.8 <= time.monotonic() - start < HUNG_S, "the time-out took its own time")
    other.execute("COMMIT")
    one.execute("ROLLBACK")
    t.rows("SELECT id, v FROM a WHERE v < 200", [(1, 100), (4, 0)])


def test_deadlock_has_one_victim(t):
    _table(t)
    one, other = _sessions(t, "REPEATABLE READ")
    for session, row in ((one, 1), (other, 2)):
        session.execute("BEGIN")
        session.execute(f"UPDATE a SET v = {row} WHERE id = {row}")
    waiting = Pending(one, "UPDATE a SET v = 1 WHERE id = 2").must_wait()
    codes = [other.error_code("UPDATE a SET v = 2 WHERE id = 1"), waiting.error_code()]
    t.equal(sorted(codes), [0, ER_LOCK_DEADLOCK], "error codes of the two")
    for session in (one, other):
        session.execute("COMMIT")
    values = t.run("SELECT v FROM a WHERE id < 3 ORDER BY id")
    t.true(values in ([(1,), (1,)], [(2,), (2,)]), f"a mix of both transactions: {values}")


def test_insert_waits_for_an_uncommitted_duplicate(t):
    for outcome, code in (("COMMIT", ER_DUP_ENTRY), ("ROLLBACK", 0)):
        t.run("DROP TABLE IF EXISTS a", "CREATE TABLE a (id INT PRIMARY KEY, u INT, UNIQUE (u))")
        for statement in ("INSERT INTO a VALUES (1, 5)", "INSERT INTO a VALUES (2, 1)"):
            one, other = _sessions(t, "READ COMMITTED")
            one.execute("BEGIN")
            one.execute("INSERT INTO a VALUES (1, 1)")
            waiting = Pending(other, statement).must_wait()
            one.execute(outcome)
            t.equal(waiting.error_code(), code, f"{statement} after {outcome}")
            t.run("DELETE FROM a")


def test_failed_statement_leaves_the_transaction(t):
    _table(t)
    session, = _sessions(t, "REPEATABLE READ", 1)
    session.execute("BEGIN")
    session.execute("INSERT INTO a VALUES (10, 1, 1)")
    t.error("INSERT INTO a VALUES (11, 1, 1), (12, 1, 1), (1, 1, 1)", ER_DUP_ENTRY, session)
    t.error("UPDATE a SET id = 1 WHERE id >= 3", ER_DUP_ENTRY, session)
    session.execute("COMMIT")
    t.rows("SELECT id FROM a ORDER BY id", [(1,), (2,), (3,), (4,), (10,)])
    t.check_table("a")


def test_killed_waiter_stops_waiting(t):
    _table(t)
    one, other = _sessions(t, "REPEATABLE READ")
    number = other.value("SELECT CONNECTION_ID()")
    one.execute("BEGIN")
    one.execute("UPDATE a SET v = 0 WHERE id = 1")
    waiting = Pending(other, "UPDATE a SET v = 5 WHERE id = 1").must_wait()
    t.client().execute(f"KILL QUERY {number}")
    t.equal(waiting.error_code(), 1317, "ER_QUERY_INTERRUPTED")
    one.execute("COMMIT")


def test_read_committed_keeps_the_locks_of_rows_that_matched(t):
    """Row 10 does not match and gives back its own lock only, whatever read the row before it."""
    t.run("CREATE TABLE a (id INT PRIMARY KEY, k INT, v INT, KEY (k))",
          "INSERT INTO a VALUES (5, 1, 1), (10, 1, 0), (11, 1, 1)",
          "CREATE TABLE b (x INT, y INT, v INT, PRIMARY KEY (x, y))",
          "INSERT INTO b VALUES (1, 2, 1), (3, 1, 0), (3, 2, 1)")
    cases = (("a", "FORCE INDEX (PRIMARY) WHERE (id = 5 OR id >= 10) AND v = 1", "id = 10",
              "id = 5"),
             ("a", "FORCE INDEX (k) WHERE k = 1 AND v = 1", "id = 10", "id = 5"),
             ("b", "FORCE INDEX (PRIMARY) WHERE ((x = 1 AND y = 2) OR x = 3) AND v = 1",
              "x = 3 AND y = 1", "x = 1 AND y = 2"))
    for table, condition, free, locked in cases:
        one, other = _sessions(t, "READ COMMITTED")
        one.execute("BEGIN")
        t.equal(len(one.query(f"SELECT * FROM {table} {condition} FOR UPDATE")), 2, condition)
        other.execute(f"UPDATE {table} SET v = 0 WHERE {free}")
        waiting = Pending(other, f"UPDATE {table} SET v = 9 WHERE {locked}").must_wait()
        one.execute("ROLLBACK")
        waiting.must_finish()
        t.run(f"UPDATE {table} SET v = 1 WHERE v = 9")


def test_read_committed_keeps_no_locks_of_rows_it_did_not_deliver(t):
    """The entry of a row that died meanwhile, or was left out, is free. InnoDB keeps these."""
    if t.engine != "ROWAN":
        t.skip("InnoDB keeps them")
    t.run("CREATE TABLE a (id INT PRIMARY KEY, k INT, KEY (k))", "INSERT INTO a VALUES (1, 10), "
          "(2, 20)")
    one, other, third = _sessions(t, "READ COMMITTED", 3)
    one.execute("BEGIN")
    one.execute("DELETE FROM a WHERE id = 1")
    other.execute("BEGIN")
    died = "SELECT * FROM a FORCE INDEX (k) WHERE k = 10 FOR UPDATE"
    waiting = Pending(other, died).must_wait()
    one.execute("COMMIT")
    waiting.must_finish()
    Pending(third, "INSERT INTO a VALUES (1, 10)").must_finish()
    for search in ("FORCE INDEX (k) WHERE k = 30", "WHERE id = 3"):
        one.execute("BEGIN")
        one.execute("INSERT INTO a VALUES (3, 30)")
        waiting = Pending(other, f"SELECT * FROM a {search} FOR UPDATE").must_wait()
        one.execute("ROLLBACK")    # of the entry that was waited for nothing is left
        t.equal(waiting.must_finish().rows, [])
        Pending(third, "INSERT INTO a VALUES (3, 30)").must_finish()
        third.execute("DELETE FROM a WHERE id = 3")
    one.execute("BEGIN")
    one.query("SELECT * FROM a WHERE id = 2 FOR UPDATE")
    t.equal(other.query("SELECT * FROM a FORCE INDEX (k) WHERE k = 20 FOR UPDATE SKIP LOCKED"), [])
    Pending(one, "UPDATE a SET k = 21 WHERE id = 2").must_finish()
    for session in (one, other):
        session.execute("COMMIT")
    t.rows("SELECT * FROM a", [(1, 10), (2, 21)])


def test_update_at_read_committed_waits_only_for_rows_that_match(t):
    """Without an index on v the scan meets locked rows; their last commit decides."""
    _table(t)
    one, other = _sessions(t, "READ COMMITTED")
    one.execute("BEGIN")
    one.execute("UPDATE a SET v = 777 WHERE id = 1")
    one.execute("DELETE FROM a WHERE id = 2")
    one.execute("INSERT INTO a VALUES (9, 90, 300)")
    one.query("SELECT * FROM a WHERE id = 4 FOR UPDATE")
    other.execute("UPDATE a SET v = v + 1 WHERE v = 300")
    other.execute("UPDATE a SET v = v + 1 WHERE v = 777")
    waiting = Pending(other, "UPDATE a SET v = v + 1 WHERE v <= 200 OR v > 500").must_wait()
    one.execute("COMMIT")
    t.equal(waiting.must_finish().affected, 1, "row 1 as it is when its lock came")
    t.rows("SELECT id, v FROM a ORDER BY id", [(1, 778), (3, 301), (4, 400), (9, 300)])
    one.execute("BEGIN")
    one.execute("DELETE FROM a WHERE id = 3")
    waiting = Pending(other, "UPDATE a SET v = 0 WHERE v > 300 ORDER BY id DESC LIMIT 3")
    waiting.must_wait()
    one.execute("ROLLBACK")
    waiting.must_finish()
    t.rows("SELECT id, v FROM a ORDER BY id", [(1, 0), (3, 0), (4, 0), (9, 300)])


def test_update_at_repeatable_read_waits_for_every_row(t):
    _table(t)
    one, other = _sessions(t, "REPEATABLE READ")
    one.execute("BEGIN")
    one.execute("UPDATE a SET v = 777 WHERE id = 1")
    waiting = Pending(other, "UPDATE a SET v = v + 1 WHERE v = 300").must_wait()
    one.execute("COMMIT")
    waiting.must_finish()


def test_a_unique_value_given_up_and_taken_again(t):
    """Who waits for a row of the value must not keep its owner from inserting the value again."""
    t.run("CREATE TABLE a (id INT PRIMARY KEY, u INT, UNIQUE (u))", "INSERT INTO a VALUES (1, 5)")
    for again in ("INSERT INTO a VALUES (1, 5)", "INSERT INTO a VALUES (3, 5)",
                  "REPLACE INTO a VALUES (4, 5)"):
        one, other = _sessions(t, "READ COMMITTED")
        one.execute("BEGIN")
        one.execute("DELETE FROM a WHERE u = 5")
        waiting = Pending(other, "INSERT INTO a VALUES (2, 5)").must_wait()
        one.execute(again)
        one.execute("COMMIT")
        t.equal(waiting.error_code(), ER_DUP_ENTRY, again)
    t.rows("SELECT * FROM a", [(4, 5)])


def test_replace_of_one_unique_value_by_many(t):
    t.run("CREATE TABLE a (id INT AUTO_INCREMENT PRIMARY KEY, u INT, v INT, UNIQUE (u))",
          "INSERT INTO a (u) VALUES (1), (5), (9)")
    sessions = _sessions(t, "READ COMMITTED", 8)

    def replace(session, number):
        for _ in range(100):
            session.execute(f"REPLACE INTO a (u, v) VALUES (5, {number})")
    t.threads([lambda s=session, n=number: replace(s, n) for number, session in
               enumerate(sessions)])
    t.rows("SELECT u FROM a ORDER BY u", [(1,), (5,), (9,)])
    t.check_table("a")


def test_a_savepoint_set_again_leaves_the_others(t):
    _table(t)
    t.run("BEGIN", "INSERT INTO a VALUES (11, 0, 0)", "SAVEPOINT p",
          "INSERT INTO a VALUES (12, 0, 0)", "SAVEPOINT q", "INSERT INTO a VALUES (13, 0, 0)",
          "SAVEPOINT p", "INSERT INTO a VALUES (14, 0, 0)", "ROLLBACK TO q")
    t.rows("SELECT id FROM a WHERE id > 10", [(11,), (12,)])
    t.error("ROLLBACK TO p", 1305)
    t.run("SAVEPOINT p", "INSERT INTO a VALUES (15, 0, 0)", "RELEASE SAVEPOINT q")
    t.error("ROLLBACK TO p", 1305)
    t.run("COMMIT")
    t.rows("SELECT id FROM a WHERE id > 10", [(11,), (12,), (15,)])


def test_money_is_neither_made_nor_lost(t):
    """Concurrent transfers; snapshots taken all the while must always show the same total."""
    accounts, seconds = 20, 20 if t.long else 2
    rows = ", ".join(f"({number}, 100)" for number in range(accounts))
    t.run("CREATE TABLE a (id INT PRIMARY KEY, v INT, KEY (v))", f"INSERT INTO a VALUES {rows}")
    stop = time.monotonic() + seconds

    def transfer(session, randomness):
        while time.monotonic() < stop:
            one, other = randomness.sample(range(accounts), 2)
            try:
                session.execute("BEGIN")
                session.execute(f"UPDATE a SET v = v - 1 WHERE id = {one}")
                session.execute(f"UPDATE a SET v = v + 1 WHERE id = {other}")
                session.execute(randomness.choice(("COMMIT", "COMMIT", "ROLLBACK")))
            except MysqlError as error:
                if error.code not in (ER_LOCK_DEADLOCK, ER_LOCK_WAIT_TIMEOUT):
                    raise
                session.execute("ROLLBACK")

    def audit(session, index):
        while time.monotonic() < stop:
            rows = session.query(f"SELECT COUNT(*), SUM(v) FROM a FORCE INDEX ({index}) "
                                 "WHERE v > -1000000")
            t.equal(rows, [(accounts, str(100 * accounts))], f"total by index {index}")
    writers = _sessions(t, "READ COMMITTED", 2) + _sessions(t, "REPEATABLE READ", 2)
    readers = _sessions(t, "REPEATABLE READ", 2)
    functions = [lambda s=session: transfer(s, t.random) for session in writers]
    functions += [lambda: audit(readers[0], "v"), lambda: audit(readers[1], "PRIMARY")]
    t.threads(functions, limit_s=seconds + 4 * HUNG_S)
    t.check_table("a")
