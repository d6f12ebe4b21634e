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


class Interleaving:
    """Two sessions per engine. Each changes rows of its own by primary key and reads everything,
    so nobody waits and what each may see is decided by the isolation level alone."""

    def __init__(self, t):
        self._random, self._log = t.random, []
        self._sessions = {(table, who): t.client() for table in (_OURS, _THEIRS) for who in (0, 1)}
        for table, engine in ((_OURS, t.engine), (_THEIRS, "InnoDB")):
            client = self._sessions[table, 0]
            client.execute(f"DROP TABLE IF EXISTS {table}")
            client.execute(f"CREATE TABLE {table} (id INT PRIMARY KEY, k INT, v VARCHAR(20), "
                           f"KEY (k), KEY (v, k)) ENGINE={engine}")
            client.execute(f"INSERT INTO {table} VALUES " + ", ".join(
                f"({n}, {n % 7}, 'v{n % 5}')" for n in range(60)))
        self._rows = [{n for n in range(60) if n % 2 == who} for who in (0, 1)]
        self._before = [None, None]  # rows at the start of the open transaction

    def run(self, who, statement):
        self._log.append((who, statement))
        outcomes = []
        for table in (_OURS, _THEIRS):
            result = self._sessions[table, who].execute(statement.replace("{table}", table))
            outcomes.append((result.affected, sorted(result.rows, key=repr)))
        if outcomes[0] != outcomes[1]:
            history = "\n".join(f"{who}: {text}" for who, text in self._log)
            raise Failure(f"ours {_short(outcomes[0])}, theirs {_short(outcomes[1])}\n{history}")

    def close(self):
        for session in self._sessions.values():
            session.close()

    def begin(self, who, level):
        self.run(who, f"SET SESSION TRANSACTION ISOLATION LEVEL {level}")
        self.run(who, self._random.choice(("BEGIN", "START TRANSACTION WITH CONSISTENT SNAPSHOT"
                                           if level == "REPEATABLE READ" else "BEGIN")))
        self._before[who] = set(self._rows[who])

    def end(self, who):
        commit = self._random.random() < 0.75
        self.run(who, "COMMIT" if commit else "ROLLBACK")
        if not commit:
            self._rows[who] = self._before[who]
        self._before[who] = None

    def step(self, who):
        if self._before[who] is None:
            self.begin(who, self._random.choice(("REPEATABLE READ", "READ COMMITTED")))
        kind, rows = self._random.random(), self._rows[who]
        row = self._random.choice(sorted(rows)) if rows else None
        if kind < 0.45:
            self.run(who, self._read())
        elif kind < 0.6 or row is None:
            row = self._random.choice(sorted(set(range(who, 120, 2)) - rows))
            rows.add(row)
            self.run(who, f"INSERT INTO {{table}} VALUES ({row}, {row % 9}, 'n{row % 4}')")
        elif kind < 0.7:
            rows.remove(row)
            self.run(who, f"DELETE FROM {{table}} WHERE id = {row}")
        elif kind < 0.9:
            change = self._random.choice(("k = k + 1", "v = 'w'", "k = 3, v = 'v1'", "k = 5 - k"))
            self.run(who, f"UPDATE {{table}} SET {change} WHERE id = {row}")
        else:
            self.end(who)

    def _read(self):
        return self._random.choice((
            "SELECT * FROM {table}", "SELECT COUNT(*), SUM(k) FROM {table}",
            "SELECT k, id FROM {table} FORCE INDEX (k) WHERE k BETWEEN 2 AND 5",
            "SELECT * FROM {table} FORCE INDEX (v) WHERE v >= 'v1'",
            "SELECT v, MAX(k) FROM {table} GROUP BY v",
            f"SELECT * FROM {{table}} WHERE id = {self._random.randrange(120)}"))


def test_two_sessions_interleaved(t):
    for _ in range(300 if t.long else 12):
        pair = Interleaving(t)
        for _ in range(80):
            pair.step(t.random.randrange(2))
        for who in (0, 1):
            pair.run(who, "COMMIT")
        pair.run(0, "SELECT * FROM {table}")
        pair.run(1, "SELECT k, id FROM {table} FORCE INDEX (k)")
        pair.close()


if __name__ == "__main__":
    main(globals())
