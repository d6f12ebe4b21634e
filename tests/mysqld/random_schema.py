# SPDX-License-Identifier: GPL-2.0-only
"""Random tables, values and statements for the differential test; everything from one generator.

A Schema is a list of columns and indexes. It writes the CREATE TABLE for any engine and produces
statements with a placeholder {table}, so that the same text runs on two tables.
"""

_STRING_COLLATIONS = ("utf8mb4_0900_ai_ci", "utf8mb4_bin", "latin1_swedish_ci", "ascii_general_ci",
                      "latin1_bin")
_WORDS = ("", "a", "A", "ab", "aB", "b ", "b", "zz", "0", " x", "rowan", "Rowan", "ROWANBERRY",
          "m" * 30, "n" * 90)
_WIDE_WORDS = ("ä", "Ä", "ß", "ss", "é", "e", "日本", "😀", "æ")


class Column:
    """A name, its SQL type and a way to make values; `prefix` is set for types that allow one."""

    def __init__(self, name, sql_type, make_value, prefix=False, floating=False, padded=False):
        self.name, self.sql_type, self.make_value = name, sql_type, make_value
        self.prefix, self.floating = prefix, floating
        self.padded = padded  # 'b' and 'b ' are equal

    def shown(self):
        """An expression in which values that compare equal look equal."""
        text = f"RTRIM({self.name})" if self.padded else self.name
        return f"HEX(WEIGHT_STRING({text}))" if self.prefix else self.name


def _integer(bits, unsigned):
    low, high = (0, 2 ** bits - 1) if unsigned else (-2 ** (bits - 1), 2 ** (bits - 1) - 1)

    def make(random):
        if random.random() < 0.15:
            return str(random.choice((low, high, 0)))
        return str(max(low, min(high, random.randint(-20, 60))))
    return make


def _decimal(random):
    return random.choice(("0", "-0.01", "99999.99", "-99999.99",
                          f"{random.randint(-900, 900)}.{random.randint(0, 99):02d}"))


def _float(random):
    return random.choice(("0", "-1.5", "0.25", "1024", "-65536.5", str(random.randint(-50, 50))))


def _string(length, wide, trailing_blanks=True):
    def make(random):
        words = _WORDS + (_WIDE_WORDS if wide else ())
        word = (random.choice(words) + random.choice(("", "", random.choice(words))))[:length]
        return "'" + (word if trailing_blanks else word.rstrip()) + "'"
    return make


def _binary(length):
    def make(random):
        size = random.randint(0, min(length, 12))
        return "x'" + "".join(f"{random.choice((0, 1, 32, 127, 128, 255)):02x}"
                              for _ in range(size)) + "'"
    return make


def _date(random):
    return f"'{random.randint(1000, 9999)}-{random.randint(1, 12):02d}-{random.randint(1, 28):02d}'"


def _time(random):
    return (f"'{random.choice(('', '-'))}{random.randint(0, 838):02d}:{random.randint(0, 59):02d}:"
            f"{random.randint(0, 59):02d}.{random.randint(0, 999999):06d}'")


def _datetime(random):
    return (f"'{random.randint(1971, 2037)}-{random.randint(1, 12):02d}-"
            f"{random.randint(1, 28):02d} {random.randint(0, 23):02d}:{random.randint(0, 59):02d}:"
            f"{random.randint(0, 59):02d}.{random.randint(0, 999999):06d}'")


def _random_column(name, random):
    kind = random.randrange(11)
    if kind <= 2:
        type_name, bits = random.choice((("TINYINT", 8), ("SMALLINT", 16), ("MEDIUMINT", 24),
                                         ("INT", 32), ("BIGINT", 64)))
        unsigned = random.random() < 0.4
        return Column(name, type_name + (" UNSIGNED" if unsigned else ""),
                      _integer(bits, unsigned))
    if kind <= 5:
        collation = random.choice(_STRING_COLLATIONS)
        fixed, length = random.random() < 0.3, random.choice((5, 20, 100))
        return Column(name, f"{'CHAR' if fixed else 'VARCHAR'}({length}) CHARACTER SET "
                      f"{collation.split('_')[0]} COLLATE {collation}",
                      _string(length, collation.startswith("utf8"), not fixed), prefix=True,
                      padded="0900" not in collation)
    if kind == 6:
        length = random.choice((8, 40))
        fixed = random.random() < 0.3
        return Column(name, f"{'BINARY' if fixed else 'VARBINARY'}({length})", _binary(length),
                      prefix=True)
    if kind == 7:
        return Column(name, "DECIMAL(7,2)", _decimal)
    if kind == 8:
        return Column(name, random.choice(("FLOAT", "DOUBLE")), _float, floating=True)
    type_name, make = random.choice((("DATE", _date), ("TIME(3)", _time), ("DATETIME", _datetime),
                                     ("DATETIME(6)", _datetime), ("TIMESTAMP(2)", _datetime)))
    return Column(name, type_name, make)


