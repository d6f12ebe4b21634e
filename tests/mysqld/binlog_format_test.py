# SPDX-License-Identifier: GPL-2.0-only
"""Formats of the binary log: what concurrent sessions wrote is read into an empty server, which
must then hold the same rows. In the formats STATEMENT and MIXED that needs locks on all that a
statement reads, gaps included."""
import random

from framework import SEED
from log_replay import replay
from rowantools.client import ER_LOCK_DEADLOCK, MysqlError

_ROWS = 60
_SESSIONS = 4
_STATEMENTS = 100
_ROW_FORMAT_ONLY = 1665
_TABLES = ("a", "b", "sums")
_CREATE = ("CREATE TABLE a (id INT PRIMARY KEY, k INT, v INT, KEY (k))",
           "CREATE TABLE b (id INT PRIMARY KEY, k INT, v INT, UNIQUE (k))",
           "CREATE TABLE sums (n INT PRIMARY KEY, total BIGINT, counted INT)")


def _statement(chance, number):
    """One whose effect depends on what others wrote before it."""
    low = chance.randrange(_ROWS)
    high = low + chance.randrange(12)
    return chance.choice((
        f"INSERT INTO sums SELECT {number}, SUM(v), COUNT(*) FROM a WHERE k BETWEEN {low} AND "
        f"{high}",
        f"INSERT INTO sums SELECT {number}, SUM(v), COUNT(*) FROM b WHERE k >= {low}",
        f"UPDATE a SET v = v + (SELECT COUNT(*) FROM b WHERE k < {high}) WHERE k = {low}",
        f"UPDATE a SET k = k + 1 WHERE k BETWEEN {low} AND {high}",
        f"UPDATE a JOIN b ON a.k = b.k SET a.v = a.v + b.v WHERE b.id < {high}",
        f"INSERT IGNORE INTO b SELECT id, k, v FROM a WHERE k BETWEEN {low} AND {high} ORDER BY id",
        f"INSERT INTO a VALUES ({low}, {high}, 1) ON DUPLICATE KEY UPDATE v = v * 2 % 1000 + k",
        f"REPLACE INTO b VALUES ({low}, {high}, {number})",
        f"DELETE FROM a WHERE k BETWEEN {low} AND {high} ORDER BY id LIMIT 3",
        f"DELETE b FROM b LEFT JOIN a ON a.k = b.k WHERE a.id IS NULL AND b.id > {low}",
    ))


def _session(client, number):
    chance = random.Random(f"{SEED}/{number}")
    for count in range(_STATEMENTS):
        try:
            if chance.randrange(4) == 0:
                client.execute("BEGIN")
                client.execute(_statement(chance, number * 10_000 + 5_000 + count))
                client.execute(_statement(chance, number * 10_000 + 7_000 + count))
                client.execute("ROLLBACK" if chance.randrange(5) == 0 else "COMMIT")
            else:
                client.execute(_statement(chance, number * 10_000 + count))
        except MysqlError as error:
            if error.code != ER_LOCK_DEADLOCK:
                raise


def _contents(client, database):
    return [client.query(f"SELECT * FROM `{database}`.{table} ORDER BY 1") for table in _TABLES]


def _replayed_alike(t, binlog_format, level):
    """Returns the events."""
    source, copy = t.new_server(binlog=True), t.new_server()
    source.start()
    clients = [t.client(source) for _ in range(_SESSIONS)]
    rows = ", ".join(f"({i}, {i}, {i * 7 % 50})" for i in range(0, _ROWS, 2))
    for statement in (*_CREATE, f"INSERT INTO a VALUES {rows}", f"INSERT INTO b VALUES {rows}"):
        clients[0].execute(statement)
    for client in clients:
        client.execute(f"SET SESSION binlog_format = {binlog_format}")
        client.execute(f"SET SESSION TRANSACTION ISOLATION LEVEL {level}")
    t.threads([lambda c=client, n=number: _session(c, n)
               for number, client in enumerate(clients, 1)])
    copy.start()
    events = replay(source, copy)
    t.equal(_contents(copy.client(), t.database), _contents(source.client(), t.database),
            f"{binlog_format}, {level}, seed {SEED}")
    source.destroy()
    copy.destroy()
    return events


def test_statements_replay_as_they_committed(t):
    for level in ("REPEATABLE READ", "SERIALIZABLE"):
        events = _replayed_alike(t, "STATEMENT", level)
        t.true(b"UPDATE a SET k = k + 1" in events, "statements are logged")


def test_a_mix_replays_as_it_committed(t):
    events = _replayed_alike(t, "MIXED", "REPEATABLE READ")
    t.true(b"UPDATE a SET k = k + 1" in events and b"BINLOG '" in events, "both are logged")


def test_rows_replay_as_they_committed(t):
    t.true(b"BINLOG '" in _replayed_alike(t, "ROW", "READ COMMITTED"), "rows are logged")


def test_statements_are_refused_where_they_read_without_locks(t):
    server = t.new_server(binlog=True)
    server.start()
    client = t.client(server)
    client.execute("CREATE TABLE x (id INT PRIMARY KEY)")
    for level, code in (("READ UNCOMMITTED", _ROW_FORMAT_ONLY), ("SERIALIZABLE", 0),
                        ("READ COMMITTED", _ROW_FORMAT_ONLY), ("REPEATABLE READ", 0)):
        client.execute("SET SESSION binlog_format = STATEMENT")
        client.execute(f"SET SESSION TRANSACTION ISOLATION LEVEL {level}")
        t.equal(client.error_code("INSERT INTO x SELECT COUNT(*) FROM x"), code, level)
        client.execute("SET SESSION binlog_format = MIXED")
        client.execute("INSERT INTO x SELECT 100 + COUNT(*) FROM x")
    t.equal(client.query("SELECT COUNT(*) FROM x"), [(6,)])
