# SPDX-License-Identifier: GPL-2.0-only
"""A load that knows what it was promised: each transaction notes its number in a ledger and moves
money between accounts. Afterwards every acknowledged number must be there, nothing that was never
sent, and no money may be missing."""
import random
import threading
import time

from ..client import Client, ConnectionLost, MysqlError
from ..paths import UserError
from .members import LOAD_USER

DATABASE = "cluster_load"
TABLES = ("ledger", "accounts")
_ACCOUNTS, _BALANCE = 1000, 1000
_RETRY_S = 0.05
# Deadlock, lock wait, interrupted, shutdown, read-only: the source has changed, or the row is busy.
# 2003 is MySQL Router's word for a source that is gone.
_TRANSIENT = {1213, 1205, 1317, 1053, 1290, 1836, 2013, 1180, 3101, 2003}


def prepare(client, engine):
    """A fresh database."""
    client.execute(f"DROP DATABASE IF EXISTS {DATABASE}")
    client.execute(f"CREATE DATABASE {DATABASE}")
    create_tables(client, DATABASE, f"ENGINE={engine}")


def create_tables(client, database, suffix=""):
    """The tables of a load. `suffix` ends each definition."""
    client.execute(f"CREATE TABLE {database}.ledger (writer INT, n BIGINT, note VARCHAR(80), "
                   f"PRIMARY KEY (writer, n)) {suffix}")
    client.execute(f"CREATE TABLE {database}.accounts (id INT PRIMARY KEY, balance BIGINT NOT NULL)"
                   f" {suffix}")
    client.execute(f"INSERT INTO {database}.accounts (id, balance) VALUES "
                   + ", ".join(f"({number}, {_BALANCE})" for number in range(_ACCOUNTS)))


class Writer:
    """One session that comes back after its server died."""

    def __init__(self, load, number):
        self._load, self.number = load, number
        self._random = random.Random(f"{load.seed}/{number}")
        self.acknowledged, self.unknown = set(), set()
        self.longest_gap_s = 0.0
        self.failure = None
        self._client, self._next = None, 1

    def run(self):
        last = time.monotonic()
        try:
            while not self._load.stop.is_set():
                if self._try():
                    now = time.monotonic()
                    self.longest_gap_s = max(self.longest_gap_s, now - last)
                    last = now
                else:
                    time.sleep(_RETRY_S)
        except Exception as error:  # told by Load.finish
            self.failure = error

    def _try(self):
        try:
            if self._client is None:
                self._client = Client(self._load.address(), user=LOAD_USER, timeout_s=60)
            self._transaction()
            return True
        except ConnectionLost:
            self._client = None
        except MysqlError as error:
            if error.code not in self._load.transient:
                raise
            if self._client is not None:  # else it was refused when it connected
                self._client.close()
                self._client = None
        return False

    def _transaction(self):
        client, number, database = self._client, self._next, self._load.database
        self._next += 1
        one, other = self._random.sample(range(_ACCOUNTS), 2)
        amount = self._random.randint(1, 9)
        client.execute("BEGIN")
        client.execute(f"INSERT INTO {database}.ledger (writer, n, note) VALUES "
                       f"({self.number}, {number}, '{'x' * self._random.randint(0, 80)}')")
        for account, change in sorted(((one, -amount), (other, amount))):
            client.execute(f"UPDATE {database}.accounts SET balance = balance + {change} "
                           f"WHERE id = {account}")
        self.unknown.add(number)
        client.execute("COMMIT")
        self.unknown.remove(number)
        self.acknowledged.add(number)


class Load:
    def __init__(self, address, writers, seed=None, database=DATABASE, transient=frozenset()):
        """`address` is asked at each connection; errors in `transient` are tried again, too."""
        self.address, self.database, self.transient = address, database, _TRANSIENT | transient
        self.seed = seed if seed is not None else random.SystemRandom().randrange(1 << 30)
        self.stop = threading.Event()
        self.writers = [Writer(self, number) for number in range(1, writers + 1)]
        self._threads = [threading.Thread(target=writer.run, daemon=True)
                         for writer in self.writers]

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *ignored):
        self.stop.set()
        for thread in self._threads:
            thread.join()

    @property
    def acknowledged(self):
        return sum(len(writer.acknowledged) for writer in self.writers)

    def failure(self):
        return next((writer.failure for writer in self.writers if writer.failure), None)

    def run_for(self, step, seconds):
        """Waits so long, or until a writer fails, and tells the Step how far it is."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and not self.failure():
            time.sleep(0.2)
            step.update(detail=f"{self.acknowledged} transactions")

    def check(self, client):
        """The server has what was acknowledged, and nothing else. UserError."""
        if self.failure():
            raise UserError(f"the load failed: {self.failure()}")
        found = {writer.number: set() for writer in self.writers}
        for writer, number in client.query(f"SELECT writer, n FROM {self.database}.ledger"):
            found.setdefault(writer, set()).add(number)
        for writer in self.writers:
            lost = writer.acknowledged - found[writer.number]
            invented = found[writer.number] - writer.acknowledged - writer.unknown
            if lost or invented:
                raise UserError(f"writer {writer.number}: {len(lost)} acknowledged transactions "
                                f"are lost, {len(invented)} were never sent: "
                                f"{sorted(lost)[:5]} {sorted(invented)[:5]}")
        money = client.value(f"SELECT CAST(SUM(balance) AS SIGNED) FROM {self.database}.accounts")
        if money != _ACCOUNTS * _BALANCE:
            raise UserError(f"the accounts hold {money}, not {_ACCOUNTS * _BALANCE}")


def compare(one, other):
    """All rows of two servers are the same; returns how many. UserError."""
    rows = 0
    for table in TABLES:
        select = f"SELECT * FROM {DATABASE}.{table} ORDER BY 1, 2"
        expected = one.query(select)
        if other.query(select) != expected:
            raise UserError(f"the rows of {table} differ")
        rows += len(expected)
    return rows
