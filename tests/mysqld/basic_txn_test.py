# SPDX-License-Identifier: GPL-2.0-only
"""Transactions through the server: savepoints, XA, two engines, LOCK TABLES, binlog, variables."""

_ER_LOCK_NOWAIT = 3572
_ER_WRONG_VALUE = (1231, 1232)


def _table(t, rows=((1, 1), (2, 2), (3, 3))):
    t.run("CREATE TABLE a (id INT PRIMARY KEY, k INT, KEY (k))")
    t.run("INSERT INTO a VALUES " + ", ".join(str(row) for row in rows))


def test_savepoints(t):
    _table(t)
    t.run("BEGIN", "SAVEPOINT one", "INSERT INTO a VALUES (4, 4)", "SAVEPOINT two",
          "UPDATE a SET k = 9", "SAVEPOINT three", "DELETE FROM a", "ROLLBACK TO three")
    t.rows("SELECT COUNT(*), MIN(k) FROM a", [(4, 9)])
    t.run("ROLLBACK TO two")
    t.rows("SELECT k FROM a", [(1,), (2,), (3,), (4,)])
    t.run("RELEASE SAVEPOINT one", "COMMIT")
    t.rows("SELECT COUNT(*) FROM a", [(4,)])
    t.check_table("a")


def test_stored_function_and_procedure(t):
    _table(t)
    t.run("CREATE FUNCTION bump(i INT) RETURNS INT MODIFIES SQL DATA "
          "BEGIN UPDATE a SET k = k + 10 WHERE id = i; RETURN (SELECT k FROM a WHERE id = i); END",
          "CREATE PROCEDURE two() BEGIN INSERT INTO a VALUES (8, 8); "
          "UPDATE a SET k = 0 WHERE id = 8; SELECT COUNT(*) FROM a; END")
    t.rows("SELECT bump(2)", [(12,)])
    t.rows("CALL two()", [(4,)])
    t.rows("SELECT * FROM a WHERE id IN (2, 8) ORDER BY id", [(2, 12), (8, 0)])


def test_xa(t):
    _table(t)
    t.run("XA START 'x1'", "INSERT INTO a VALUES (4, 4)", "XA END 'x1'", "XA PREPARE 'x1'")
    other = t.client()
    t.equal(other.query("SELECT COUNT(*) FROM a"), [(3,)])
    t.true(any(b"x1" in str(row[3]).encode() for row in other.query("XA RECOVER")), "XA RECOVER")
    other.execute("XA COMMIT 'x1'")
    t.equal(other.query("SELECT COUNT(*) FROM a"), [(4,)])
    t.run("XA START 'x2'", "DELETE FROM a", "XA END 'x2'", "XA PREPARE 'x2'", "XA ROLLBACK 'x2'")
    t.rows("SELECT COUNT(*) FROM a", [(4,)])
    t.run("XA START 'x3'", "INSERT INTO a VALUES (5, 5)", "XA END 'x3'", "XA COMMIT 'x3' ONE PHASE")
    t.rows("SELECT COUNT(*) FROM a", [(5,)])


def test_xa_survives_kill(t):
    server = t.new_server(binlog=True)
    server.start()
    client = t.client(server)
    client.execute("CREATE TABLE a (id INT PRIMARY KEY)")
    for name in ("keep", "drop"):
        client.execute(f"XA START '{name}'")
        client.execute(f"INSERT INTO a VALUES ({len(name) if name == 'keep' else 99})")
        client.execute(f"XA END '{name}'")
        client.execute(f"XA PREPARE '{name}'")
    client.execute("FLUSH BINARY LOGS")
    server.kill()
    server.start()
    client = t.client(server)
    t.equal(sorted(row[3] for row in client.query("XA RECOVER")), ["drop", "keep"])
    client.execute("XA COMMIT 'keep'")
    client.execute("XA ROLLBACK 'drop'")
    t.equal(client.query("SELECT * FROM a"), [(4,)])


