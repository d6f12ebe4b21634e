# SPDX-License-Identifier: GPL-2.0-only
"""The same statements in two databases of one server: `ours` on the engine under test, `theirs` on
InnoDB. Table names and texts are the same in both; whatever a statement returns must be, too.

A program is a list of (who, Statement); who is the session, "writer" or "reader", or RESTART.
"""
import time

from random_query import Statement
from rowantools.client import ConnectionLost, MysqlError
from rowantools.server_cursor import ServerCursor

OURS, THEIRS = "ours", "theirs"
WRITER, READER, RESTART = "writer", "reader", "restart"
_TIMEOUT_S = 300.0
_INTERRUPTED = 1317
_CAPACITY_EXCEEDED = 3170  # a range analysis ran out of memory: once for each plan considered
_INDEX_TRUNCATES = 3751  # a functional index cannot hold a value: when a read computes it
_SETTINGS = "time_zone = '+00:00', timestamp = 1700000000"


class Outcome:
    """What came back: an error number, or affected rows, rows and warnings."""

    def __init__(self, error=0, message="", affected=0, rows=(), warnings=()):
        self.error, self.message, self.affected = error, message, affected
        self.rows, self.warnings = rows, warnings

    def key(self, statement):
        """The part that has to be equal for this statement."""
        if self.error:
            return ("error", self.error)
        rows = self.rows if statement.ordered else sorted(self.rows, key=repr)
        return ("done", self.affected if statement.affected else None, rows,
                self.warnings if statement.typed else None)

    def __str__(self):
        if self.error:
            return f"error {self.error} {self.message}"
        rows = repr(self.rows)
        text = f"{self.affected} rows, {rows if len(rows) < 1500 else rows[:1500] + '...'}"
        return text + (f", warnings {self.warnings}" if self.warnings else "")


class Difference(Exception):
    """The two outcomes of a statement are not equal."""

    def __init__(self, who, statement, ours, theirs):
        super().__init__(f"{who}: {statement.sql[:2000]}\n-- ours:   {ours}\n-- theirs: {theirs}")
        self.who, self.statement, self.ours, self.theirs = who, statement, ours, theirs


