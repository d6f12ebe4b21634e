# SPDX-License-Identifier: GPL-2.0-only
"""Ranges locked by reads and changes: no phantoms and no write skew at REPEATABLE READ (locking
reads) and SERIALIZABLE, no range locks at READ COMMITTED. What InnoDB does differently is not
asked: where it locks more of a gap, the tests insert into the part that both lock."""
import time

from framework import Failure
from isolation_test import Pending, _sessions
from rowantools.client import ER_DUP_ENTRY, ER_LOCK_DEADLOCK, ER_LOCK_WAIT_TIMEOUT, MysqlError

_NOT_LOCKED = 3572  # ER_LOCK_NOWAIT


def _table(t, more=""):
    t.run("DROP TABLE IF EXISTS a, b",
          f"CREATE TABLE a (id INT PRIMARY KEY, k INT, u INT, v INT, KEY (k), UNIQUE (u) {more})",
          "INSERT INTO a VALUES (10, 10, 10, 1), (20, 20, 20, 2), (30, 30, 30, 3), "
          "(40, 40, 40, 4), (50, 50, 50, 5)",
          "CREATE TABLE b (id INT PRIMARY KEY, k INT, u INT, v INT)")


def _prefix(t):
    return "innodb" if t.engine.lower() == "innodb" else "rowan"


class Prober:
    """Finds out whether a statement waits for a lock, without waiting for a time-out."""

    def __init__(self, t):
        self._session, = _sessions(t, "READ COMMITTED", 1)
        self._observer = t.client()
        self._number = self._session.value("SELECT CONNECTION_ID()")
        self._innodb = t.engine.lower() == "innodb"

    def _somebody_waits(self):
        if self._innodb:
            status = self._observer.query("SHOW STATUS LIKE 'Innodb_row_lock_current_waits'")
            return status[0][1] != "0"
        return self._observer.value("SELECT COUNT(*) FROM information_schema.ROWAN_LOCKS "
                                    "WHERE LOCK_STATUS = 'WAITING'") != 0

    def waits(self, statement):
        self._session.execute("BEGIN")
        pending = Pending(self._session, statement)
        waits = False
        while not pending.is_done() and not waits:
            waits = self._somebody_waits()
        if waits:
            self._observer.execute(f"KILL QUERY {self._number}")
        code = pending.error_code()
        self._session.execute("ROLLBACK")
        if code not in ((0,) if not waits else (0, 1317)):
            raise Failure(f"{statement} failed with {code}")
        return waits

    def must_wait(self, *statements):
        for statement in statements:
            if not self.waits(statement):
                raise Failure(f"does not wait: {statement}")

    def must_pass(self, *statements):
        for statement in statements:
            if self.waits(statement):
                raise Failure(f"waits: {statement}")


def _check(t, level, statement, waits, free):
    """While the transaction of `statement` is open, inserts of `waits` wait, of `free` do not."""
    one, = _sessions(t, level, 1)
    other = Prober(t)
    one.execute("BEGIN")
    one.execute(statement)
    inserts = [f"INSERT INTO a VALUES ({row}) /* {statement} */" for row in waits]
    other.must_wait(*inserts)
    other.must_pass(*(f"INSERT INTO a VALUES ({row}) /* {statement} */" for row in free))
    one.execute("ROLLBACK")
    if "DELETE" not in statement:
        other.must_pass(*inserts[:1])


