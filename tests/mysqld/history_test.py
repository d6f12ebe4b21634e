# SPDX-License-Identifier: GPL-2.0-only
"""Random transactions of several sessions on few rows: what each level forbids does not happen."""
import itertools
import random
import time

from framework import Failure
from random_history import ROWS, TABLE, History, Program, Txn, tokens_of
from rowantools.client import MysqlError

_SESSIONS, _TXNS = 4, 12
_SECONDS, _SECONDS_LONG = 2.5, 300
_RETRYABLE = (1213, 1205, 1062)
MIXED, READS, WRITES = ("read", "read_one", "append", "set"), ("read", "read_one"), ("append",)

# Level: what its sessions do (in turn), and how many anti-dependencies a circle may not have.
LEVELS = {"READ COMMITTED": ((("read", "read_one", "append"),), 0),
          "REPEATABLE READ": ((READS, WRITES), 1),
          "snapshot isolation": ((MIXED,), 1),
          "SERIALIZABLE": ((MIXED,), None),
          "optimistic": ((MIXED, MIXED, MIXED, READS), None)}
# Of these the server's level, and the setting.
_OURS = {"snapshot isolation": ("REPEATABLE READ", "rowan_snapshot_isolation = ON"),
         "optimistic": ("SERIALIZABLE", "rowan_serializable = optimistic")}


class Round:
    """One table, its sessions, and the transactions that they ran."""

    def __init__(self, t, clients, table, seed):
        self._t, self._clients, self._table, self._seed = t, clients, table, seed
        self._numbers, self._tokens, self.txns = itertools.count(1), itertools.count(1), []
        clients[0].execute(TABLE.format(table=table, engine=t.engine))

    def run(self, kinds):
        self._t.threads([lambda n=n: self._work(n, kinds[n % len(kinds)])
                         for n in range(len(self._clients))])
        rows = self._clients[0].query(f"SELECT id, h FROM {self._table}")
        index = self._clients[0].query(f"SELECT k, h FROM {self._table} FORCE INDEX (kh) "
                                       f"WHERE k <= {ROWS}")
        self._t.equal(sorted(index), sorted(rows), "the index and the rows")
        self._clients[0].execute(f"DROP TABLE {self._table}")
        return History(self.txns, {row: tokens_of(text) for row, text in rows})

    def _work(self, number, kinds):
        client, choice = self._clients[number], random.Random(f"{self._seed}/{number}")
        for _ in range(_TXNS):
            txn = Txn(next(self._numbers))
            self.txns.append(txn)
            try:
                ended = Program(choice, client, self._table, txn,
                                lambda _: next(self._tokens)).run(kinds)
                txn.committed = ended
            except MysqlError as error:
                if error.code not in _RETRYABLE:
                    raise
                client.execute("ROLLBACK")


def _session(t, level):
    client = t.client()
    name, setting = _OURS.get(level, (level, ""))
    client.execute(f"SET SESSION TRANSACTION ISOLATION LEVEL {name}")
    if setting:
        client.execute(f"SET SESSION {setting}")
    return client


def _run(t, level):
    kinds, anti_edges = LEVELS[level]
    clients = [_session(t, level) for _ in range(_SESSIONS)]
    if level == "optimistic":  # the last one reads only, and says so
        clients[-1].execute("SET SESSION TRANSACTION READ ONLY")
    end = time.monotonic() + (_SECONDS_LONG if t.long else _SECONDS)
    rounds = committed = anti = 0
    while time.monotonic() < end:
        rounds += 1
        seed = f"{t.random.random()}"
        one = Round(t, clients, f"h{rounds}", seed)
        history = one.run(kinds)
        history.check(anti_edges)
        committed += sum(txn.committed for txn in one.txns)
        anti += len(history.anti)
        if history.faults:
            lines = "\n".join(map(str, one.txns))
            raise Failure(f"{level}, round {rounds}: {history.faults}\n{lines}")
    print(f"{level}: {rounds} rounds, {committed} committed, {anti} anti-dependencies")


def test_read_committed(t):
    _run(t, "READ COMMITTED")


def test_repeatable_read(t):
    _run(t, "REPEATABLE READ")


def test_snapshot_isolation(t):
    if t.engine != "ROWAN":
        t.skip("InnoDB has no snapshot isolation")
    _run(t, "snapshot isolation")


def test_serializable(t):
    _run(t, "SERIALIZABLE")


def test_optimistic(t):
    if t.engine != "ROWAN":
        t.skip("InnoDB's SERIALIZABLE locks")
    _run(t, "optimistic")


def test_the_check_itself_finds_what_a_weaker_level_lets_through(t):
    """Mixed programs at REPEATABLE READ: updates are lost and circles close."""
    clients = [_session(t, "REPEATABLE READ") for _ in range(_SESSIONS)]
    for number in range(200):
        history = Round(t, clients, f"h{number}", f"{t.random.random()}").run((MIXED,))
        history.check(None)
        if history.faults:
            print(f"round {number}: {history.faults[0]}")
            return
    raise Failure("nothing was found")
