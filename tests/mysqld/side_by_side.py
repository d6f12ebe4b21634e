# SPDX-License-Identifier: GPL-2.0-only
"""A script of statements on the engine under test and on InnoDB, with equal outcomes.

Equal are error numbers and messages, affected rows (but for ALTER: what one engine changes in the
dictionary alone, another copies), warnings and rows.
"""
import re

from rowantools.client import MysqlError

# Of a server that is not to survive anything.
FAST = ("--innodb-flush-log-at-trx-commit=0", "--innodb-flush-method=nosync",
        "--innodb-doublewrite=OFF")


class Side:
    """A session in a database of its own on one of the engines; the server is the test's."""

    def __init__(self, t, engine, name, server=None):
        self._name = name
        self._client = t.client(server, database=name)
        self._client.execute(f"SET default_storage_engine = {engine}, timestamp = 1700000000")

    def outcome(self, statement):
        try:
            result = self._client.execute(statement)
        except MysqlError as error:
            return ("error", error.code, self._text(error.message))
        warnings = []
        if result.warnings:
            warnings = [tuple(map(self._text, row)) for row in self._client.query("SHOW WARNINGS")]
        affected = 0 if statement.startswith("ALTER") else result.affected
        rows = [tuple(map(self._text, row)) for row in result.rows]
        return ("done", affected, result.last_id, rows, warnings)

    def drop(self):
        """Removes the database and closes the session."""
        self._client.execute(f"DROP DATABASE {self._name}")
        self._client.close()

    def _text(self, value):
        if not isinstance(value, str):
            return value
        value = re.sub("#sql-[0-9a-f_]+", "#sql", value.replace(self._name, "database"))
        return re.sub("ENGINE ?= ?(ROWAN|InnoDB)", "ENGINE=x", value)


class Pair:
    """The same statements on both engines, one by one; `server` may be started again."""

    def __init__(self, t, server=None):
        self._t, self._server, self._history = t, server, []
        self.open()

    def open(self):
        """New sessions, to the databases there are."""
        self.ours, self.theirs = (
            Side(self._t, engine, f"{self._t.database}_{name}", self._server)
            for engine, name in ((self._t.engine, "a"), ("InnoDB", "b")))

    def both(self, statement):
        self._history.append(statement)
        self._t.equal(self.ours.outcome(statement), self.theirs.outcome(statement),
                      "; ".join(self._history[-40:]))

    def drop(self):
        self.ours.drop()
        self.theirs.drop()


def same_on_both(t, script):
    """Runs statements that end with a semicolon and a line on both engines."""
    pair = Pair(t)
    for statement in script.strip().removesuffix(";").split(";\n"):
        statement = statement.strip()
        t.equal(pair.ours.outcome(statement), pair.theirs.outcome(statement), statement)
    pair.drop()
