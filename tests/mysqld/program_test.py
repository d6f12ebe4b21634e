# SPDX-License-Identifier: GPL-2.0-only
"""Programs over stored rows (plugin/program/) give what the server's own evaluation gives.

tests/program/oracle.cc is loaded into the server as functions that compare the two for each row of
a table: those of a filter (is the condition true?) and of a value.
"""
import os
import re
import shutil

import pytest

from framework import BUILD, IS_8_4, Failure, MysqlError
from random_condition import Conditions
from random_types import random_kind

pytestmark = pytest.mark.skipif(os.environ.get("ROWAN_TEST_ENGINE", "ROWAN") != "ROWAN",
                                reason="the functions encode rows as Rowan does")

_LIBRARY = "rowan_program_oracle.so"


@pytest.fixture(autouse=True)
def oracle(t):
    target = t.server.folder / "plugins" / _LIBRARY
    if not target.exists():
        shutil.copy(os.environ.get("ROWAN_TEST_ORACLE", BUILD / "tests" / _LIBRARY), target)
        t.run(f"INSTALL PLUGIN rowan_program_oracle SONAME '{_LIBRARY}'")
    for name in ("program_filter", "program_value", "program_groups"):
        t.run(f"DROP FUNCTION IF EXISTS {name}",
              f"CREATE AGGREGATE FUNCTION {name} RETURNS STRING SONAME '{_LIBRARY}'")


class Answers:
    """What the oracle says of items on a table."""

    def __init__(self, t, table, index=0):
        self._t, self._table, self._index = t, table, index
        self.supported, self.refused = 0, {}

    def ask(self, function, items):
        """The answers; one query for several items. Differences are failures."""
        calls = ", ".join(f"{function}({i}, {self._index}, {item})"
                          for i, item in enumerate(items))
        answers = [text.decode() if isinstance(text, bytes) else text
                   for text in self._t.run(f"SELECT {calls} FROM {self._table}")[0]]
        for item, answer in zip(items, answers):
            if answer.startswith("not supported"):
                self.refused.setdefault(answer, []).append(item)
            elif re.fullmatch(r"\d+ rows, \d+ selected, \d+ aside", answer):
                self.supported += 1
            else:
                raise Failure(f"{item}: {answer}")
        return answers

    def filters(self, conditions):
        """Each as it is, and whether it is false rather than NULL."""
        return self.ask("program_filter", [item for condition in conditions for item in
                                           (condition, f"({condition}) IS FALSE")])

    def groups(self, expression):
        """As many as GROUP BY makes."""
        answer = self._t.value(f"SELECT program_groups(0, {self._index}, {expression}) "
                               f"FROM {self._table}")
        groups = self._t.value(f"SELECT COUNT(*) FROM (SELECT 1 FROM {self._table} "
                               f"GROUP BY {expression}) AS g")
        self._t.equal(answer if isinstance(answer, str) else answer.decode(),
                      f"{groups} groups, 0 aside", expression)

    def values(self, expressions):
        return self.ask("program_value", expressions)


_NUMBERS = {
    "i8": ("TINYINT", (-128, -1, 0, 1, 5, 127)),
    "u8": ("TINYINT UNSIGNED NOT NULL", (0, 1, 5, 128, 255)),
    "i16": ("SMALLINT", (-32768, -1, 0, 5, 32767)),
    "i24": ("MEDIUMINT", (-8388608, -1, 0, 5, 8388607)),
    "u24": ("MEDIUMINT UNSIGNED", (0, 5, 16777215)),
    "i32": ("INT NOT NULL", (-2147483648, -1, 0, 5, 2147483647)),
    "u32": ("INT UNSIGNED", (0, 5, 4294967295)),
    "i64": ("BIGINT", (-9223372036854775808, -1, 0, 5, 9223372036854775807)),
    "u64": ("BIGINT UNSIGNED", (0, 5, 9223372036854775808, 18446744073709551615)),
    "y": ("YEAR", (0, 1901, 2000, 2155)),
    "d2": ("DECIMAL(9,2)", ("-9999999.99", "-1.50", "0", "0.01", "5.00", "9999999.99")),
    "d0": ("DECIMAL(18,0) NOT NULL", ("-999999999999999999", "0", "5", "999999999999999999")),
    "d15": ("DECIMAL(15,2) UNSIGNED", ("0", "0.05", "5", "9999999999999.99")),
    "d38": ("DECIMAL(38,10)", ("-9999999999999999999999999999.9999999999", "0", "1.5", "5")),
    "d11": ("DECIMAL(11,11)", ("-0.99999999999", "0", "0.5")),
    "f": ("FLOAT", ("-1.5", "0", "-0e0", "0.1", "5", "3e38")),
    "g": ("DOUBLE", ("-1.5", "0", "-0e0", "0.1", "5", "1e308")),
}
_CONSTANTS = ("0", "5", "-1", "5.00", "0.01", "1.505", "1e0", "0.1e0", "255", "2000",
              "9223372036854775807", "9223372036854775808", "18446744073709551615",
              "-9223372036854775808", "99999999999999999999999999999999999999", "NULL")


