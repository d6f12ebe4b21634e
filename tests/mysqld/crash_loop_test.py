#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""kill -9 under concurrent writers, again and again, with the client's own journal as the judge.

Each writer owns a range of counters. A transaction raises one counter of a hot table and inserts a
row of evidence; the client notes the transaction as asked before COMMIT and as acknowledged after.
After each crash: every acknowledged transaction is there whole, of the one in flight per writer
either all or nothing, and nothing that nobody asked for. CHECK TABLE must be clean each time.
"""
import threading
import time

from framework import Failure, main
from rowantools.client import ConnectionLost, MysqlError

_CYCLES, _CYCLES_LONG = 4, 50
_WRITERS = 4
_COUNTERS_PER_WRITER = 50
_LOAD_S = 1.0


class Writer:
    """One session that commits numbered transactions until the server dies."""

    def __init__(self, number, randomness):
        self.number, self.asked, self.acknowledged = number, 0, 0
        self._random = randomness
        self.totals = [0] * _COUNTERS_PER_WRITER  # acknowledged raises of each counter
        self.flying = None                        # counter of the transaction in flight
        self.unexpected = None

    def run(self, client, stop):
        try:
            while not stop.is_set():
                self._one(client)
        except ConnectionLost:
            pass
        except MysqlError as error:
            if error.code not in (1053, 1317, 2013):  # the server is going down
                self.unexpected = error

    def _one(self, client):
        counter = self._random.randrange(_COUNTERS_PER_WRITER)
        self.asked, self.flying = self.asked + 1, counter
        row = self.number * _COUNTERS_PER_WRITER + counter
        client.execute("BEGIN")
        client.execute(f"UPDATE counters SET n = n + 1, pad = REPEAT('{self.asked % 10}', 60) "
                       f"WHERE id = {row}")
        client.execute("INSERT INTO evidence (writer, sequence, counter, pad) VALUES "
                       f"({self.number}, {self.asked}, {row}, '{'e' * 100}')")
        if self.asked % 5 == 0:
            client.execute(f"DELETE FROM scratch WHERE writer = {self.number} LIMIT 3")
        client.execute(f"INSERT INTO scratch (writer, k) VALUES ({self.number}, {self.asked})")
        client.execute("COMMIT")
        self.acknowledged, self.flying = self.asked, None
        self.totals[counter] += 1

    def settle(self, client):
        """Compares the database with the journal and takes over what the crash decided."""
        highest = client.value(f"SELECT COALESCE(MAX(sequence), 0) FROM evidence "
                               f"WHERE writer = {self.number}")
        count = client.value(f"SELECT COUNT(*) FROM evidence WHERE writer = {self.number}")
        if highest < self.acknowledged:
            raise Failure(f"writer {self.number}: commit {self.acknowledged} was acknowledged, "
                          f"the newest one there is {highest}")
        if highest > self.asked or count != highest:
            raise Failure(f"writer {self.number}: {count} rows up to {highest}, "
                          f"asked for {self.asked}")
        if highest > self.acknowledged:
            self.totals[self.flying] += 1
        self.asked = self.acknowledged = highest
        self.flying = None
        base = self.number * _COUNTERS_PER_WRITER
        rows = dict(client.query(f"SELECT id, n FROM counters WHERE id >= {base} AND "
                                 f"id < {base + _COUNTERS_PER_WRITER}"))
        for counter, total in enumerate(self.totals):
            if rows[base + counter] != total:
                raise Failure(f"counter {base + counter} is {rows[base + counter]}, "
                              f"its acknowledged total is {total}")


def _create(client):
    client.execute("CREATE TABLE counters (id INT PRIMARY KEY, n INT, pad VARCHAR(100), KEY (n))")
    client.execute("CREATE TABLE evidence (writer INT, sequence INT, counter INT, "
                   "pad VARCHAR(200), PRIMARY KEY (writer, sequence), KEY (counter))")
    client.execute("CREATE TABLE scratch (id BIGINT PRIMARY KEY AUTO_INCREMENT, writer INT, k INT,"
                   " KEY (writer), KEY (k))")
    rows = ", ".join(f"({number}, 0, '')" for number in range(_WRITERS * _COUNTERS_PER_WRITER))
    client.execute(f"INSERT INTO counters VALUES {rows}")


def _one_cycle(t, server, writers):
    stop = threading.Event()
    threads = [threading.Thread(target=writer.run, args=(t.client(server), stop), daemon=True)
               for writer in writers]
    for thread in threads:
        thread.start()
    time.sleep(_LOAD_S * t.random.uniform(0.3, 1.5))
    server.kill()
    stop.set()
    for thread in threads:
        thread.join(60)
        t.true(not thread.is_alive(), "a writer hangs after the server died")
    for writer in writers:
        if writer.unexpected:
            raise Failure(f"writer {writer.number}: {writer.unexpected}")
    server.start()
    client = t.client(server)
    for writer in writers:
        writer.settle(client)
    for table in ("counters", "evidence", "scratch"):
        t.check_table(table, client)
    client.close()


def _loop(t, binlog):
    server = t.new_server(binlog=binlog)
    server.start()
    _create(t.client(server))
    writers = [Writer(number, t.random) for number in range(_WRITERS)]
    cycles = _CYCLES_LONG if t.long else _CYCLES
    for cycle in range(cycles):
        try:
            _one_cycle(t, server, writers)
        except Failure as error:
            raise Failure(f"cycle {cycle + 1} of {cycles}: {error}") from error
    commits = sum(writer.acknowledged for writer in writers)
    t.true(commits > 0, "the writers never committed anything")
    print(f"binlog {'on' if binlog else 'off'}: {cycles} crashes, {commits} commits, lost 0, "
          "phantom 0", flush=True)


def test_crashes_without_binlog(t):
    _loop(t, binlog=False)


def test_crashes_with_binlog(t):
    _loop(t, binlog=True)


if __name__ == "__main__":
    main(globals())
