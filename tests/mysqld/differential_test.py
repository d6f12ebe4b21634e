#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""The same random statements on a table of our engine and on one of InnoDB: equal outcomes always.

Outcome means error number, affected rows and results. After each program both tables are read by
every index in both directions, and CHECK TABLE must be clean. The seed is printed.
"""
from framework import Failure, main
from random_schema import Schema
from rowantools.client import ConnectionLost, MysqlError

_PROGRAMS, _PROGRAMS_LONG = 25, 2000
_STATEMENTS = 60
_OURS, _THEIRS = "ours", "theirs"


class Pair:
    """Two sessions that get the same statements, one per table."""

    def __init__(self, t):
        self._t = t
        self._log = []
        self._sessions = {name: t.client() for name in (_OURS, _THEIRS)}
        for session in self._sessions.values():
            session.execute("SET SESSION sql_mode = 'STRICT_ALL_TABLES', time_zone = '+00:00'")

    def create(self, schema):
        for table, engine in ((_OURS, self._t.engine), (_THEIRS, "InnoDB")):
            self._sessions[table].execute(f"DROP TABLE IF EXISTS {table}")
            self._sessions[table].execute(schema.create(table, engine))
        self._log = [schema.create(_OURS, self._t.engine)]

    def run(self, statement):
        """Runs it on both and compares; returns the common outcome."""
        self._log.append(statement)
        ours, theirs = (self._outcome(name, statement) for name in (_OURS, _THEIRS))
        if ours != theirs:
            raise Failure(f"after {len(self._log)} statements: {statement[:300]}: ours "
                          f"{_short(ours)}, theirs {_short(theirs)}\n" + self.history())
        return ours

    def history(self):
        return ";\n".join(text.replace("{table}", _OURS) for text in self._log) + ";"

    def restart(self):
        self._t.server.kill()
        self._t.server.start()
        self.__init__(self._t)

    def check(self):
        self._t.check_table(_OURS, self._sessions[_OURS])

    def _outcome(self, table, statement):
        try:
            result = self._sessions[table].execute(statement.replace("{table}", table))
        except MysqlError as error:
            return ("error", error.code)
        except ConnectionLost as error:
            raise Failure(f"{table}: {statement[:300]}: {error}\n" + self.history()) from error
        if "ORDER BY" in statement:
            return (result.affected, result.rows)
        return (result.affected, sorted(result.rows, key=repr))


def _short(outcome):
    text = repr(outcome)
    return text if len(text) < 500 else text[:500] + "..."


def _one_program(pair, random, statements):
    schema = Schema(random)
    pair.create(schema)
    in_transaction = False
    for _ in range(statements):
        kind = random.random()
        if kind < 0.55:
            pair.run(schema.statement())
        elif kind < 0.85:
            pair.run(schema.query())
        elif kind < 0.90 and not in_transaction:
            pair.run("BEGIN")
            in_transaction = True
        elif kind < 0.93 and in_transaction:
            pair.run("SAVEPOINT s")
        elif kind < 0.95 and in_transaction:
            pair.run("ROLLBACK TO s")
        elif in_transaction:
            pair.run(random.choice(("COMMIT", "COMMIT", "ROLLBACK")))
            in_transaction = False
    pair.run("COMMIT")
    _compare_everything(pair, schema)
    return schema


def _compare_everything(pair, schema):
    columns = ", ".join(schema.all_columns())
    pair.run(f"SELECT {columns} FROM {{table}}")
    pair.run("SELECT COUNT(*) FROM {table}")
    for name, _, first in schema.indexes:
        pair.run(f"SELECT {columns} FROM {{table}} FORCE INDEX ({name})")
        for direction in ("ASC", "DESC"):
            pair.run(f"SELECT {first.shown()} FROM {{table}} FORCE INDEX ({name}) "
                     f"ORDER BY {first.name} {direction}")
    pair.check()


def test_random_programs(t):
    pair = Pair(t)
    programs = _PROGRAMS_LONG if t.long else _PROGRAMS
    for _ in range(programs):
        _one_program(pair, t.random, _STATEMENTS)


def test_random_programs_with_crashes(t):
    pair = Pair(t)
    for _ in range(50 if t.long else 3):
        schema = _one_program(pair, t.random, _STATEMENTS)
        pair.restart()
        _compare_everything(pair, schema)


def test_a_long_program(t):
    pair = Pair(t)
    _one_program(pair, t.random, 5000 if t.long else 600)


if __name__ == "__main__":
    main(globals())