class Twins:
    """Sessions on both databases; `history` is what was run since reset()."""

    def __init__(self, server, engine, name="d"):
        self.server, self._engine, self._name = server, engine, name
        self._sessions = {}
        self._killer = None
        self.history, self.compared = [], 0
        self.interrupted = 0  # statements that a KILL met

    def reset(self):
        """Empty databases and new sessions."""
        self.close()
        with self.server.client(timeout_s=_TIMEOUT_S) as client:
            if self._engine == "ROWAN":  # only the server is killed, never the machine
                client.execute("SET GLOBAL rowan_flush_log_at_trx_commit = 2")
            for side in (OURS, THEIRS):
                client.execute(f"DROP DATABASE IF EXISTS {self._database(side)}")
                client.execute(f"CREATE DATABASE {self._database(side)}")
        self.history = []

    def close(self):
        for session in self._sessions.values():
            session.close()
        self._sessions = {}
        if self._killer is not None:
            self._killer.close()
            self._killer = None

    def session(self, side, who):
        if (side, who) not in self._sessions:
            session = self.server.client(database=self._database(side), timeout_s=_TIMEOUT_S)
            engine = self._engine if side == OURS else "InnoDB"
            session.execute(f"SET default_storage_engine = {engine}, {_SETTINGS}, "
                            "lock_wait_timeout = 20")
            self._sessions[side, who] = session
        return self._sessions[side, who]

    def run(self, who, statement):
        """Runs it on both sides at once; returns our Outcome or raises Difference."""
        self.history.append((who, statement))
        if who == RESTART:
            return self._restart()
        sessions = [self.session(side, who) for side in (OURS, THEIRS)]
        for session in sessions:
            session.send(statement.sql)
        ours, theirs = (self._received(side, session, statement)
                        for side, session in zip((OURS, THEIRS), sessions))
        self.compared += 1
        if ours.key(statement) != theirs.key(statement):
            raise Difference(who, statement, ours, theirs)
        return ours

    def run_killed(self, who, statement, delay_s):
        """KILL QUERY meets the statement, or comes too late. Where it met it on either side, what
        the statement did is taken back on both: a change needs a transaction."""
        self.run(who, Statement("SAVEPOINT killed"))
        sessions = [self.session(side, who) for side in (OURS, THEIRS)]
        if self._killer is None:
            self._killer = self.server.client(timeout_s=_TIMEOUT_S)
        for session in sessions:
            session.send(statement.sql)
        time.sleep(delay_s)
        for session in sessions:
            self._killer.execute(f"KILL QUERY {session.connection_id}")
        ours, theirs = (self._received(side, session, statement)
                        for side, session in zip((OURS, THEIRS), sessions))
        for session in sessions:
            session.error_code("DO 0")  # what came too late is not for the next statement
        self.compared += 1
        if _INTERRUPTED in (ours.error, theirs.error):
            self.interrupted += 1
            self.run(who, Statement("ROLLBACK TO SAVEPOINT killed", typed=False))
            return
        self.history.append((who, statement))
        if ours.key(statement) != theirs.key(statement):
            raise Difference(who, statement, ours, theirs)

    def run_cursors(self, who, statement, portion, between):
        """Reads by a cursor that the server keeps; `between` is run after each portion."""
        self.history.append((who, statement))
        cursors = [ServerCursor(self.session(side, who), statement.sql)
                   for side in (OURS, THEIRS)]
        ours, theirs = [], []
        while not all(cursor.done for cursor in cursors):
            for cursor, rows in zip(cursors, (ours, theirs)):
                if not cursor.done:
                    rows += cursor.fetch(portion)
            between()
        for cursor in cursors:
            cursor.close()
        self.compared += 1
        found = [Outcome(rows=rows) for rows in (ours, theirs)]
        if found[0].key(statement) != found[1].key(statement):
            statement.settled = True
            raise Difference(who, statement, *found)

    def run_on(self, side, who, statement):
        session = self.session(side, who)
        session.send(statement.sql)
        return self._received(side, session, statement)

    def _received(self, side, session, statement):
        try:
            result = session.receive()
        except MysqlError as error:
            return Outcome(error.code, error.message)
        except ConnectionLost as error:
            raise ConnectionLost(f"{error}: {statement.sql[:2000]}") from error
        warnings, rows = [], result.rows
        if result.warnings and statement.typed:
            inserts = statement.sql.startswith(("INSERT", "REPLACE"))
            uncounted = (_CAPACITY_EXCEEDED, None if inserts else _INDEX_TRUNCATES)
            warnings = sorted((level, int(code))
                              for level, code, _ in session.query("SHOW WARNINGS")
                              if int(code) not in uncounted)
        if "TABLE" in statement.sql[:15]:  # CHECK TABLE and its like name the database
            rows = [(str(row[0]).removeprefix(self._database(side) + "."), *row[1:])
                    for row in rows]
        return Outcome(0, "", result.affected, rows, warnings)

    def _restart(self):
        """A crash of the server: kill -9."""
        self.server.kill()
        self._sessions, self._killer = {}, None
        self.server.start()
        return Outcome()

    def _database(self, side):
        return f"{self._name}_{side}"


def script(history):
    """The program as SQL, to be run by hand on either engine."""
    lines, current = [f"SET default_storage_engine = ROWAN, {_SETTINGS};"], WRITER
    for who, statement in history:
        if who == RESTART:
            lines.append("-- kill -9 of the server, start, connect again")
            continue
        if who != current:
            lines.append(f"-- session {who}:")
            current = who
        lines.append(statement.sql + ";")
    return "\n".join(lines)
