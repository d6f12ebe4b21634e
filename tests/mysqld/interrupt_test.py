# SPDX-License-Identifier: GPL-2.0-only
"""KILL and SHUTDOWN end the longest statements, and the tables are right afterwards.

What is left of a rollback goes on by itself: until then its rows are locked, and nobody sees them.
The times to stop are printed; how much is done behind the interruption is counted by
engine/interruption_test.cc.
"""
import os
import threading
import time

from framework import LONG, ConnectionLost, MysqlError

_ROWS = int(os.environ.get("ROWAN_TEST_ROWS", 60_000 if LONG else 30_000))
_VALUES = 200 if LONG else 100  # of half a megabyte
_QUERY_INTERRUPTED = 1317
_OPTIONS = ("--cte-max-recursion-depth=1000000", "--loose-rowan-lock-memory-size=1G",
            "--max-allowed-packet=64M")


def _numbers(count):
    return (f"WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n "
            f"WHERE i < {count - 1})")


def _fill(client):
    client.execute("CREATE TABLE wide (id INT PRIMARY KEY, k INT, v INT, t VARCHAR(200), KEY (k), "
                   "KEY by_t (t))")
    client.execute(f"INSERT INTO wide {_numbers(_ROWS)} "
                   "SELECT i, i % 1000, 0, REPEAT(SHA2(i, 256), 2) FROM n")
    client.execute("CREATE TABLE deep (id INT PRIMARY KEY, b LONGBLOB)")
    client.execute(f"INSERT INTO deep {_numbers(_VALUES)} "
                   "SELECT i, REPEAT(SHA2(i, 256), 8192) FROM n")


def _contents(client):
    wide = client.query("SELECT COUNT(*), SUM(k), SUM(v), SUM(CRC32(t)) FROM wide")
    return wide + client.query("SELECT COUNT(*), SUM(LENGTH(b)) FROM deep")


def _begin(t, server, client, statement):
    """In a thread, under way at return: the thread, its connection, the error it ends with."""
    connection = int(client.query("SELECT CONNECTION_ID()")[0][0])
    watcher = t.client(server)
    failed = []

    def run():
        try:
            client.query(statement)
        except (MysqlError, ConnectionLost, OSError) as error:
            failed.append(error)
    thread = threading.Thread(target=run, daemon=True)
    thread.start()

    def under_way():
        rows = watcher.query("SELECT COMMAND FROM information_schema.processlist "
                             f"WHERE ID = {connection}")
        return not thread.is_alive() or not rows or rows[0][0] == "Query"
    t.wait_for(under_way, f"{statement} begins")
    return thread, connection, failed


def _killed(t, server, client, statement, after_s, kill="KILL QUERY"):
    """How the statement ended that was killed when it had run for so long; None: it was through."""
    killer = t.client(server)
    thread, connection, failed = _begin(t, server, client, statement)
    time.sleep(after_s)
    running = thread.is_alive()
    begin = time.monotonic()
    try:
        killer.execute(f"{kill} {connection}")
    except MysqlError as error:
        t.equal(error.code, 1094, "a connection that has gone")
    thread.join(120)
    t.true(not thread.is_alive(), f"{statement} goes on after {kill}")
    what = f"{time.monotonic() - begin:.3f} s to stop" if running else "was through"
    print(f"     {kill} after {after_s:.2f} s of {statement[:60]}: {what}", flush=True)
    return failed[0] if failed else None


def _await_rollbacks(t, client):
    t.wait_for(lambda: ", recovered" not in client.query("SHOW ENGINE ROWAN STATUS")[0][2],
               "what was left is rolled back")


def _expect(t, server, contents):
    client = t.client(server)
    t.equal(_contents(client), contents, "what nobody committed")
    _await_rollbacks(t, client)
    client.execute("UPDATE wide SET v = v + 1 WHERE id % 1000 = 0")  # nothing is locked
    client.execute("UPDATE wide SET v = v - 1 WHERE id % 1000 = 0")
    t.equal(_contents(client), contents, "behind the rollback")
    t.check_table("wide", client)
    t.check_table("deep", client)