_RANGES = (
    # statement, rows whose insert has to wait, rows whose insert goes through
    ("SELECT * FROM a WHERE id = 25 FOR UPDATE", ["25,0,0,0"], ["35,1,1,0"]),
    ("SELECT * FROM a WHERE id = 20 FOR UPDATE", [], ["19,1,1,0", "21,1,1,0"]),
    ("SELECT * FROM a WHERE id BETWEEN 20 AND 35 FOR SHARE", ["25,0,0,0", "34,0,0,0"],
     ["45,1,1,0"]),
    ("SELECT * FROM a WHERE id > 20 AND id < 40 ORDER BY id DESC FOR UPDATE",
     ["25,0,0,0", "35,0,0,0"], ["45,1,1,0"]),
    ("SELECT * FROM a WHERE id > 45 FOR UPDATE", ["60,0,0,0", "47,0,0,0"], ["15,1,1,0"]),
    ("SELECT * FROM a WHERE id > 60 FOR SHARE", ["70,0,0,0"], ["45,1,1,0"]),
    ("SELECT * FROM a ORDER BY id LIMIT 2 FOR UPDATE", ["15,0,0,0"], ["45,1,1,0"]),
    ("SELECT * FROM a ORDER BY id DESC LIMIT 1 FOR UPDATE", ["60,0,0,0"], ["25,1,1,0"]),
    ("SELECT * FROM a FORCE INDEX (k) WHERE k = 20 FOR UPDATE", ["99,20,0,0", "5,20,0,0"],
     ["98,35,1,0"]),
    ("SELECT * FROM a FORCE INDEX (k) WHERE k = 25 FOR UPDATE", ["99,25,0,0"], ["98,45,1,0"]),
    ("SELECT * FROM a FORCE INDEX (k) WHERE k BETWEEN 20 AND 30 FOR SHARE",
     ["99,25,0,0", "5,30,0,0"], ["98,45,1,0"]),
    ("SELECT * FROM a FORCE INDEX (u) WHERE u = 25 FOR UPDATE", ["99,0,25,0"], ["98,0,45,0"]),
    ("SELECT * FROM a FORCE INDEX (u) WHERE u > 20 AND u < 40 FOR UPDATE",
     ["99,0,25,0", "98,0,35,0"], ["97,0,45,0"]),
    ("SELECT * FROM a FORCE INDEX (u) WHERE u > 20 AND u < 40 ORDER BY u DESC FOR UPDATE",
     ["99,0,25,0", "98,0,35,0"], ["97,0,45,0"]),
    ("UPDATE a SET v = 0 WHERE id BETWEEN 20 AND 30", ["25,0,0,0"], ["45,1,1,0"]),
    ("UPDATE a SET v = 0 WHERE k = 20", ["99,20,0,0"], ["98,35,1,0"]),
    ("UPDATE a SET v = v + 1 WHERE v = 3", ["25,0,0,0", "99,1,1,1"], []),
    ("DELETE FROM a WHERE id > 15 AND id < 35", ["20,0,0,0", "25,0,0,0"], ["45,1,1,0"]),
    ("DELETE FROM a WHERE k = 25", ["99,25,0,0"], ["98,45,1,0"]),
    ("INSERT INTO b SELECT * FROM a WHERE id > 15 AND id < 35", ["25,0,0,0"], ["45,1,1,0"]),
    ("SELECT x.id FROM a x JOIN a y FORCE INDEX (k) ON y.k = x.id + 5 WHERE x.id = 20 FOR SHARE",
     ["99,25,0,0"], ["98,45,1,0"]),
)


def test_repeatable_read_locks_the_ranges_it_reads(t):
    _table(t)
    for statement, waits, free in _RANGES:
        _check(t, "REPEATABLE READ", statement, waits, free)


def test_descending_indexes(t):
    t.run("CREATE TABLE a (id INT, k INT, u INT, v INT, PRIMARY KEY (id DESC), KEY (k DESC))",
          "INSERT INTO a VALUES (10, 10, 1, 1), (20, 20, 1, 2), (30, 30, 1, 3), (40, 40, 1, 4)")
    for statement, waits, free in (
            ("SELECT * FROM a WHERE id > 15 AND id < 35 FOR UPDATE", ["25,0,0,0"], ["45,0,0,0"]),
            ("SELECT * FROM a WHERE id > 15 AND id < 35 ORDER BY id FOR UPDATE", ["25,0,0,0"],
             ["3,0,0,0"]),
            ("SELECT * FROM a WHERE id < 5 FOR UPDATE", ["3,0,0,0"], ["25,0,0,0"]),
            ("SELECT * FROM a FORCE INDEX (k) WHERE k BETWEEN 20 AND 30 ORDER BY k FOR SHARE",
             ["99,25,0,0", "98,20,0,0"], ["97,5,0,0"]),
            ("SELECT * FROM a FORCE INDEX (k) WHERE k = 50 FOR SHARE", ["99,50,0,0"],
             ["97,25,0,0"])):
        _check(t, "REPEATABLE READ", statement, waits, free)