class Schema:
    def __init__(self, random):
        self._random = random
        self.columns = [_random_column(f"c{number}", random)
                        for number in range(random.randint(2, 6))]
        self._nullable = [random.random() < 0.5 for _ in self.columns]
        self.indexes = []  # (name, clause, first column)
        self.primary = self._primary_clause()
        for number in range(random.randint(0, 3)):
            self._add_index(number)

    # --- tables ---

    def create(self, table, engine):
        lines = []
        for column, nullable in zip(self.columns, self._nullable):
            lines.append(f"{column.name} {column.sql_type} {'NULL' if nullable else 'NOT NULL'}")
        if "id" in self.primary:
            lines.insert(0, "id INT NOT NULL AUTO_INCREMENT")
        if self.primary:
            lines.append(f"PRIMARY KEY ({self.primary})")
        lines += [text for _, text, _ in self.indexes]
        return f"CREATE TABLE {table} ({', '.join(lines)}) ENGINE={engine}"

    def all_columns(self):
        """Without the generated id: which numbers a failure uses up is an engine's own affair."""
        return [column.name for column in self.columns]

    def _primary_clause(self):
        choice = self._random.random()
        if choice < 0.5:
            return "id"
        if choice < 0.65:
            return ""
        columns = self._random.sample(self.columns, min(2, len(self.columns)))
        for column in columns:
            self._nullable[self.columns.index(column)] = False
        return ", ".join(self._part(column) for column in columns)

    def _part(self, column):
        text = column.name
        if column.prefix and self._random.random() < 0.25:
            text += f"({self._random.randint(1, 4)})"
        return text + (" DESC" if self._random.random() < 0.15 else "")

    def _add_index(self, number):
        columns = self._random.sample(self.columns, self._random.randint(1, min(3, len(
            self.columns))))
        unique = "UNIQUE " if self._random.random() < 0.25 else ""
        parts = ", ".join(self._part(column) for column in columns)
        self.indexes.append((f"k{number}", f"{unique}KEY k{number} ({parts})", columns[0]))

    # --- statements ---

    def statement(self):
        """A random change, with {table} where the table's name belongs."""
        kind = self._random.random()
        if kind < 0.45:
            return self._insert()
        if kind < 0.55:
            return self._insert().replace("INSERT", "REPLACE", 1)
        if kind < 0.62:
            return self._insert() + f" ON DUPLICATE KEY UPDATE {self._assignment()}"
        if kind < 0.85:
            return f"UPDATE {{table}} SET {self._assignment()} WHERE {self.condition()}"
        return f"DELETE FROM {{table}} WHERE {self.condition()} AND {self.condition()}"

    def query(self):
        """A random read; without an ORDER BY its rows are to be compared as a set."""
        names = [column.name for column in self.columns if not column.floating] or ["1"]
        kind = self._random.random()
        where = self.condition()
        if kind < 0.4:
            wanted = ", ".join(self._random.sample(self.all_columns(), 2))
            return f"SELECT {wanted} FROM {{table}} WHERE {where}"
        if kind < 0.6:
            name = self._random.choice(names)
            return f"SELECT COUNT(*), MIN({name}), MAX({name}) FROM {{table}} WHERE {where}"
        column = self._random.choice(self.columns)
        if kind < 0.8:
            return (f"SELECT COUNT(*), {column.shown()} w FROM {{table}} WHERE {where} "
                    f"GROUP BY {column.name} ORDER BY w, 1")
        direction = self._random.choice(("ASC", "DESC"))
        return (f"SELECT {column.shown()} FROM {{table}} WHERE {where} "
                f"ORDER BY {column.name} {direction} LIMIT {self._random.randint(1, 20)}")

    def condition(self):
        column = self._random.choice(self.columns)
        value = column.make_value(self._random)
        kind = self._random.random()
        if kind < 0.35:
            return f"{column.name} = {value}"
        if kind < 0.65:
            return f"{column.name} {self._random.choice(('<', '<=', '>', '>='))} {value}"
        if kind < 0.8:
            return f"{column.name} BETWEEN {value} AND {column.make_value(self._random)}"
        if kind < 0.9:
            return f"{column.name} IN ({value}, {column.make_value(self._random)})"
        return f"{column.name} IS {self._random.choice(('', 'NOT '))}NULL"

    def _insert(self):
        names = ", ".join(column.name for column in self.columns)
        rows = ", ".join("(" + ", ".join(self._value(number) for number in range(len(
            self.columns))) + ")" for _ in range(self._random.choice((1, 1, 3, 10))))
        return f"INSERT INTO {{table}} ({names}) VALUES {rows}"

    def _value(self, number):
        if self._nullable[number] and self._random.random() < 0.15:
            return "NULL"
        return self.columns[number].make_value(self._random)

    def _assignment(self):
        number = self._random.randrange(len(self.columns))
        return f"{self.columns[number].name} = {self._value(number)}"
