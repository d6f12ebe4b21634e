# SPDX-License-Identifier: GPL-2.0-only
"""Random tables that refer to each other and themselves, and random statements, beside InnoDB.

Every statement must end alike on both engines, and all rows must be equal after it. A failure
prints the statements that lead to it. A program ends where the server miscounts the tables of a
cascade, which Rowan puts right and InnoDB does not (docs/foreign_keys.md).
"""
import random
import time

import pytest

from framework import SEED, ConnectionLost, Failure, needs_foreign_keys
from side_by_side import FAST, Side

pytestmark = [pytest.mark.server(options=FAST), needs_foreign_keys]

_RULES = ("RESTRICT", "NO ACTION", "CASCADE", "CASCADE", "SET NULL")
_TOO_MANY_TABLES = 6575
_INNODB_CRASH = "[InnoDB] Assertion failure: row0mysql.cc"
_LARGE = 5000  # characters of a value that lies outside of its row


class _ServerMiscounts(Exception):
    pass


class _Program:
    """Some tables t0.. with columns id, k (unique), a, b (refer to something) and t."""

    def __init__(self, number, sides):
        self._random = random.Random(f"foreign keys {number}")
        self._sides, self._count = sides, self._random.randrange(1, 5)
        self.history = []

    def both(self, statement):
        self.history.append(statement)
        ours, theirs = (side.outcome(statement) for side in self._sides)
        if theirs[:2] == ("error", _TOO_MANY_TABLES):
            raise _ServerMiscounts
        if ours != theirs:
            raise Failure("{};\n-- ours {}\n-- theirs {}".format(";\n".join(self.history), ours,
                                                                  theirs))
        return ours

    def run(self, statements):
        for number in range(self._count):
            primary = self._random.choice(("PRIMARY KEY (id)", "PRIMARY KEY (id)", "KEY (id)"))
            self.both(f"CREATE TABLE t{number} (id INT NOT NULL, k INT, a INT, b INT, t TEXT, "
                      f"{primary}, UNIQUE (k), KEY (b, a))")
        keys = self._random.randrange(1, 2 * self._count + 2)
        for number in range(keys):
            self._add_key(number)
        for _ in range(statements):
            done = self.both(self._statement())
            if done[0] == "done":
                self._compare()
        self.both("COMMIT")
        tables = ", ".join(f"t{number}" for number in range(self._count))
        self.both(f"CHECK TABLE {tables}")

    def _add_key(self, number):
        pick = self._random
        columns = pick.choice(("a", "b", "a", "b", "k", "b, a"))
        parents = "k, id" if ", " in columns else pick.choice(("k", "k", "id"))
        if ", " in parents:
            parent = pick.randrange(self._count)
            self.both(f"ALTER TABLE t{parent} ADD UNIQUE (k, id)")
        else:
            parent = pick.randrange(self._count)
        self.both(f"ALTER TABLE t{pick.randrange(self._count)} ADD CONSTRAINT f{number} "
                  f"FOREIGN KEY ({columns}) REFERENCES t{parent} ({parents}) "
                  f"ON DELETE {pick.choice(_RULES)} ON UPDATE {pick.choice(_RULES)}")

    def _value(self):
        return self._random.choice(("NULL", *map(str, range(1, 9))))

    def _statement(self):
        pick = self._random
        table, value, other = f"t{pick.randrange(self._count)}", self._value(), pick.randrange(1, 9)
        row = (f"({pick.randrange(1, 12)}, {self._value()}, {value}, {self._value()}, "
               f"REPEAT('{pick.choice('xyz')}', {pick.choice((3, _LARGE))}))")
        column = pick.choice(("id", "k", "a", "b", "k", "a"))
        where = pick.choice((f"id = {other}", f"k = {other}", f"id < {other}", f"a = {other}"))
        ignore = pick.choice(("", "", "", "IGNORE "))
        choices = (
            f"INSERT {ignore}INTO {table} VALUES {row}",
            f"INSERT INTO {table} (id, k) VALUES ({other}, {other})",
            f"INSERT INTO {table} VALUES {row} ON DUPLICATE KEY UPDATE {column} = {other}",
            f"REPLACE INTO {table} VALUES {row}",
            f"UPDATE {ignore}{table} SET {column} = {value if column != 'id' else other}, "
            f"t = CONCAT(t, 'u') WHERE {where} ORDER BY id, k",
            f"UPDATE {table} SET {column} = {column} + 1 WHERE {where} ORDER BY id DESC, k DESC",
            f"DELETE {ignore}FROM {table} WHERE {where} ORDER BY id, k",
            f"DELETE FROM {table} WHERE {where} ORDER BY id DESC, k DESC LIMIT 2")
        return pick.choices((pick.choice(choices), "BEGIN", "COMMIT", "ROLLBACK"), (20, 1, 1, 1))[0]

    def _compare(self):
        self.both(" UNION ALL ".join(
            f"(SELECT '{number}', id, k, a, b, LENGTH(t) FROM t{number})"
            for number in range(self._count)) + " ORDER BY 1, 2, 3, 4, 5")


def test_random_statements(t):
    deadline = time.monotonic() + (600 if t.long else 5)
    number = miscounted = crashes = 0
    while time.monotonic() < deadline:
        sides = [Side(t, engine, f"{t.database}_{name}")
                 for engine, name in ((t.engine, "a"), ("InnoDB", "b"))]
        try:
            _Program(SEED + number, sides).run(120)
        except _ServerMiscounts:
            miscounted += 1
        except ConnectionLost:
            # Cascades stop InnoDB now and then.
            if not t.server.has_died() or _INNODB_CRASH not in t.server.messages():
                raise
            crashes += 1
            t.server.start()
            sides = []
            for name in ("a", "b"):
                t.client().execute(f"DROP DATABASE {t.database}_{name}")
        except Failure as failure:
            raise Failure(f"program {SEED + number}:\n{failure}") from failure
        for side in sides:
            side.drop()
        number += 1
    print(f"{number} programs, {miscounted} ended by the server's count, {crashes} by an assertion "
          "of InnoDB", flush=True)