def test_an_empty_table_and_a_prefix_key(t):
    t.run("CREATE TABLE a (id INT PRIMARY KEY, s VARCHAR(50), KEY (s(3)))")
    _check(t, "REPEATABLE READ", "SELECT * FROM a FOR UPDATE", ["1,'x'", "999,'x'"], [])
    _check(t, "REPEATABLE READ", "SELECT * FROM a WHERE id = 7 FOR UPDATE", ["7,'x'"], [])
    t.run("INSERT INTO a VALUES (1, 'abcde'), (2, 'mnopq'), (3, 'xyz')")
    _check(t, "REPEATABLE READ", "SELECT * FROM a FORCE INDEX (s) WHERE s = 'mnopq' FOR UPDATE",
           ["9,'mnopq'"], ["8,'zzz'"])


def test_read_committed_locks_no_ranges(t):
    _table(t)
    for statement, waits, free in _RANGES:
        if not statement.startswith("INSERT"):
            _check(t, "READ COMMITTED", statement, [],
                   [row for row in waits + free if not row.startswith("20,")])


def test_serializable_reads_lock(t):
    _table(t)
    _check(t, "SERIALIZABLE", "SELECT * FROM a WHERE id = 25", ["25,0,0,0"], ["45,1,1,0"])
    _check(t, "SERIALIZABLE", "SELECT COUNT(*) FROM a WHERE k BETWEEN 20 AND 30",
           ["99,25,0,0"], [])
    one, other = _sessions(t, "SERIALIZABLE")
    one.execute("BEGIN")
    one.query("SELECT * FROM a WHERE id = 20")
    t.equal(other.query("SELECT v FROM a WHERE id = 20"), [(2,)], "a statement of its own")
    Prober(t).must_wait("UPDATE a SET v = 0 WHERE id = 20")
    one.execute("COMMIT")


def _skew(t, level, reads, changes):
    """Two transactions read, then change what the other one read; at most one may commit."""
    sessions = _sessions(t, level)
    for session, read in zip(sessions, reads):
        session.execute("BEGIN")
        session.query(read)
    waiting = Pending(sessions[0], changes[0]).must_wait()
    code = sessions[1].error_code(changes[1])
    codes = [waiting.error_code(), code]
    for session, code in zip(sessions, codes):
        session.execute("COMMIT" if code == 0 else "ROLLBACK")
    t.equal(sorted(codes), [0, ER_LOCK_DEADLOCK], f"{level}: {changes}")


def test_no_write_skew(t):
    for level, lock in (("SERIALIZABLE", ""), ("REPEATABLE READ", " FOR SHARE")):
        _table(t)
        # G2-item: two rows, each transaction reads both and changes one.
        _skew(t, level, [f"SELECT * FROM a WHERE id IN (10, 20){lock}"] * 2,
              ["UPDATE a SET v = 11 WHERE id = 10", "UPDATE a SET v = 22 WHERE id = 20"])
        # G2: a predicate that nothing matches yet.
        _skew(t, level, [f"SELECT * FROM a FORCE INDEX (k) WHERE k = 33{lock}"] * 2,
              ["INSERT INTO a VALUES (1, 33, 1, 0)", "INSERT INTO a VALUES (2, 33, 2, 0)"])
        _skew(t, level, [f"SELECT COUNT(*) FROM a WHERE v % 7 = 6{lock}"] * 2,
              ["INSERT INTO a VALUES (3, 1, 3, 6)", "INSERT INTO a VALUES (4, 2, 4, 13)"])
        _skew(t, level, [f"SELECT * FROM a WHERE id = 77{lock}"] * 2,
              ["INSERT INTO a VALUES (77, 7, 7, 0)", "INSERT INTO a VALUES (77, 8, 8, 0)"])


