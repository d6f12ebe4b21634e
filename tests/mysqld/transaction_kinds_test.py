# SPDX-License-Identifier: GPL-2.0-only
"""READ ONLY transactions, consistent snapshots over two engines, LOCK TABLES."""
import time

from isolation_test import Pending
from side_by_side import same_on_both

_READ_ONLY_SERVER = 1290
_TXNS = 200
# What a transaction that only reads must not move, by engine.
_LEFT_ALONE = {"ROWAN": ("Rowan_log_lsn", "Rowan_log_durable_lsn", "Rowan_log_written",
                         "Rowan_log_syncs", "Rowan_log_writes", "Rowan_undo_records",
                         "Rowan_commits", "Rowan_rollbacks", "Rowan_history_list_length",
                         "Rowan_row_locks"),
               "InnoDB": ("Innodb_redo_log_current_lsn", "Innodb_os_log_fsyncs",
                          "Innodb_os_log_written")}
_READS = ("SELECT v FROM a WHERE id = 7", "SELECT COUNT(*) FROM a FORCE INDEX (k) WHERE k < 50",
          "SELECT id FROM a FORCE INDEX (k) WHERE k = 3 ORDER BY id DESC LIMIT 1")


def _fill(t):
    t.run("CREATE TABLE a (id INT PRIMARY KEY, k INT, v INT, KEY (k))",
          "INSERT INTO a WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n "
          "WHERE i < 100) SELECT i, i, i FROM n")


def _figures(t):
    names = "', '".join(_LEFT_ALONE[t.engine])
    return dict(t.run(f"SHOW GLOBAL STATUS WHERE Variable_name IN ('{names}')"))


def _quiet_figures(t):
    """Once the background work after the last change has ended."""
    before = _figures(t)
    while True:
        time.sleep(0.3)
        now = _figures(t)
        written = now.get("Rowan_log_lsn") == now.get("Rowan_log_durable_lsn")
        if now == before and written:
            return now
        before = now


def _new_id(t):
    """The id that the next writing transaction gets."""
    t.run("BEGIN", "UPDATE a SET v = v + 1 WHERE id = 1")
    number = t.value("SELECT TRX_ID FROM INFORMATION_SCHEMA.ROWAN_TRX")
    t.run("ROLLBACK")
    return int(number)