def _fill(t, columns, count):
    """A table n of random values of columns (name: (type, values)); some are NULL."""
    definition = ", ".join(f"{name} {sql}" for name, (sql, _) in columns.items())
    t.run(f"CREATE TABLE n (id INT PRIMARY KEY, {definition})")
    rows = []
    for i in range(count):
        values = ["NULL" if "NOT NULL" not in sql and t.random.random() < 0.15
                  else str(t.random.choice(values)) for sql, values in columns.values()]
        rows.append(f"({i}, {', '.join(values)})")
    t.run("INSERT INTO n VALUES " + ", ".join(rows))


def _must_support(answers, share):
    total = answers.supported + sum(len(items) for items in answers.refused.values())
    if answers.supported < share * total:
        raise Failure(f"{answers.supported} of {total} are supported; refused: "
                      f"{ {reason: items[:4] for reason, items in answers.refused.items()} }")


def test_numbers_compare_as_in_the_server(t):
    _fill(t, _NUMBERS, 530)
    answers = Answers(t, "n")
    for name in _NUMBERS:
        for constant in _CONSTANTS:
            answers.filters([f"{name} {order} {constant}"
                             for order in ("=", "<>", "<", "<=", ">", ">=", "<=>")]
                            + [f"{constant} < {name}", f"{name} BETWEEN {constant} AND 6",
                               f"{name} NOT BETWEEN 0 AND {constant}",
                               f"{name} IN ({constant}, 5)", f"{name} NOT IN ({constant}, 1, 2)"])
        answers.filters([f"{name} {order} {other}" for other in _NUMBERS
                         for order in ("=", "<", ">=", "<=>")]
                        + [f"{name} IS NULL", f"{name} IS NOT NULL"])
    _must_support(answers, 0.75)


def test_numbers_are_read_and_computed_with_as_in_the_server(t):
    _fill(t, _NUMBERS, 530)
    answers = Answers(t, "n")
    answers.values([*_NUMBERS, "id"])
    _must_support(answers, 1)
    for name in _NUMBERS:
        for other in (*_NUMBERS, "1", "2.50", "-3", "0", "NULL"):
            for operation in "+-*%" if name[0] in "iu" and other in ("1", "-3") else "+-*":
                try:
                    answers.values([f"{name} {operation} {other}"])
                except MysqlError as error:
                    t.true(error.code == 1690, f"{error}")  # an overflow
    answers.values(["d15 * (1 - d2)", "d15 * (1 - d2) * (1 + d2)", "-i32", "-d15",
                    "i8 * i24 + i16", "i64 % -1", "MOD(u64, -7)", "u64 % 9223372036854775808",
                    "i64 % (-9223372036854775807 - 1)", "(i64 % 3) % 2"])
    _must_support(answers, 0.8)


_TEMPORALS = {
    "d": ("DATE", ("'1000-01-01'", "'1998-09-02'", "'2000-02-29'", "'9999-12-31'")),
    "t0": ("DATETIME", ("'1000-01-01 00:00:00'", "'1998-09-02 00:00:00'", "'1998-09-02 10:11:12'")),
    "t3": ("DATETIME(3) NOT NULL", ("'1998-09-02 00:00:00.001'", "'1998-09-02 00:00:00'")),
    "t6": ("DATETIME(6)", ("'1998-09-02 00:00:00.000001'", "'9999-12-31 23:59:59.999999'")),
    "z0": ("TIME", ("'-838:59:59'", "'-00:00:01'", "'00:00:00'", "'838:59:59'")),
    "z1": ("TIME(1)", ("'-10:00:00.5'", "'-00:00:00.1'", "'00:00:00.9'")),
    "z4": ("TIME(4)", ("'-10:00:00.0005'", "'-00:00:00.0001'", "'10:00:00.1234'")),
    "z6": ("TIME(6)", ("'-10:00:00.000001'", "'00:00:00'", "'10:00:00.123456'")),
}
_MOMENTS = ("'1998-09-02'", "DATE '1998-09-02'", "'1998-09-02 00:00:00'",
            "TIMESTAMP '1998-09-02 10:11:12'", "'1998-09-02 00:00:00.000001'",
            "DATE '1998-12-01' - INTERVAL 90 DAY", "CAST('2000-02-29' AS DATE)", "NULL")