def test_a_scan_that_waited_misses_nothing(t):
    """Whoever inserts before the row that a scan waits for waits in turn: a deadlock, no miss."""
    _table(t)
    one, other = _sessions(t, "REPEATABLE READ")
    one.execute("BEGIN")
    one.execute("UPDATE a SET v = 0 WHERE id = 30")
    waiting = Pending(other, "UPDATE a SET v = 100 WHERE id > 15").must_wait()
    code = one.error_code("INSERT INTO a VALUES (25, 25, 25, 25)")
    codes = [code, waiting.error_code()]
    t.equal(sorted(codes), [0, ER_LOCK_DEADLOCK])
    one.execute("COMMIT" if code == 0 else "ROLLBACK")
    if code:
        t.rows("SELECT id FROM a WHERE v = 100 ORDER BY id", [(20,), (30,), (40,), (50,)])


def test_the_latest_deadlock_is_reported(t):
    _table(t)
    if t.engine != "ROWAN":
        t.skip("the report is Rowan's own")
    one, other = _sessions(t, "READ COMMITTED")
    for session, row in ((one, 10), (other, 20)):
        session.execute("BEGIN")
        session.execute(f"UPDATE a SET v = 0 WHERE id = {row}")
    other.execute("UPDATE a SET v = 0 WHERE id = 30")  # more work than the other one's
    waiting = Pending(other, "UPDATE a SET v = 0 WHERE id = 10").must_wait()
    t.error("UPDATE a SET v = 0 WHERE id = 20", ER_LOCK_DEADLOCK, one)
    waiting.must_finish()
    report = t.client().query("SHOW ENGINE ROWAN STATUS")[0][2]
    section = report.split("LATEST DEADLOCK\n---\n")[1].split("---")[0]
    lines = section.strip().splitlines()
    t.true("2 transactions" in lines[0] and " UTC" in lines[0], section)
    members = [line for line in lines if line.startswith("transaction ")]
    t.equal(["ROLLED BACK" in member for member in members], [True, False], section)
    lock = f"X record lock, index PRIMARY of table {t.database}/a, key hash "
    wanted = [line.split(lock)[1] for line in lines if f"waits for {lock}" in line]
    held = [line.split(lock)[1] for line in lines if f"holds {lock}" in line]
    t.equal((len(wanted), len(set(wanted) & set(held))), (2, 2), section)
    other.execute("ROLLBACK")


def test_operators_see_who_waits_for_whom(t):
    _table(t)
    if t.engine != "ROWAN":
        t.skip("the tables are Rowan's own")
    one, other = _sessions(t, "REPEATABLE READ")
    threads = [session.value("SELECT CONNECTION_ID()") for session in (one, other)]
    one.execute("BEGIN")
    one.execute("UPDATE a SET v = 0 WHERE id = 30")
    one.query("SELECT * FROM a WHERE id BETWEEN 10 AND 20 FOR UPDATE")
    name, key = f"{t.database}/a", "8000001E"
    for statement, kind in (("UPDATE a SET v = 1 WHERE id = 30", "RECORD"),
                            ("INSERT INTO a (id) VALUES (15)", "INSERT INTENTION")):
        waiting = Pending(other, statement).must_wait()
        t.wait_for(lambda: t.run("SELECT * FROM information_schema.rowan_lock_waits"), "a wait")
        t.rows("SELECT waiting_thread_id, waiting_mode, waiting_type, blocking_thread_id, "
               "blocking_mode, blocking_status, lock_table, lock_index, lock_key "
               "FROM information_schema.rowan_lock_waits",
               [(threads[1], "X", kind, threads[0], "X", "GRANTED", name, "PRIMARY", key)])
        t.rows("SELECT lock_thread_id, lock_table, lock_index, lock_key FROM "
               "information_schema.rowan_locks WHERE lock_status = 'WAITING'",
               [(threads[1], name, "PRIMARY", key)])
        t.client().execute(f"KILL QUERY {threads[1]}")
        t.equal(waiting.error_code(), 1317)
        key = "8000000F"
    t.rows("SELECT lock_thread_id, lock_index, lock_key, lock_mode FROM "
           "information_schema.rowan_locks WHERE lock_type = 'NEXT-KEY'",
           [(threads[0], "PRIMARY", "[8000000A, 80000015)", "X")])
    t.rows("SELECT trx_thread_id, info FROM information_schema.rowan_trx JOIN "
           "information_schema.processlist ON id = trx_thread_id", [(threads[0], None)])
    one.execute("ROLLBACK")