def test_two_engines_in_one_transaction(t):
    t.run("CREATE TABLE a (id INT PRIMARY KEY)",
          "CREATE TABLE b (id INT PRIMARY KEY) ENGINE=InnoDB",
          "BEGIN", "INSERT INTO a VALUES (1)", "INSERT INTO b VALUES (1)", "ROLLBACK")
    t.rows("SELECT (SELECT COUNT(*) FROM a), (SELECT COUNT(*) FROM b)", [(0, 0)])
    t.run("BEGIN", "INSERT INTO a VALUES (1)", "INSERT INTO b VALUES (1)", "COMMIT",
          "INSERT INTO a SELECT id + 1 FROM b", "DELETE a, b FROM a JOIN b USING (id)")
    t.rows("SELECT * FROM a", [(2,)])
    t.rows("SELECT * FROM b", [])


def test_lock_tables(t):
    _table(t)
    t.run("LOCK TABLES a WRITE", "INSERT INTO a VALUES (4, 4)", "UPDATE a SET k = k + 1",
          "DELETE FROM a WHERE id = 1")
    t.rows("SELECT * FROM a", [(2, 3), (3, 4), (4, 5)])
    t.run("UNLOCK TABLES", "LOCK TABLES a READ")
    t.rows("SELECT COUNT(*) FROM a", [(3,)])
    t.error("INSERT INTO a VALUES (9, 9)", 1099)
    t.run("UNLOCK TABLES")


def test_consistent_snapshot(t):
    _table(t)
    other = t.client()
    t.run("START TRANSACTION WITH CONSISTENT SNAPSHOT")
    other.execute("INSERT INTO a VALUES (4, 4)")
    t.rows("SELECT COUNT(*) FROM a", [(3,)])
    t.run("COMMIT")
    t.rows("SELECT COUNT(*) FROM a", [(4,)])


def test_nowait_and_skip_locked(t):
    _table(t)
    holder = t.client()
    holder.execute("BEGIN")
    holder.execute("SELECT * FROM a WHERE id = 2 FOR UPDATE")
    t.error("SELECT * FROM a WHERE id = 2 FOR UPDATE NOWAIT", _ER_LOCK_NOWAIT)
    t.rows("SELECT id FROM a FOR UPDATE SKIP LOCKED", [(1,), (3,)])
    t.rows("SELECT id FROM a WHERE id = 2 FOR UPDATE SKIP LOCKED", [])
    t.rows("SELECT id FROM a FORCE INDEX (k) WHERE k >= 1 FOR UPDATE SKIP LOCKED", [(1,), (3,)])
    t.rows("SELECT id FROM a WHERE id = 2", [(2,)])
    holder.execute("ROLLBACK")
    t.rows("SELECT id FROM a WHERE id = 2 FOR UPDATE NOWAIT", [(2,)])


def test_serializable_reads_lock(t):
    _table(t)
    t.run("SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE", "BEGIN")
    t.rows("SELECT k FROM a WHERE id = 1", [(1,)])
    other = t.client()
    other.execute("SET SESSION " + ("rowan" if t.engine == "ROWAN" else "innodb")
                  + "_lock_wait_timeout = 1")
    t.equal(other.error_code("UPDATE a SET k = 5 WHERE id = 1"), 1205)
    t.run("COMMIT")
    t.equal(other.error_code("UPDATE a SET k = 5 WHERE id = 1"), 0)


def test_read_committed_gives_back_rows_that_do_not_match(t):
    _table(t)
    t.run("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED", "BEGIN",
          "UPDATE a SET k = 7 WHERE k + 0 = 2")
    other = t.client()
    t.equal(other.error_code("SELECT * FROM a WHERE id = 3 FOR UPDATE NOWAIT"), 0)
    t.equal(other.error_code("SELECT * FROM a WHERE id = 2 FOR UPDATE NOWAIT"), _ER_LOCK_NOWAIT)
    t.run("COMMIT")