def test_dates_and_times_compare_as_in_the_server(t):
    _fill(t, _TEMPORALS, 530)
    answers = Answers(t, "n")
    answers.values([*_TEMPORALS, *(f"{part}({name})" for part in ("YEAR", "MONTH", "DAYOFMONTH")
                                   for name in ("d", "t0", "t3", "t6")),
                    "EXTRACT(YEAR_MONTH FROM d)", "EXTRACT(YEAR FROM t6)", "EXTRACT(DAY FROM d)"])
    _must_support(answers, 1)
    for name in _TEMPORALS:
        moments = (_MOMENTS if name[0] != "z" else
                   ("'10:00:00'", "TIME '-10:00:00.5'", "'00:00:00'", "'-00:00:00.0001'", "NULL"))
        for moment in moments:
            answers.filters([f"{name} {order} {moment}"
                             for order in ("=", "<>", "<", "<=", ">", ">=", "<=>")]
                            + [f"{name} BETWEEN {moment} AND {moments[0]}",
                               f"{name} NOT BETWEEN {moments[1]} AND {moment}",
                               f"{name} IN ({moment}, {moments[1]})"])
        answers.filters([f"{name} {order} {other}" for other in _TEMPORALS
                         if (other[0] == "z") == (name[0] == "z") for order in ("=", "<", ">=")])
    _must_support(answers, 0.6 if IS_8_4 else 0.8)


_WORDS = ("''", "'a'", "'A'", "'ab'", "'aB '", "'b'", "'b  '", "'abc'", "'a b'", "'x%y'", "'x_y'",
          "'Rowanberry in a long text that goes on and on until it has over eighty characters'",
          "'ä'", "'Ä'", "'ss'", "'ß'", "CONCAT('a', _utf8mb4 X'CC81', 'b')", "'a\\tb'",
          "CONCAT('a', CHAR(1), 'b')", "REPEAT('ab', 300)", "REPEAT('q', 9000)")
_PATTERNS = ("'%'", "''", "'a'", "'a%'", "'%b'", "'%B%'", "'%berry%long%eigh%'", "'r%an%s'", "'_'",
             "'a_%'", "'%ß%'", "'%A%'", "'x\\\\%y'", "'x|%y' ESCAPE '|'", "'%on until it h%'",
             "NULL", "'%ab'", "'aba%bab'", "'b '", "'%\\t%'")


@pytest.mark.parametrize("collation", (
    "utf8mb4_0900_ai_ci", "utf8mb4_0900_as_cs", "utf8mb4_0900_bin", "utf8mb4_bin",
    "utf8mb4_general_ci", "utf8mb4_unicode_ci", "latin1_swedish_ci", "latin1_german2_ci",
    "latin1_bin", "utf8mb4_cs_0900_ai_ci", "utf16_general_ci", "binary"))
def test_texts_compare_as_in_the_server(t, collation):
    charset = collation.split("_")[0]
    text = f"CHARACTER SET {charset}" + (f" COLLATE {collation}" if "_" in collation else "")
    words = [word for word in _WORDS if charset != "latin1" or "X'CC81'" not in word]
    columns = {"v": (f"VARCHAR(700) {text}", words[:-1]), "c": (f"CHAR(90) {text}", words[:-2]),
               "w": (f"VARCHAR(90) {text} NOT NULL", words[:-2]), "x": (f"TEXT {text}", words)}
    _fill(t, columns, 120)
    answers = Answers(t, "n")
    answers.values([*columns, *(f"{length}({name})" for name in columns
                                for length in ("LENGTH", "CHAR_LENGTH"))])
    for name in columns:
        for word in words:
            answers.filters([f"{name} {order} {word}" for order in ("=", "<", ">=", "<=>")]
                            + [f"{name} BETWEEN {word} AND 'b'", f"{name} IN ({word}, 'ab', 'B')",
                               f"{name} IN ({', '.join(words[:12])}, {word})"])
        answers.filters([f"{name} {negated}LIKE {pattern}" for pattern in _PATTERNS
                         for negated in ("", "NOT ")])
        answers.filters([f"{name} {order} {other}" for other in columns
                         for order in ("=", "<", ">=")])
    _must_support(answers, 0.9)