def test_nowait_and_skip_locked_beside_ranges(t):
    _table(t)
    one, other = _sessions(t, "REPEATABLE READ")
    one.execute("BEGIN")
    one.query("SELECT * FROM a WHERE id BETWEEN 20 AND 30 FOR UPDATE")
    t.error("SELECT * FROM a WHERE id = 20 FOR UPDATE NOWAIT", _NOT_LOCKED, other)
    t.error("SELECT * FROM a FOR UPDATE NOWAIT", _NOT_LOCKED, other)
    rows = other.query("SELECT id FROM a FORCE INDEX (PRIMARY) WHERE id < 25 OR id > 45 "
                       "FOR UPDATE SKIP LOCKED")
    t.equal(rows, [(10,), (50,)])
    one.execute("COMMIT")


def test_waiters_for_ranges_end_in_every_way(t):
    _table(t)
    one, other, third = _sessions(t, "REPEATABLE READ", 3)
    one.execute("BEGIN")
    one.query("SELECT * FROM a WHERE id > 25 AND id < 45 FOR UPDATE")
    third.execute(f"SET SESSION {_prefix(t)}_lock_wait_timeout = 1")
    t.error("INSERT INTO a VALUES (35, 35, 35, 0)", ER_LOCK_WAIT_TIMEOUT, third)
    number = other.value("SELECT CONNECTION_ID()")
    waiting = Pending(other, "INSERT INTO a VALUES (35, 35, 35, 0)").must_wait()
    t.client().execute(f"KILL QUERY {number}")
    t.equal(waiting.error_code(), 1317, "ER_QUERY_INTERRUPTED")
    waiting = Pending(other, "INSERT INTO a VALUES (35, 35, 35, 0)").must_wait()
    update = Pending(third, "SELECT * FROM a WHERE id = 30 FOR SHARE NOWAIT")
    t.equal(update.error_code(), _NOT_LOCKED)
    one.execute("ROLLBACK")
    waiting.must_finish()
    t.rows("SELECT COUNT(*) FROM a", [(6,)])


def test_locks_stay_after_rollback_to_a_savepoint(t):
    _table(t)
    one, = _sessions(t, "REPEATABLE READ", 1)
    one.execute("BEGIN")
    one.execute("UPDATE a SET v = 0 WHERE id = 10")
    one.execute("SAVEPOINT s")
    one.query("SELECT * FROM a WHERE id > 25 AND id < 45 FOR UPDATE")
    one.execute("UPDATE a SET v = 0 WHERE id = 20")
    one.execute("ROLLBACK TO s")
    Prober(t).must_wait("INSERT INTO a VALUES (35, 35, 35, 0)", "UPDATE a SET v = 1 WHERE id = 20")
    one.execute("COMMIT")


