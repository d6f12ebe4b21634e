# SPDX-License-Identifier: GPL-2.0-only
"""InnoDB tables are locked against writes, all at once, beside transactions that write them.

A lock waits for the transactions that have written its table, and the tables locked so far hold up
whoever writes those. One may wait for the other: a coordinator of two-phase commits notes by a
second session what it prepared by the first, and no server sees that circle. So:

- A try is short. What it has got is given back, transactions end, and the next one follows.
- The tables that are written the longest come first, as far as one has seen: transactions that hold
  them end before the tables that they come to last are locked.
- Those tables have sessions of their own: LOCK TABLES takes its tables in the order of their names.
  The server sees no circle then, so that it is the backup that gives way and not, with error 1213,
  the transaction, which may be one that its coordinator has promised to commit.
"""
import threading
import time
from collections import Counter

from .client import ER_LOCK_DEADLOCK, ER_LOCK_WAIT_TIMEOUT, ConnectionLost, MysqlError
from .paths import UserError

_TRY_FIRST_S, _TRY_MAX_S, _PAUSE_S = 1, 8, 1
_LOOK_S = 0.1
_LOOKS_BEFORE = 5
_ALONE_MAX = 20  # tables that have a session of their own
_NAMED_MAX = 5
# The modes of metadata locks that LOCK TABLES ... READ waits for.
_WRITING = "'SHARED_WRITE', 'SHARED_WRITE_LOW_PRIO', 'SHARED_NO_READ_WRITE', 'EXCLUSIVE'"


class TableLocks:
    """Has the tables, (schema, name) pairs, locked until it is closed. `connect` makes a session,
    `observer` is one that nobody else uses meanwhile."""

    def __init__(self, connect, observer, tables):
        self._connect, self._tables = connect, tables
        self._sessions = []
        self._writers = _Writers(observer)

    def take(self, limit_s, step):
        """`step` shows who is waited for. Returns how many tries it took. UserError."""
        for _ in range(_LOOKS_BEFORE):
            self._writers.look(self._sessions)
            time.sleep(_LOOK_S)
        deadline = time.monotonic() + limit_s
        tries = 0
        while True:
            left = deadline - time.monotonic()
            patience_s = max(1, int(min(_TRY_FIRST_S << tries, _TRY_MAX_S, left)))
            tries += 1
            if self._try(patience_s, step, tries):
                return tries
            if left <= patience_s:
                self._writers.look(self._sessions)
                raise UserError("the InnoDB tables could not be locked against writes within "
                                f"{limit_s} s, in {tries} tries{self._writers.told(self._tables)}")
            time.sleep(_PAUSE_S)

    def close(self):
        for session in self._sessions:
            session.close()

    def _try(self, patience_s, step, number):
        rest, index = list(self._tables), 0
        try:
            with _Watch(self._writers, self._sessions, step, number):
                while rest:
                    self._writers.look(self._sessions)
                    group = self._writers.first(rest) if index < _ALONE_MAX else rest
                    self._lock(index, group, patience_s)
                    locked = set(group)
                    rest = [table for table in rest if table not in locked]
                    index += 1
            return True
        except MysqlError as error:
            if error.code not in (ER_LOCK_WAIT_TIMEOUT, ER_LOCK_DEADLOCK):
                raise
        for session in self._sessions:
            session.execute("UNLOCK TABLES")
        return False

    def _lock(self, index, tables, patience_s):
        """By the session of that index."""
        if index == len(self._sessions):
            self._sessions.append(self._connect())
        session = self._sessions[index]
        session.execute(f"SET SESSION lock_wait_timeout = {patience_s}")  # of each table
        session.execute("LOCK TABLES " + ", ".join(f"{_quoted(schema)}.{_quoted(name)} READ"
                                                   for schema, name in tables))


class _Writers:
    """Which tables sessions have written in transactions of now, as far as the server tells: it
    may have metadata_locks switched off."""

    def __init__(self, observer):
        self._observer, self._looking = observer, threading.Lock()
        self._seen = Counter()  # how often a table was seen so
        self._now = {}  # the connections that write a table
        self._waited = None  # the table that was waited for

    def look(self, waiters):
        with self._looking:
            rows = self._rows(waiters)
            self._now = {}
            for schema, name, status, connection in rows:
                if status == "PENDING":
                    self._waited = schema, name
                else:
                    self._now.setdefault((schema, name), []).append(connection)
            self._seen.update({table: len(found) for table, found in self._now.items()})

    def _rows(self, waiters):
        wanted = ", ".join(str(session.connection_id) for session in waiters) or "0"
        return self._observer.query(
            "SELECT object_schema, object_name, lock_status, processlist_id "
            "FROM performance_schema.metadata_locks JOIN performance_schema.threads "
            "ON thread_id = owner_thread_id WHERE object_type = 'TABLE' AND (lock_status = "
            f"'GRANTED' AND lock_type IN ({_WRITING}) OR lock_status = 'PENDING' AND "
            f"processlist_id IN ({wanted}))")

    def first(self, tables):
        """Which are locked next: the one that was written the longest, or all if none was."""
        longest = max(tables, key=lambda table: self._seen[table])
        return [longest] if self._seen[longest] else tables

    def told(self, tables=()):
        """Whom the last wait was for, that anyone saw; else, who writes one of these tables."""
        table = self._waited or next((table for table in tables if table in self._now), None)
        if not table:
            return ""
        told = f": {'.'.join(table)} is written"
        connections = [str(found) for found in self._now.get(table, []) if found]
        if connections:
            told += " by connection " + ", ".join(connections[:_NAMED_MAX])
        return told + (" and others" if len(connections) > _NAMED_MAX else "")


class _Watch:
    """Looks during a try."""

    def __init__(self, writers, sessions, step, number):
        self._writers, self._sessions = writers, sessions
        self._step, self._number = step, number
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._loop, daemon=True)

    def __enter__(self):
        self._thread.start()

    def __exit__(self, *ignored):
        self._stop.set()
        self._thread.join()

    def _loop(self):
        while not self._stop.wait(_LOOK_S):
            try:
                self._writers.look(self._sessions)
            except (MysqlError, ConnectionLost):
                return
            self._step.update(detail=f"try {self._number}{self._writers.told()}")


def _quoted(name):
    return "`" + str(name).replace("`", "``") + "`"
