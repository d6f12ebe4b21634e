# SPDX-License-Identifier: GPL-2.0-only
"""SHUTDOWN while a large transaction is purged or rolled back takes seconds, not a transaction.

What was begun goes on behind the next start, and the table is right at every moment. One statement
changes ROWAN_TEST_ROWS rows (150,000) with two secondary indexes. The server itself needs a second
or more for an empty shutdown, which is measured first.
"""
import os
import threading
import time

from framework import HUNG_S, LONG, ConnectionLost, MysqlError

_ROWS = int(os.environ.get("ROWAN_TEST_ROWS", 150_000))
_ROWS_PER_STATEMENT = 50_000
# Than the shutdown of a server that has nothing to do.
_LONGER_S = 2.5 if LONG else HUNG_S
_OPTIONS = ("--loose-rowan-purge-threads=2", "--loose-rowan-lock-memory-size=1G",
            "--cte-max-recursion-depth=1000000")


def _fill(client, table):
    client.execute(f"CREATE TABLE {table} (id INT PRIMARY KEY, k INT, v INT, KEY (k), KEY (v, k))")
    for first in range(0, _ROWS, _ROWS_PER_STATEMENT):
        client.execute(
            f"INSERT INTO {table} WITH RECURSIVE n (i) AS (SELECT {first} UNION ALL SELECT i + 1 "
            f"FROM n WHERE i < {first + _ROWS_PER_STATEMENT - 1}) SELECT i, i % 1000, 0 FROM n")


def _timed_stop(t, server, what, limit_s=60):
    begin = time.monotonic()
    t.true(server.stop(), f"{what}: no orderly shutdown")
    took = time.monotonic() - begin
    print(f"     {what}: shutdown took {took:.2f} s", flush=True)
    t.true(took < limit_s, f"{what}: shutdown took {took:.1f} s")
    t.true("got signal" not in server.messages(), f"{what}: {server.messages()}")
    return took


def _new_server(t):
    """A running server, and how long its shutdown may take."""
    server = t.new_server(options=_OPTIONS, buffer_pool="256M")
    server.start()
    idle = _timed_stop(t, server, "nothing to do")
    server.start()
    return server, idle + _LONGER_S


def _history(client):
    return int(client.query("SHOW GLOBAL STATUS LIKE 'Rowan_history_list_length'")[0][1])


def _sums(client, table):
    row = client.query(f"SELECT COUNT(*), SUM(k), SUM(v) FROM {table}")[0]
    return tuple(int(value) for value in row)


def test_shutdown_during_purge(t):
    server, limit_s = _new_server(t)
    client = t.client(server)
    _fill(client, "gone")
    # The snapshot keeps purge from beginning, so that all of it is there at the shutdown.
    reader = t.client(server)
    reader.execute("START TRANSACTION WITH CONSISTENT SNAPSHOT")
    client.execute("DELETE FROM gone WHERE id >= 10")
    t.true(_history(client) >= 1, "nothing is there to be purged")
    reader.execute("COMMIT")
    _timed_stop(t, server, "purge of one DELETE", limit_s)
    server.start()
    client = t.client(server)
    t.equal(_sums(client, "gone"), (10, 45, 0))
    t.wait_for(lambda: _history(client) == 0, "purge goes on", 120)
    t.check_table("gone", client)
    server.destroy()


def _ends_rolled_back(t, server, client, sums):
    """What is left of the rollback goes on; the rows are as before, but for two that we change."""
    client.execute("SET SESSION rowan_lock_wait_timeout = 300")
    client.execute(f"UPDATE kept SET v = v + 1 WHERE id = 0 OR id = {_ROWS - 1}")
    t.wait_for(lambda: ", recovered" not in client.query("SHOW ENGINE ROWAN STATUS")[0][2],
               "the rollback ends", 120)
    t.equal(_sums(client, "kept"), (sums[0], sums[1], 2))
    t.check_table("kept", client)
    server.destroy()


def test_shutdown_during_background_rollback(t):
    server, limit_s = _new_server(t)
    client = t.client(server)
    _fill(client, "kept")
    sums = _sums(client, "kept")
    client.execute("BEGIN")
    client.execute("UPDATE kept SET v = id + 1")
    other = t.client(server)  # its commit makes the log durable
    other.execute("CREATE TABLE mark (id INT PRIMARY KEY)")
    other.execute("INSERT INTO mark VALUES (1)")
    server.kill()
    server.start()
    t.equal(_sums(t.client(server), "kept"), sums, "uncommitted changes are not seen")
    _timed_stop(t, server, "background rollback", limit_s)
    server.start()
    client = t.client(server)
    _ends_rolled_back(t, server, client, sums)