def test_inserts_with_a_way_out(t):
    """IGNORE, REPLACE and ON DUPLICATE KEY UPDATE beside each other and a locked range."""
    _table(t)
    one, = _sessions(t, "REPEATABLE READ", 1)
    other = Prober(t)
    for statement in ("INSERT INTO a VALUES (20, 1, 1, 1) ON DUPLICATE KEY UPDATE v = 9",
                      "REPLACE INTO a VALUES (20, 20, 20, 9)",
                      "INSERT IGNORE INTO a VALUES (20, 1, 1, 1)"):
        one.execute("BEGIN")
        one.execute(statement)
        other.must_wait("UPDATE a SET v = 1 WHERE id = 20", "DELETE FROM a WHERE id = 20")
        one.execute("ROLLBACK")
    one.execute("BEGIN")
    one.query("SELECT * FROM a WHERE id > 40 FOR SHARE")
    other.must_wait("INSERT INTO a VALUES (60, 1, 1, 1) ON DUPLICATE KEY UPDATE v = 9",
                    "REPLACE INTO a VALUES (60, 60, 60, 9)",
                    "INSERT IGNORE INTO a VALUES (60, 1, 1, 1)")
    t.error("INSERT INTO a VALUES (50, 1, 1, 1)", ER_DUP_ENTRY, t.client())
    one.execute("COMMIT")


def test_changes_beside_a_range_move_no_gap(t):
    """Splits, merges, rollback and purge around and in a range that stays locked."""
    t.run("CREATE TABLE a (id INT PRIMARY KEY, s VARCHAR(500), KEY (s(8)))",
          "INSERT INTO a WITH RECURSIVE r (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE "
          "n < 900) SELECT n * 10, CONCAT(n, REPEAT('x', 300)) FROM r",
          "DELETE FROM a WHERE id BETWEEN 3000 AND 4000 AND id % 100 <> 0")
    one, other = _sessions(t, "REPEATABLE READ")
    one.execute("BEGIN")
    one.query("SELECT id FROM a WHERE id BETWEEN 2000 AND 5000 FOR SHARE")
    other.execute("BEGIN")
    other.execute("INSERT INTO a WITH RECURSIVE r (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r "
                  "WHERE n < 190) SELECT n * 10 + 3, REPEAT('y', 500) FROM r")
    other.execute("DELETE FROM a WHERE id > 5100")
    other.execute("ROLLBACK")
    other.execute("DELETE FROM a WHERE id > 5100 OR id < 1900")
    prober = Prober(t)
    prober.must_wait(*(f"INSERT INTO a VALUES ({key}, '')" for key in (2005, 3055, 3999, 4995)))
    prober.must_pass("INSERT INTO a VALUES (5555, ''), (15, '')")
    one.execute("COMMIT")
    prober.must_pass("INSERT INTO a VALUES (3055, '')")
    t.check_table("a")


def test_select_for_update_then_insert_by_many(t):
    """Counters made at first use: each value once, whoever comes first."""
    t.run("CREATE TABLE a (id INT PRIMARY KEY, k INT, n INT, KEY (k))")
    sessions = _sessions(t, "REPEATABLE READ", 4)

    def count(session, me):
        for step in range(60):
            k = step % 12
            while True:
                try:
                    session.execute("BEGIN")
                    rows = session.query(f"SELECT id FROM a FORCE INDEX (k) WHERE k = {k} "
                                         "FOR UPDATE")
                    if rows:
                        session.execute(f"UPDATE a SET n = n + 1 WHERE id = {rows[0][0]}")
                    else:
                        session.execute(f"INSERT INTO a VALUES ({me * 1000 + step}, {k}, 1)")
                    session.execute("COMMIT")
                    break
                except MysqlError as error:
                    if error.code != ER_LOCK_DEADLOCK:
                        raise
    t.threads([lambda s=session, me=number: count(s, me) for number, session in
               enumerate(sessions)])
    t.rows("SELECT COUNT(*), COUNT(DISTINCT k), SUM(n) FROM a", [(12, 12, "240")])


