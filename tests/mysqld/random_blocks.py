# SPDX-License-Identifier: GPL-2.0-only
"""Random query blocks over one table, of the shapes that the engine evaluates in batches: rows and
aggregates under conditions of every operator that programs know (docs/whole_queries.md).

A block is either free, with hints and indexes, and shows only what the statement decides; or
settled: all indexes are ignored, all plans read the same rows in the same order, and errors,
warnings and which row stands for a group count, too.
"""
from random_condition import Conditions
from random_query import Statement
from random_switches import index_hint, random_hint

_ALIAS = "a1"
_ORDERS = ("=", "<>", "<", "<=", ">", ">=", "<=>")
_TESTS = ("IS TRUE", "IS FALSE", "IS NOT TRUE", "IS NOT FALSE", "IS NULL", "IS NOT NULL")
_DAYS = ("date", "datetime")
# What is converted to be compared, with a warning or without.
_FOREIGN = ("'1'", "'12abc'", "''", "1.5", "2e0", "'2020-01-01'", "'2020-02-31'", "x'31'",
            "DATE'2021-03-04'", "TIMESTAMP'2021-03-04 05:06:07.5'", "TIME'10:00:00'", "NULL",
            "99999999999999999999", "-0.5", "CAST('7x' AS SIGNED)", "CONCAT('1', @one)")