def test_binlog_and_replayable_commits(t):
    server = t.new_server(binlog=True)
    server.start()
    client = t.client(server)
    client.execute("CREATE TABLE a (id INT PRIMARY KEY AUTO_INCREMENT, k INT)")

    def work():
        session = t.client(server)
        for i in range(50):
            session.execute(f"INSERT INTO a (k) VALUES ({i})")
    t.threads([work] * 4)
    server.kill()
    server.start()
    client = t.client(server)
    t.equal(client.query("SELECT COUNT(*) FROM a"), [(200,)])
    t.check_table("a", client)


def test_durability_settings(t):
    if t.engine != "ROWAN":
        t.skip("about Rowan's variables")
    _table(t)
    for setting in (0, 2, 1):
        t.run(f"SET SESSION rowan_flush_log_at_trx_commit = {setting}",
              f"INSERT INTO a VALUES ({10 + setting}, 1)")
    for method in ("fsync", "fdatasync", "dsync", "auto"):
        t.run(f"SET GLOBAL rowan_log_sync_method = {method}", "UPDATE a SET k = k + 1")
        name = t.run("SHOW GLOBAL STATUS LIKE 'Rowan_log_sync_method'")[0][1]
        t.true(method in (name, "auto"), f"in use: {name}")
    for mode in ("detect_only", "off", "on"):
        t.run(f"SET GLOBAL rowan_doublewrite = {mode}")
    t.run("SET GLOBAL rowan_io_capacity = 5000", "SET GLOBAL rowan_buffer_pool_size = 33554432",
          "SET GLOBAL rowan_redo_log_capacity = 134217728")
    t.rows("SELECT COUNT(*) FROM a", [(6,)])


def test_bad_values_are_refused(t):
    if t.engine != "ROWAN":
        t.skip("about Rowan's variables")
    for assignment in ("rowan_log_sync_method = 'floppy'", "rowan_buffer_pool_size = 5",
                       "rowan_redo_log_capacity = 4096", "rowan_doublewrite = 17"):
        t.error(f"SET GLOBAL {assignment}", _ER_WRONG_VALUE)
    t.error("SET GLOBAL rowan_page_size = 8192", 1238)
    t.error("SET GLOBAL rowan_data_home_dir = 'x'", 1238)


def test_status_and_engine_report(t):
    if t.engine != "ROWAN":
        t.skip("about Rowan's status")
    names = {row[0] for row in t.run("SHOW GLOBAL STATUS LIKE 'Rowan%'")}
    for name in ("Rowan_page_size", "Rowan_io_backend", "Rowan_log_sync_method",
                 "Rowan_buffer_pool_pages_total", "Rowan_checkpoint_age",
                 "Rowan_history_list_length", "Rowan_commits", "Rowan_rows_read"):
        t.true(name in names, f"{name} is missing")
    report = t.run("SHOW ENGINE ROWAN STATUS")[0][2]
    t.true("BUFFER POOL" in report and "TRANSACTIONS" in report, report)


def test_information_schema(t):
    if t.engine != "ROWAN":
        t.skip("about Rowan's tables")
    _table(t)
    t.run("BEGIN", "UPDATE a SET k = 5 WHERE id = 1", "SELECT * FROM a WHERE id = 2 FOR UPDATE")
    other = t.client()
    t.true(other.value("SELECT COUNT(*) FROM information_schema.rowan_trx "
                       "WHERE trx_state = 'RUNNING'") >= 1, "transactions")
    t.true(other.value("SELECT COUNT(*) FROM information_schema.rowan_locks "
                       "WHERE lock_mode = 'X'") >= 1, "locks")
    t.run("COMMIT")
    t.true(other.value("SELECT SUM(count) > 0 FROM information_schema.rowan_sync_latency "
                       "WHERE phase = 'sync'") == 1, "sync latency")