def _new_server(t):
    server = t.new_server(options=_OPTIONS, buffer_pool="48M")
    server.start()
    client = t.client(server)
    _fill(client)
    return server, client, _contents(client)


def _change(client):
    client.execute("BEGIN")
    client.execute("UPDATE wide SET v = v + 1, t = REVERSE(t)")
    client.execute("UPDATE deep SET b = REPEAT('x', 1000000)")


def test_killed_rollback(t):
    server, _, contents = _new_server(t)
    for after_s in (0.02, 0.1):
        client = t.client(server)
        _change(client)
        # The outcome is certain, so it is no error.
        t.equal(_killed(t, server, client, "ROLLBACK", after_s), None, "ROLLBACK")
        client.query("SELECT 1")
    client = t.client(server)
    _change(client)
    _killed(t, server, client, "ROLLBACK", 0.02, "KILL")
    _expect(t, server, contents)
    server.destroy()


def test_killed_statements(t):
    server, client, contents = _new_server(t)
    for statement, after_s in (
            ("ALTER TABLE wide DROP INDEX by_t", 0.01),
            ("ALTER TABLE wide FORCE", 0.1),
            ("ALTER TABLE wide FORCE, ALGORITHM=COPY", 0.15),
            ("ALTER TABLE deep FORCE, ALGORITHM=COPY", 0.3),
            ("ALTER TABLE deep FORCE", 0.2),
            ("CREATE INDEX more ON wide (t, v)", 0.2),
            ("CREATE INDEX even_more ON wide (t, k)", 0.5),
            ("CHECK TABLE wide", 0.05),
            ("ANALYZE TABLE wide", 0.01),
            ("SELECT COUNT(*) FROM wide WHERE t LIKE '%nobody%'", 0.02)):
        error = _killed(t, server, client, statement, after_s)
        if isinstance(error, MysqlError):
            t.true(error.code in (_QUERY_INTERRUPTED, 1028, 1180), f"{statement}: {error}")
    _expect(t, server, contents)
    client.execute("ALTER TABLE wide FORCE")
    _expect(t, server, contents)
    server.destroy()


def test_a_killed_statement_keeps_its_transaction(t):
    server, client, contents = _new_server(t)
    client.execute("BEGIN")
    client.execute("UPDATE wide SET v = 7 WHERE id = 1")
    error = _killed(t, server, client, "UPDATE wide SET v = v + 1, t = REVERSE(t)", 0.2)
    if error is not None:
        t.equal(error.code, _QUERY_INTERRUPTED, "the UPDATE")
        t.equal(client.query("SELECT v FROM wide WHERE id = 1"), [(7,)], "the statement before")
    client.execute("ROLLBACK")
    _expect(t, server, contents)
    server.destroy()


def test_killed_connection(t):
    server, _, contents = _new_server(t)
    for statement in ("UPDATE wide SET v = v + 1, t = REVERSE(t)",
                      "UPDATE deep SET b = REPEAT('y', 1000000)"):
        client = t.client(server)
        client.execute("BEGIN")
        client.execute("UPDATE wide SET v = v + 1")  # waits until the former one is rolled back
        _killed(t, server, client, statement, 0.3, "KILL")
    _expect(t, server, contents)
    server.destroy()


def test_shutdown(t):
    server, _, contents = _new_server(t)
    for statements in (("BEGIN", "UPDATE wide SET v = v + 1, t = REVERSE(t)",
                        "UPDATE deep SET b = REPEAT('z', 1000000)", "ROLLBACK"),
                       ("CREATE INDEX more ON wide (t, v)",),
                       ("ALTER TABLE deep FORCE, ALGORITHM=COPY",),
                       ("CHECK TABLE deep, wide",)):
        client = t.client(server)
        for statement in statements[:-1]:
            client.execute(statement)
        thread, _, _ = _begin(t, server, client, statements[-1])
        time.sleep(0.1)
        begin = time.monotonic()
        t.true(server.stop(), "no orderly shutdown")
        took = time.monotonic() - begin
        print(f"     SHUTDOWN during {statements[-1][:50]}: {took:.2f} s", flush=True)
        thread.join(60)
        t.true("got signal" not in server.messages(), server.messages())
        server.start()
    _expect(t, server, contents)
    server.destroy()