def _begin(t, server, client, statement):
    """Runs a statement that the shutdown is going to interrupt, under way at return or through;
    returns its thread."""
    number = client.value("SELECT CONNECTION_ID()")
    watcher = t.client(server, database="")

    def run():
        try:
            client.execute(statement)
        except (ConnectionLost, MysqlError, OSError):
            pass
    thread = threading.Thread(target=run)
    thread.start()
    t.wait_for(lambda: not thread.is_alive() or watcher.query(
        f"SELECT 1 FROM information_schema.processlist WHERE ID = {number} AND COMMAND = 'Query'"),
        f"{statement} begins")
    return thread


def test_shutdown_during_a_clients_rollback(t):
    server, limit_s = _new_server(t)
    client = t.client(server)
    _fill(client, "kept")
    sums = _sums(client, "kept")
    client.execute("CREATE TABLE other (id INT PRIMARY KEY)")
    client.execute("INSERT INTO other VALUES (1)")
    client.execute("CREATE TEMPORARY TABLE scratch LIKE kept")
    client.execute("INSERT INTO scratch SELECT * FROM kept")
    client.execute("BEGIN")
    for _ in range(3):
        client.execute("UPDATE kept SET v = v + 1, k = k + 1")
        client.execute("UPDATE scratch SET v = v + 1, k = k + 1")
    thread = _begin(t, server, client, "ROLLBACK")
    _timed_stop(t, server, "a client's ROLLBACK", limit_s)
    thread.join()
    t.true("goes on after the next start" in server.messages(), "the rollback was through")
    server.start()
    client = t.client(server)
    client.execute("UPDATE other SET id = id + 1")
    t.equal(client.query("SELECT id FROM other"), [(2,)], "the other table")
    t.equal(_sums(client, "kept"), sums, "what is not rolled back yet is not seen")
    _ends_rolled_back(t, server, client, sums)


def _session(t, server):
    """One that does not wait for what a prepared transaction locks in the dictionary."""
    client = t.client(server, database="")
    client.execute(f"USE {t.database}")
    return client


def test_shutdown_during_long_statements(t):
    server, limit_s = _new_server(t)
    client = t.client(server)
    _fill(client, "source")
    sums = _sums(client, "source")
    client.execute("CREATE TABLE target LIKE source")
    client.execute("CREATE TABLE prepared (id INT PRIMARY KEY)")
    client.execute("XA START 'x'")
    client.execute("INSERT INTO prepared VALUES (1)")
    client.execute("XA END 'x'")
    client.execute("XA PREPARE 'x'")
    for statement in ("INSERT INTO target SELECT id + n * 1000000, k, v FROM source, (SELECT 0 n "
                      "UNION SELECT 1 UNION SELECT 2 UNION SELECT 3) times",
                      "ALTER TABLE source ADD COLUMN (more INT), ALGORITHM=COPY",
                      "CREATE INDEX by_all ON source (v, k, id)",
                      "DELETE FROM prepared WHERE id = 1"):  # waits for the prepared transaction
        idle = _session(t, server)
        idle.execute("BEGIN")
        idle.execute("INSERT INTO target VALUES (-1, 0, 0)")
        thread = _begin(t, server, _session(t, server), statement)
        _timed_stop(t, server, statement.split(" ON ")[0], limit_s)
        thread.join()
        server.start()
        t.equal(_sums(_session(t, server), "source"), sums, statement)
    client = _session(t, server)
    t.wait_for(lambda: ", recovered" not in client.query("SHOW ENGINE ROWAN STATUS")[0][2].replace(
        "prepared, recovered", ""), "the rollbacks end", 120)
    client.execute("XA COMMIT 'x'")
    t.equal(client.query("SELECT COUNT(*) FROM prepared"), [(1,)])
    rows = client.query("SELECT COUNT(*) FROM target")[0][0]
    t.true(rows in (0, 4 * _ROWS), f"{rows} rows")  # all of them where it ended before the shutdown
    t.check_table("source", client)
    t.check_table("target", client)
    server.destroy()