def test_a_read_only_transaction_leaves_nothing_behind(t):
    _fill(t)
    reader = t.client()
    t.client().error_code("INSTALL PLUGIN rowan_trx SONAME 'ha_rowan.so'")
    first_id = _new_id(t) if t.engine == "ROWAN" else 0
    for _ in range(10):
        before = _quiet_figures(t)
        _read(reader)
        after = _figures(t)
        if after == before:
            break  # else a background thread was at work meanwhile, as it is now and then
    print(f"{_TXNS} transactions with {len(_READS)} reads: {after}")
    t.equal(after, before, "figures after transactions that only read")
    if t.engine == "ROWAN":
        taken = _new_id(t) - first_id
        t.true(taken < _TXNS // 10, f"{taken} transaction ids taken")


def _read(reader):
    for number in range(_TXNS):
        begin = ("START TRANSACTION READ ONLY", "START TRANSACTION WITH CONSISTENT SNAPSHOT",
                 "BEGIN", "DO 0")[number % 4]
        reader.execute(begin)
        for statement in _READS:
            reader.query(statement)
        reader.execute(("COMMIT", "ROLLBACK")[number // 4 % 2])


def test_what_a_read_only_transaction_may_do(t):
    same_on_both(t, """
        CREATE TABLE a (id INT PRIMARY KEY, v INT);
        CREATE TEMPORARY TABLE w (id INT PRIMARY KEY, v INT);
        INSERT INTO a VALUES (1, 10), (2, 20);
        START TRANSACTION READ ONLY;
        INSERT INTO a VALUES (3, 30);
        UPDATE a SET v = 0;
        DELETE FROM a WHERE id = 1;
        REPLACE INTO a VALUES (1, 0);
        CREATE TABLE b (id INT);
        SELECT * FROM a FOR UPDATE;
        INSERT INTO w SELECT * FROM a;
        UPDATE w SET v = v + 1;
        SELECT * FROM w;
        COMMIT;
        SELECT * FROM w;
        SET SESSION TRANSACTION READ ONLY;
        UPDATE a SET v = 1;
        START TRANSACTION READ WRITE;
        UPDATE a SET v = 1;
        COMMIT;
        SET SESSION TRANSACTION READ WRITE;
        START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY;
        UPDATE a SET v = 2;
        ROLLBACK;
        SELECT * FROM a;
    """)


def test_a_server_that_is_read_only(t):
    """Refused as on InnoDB; what is open then cannot commit, reads and temporary tables go on."""
    t.run("CREATE TABLE r (id INT PRIMARY KEY, v INT)", "INSERT INTO r VALUES (1, 1), (2, 2)")
    client, early, other = t.client(), t.client(), t.client()
    early.execute("BEGIN")
    early.execute("UPDATE r SET v = 9 WHERE id = 1")
    t.run("SET GLOBAL super_read_only = ON")
    try:
        for statement in ("INSERT INTO r VALUES (3, 3)", "UPDATE r SET v = 0 WHERE id = 2",
                          "DELETE FROM r", "TRUNCATE TABLE r", "ALTER TABLE r ADD w INT",
                          "CREATE TABLE s (id INT)", "DROP TABLE r",
                          "SELECT * FROM r FOR UPDATE"):
            t.error(statement, _READ_ONLY_SERVER, client)
        t.error("COMMIT", _READ_ONLY_SERVER, early)
        early.execute("ROLLBACK")
        t.equal(client.query("SELECT v FROM r WHERE id = 1"), [(1,)])
        other.execute("CREATE TEMPORARY TABLE x (id INT PRIMARY KEY)")
        other.execute("INSERT INTO x VALUES (1)")
    finally:
        t.run("SET GLOBAL super_read_only = OFF", "SET GLOBAL read_only = OFF")
    t.rows("SELECT * FROM r", [(1, 1), (2, 2)])


def test_a_consistent_snapshot_is_taken_at_start_in_both_engines(t):
    t.run("CREATE TABLE a (id INT PRIMARY KEY, v INT)",
          "CREATE TABLE b (id INT PRIMARY KEY, v INT) ENGINE=InnoDB",
          "INSERT INTO a VALUES (1, 10)", "INSERT INTO b VALUES (1, 10)")
    other = t.client()
    change = ("BEGIN", "UPDATE a SET v = v + 1", "UPDATE b SET v = v + 1", "COMMIT")
    seen = "SELECT a.v, b.v FROM a JOIN b USING (id)"
    for begin in ("START TRANSACTION WITH CONSISTENT SNAPSHOT",
                  "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY"):
        t.run(begin)
        before = other.query(seen)
        for statement in change * 2:
            other.execute(statement)
        t.rows(seen, before)
        t.run("COMMIT")
        t.rows(seen, other.query(seen))
    # Without it each engine takes its own at the first read of one of its tables.
    t.run("BEGIN", "SELECT * FROM b")
    for statement in change:
        other.execute(statement)
    t.rows(seen, [(15, 14)] if t.engine == "ROWAN" else [(14, 14)])
    t.run("COMMIT")


def test_lock_tables_beside_another_session(t):
    """The same on both engines: what waits, what is refused, and what ends the locks."""
    for engine in {t.engine, "InnoDB"}:
        _play_lock_tables(t, engine)


def _play_lock_tables(t, engine):
    own, other = t.client(), t.client()
    for table in ("la", "lb"):
        own.execute(f"DROP TABLE IF EXISTS {table}")
        own.execute(f"CREATE TABLE {table} (id INT PRIMARY KEY, v INT) ENGINE={engine}")
        own.execute(f"INSERT INTO {table} VALUES (1, 10)")
    own.execute("LOCK TABLES la READ")
    t.equal(other.query("SELECT v FROM la"), [(10,)])
    t.error("UPDATE la SET v = 0", 1099, own)
    t.error("SELECT * FROM lb", 1100, own)
    writer = Pending(other, "UPDATE la SET v = v + 1").must_wait()
    t.equal(own.query("SELECT v FROM la"), [(10,)])
    own.execute("UNLOCK TABLES")
    writer.must_finish()

    own.execute("LOCK TABLES la WRITE, lb READ")
    own.execute("UPDATE la SET v = v + 1")
    reader = Pending(other, "SELECT v FROM la").must_wait()
    own.execute("ROLLBACK")  # of nothing, and the locks stay
    t.true(not reader.is_done(0.1), "ROLLBACK does not end LOCK TABLES")
    own.execute("START TRANSACTION")  # this does
    t.equal(reader.must_finish().rows, [(12,)])
    own.execute("COMMIT")

    # With autocommit off its changes are a transaction that UNLOCK TABLES commits.
    own.execute("SET autocommit = 0")
    own.execute("LOCK TABLES la WRITE")
    own.execute("UPDATE la SET v = v + 1")
    reader = Pending(other, "SELECT v FROM la").must_wait()
    own.execute("UNLOCK TABLES")
    t.equal(reader.must_finish().rows, [(13,)])
    own.execute("ROLLBACK")
    t.equal(other.query("SELECT v FROM la"), [(13,)])

    # A row lock of another session is waited for under the table lock, too.
    other.execute("BEGIN")
    other.execute("SELECT * FROM lb FOR UPDATE")
    locker = Pending(own, "LOCK TABLES lb WRITE").must_wait()
    other.execute("COMMIT")
    locker.must_finish()
    own.execute("UNLOCK TABLES")
