# SPDX-License-Identifier: GPL-2.0-only
"""A random load for a source and its replicas: sessions that write in row, statement and mixed
format, transactions with savepoints and rollbacks, XA transactions that outlive their connection,
servers that are killed meanwhile. In the end all servers must have the same rows, and every
transaction that was acknowledged must be among them."""
import random
import threading
import time

from framework import ConnectionLost, Failure, MysqlError
from rowantools.cluster.members import applier_error

FORMATS = ("ROW", "STATEMENT", "MIXED")
TABLES = ("acknowledged", "wide", "counted")
_IDS = 300
# Deadlock, lock wait, duplicate, interrupted, XA: rolled back, unknown, wrong state; shutdown;
# semi-synchronous or binlog gone down with the server.
_EXPECTED = {1213, 1205, 1062, 1317, 1402, 1397, 1399, 1614, 1613, 1053, 1180, 1105, 3100, 1598}


def create_tables(client):
    client.execute("CREATE TABLE acknowledged (writer INT PRIMARY KEY, n INT NOT NULL)")
    client.execute("CREATE TABLE wide (id INT PRIMARY KEY, k INT NOT NULL, s VARCHAR(300), "
                   "b TEXT, KEY (k), KEY (s(20)))")
    client.execute("CREATE TABLE counted (id INT AUTO_INCREMENT PRIMARY KEY, writer INT, v INT, "
                   "KEY (v))")


class Writer:
    """One session that comes back after its server was killed."""

    def __init__(self, load, number):
        self._load, self.number = load, number
        self.random = random.Random(f"{load.seed}/{number}")
        self.acknowledged = self.unknown = self.rolled_back = self.xa = 0
        self._client, self._format = None, ""
        self._xa_number = 0

    def run(self):
        while not self._load.stop.is_set():
            try:
                if self._client is None:
                    self._connect()
                self._transaction()
            except ConnectionLost:
                self._client = None
                time.sleep(0.1)
            except MysqlError as error:
                if error.code not in _EXPECTED:
                    raise
                self.rolled_back += 1
                self._recover()

    def _recover(self):
        try:
            self._client.close()
        finally:
            self._client = None

    def _connect(self):
        load = self._load
        self._client = load.connect()
        self._format = self.random.choice(load.formats)
        self._client.execute(f"SET SESSION binlog_format = {self._format}")
        for name in ("innodb_lock_wait_timeout", "rowan_lock_wait_timeout"):
            if name.startswith("innodb") or load.has_rowan:
                self._client.execute(f"SET SESSION {name} = 2")
        for row in self._client.query("XA RECOVER"):
            if str(row[3]).startswith(f"{self.number}-"):
                self._end_xa(str(row[3]))

    def _end_xa(self, name):
        try:
            if self.random.random() < 0.6:
                self._client.execute(f"XA COMMIT '{name}'")
                self.unknown += 1
            else:
                self._client.execute(f"XA ROLLBACK '{name}'")
        except MysqlError as error:
            if error.code not in _EXPECTED:
                raise

    def _transaction(self):
        # As statements they are unsafe, the server says: a prepared one keeps locks on gaps, into
        # which the replica's next transaction may have to insert.
        if self._format != "STATEMENT" and self.random.random() < self._load.xa_share:
            return self._xa_transaction()
        client = self._client
        client.execute("BEGIN")
        self._changes(client)
        if self.random.random() < 0.1:
            client.execute("ROLLBACK")
            return None
        self._count(client)
        self.unknown += 1
        client.execute("COMMIT")
        self.unknown -= 1
        self.acknowledged += 1
        return None

    def _count(self, client):
        client.execute(f"INSERT INTO acknowledged VALUES ({self.number}, 1) "
                       "ON DUPLICATE KEY UPDATE n = n + 1")

    def _changes(self, client):
        for step in range(self.random.randint(1, 5)):
            client.execute(self._statement())
            if step == 1 and self.random.random() < 0.2:
                client.execute("SAVEPOINT a")
                client.execute(self._statement())
                client.execute("ROLLBACK TO a")

    def _statement(self):
        choose, pick = self.random.random(), self.random.randint(1, _IDS)
        text = f"'{self.random.choice('abcdef') * self.random.randint(1, 250)}'"
        if choose < 0.35:
            return (f"INSERT INTO wide VALUES ({pick}, {self.random.randint(0, 50)}, {text}, "
                    f"{text}) ON DUPLICATE KEY UPDATE k = k + 1, s = VALUES(s)")
        if choose < 0.6:
            return f"UPDATE wide SET k = k + 1, s = {text} WHERE id = {pick}"
        if choose < 0.7:
            return f"UPDATE wide SET k = k + 1 WHERE id BETWEEN {pick} AND {pick + 5}"
        if choose < 0.8:
            return f"DELETE FROM wide WHERE id = {pick}"
        if choose < 0.95:
            many = self.random.randint(1, 4)
            rows = ", ".join(f"({self.number}, {pick + n})" for n in range(many))
            return f"INSERT INTO counted (writer, v) VALUES {rows}"
        return f"DELETE FROM counted WHERE writer = {self.number} ORDER BY id LIMIT 2"

    def _xa_transaction(self):
        client, self._xa_number = self._client, self._xa_number + 1
        name = f"{self.number}-{self._xa_number}-{self.random.randint(0, 1 << 30)}"
        client.execute(f"XA START '{name}'")
        try:
            self._changes(client)
            self._count(client)
        finally:
            try:
                client.execute(f"XA END '{name}'")
            except MysqlError:
                client.execute(f"XA ROLLBACK '{name}'")
                raise
        client.execute(f"XA PREPARE '{name}'")
        self.xa += 1
        if self.random.random() < 0.3:  # its end comes from another connection
            client.close()
            self._client = None
            return
        self._end_xa(name)