class Blocks:
    """statements(table, settles): those that are to be run for one block, one after the other.
    settles: whether it may be a settled one."""

    def __init__(self, random):
        self._random = random

    def statements(self, table, settles):
        random = self._random
        self._table, self._where = table, Conditions(random)
        self._settled = settles and random.random() < 0.45
        self._columns = [(f"{_ALIAS}.", column) for column in table.columns]
        shapes = (self._rows, self._aggregate, self._groups, self._nested, self._distinct)
        text, ordered = random.choices(shapes, (25, 30, 40, 8, 10))[0]()
        typed = self._settled or self._where.typed
        if self._settled and random.random() < 0.1:
            quoted = text.replace("\\", "\\\\").replace("'", "''")
            yield Statement(f"PREPARE q FROM '{quoted}'")
            for _ in range(2):
                yield self._statement("EXECUTE q", ordered, typed)
        else:
            yield self._statement(text, ordered, typed)

    def _statement(self, text, ordered, typed):
        statement = Statement(text, ordered, typed)
        statement.settled = self._settled
        return statement

    # --- shapes ---

    def _rows(self):
        random = self._random
        shown = ", ".join(self._exact(pair) for pair in random.sample(
            self._columns, random.randint(1, min(4, len(self._columns)))))
        order = self._table.total_order(_ALIAS) if random.random() < 0.3 else ""
        if random.random() < 0.7:  # in short: they are all decided
            return (f"SELECT {self._hint()}COUNT(*), SUM(CRC32(CONCAT_WS('|', {shown}))) FROM "
                    f"{self._source()} WHERE {self._terms()}"), False
        text = f"SELECT {self._hint()}{shown} FROM {self._source()}{self._condition()}"
        if order:
            text += f" ORDER BY {order}{random.choice(('', f' LIMIT {random.randint(1, 40)}'))}"
        return text, bool(order)

    def _aggregate(self):
        shown = ", ".join(self._measure() for _ in range(self._random.randint(1, 4)))
        text = f"SELECT {self._hint()}{shown} FROM {self._source()}{self._condition()}"
        if self._random.random() < 0.1:
            text += f" HAVING {self._having()}"
        return text, False

    def _groups(self):
        random = self._random
        keys = [self._key() for _ in range(random.choice((1, 1, 2, 3)))]
        names = ", ".join(name for name, _ in keys)
        shown = [show for _, show in keys]
        shown += [self._measure() for _ in range(random.randint(1, 3))]
        if self._settled and random.random() < 0.5:  # the first row of each group
            shown.append(self._exact(random.choice(self._columns)))
        text = (f"SELECT {self._hint()}{', '.join(shown)} FROM {self._source()}"
                f"{self._condition()} GROUP BY {names}")
        if random.random() < 0.3:
            text += f" HAVING {self._having()}"
        if random.random() < 0.35:
            order = [name + random.choice(("", " DESC")) for name, _ in keys]
            text += f" ORDER BY {', '.join(order)}"
            text += random.choice(("", f" LIMIT {random.randint(1, 20)}"))
            return text, True
        return text, False

    def _distinct(self):
        """In short, or in order."""
        random = self._random
        able = [pair for pair in self._columns if pair[1].kind.family != "json"]
        pairs = random.sample(able, random.randint(1, min(3, len(able))))
        names = [f"{ref}{column.name}" for ref, column in pairs]
        shown, number = [f"{name} AS c{i}" for i, name in enumerate(names)], self._number()
        if number and random.random() < 0.2:
            shown.append(number)
        text = (f"SELECT {self._hint()}DISTINCT {', '.join(shown)} FROM {self._source()}"
                f"{self._condition()}")
        if random.random() < 0.7:
            look = (lambda kind, name: kind.exact(name) if self._settled else kind.shown(name))
            seen = ", ".join(look(pair[1].kind, f"d.c{i}") for i, pair in enumerate(pairs))
            limit = random.choice(("", "", f" LIMIT {random.randint(1, 30)}"))
            text += limit if self._settled else ""
            return f"SELECT COUNT(*), SUM(CRC32(CONCAT_WS('|', {seen}))) FROM ({text}) AS d", False
        if not self._settled and any(pair[1].kind.shown("x") != "x" for pair in pairs):
            return f"SELECT COUNT(*) FROM ({text}) AS d", False
        order = ", ".join(name + random.choice(("", " DESC")) for name in names)
        text += f" ORDER BY {order}{random.choice(('', ' LIMIT 12'))}"
        return text, len(shown) == len(pairs)

    def _nested(self):
        """A block within another one: read once, or again for each of some rows."""
        random, pair = self._random, random_pair(self._random, self._columns)
        name = f"{pair[0]}{pair[1].name}"
        order = self._table.total_order("a3")
        source = f"FROM {self._source()}{self._condition()}"
        outer = f"(SELECT * FROM {self._table.name} AS a3 ORDER BY {order} LIMIT 20) AS a2"
        outer_name = f"a2.{pair[1].name}"
        return random.choice((
            f"SELECT COUNT(*), SUM(n), MAX(m) FROM (SELECT COUNT(*) AS n, COUNT({name}) AS m "
            f"{source} GROUP BY {name}) AS d",
            f"SELECT COUNT(*) FROM {outer} WHERE (SELECT COUNT(*) FROM {self._source()} WHERE "
            f"{name} <=> {outer_name} AND {self._terms()}) > 3",
            f"SELECT COUNT(*) FROM {outer} WHERE {outer_name} IN (SELECT {name} {source})",
            f"SELECT COUNT(*) {source} UNION ALL SELECT COUNT({name}) {source}")), False

    # --- parts ---

    def _hint(self):
        return "" if self._settled else random_hint(self._random, [(_ALIAS, self._table)])

    def _source(self):
        name = f"{self._table.name} AS {_ALIAS}"
        keys = ", ".join(self._table.key_names())
        if self._settled and self._begins_with_few():
            return f"{name} FORCE INDEX (PRIMARY)"  # in its order, whichever rows are read
        if self._settled:
            return f"{name} IGNORE INDEX ({keys})" if keys else name
        return name + (index_hint(self._random, self._table) if self._random.random() < 0.5 else "")

    def _begins_with_few(self):
        primary = self._table.primary
        return self._table.few and primary and primary.columns()[0] is self._table.few

    def _exact(self, pair):
        return pair[1].kind.exact(f"{pair[0]}{pair[1].name}")

    def _of(self, *families):
        """Names of columns of these families."""
        return [f"{ref}{column.name}" for ref, column in self._columns
                if column.kind.family in families]

    def _number(self):
        """An expression of numbers, or None."""
        random, exact = self._random, self._of("int", "decimal")
        days = self._of(*_DAYS)
        if days and random.random() < 0.2:
            name = random.choice(days)
            return random.choice((f"YEAR({name})", f"MONTH({name})", f"DAYOFMONTH({name})",
                                  f"EXTRACT(YEAR_MONTH FROM {name})"))
        texts, whole = self._of("string", "binary"), self._of("int")
        if texts and random.random() < 0.1:
            return f"{random.choice(('LENGTH', 'CHAR_LENGTH'))}({random.choice(texts)})"
        if whole and random.random() < 0.1:
            return f"{random.choice(whole)} % {random.choice(whole + ['2', '-3', '5', '0'])}"
        if not exact:
            return None
        left, right = random.choice(exact), random.choice(exact + ["1", "2.50", "-3", "0"])
        return random.choice((f"{left} + {right}", f"{left} - {right}", f"{left} * {right}",
                              f"-{left}", f"({left} + 1) * {right}", f"{left} * (1 - {right})"))

    def _measure(self):
        random, pair = self._random, random_pair(self._random, self._columns)
        kind, name, number = pair[1].kind, f"{pair[0]}{pair[1].name}", self._number()
        choices = ["COUNT(*)", f"COUNT({name})"]
        if kind.key_part and kind.family not in ("enum", "set"):
            function = f"{random.choice(('MIN', 'MAX'))}({name})"
            shown = kind.exact(function) if self._settled else kind.shown(function)
            choices += [shown] * (1 if kind.family == "string" else 3)
        if kind.numeric and (kind.family != "float" or random.random() < 0.2):
            choices += [f"SUM({name})"] * 2
        if kind.family in ("int", "decimal"):
            choices += [f"AVG({name})"] * 2
        if kind.family == "float" and self._settled:  # sums that depend on the order of the rows
            choices += [f"SUM({name} * 0.1e0)", f"AVG({name} * 0.1e0)"] * 3
        if kind.family == "int":
            choices.append(f"BIT_{random.choice(('AND', 'OR', 'XOR'))}({name})")
        if number:
            choices += [f"{random.choice(('SUM', 'AVG', 'MIN', 'MAX', 'COUNT'))}({number})"] * 2
        return self._distinct_measure(name, kind) if random.random() < 0.12 else (
            random.choice(choices))

    def _distinct_measure(self, name, kind):
        random, number = self._random, self._number()
        if number and random.random() < 0.2:
            return f"{random.choice(('COUNT', 'SUM', 'AVG'))}(DISTINCT {number})"
        if kind.numeric and kind.family != "float" and random.random() < 0.4:
            return f"{random.choice(('SUM', 'AVG'))}(DISTINCT {name})"
        other = random_pair(random, self._columns)
        more = f", {other[0]}{other[1].name}" if random.random() < 0.2 else ""
        return f"COUNT(DISTINCT {name}{more})"

    def _key(self):
        """(what GROUP BY names, what the list shows of it)"""
        random = self._random
        number = self._number()
        if random.random() < 0.25:
            ints, texts = self._of("int"), self._of("string")
            able = [random.choice((f"{name} % 3", f"{name} > 2")) for name in ints[:1]]
            able += [f"{name} IS NULL" for name in texts[:1]] + ([number] * 6 if number else [])
            if able:
                name = random.choice(able)
                return name, name
        pair = random_pair(random, self._columns)
        name = f"{pair[0]}{pair[1].name}"
        return name, pair[1].kind.shown(name)

    def _having(self):
        return self._random.choice(("COUNT(*) > 2", "COUNT(*) < 40", f"{self._measure()} > 5",
                                    f"{self._measure()} IS NOT NULL", "NOT COUNT(*) = 1"))

    # --- conditions ---

    def _condition(self):
        random = self._random
        if random.random() < 0.15:
            return ""
        equal = self._equal_keys() if random.random() < (0.4 if self._table.few else 0.1) else ""
        if equal and random.random() < 0.4:
            return f" WHERE {equal}"
        return f" WHERE {equal}{' AND ' if equal else ''}{self._terms()}"

    def _equal_keys(self):
        """For a look-up; empty: there is no key for it."""
        random, few = self._random, self._table.few
        columns = [key.columns()[0] for key in self._table.keys()]
        column = few if few and random.random() < 0.8 else random.choice(columns or [None])
        if column is None:
            return ""
        name, value = f"{_ALIAS}.{column.name}", column.literal(random)
        choice = random.random()
        if choice < 0.15:
            return f"({name} = {value} OR {name} IS NULL)"
        if choice < 0.2:
            return f"{name} IS NULL"
        return f"{name} {random.choice(('=', '=', '<=>'))} {value}"

    def _terms(self, depth=2):
        random, choice = self._random, self._random.random()
        if depth == 0 or choice < 0.6:
            return self._term()
        left, right = self._terms(depth - 1), self._terms(depth - 1)
        if choice < 0.77:
            return f"({left} AND {right})"
        if choice < 0.9:
            return f"({left} OR {right})"
        if choice < 0.93:
            return f"({left} XOR {right})"
        if choice < 0.96:
            return f"NOT ({left})"
        return f"({left}) {random.choice(_TESTS)}"

    def _term(self):
        random = self._random
        return random.choices((self._plain, self._pair, self._computed, self._list, self._like,
                               self._foreign), (54, 12, 12, 8, 10, 4))[0]()

    def _plain(self):
        text = self._where.simple(self._random.choice(self._columns))
        return self._plain() if " % " in text and self._random.random() < 0.8 else text

    def _pair(self):
        """Columns with columns of the same type, or the same family."""
        random, (ref, column) = self._random, random_pair(self._random, self._columns)
        same = [other for _, other in self._columns if other.kind.family == column.kind.family
                and other.kind.collation == column.kind.collation and other is not column]
        if not same:
            return self._plain()
        other, third = random.choice(same), random.choice(same)
        if random.random() < 0.2:
            between = random.choice(("BETWEEN", "NOT BETWEEN"))
            limit = random.choice((f"{ref}{third.name}", column.kind.literal(random)))
            return f"{ref}{column.name} {between} {ref}{other.name} AND {limit}"
        return f"{ref}{column.name} {random.choice(_ORDERS)} {ref}{other.name}"

    def _computed(self):
        random, number = self._random, self._number()
        if number is None:
            return self._plain()
        limits = ["0", "5", "2000", "-1", "7.25", "1e1", "NULL"] + self._of("int", "decimal")
        if random.random() < 0.2:
            return f"{number} BETWEEN {random.choice(limits)} AND {random.choice(limits)}"
        if random.random() < 0.2:
            return f"{number} IN ({', '.join(random.sample(limits[:6], 3))})"
        return f"{number} {random.choice(_ORDERS)} {random.choice(limits)}"

    def _list(self):
        """IN of many constants."""
        random, (ref, column) = self._random, random_pair(self._random, self._columns)
        values = [column.literal(random) for _ in range(random.choice((2, 7, 9, 14)))]
        return f"{ref}{column.name} {random.choice(('', 'NOT '))}IN ({', '.join(values)})"

    def _like(self):
        random, texts = self._random, [pair for pair in self._columns
                                       if pair[1].kind.family == "string"]
        if not texts:
            return self._plain()
        ref, column = random.choice(texts)
        word = column.kind.literal(random)[1:-1].replace("'", "").replace("\\", "")[:6]
        half = len(word) // 2
        pattern = random.choice((f"%{word}%", f"{word}%", f"%{word}", word, f"{word[:half]}%"
                                 f"{word[half:]}", f"_{word[1:]}", f"{word[:half]}_%", "%", "_"))
        return f"{ref}{column.name} {random.choice(('', 'NOT '))}LIKE '{pattern}'"

    def _foreign(self):
        """With a constant of another type."""
        self._where.typed = False
        random, (ref, column) = self._random, random_pair(self._random, self._columns)
        one, other = random.choice(_FOREIGN), random.choice(_FOREIGN)
        return f"{ref}{column.name} " + random.choice((
            f"{random.choice(_ORDERS)} {one}", f"{random.choice(_ORDERS)} {one}",
            f"BETWEEN {one} AND {other}", f"IN ({one}, {other}, {column.literal(random)})"))


def random_pair(random, columns):
    """One that can be a key."""
    return random.choice([pair for pair in columns if pair[1].kind.key_part])