def test_values_group_as_in_the_server(t):
    columns = dict(_NUMBERS, **_TEMPORALS)
    for i, collation in enumerate(("utf8mb4_0900_ai_ci", "utf8mb4_0900_as_cs", "utf8mb4_bin",
                                   "utf8mb4_general_ci", "utf8mb4_unicode_ci", "binary")):
        kind = "VARBINARY(90)" if collation == "binary" else f"VARCHAR(90) COLLATE {collation}"
        columns[f"s{i}"] = (kind, _WORDS[:-2])
    _fill(t, columns, 500)
    answers = Answers(t, "n")
    for name in columns:
        answers.groups(name)
    answers.groups("d2 * i8")
    answers.groups("YEAR(t0)")


def test_three_valued_logic_is_the_servers(t):
    _fill(t, {"a": ("INT", (0, 1, 2)), "b": ("INT", (0, 1, 2)), "c": ("INT NOT NULL", (0, 1))}, 300)
    answers = Answers(t, "n")
    simple = ("a = 1", "b <> a", "c = 0", "a IS NULL", "b IN (1, NULL)", "a NOT IN (0, NULL)")
    for left in simple:
        for right in simple:
            joined = [f"({left}) {word} ({right})" for word in ("AND", "OR", "XOR")]
            answers.filters([*joined, *(f"NOT ({one})" for one in joined),
                             *(f"({one}) IS {test}" for one in joined
                               for test in ("TRUE", "NOT TRUE", "NOT FALSE")),
                             f"({joined[0]}) OR (c = 1 AND {right})"])
    _must_support(answers, 1)


def test_entries_of_secondary_indexes(t):
    columns = {name: _NUMBERS[name] for name in ("i8", "u24", "i32", "i64", "u64", "d2", "d38",
                                                 "f", "g", "y")}
    columns.update({name: _TEMPORALS[name] for name in ("d", "t3", "z4")})
    _fill(t, columns, 600)
    keys = ("i8, i32, d2", "i32, u24, i64", "d38, u64, f", "y, d, t3, z4", "y, g")
    for i, key in enumerate(keys):
        t.run(f"CREATE INDEX k{i} ON n ({key})")
        answers = Answers(t, "n", 1 + i)
        names = [name.strip() for name in key.split(",")]
        answers.values(["id", *(name for name in names if name not in "fg")])
        answers.filters([f"{name} > 0" for name in names if name[0] not in "dtz"])
        _must_support(answers, 0.6)


def test_random_conditions(t):
    rounds = 40 if t.long else 4
    supported = refused = 0
    for number in range(rounds):
        pools = {}
        kinds = [random_kind(t.random, pools) for _ in range(8)]
        table = f"r{number}"
        columns = [_Column(f"c{i}", kind) for i, kind in enumerate(kinds)]
        t.run(f"CREATE TABLE {table} (id INT PRIMARY KEY, "
              + ", ".join(f"{column.name} {column.kind.sql}" for column in columns) + ")")
        for i in range(120):
            values = [column.kind.literal(t.random) if t.random.random() < 0.85 else "NULL"
                      for column in columns]
            t.run(f"INSERT IGNORE INTO {table} VALUES ({i}, {', '.join(values)})")
        answers = Answers(t, table)
        for column in columns:
            answers.values([column.name])
        for _ in range(60):
            conditions = Conditions(t.random)
            item = conditions.condition([("", column) for column in columns])
            try:
                answers.filters([item])
            except MysqlError:
                pass  # one that the server refuses
        supported += answers.supported
        refused += sum(len(items) for items in answers.refused.values())
    t.true(supported > refused / 2, f"{supported} items are supported, {refused} are not")


class _Column:
    def __init__(self, name, kind):
        self.name, self.kind = name, kind