class Load:
    """Some writers for some seconds, on the source's database `database`."""

    def __init__(self, test, source, writers=4, formats=FORMATS, xa_share=0.08, has_rowan=True):
        self._test, self.source = test, source
        self.seed = test.random.randint(0, 1 << 30)
        self.formats, self.xa_share, self.has_rowan = formats, xa_share, has_rowan
        self.stop = threading.Event()
        self.writers = [Writer(self, number) for number in range(1, writers + 1)]
        self._before = {}
        self._failures = []
        self._threads = []

    def connect(self):
        client = self.source.client()
        client.execute(f"USE `{self._test.database}`")
        return client

    def _counts(self, client):
        return dict(client.query("SELECT writer, n FROM acknowledged"))

    def start(self):
        client = self.connect()
        self._before = self._counts(client)  # of a former load of these tables
        client.close()
        for writer in self.writers:
            thread = threading.Thread(target=self._guard, args=(writer,), daemon=True)
            thread.start()
            self._threads.append(thread)

    def await_some(self, transactions=20):
        """Until so many are acknowledged, or a writer failed, which finish() tells."""
        self._test.wait_for(lambda: self._failures or self.acknowledged > transactions,
                            "something is written")

    def _guard(self, writer):
        try:
            writer.run()
        except Exception as error:  # told by finish
            self._failures.append(error)

    def finish(self):
        """The source runs. Ends the load and what it left prepared."""
        self.stop.set()
        for thread in self._threads:
            thread.join(120)
            if thread.is_alive():
                raise Failure("a writer does not end")
        if self._failures:
            raise self._failures[0]
        client = self.connect()
        for row in client.query("XA RECOVER"):
            client.execute(f"XA ROLLBACK '{row[3]}'")
        counts = self._counts(client)
        client.close()
        for writer in self.writers:
            found = counts.get(writer.number, 0) - self._before.get(writer.number, 0)
            if not writer.acknowledged <= found <= writer.acknowledged + writer.unknown:
                raise Failure(f"writer {writer.number}: {writer.acknowledged} transactions were "
                              f"acknowledged and {writer.unknown} may be, {found} are there")
        return sum(writer.acknowledged for writer in self.writers)

    @property
    def acknowledged(self):
        return sum(writer.acknowledged for writer in self.writers)


def await_replica(test, source, replica, limit_s=120):
    """Until the replica has all that the source has; it is to get on within each `limit_s`."""
    gtids = source.value("SELECT @@global.gtid_executed").replace("\n", "")
    missing, deadline = None, time.monotonic() + limit_s
    while replica.value(f"SELECT WAIT_FOR_EXECUTED_GTID_SET('{gtids}', 1)") != 0:
        error = applier_error(replica)
        if error:
            raise Failure(f"the replica's applier stopped: {error}")
        left = replica.value(f"SELECT GTID_SUBTRACT('{gtids}', @@global.gtid_executed)")
        if left != missing:
            missing, deadline = left, time.monotonic() + limit_s
        if time.monotonic() > deadline:
            raise Failure(f"{left}: not applied within {limit_s} s: {replica.query('XA RECOVER')}, "
                          + str(replica.query("SHOW PROCESSLIST")))


def compare(test, source, replica, tables=TABLES):
    """All rows; returns how many."""
    count = 0
    for table in tables:
        select = f"SELECT * FROM `{test.database}`.{table} ORDER BY 1"
        rows = source.query(select)
        test.equal(replica.query(select), rows, table)
        count += len(rows)
    return count