def test_many_locked_rows_take_little_memory(t):
    """Under 20 bytes a row, whatever locks them; other sessions go on as if nothing was."""
    if t.engine != "ROWAN":
        t.skip("measures Rowan's memory")
    rows = 10_000_000 if t.long else 100_000
    t.run("CREATE TABLE d (n INT PRIMARY KEY)",
          "INSERT INTO d VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)",
          "CREATE TABLE b (id INT PRIMARY KEY, k INT, v INT)",
          "CREATE TABLE c (id INT PRIMARY KEY, v INT)", "INSERT INTO c VALUES (1, 1), (2, 2)")
    digits = range(len(str(rows)) - 1)
    numbers = " + ".join(f"{10 ** i} * d{i}.n" for i in digits)
    t.client(timeout_s=1800).execute(
        "CREATE TABLE a (id INT PRIMARY KEY, k INT, v INT, KEY (k)) "
        f"AS SELECT {numbers} AS id, 7 AS k, 1 AS v FROM {', '.join(f'd d{i}' for i in digits)}")
    t.rows("SELECT COUNT(*) FROM a", [(rows,)])
    sessions = {level: [t.client(timeout_s=1800), t.client(timeout_s=1800)]
                for level in ("REPEATABLE READ", "READ COMMITTED")}
    for level, clients in sessions.items():
        for client in clients:
            client.execute(f"SET SESSION TRANSACTION ISOLATION LEVEL {level}")
    prober = Prober(t)

    def lock_memory():
        return int(t.run("SHOW STATUS LIKE 'Rowan_row_lock_memory_bytes'")[0][1])
    for_update = "SELECT COUNT(*) FROM (SELECT id FROM a FORCE INDEX ({}) {} FOR UPDATE) x"
    for level, statement in (
            ("REPEATABLE READ", for_update.format("PRIMARY", "")),
            ("REPEATABLE READ", "UPDATE a SET v = v + 1"),
            ("REPEATABLE READ", "INSERT INTO b SELECT * FROM a"),
            ("REPEATABLE READ", "DELETE FROM a"),
            ("REPEATABLE READ", "UPDATE a FORCE INDEX (k) SET v = v + 1 WHERE k = 7"),
            ("READ COMMITTED", for_update.format("PRIMARY", "")),
            ("READ COMMITTED", for_update.format("PRIMARY", "WHERE id % 2 = 0")),
            ("READ COMMITTED", "UPDATE a FORCE INDEX (k) SET v = v + 1 WHERE k = 7")):
        one, other = sessions[level]
        one.execute("BEGIN")
        before = lock_memory()
        start = time.monotonic()
        one.execute(statement)
        taken = lock_memory() - before
        print(f"     {level}: {statement}: {taken / rows:.2f} bytes of locks a row, "
              f"{time.monotonic() - start:.1f} s")
        t.true(taken < 20 * rows, f"{level}: {statement}: {taken} bytes of locks")
        other.execute("UPDATE c SET v = v + 1")
        prober.must_wait(f"SELECT v FROM a WHERE id = {rows // 2} FOR UPDATE")
        one.execute("ROLLBACK")


def test_lock_memory_that_is_used_up_is_missed_by_one_session_only(t):
    if t.engine != "ROWAN":
        t.skip("sets Rowan's limit")
    t.run("CREATE TABLE a (id INT PRIMARY KEY, v INT)",
          "SET SESSION cte_max_recursion_depth = 1000000",
          "INSERT INTO a WITH RECURSIVE r (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE "
          "n < 30000) SELECT n, 0 FROM r")
    one, other = _sessions(t, "READ COMMITTED")
    one.execute("BEGIN")
    t.run("SET GLOBAL rowan_lock_memory_size = 1")
    try:
        t.error("UPDATE a SET v = 1 WHERE id > 10", 1206, one)
        one.execute("BEGIN")
        one.error_code("SELECT COUNT(*) FROM a WHERE id > 10 FOR UPDATE")
        other.execute("BEGIN")
        other.execute("UPDATE a SET v = 2 WHERE id <= 10")
        other.execute("COMMIT")
        one.execute("ROLLBACK")
        copier, = _sessions(t, "REPEATABLE READ", 1)  # one range is enough for all rows
        copier.execute("CREATE TABLE copied AS SELECT * FROM a")
    finally:
        t.run("SET GLOBAL rowan_lock_memory_size = DEFAULT")
    one.execute("UPDATE a SET v = 1 WHERE id > 10")
    t.rows("SELECT v, COUNT(*) FROM a GROUP BY v ORDER BY v", [(1, 29990), (2, 10)])
