# SPDX-License-Identifier: GPL-2.0-only
"""A random table: columns, primary key of some kind, indexes. What DDL changes, this follows.

Names are unique in a round (c0, c1, ... and k0, k1, ... per table), so that a statement's text
alone says what it touches.
"""
import re
from random import Random

from random_types import Kind, random_kind

_DEFAULTS = {"int": "1", "float": "1.5", "decimal": "0", "bit": "1", "date": "'2020-02-02'",
             "time": "'01:00:00'", "year": "2020", "datetime": "'2020-02-02 02:02:02'",
             "string": "'a'", "binary": "'a'", "enum": "'red'", "set": "'red'"}


class Column:
    def __init__(self, name, kind, nullable, suffix="", generated=""):
        self.name, self.kind, self.nullable = name, kind, nullable
        self.suffix = suffix        # DEFAULT and ON UPDATE
        self.generated = generated  # the expression of a generated column
        self.virtual = False
        self.base = ""              # the column that expression reads

    def definition(self):
        null = "NULL" if self.nullable else "NOT NULL"
        if self.generated:
            stored = "VIRTUAL" if self.virtual else "STORED"
            return f"{self.name} {self.kind.sql} GENERATED ALWAYS AS ({self.generated}) {stored}"
        return f"{self.name} {self.kind.sql} {null}{self.suffix}"

    def literal(self, random):
        if self.nullable and random.random() < 0.15:
            return "NULL"
        return self.kind.literal(random)


class Index:
    """name None: the primary key. parts: (column, prefix length or 0, descending)."""

    def __init__(self, name, parts, unique=False):
        self.name, self.parts, self.unique = name, parts, unique

    def definition(self):
        parts = ", ".join(column.name + (f"({length})" if length else "")
                          + (" DESC" if descending else "")
                          for column, length, descending in self.parts)
        if self.name is None:
            return f"PRIMARY KEY ({parts})"
        return f"{'UNIQUE ' if self.unique else ''}KEY {self.name} ({parts})"

    def columns(self):
        return [column for column, _, _ in self.parts]

    @property
    def whole(self):
        """No part is a prefix."""
        return not any(length for _, length, _ in self.parts)

    @property
    def has_virtual_prefix(self):
        """InnoDB does not find older versions by such an index."""
        return any(column.virtual and length for column, length, _ in self.parts)


class Table:
    def __init__(self, random, name, pools):
        self.name, self._random, self._pools = name, random, pools
        self._next_column = self._next_index = 0
        self.columns = [self.new_column() for _ in range(random.randint(3, 8))]
        self.primary = self.new_primary()
        for _ in range(random.choice((0, 0, 1, 1, 2))):
            self.columns.insert(random.randint(0, len(self.columns)), self.new_generated())
        self.indexes = [self.new_index() for _ in range(random.randint(1, 5))]
        self.functional = []  # (name, definition) of indexes on expressions
        if random.random() < 0.4:
            self.functional.append(self._new_functional())
        self.partitioning = self._new_partitioning()

    def create(self):
        """One definition to a line: the shrinker takes lines away."""
        return (f"CREATE TABLE {self.name} (\n  " + ",\n  ".join(self._lines())
                + f"\n){self.partitioning}")

    def _lines(self):
        lines = [column.definition() for column in self.columns]
        if self.primary:
            lines.append(self.primary.definition())
        lines += [index.definition() for index in self.indexes]
        return lines + [definition for _, definition in self.functional]

    # --- questions ---

    def settable(self):
        return [column for column in self.columns if not column.generated]

    def keys(self):
        return ([self.primary] if self.primary else []) + self.indexes

    def key_names(self):
        return ((["PRIMARY"] if self.primary else []) + [index.name for index in self.indexes]
                + [name for name, _ in self.functional])

    def in_unique_key(self, column):
        return any(column in index.columns() or any(part.base == column.name
                                                    for part in index.columns())
                   for index in self.keys() if index.unique)

    def misleads_lookups(self, primary):
        """An expression of the table reads one of several columns of this primary key: InnoDB's
        lookups find too few rows when these partition the table (docs/partitions.md)."""
        texts = ([column.generated for column in self.columns]
                 + [definition for _, definition in self.functional])
        return len(primary.parts) > 1 and any(
            re.search(rf"\b{column.name}\b", text) for column in primary.columns()
            for text in texts)

    def total_order(self, alias=""):
        """ORDER BY text under which no two rows that differ are equal."""
        prefix = f"{alias}." if alias else ""
        if self.primary and self.primary.whole:
            return ", ".join(f"{prefix}{column.name}" for column in self.primary.columns())
        return ", ".join(column.kind.exact(f"{prefix}{column.name}") for column in self.columns)

    # --- making parts; the caller adds them ---

    def new_column(self, kind=None):
        random = self._random
        kind = kind or random_kind(random, self._pools)
        name = f"c{self._next_column}"
        self._next_column += 1
        nullable = random.random() < 0.65
        suffix = ""
        if kind.sql.startswith(("TIMESTAMP", "DATETIME")) and random.random() < 0.4:
            digits = kind.sql.partition("(")[2].rstrip(")")
            now = f"CURRENT_TIMESTAMP({digits})" if digits else "CURRENT_TIMESTAMP"
            suffix = f" DEFAULT {now}" + (f" ON UPDATE {now}" if random.random() < 0.7 else "")
        elif kind.sql.startswith("TIMESTAMP") and not nullable:
            suffix = " DEFAULT '2001-02-03 04:05:06'"
        elif not kind.long and kind.family != "json" and random.random() < 0.2:
            suffix = f" DEFAULT {_DEFAULTS[kind.family]}"
        return Column(name, kind, nullable, suffix)

    def new_generated(self):
        random = self._random
        base = random.choice(self.settable())
        ref, family = base.name, base.kind.family
        text, wanted = random.choice({
            "int": ((f"{ref} DIV 2", "BIGINT"), (f"{ref} IS NULL", "TINYINT")),
            "string": ((f"LEFT({ref}, 3)", base.kind.sql), (f"CHAR_LENGTH({ref})", "INT")),
            "binary": ((f"HEX(LEFT({ref}, 3))", "VARCHAR(40)"), (f"LENGTH({ref})", "INT")),
            # Not DATE(): of a zero date it is another value under another sql_mode.
            "datetime": ((f"YEAR({ref})", "INT"), (f"MONTH({ref})", "INT")),
            "json": ((f"JSON_LENGTH({ref})", "INT"),),
        }.get(family, ((f"{ref} IS NULL", "TINYINT"), (f"COALESCE({ref}, 1) + 0", "DOUBLE"))))
        if family in ("enum", "set", "time", "date") and wanted == "DOUBLE":
            text, wanted = f"{ref} IS NULL", "TINYINT"
        # With PAD_CHAR_TO_FULL_LENGTH it would be another value (docs/generated_columns.md).
        if base.kind.sql.startswith("CHAR("):
            text, wanted = f"{ref} IS NULL", "TINYINT"
        column = self.new_column(self._kind_of(wanted))
        column.generated, column.base, column.nullable = text, base.name, True
        column.virtual = random.random() < 0.7
        return column

    def _new_functional(self):
        """An index on what a generated column would compute, and sometimes a column behind it."""
        column, name = self.new_generated(), f"k{self._next_index}"
        self._next_index += 1
        able = [other.name for other in self.columns
                if other.kind.key_part and not other.kind.long]
        parts = f"({column.generated})"
        if able and self._random.random() < 0.4:
            parts += f", {self._random.choice(able)}"
        return name, f"KEY {name} ({parts})"

    def new_primary(self):
        """None, one column, several, or one with a prefix; its columns become NOT NULL."""
        random = self._random
        choice = random.random()
        if choice < 0.15:
            return None
        able = [column for column in self.settable() if column.kind.key_part]
        if choice < 0.5:
            integers = [column for column in able if column.kind.family == "int"]
            able = integers or able
            count = 1
        else:
            count = random.choice((1, 2, 2, 3))
        parts = [self._part(column) for column in random.sample(able, min(count, len(able)))]
        parts = [part for part in parts if not part[1] or part[0].kind.by_letter]
        for column, _, _ in parts:
            column.nullable = False
            if column.kind.sql.startswith("TIMESTAMP") and not column.suffix:
                column.suffix = " DEFAULT '2001-02-03 04:05:06'"
        return Index(None, parts, unique=True) if parts else None

    def new_index(self):
        random = self._random
        name = f"k{self._next_index}"
        self._next_index += 1
        able = [column for column in self.columns if column.kind.key_part]
        count = random.choice((1, 1, 2, 2, 3, 4))
        parts = [self._part(column) for column in random.sample(able, min(count, len(able)))]
        return Index(name, parts, random.random() < 0.2)

    def _part(self, column):
        length = 0
        if column.kind.long or column.kind.prefix and self._random.random() < 0.3:
            length = self._random.randint(1, 4)
        return column, length, self._random.random() < 0.2

    def _kind_of(self, sql):
        """The kind with this type text; generated columns get few types."""
        if sql in self._pools:
            return self._pools[sql]
        family = "float" if sql == "DOUBLE" else "int"
        if sql.startswith("VARCHAR"):
            sql += " CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"
            return self._pools.setdefault(sql, Kind(
                sql, "string", lambda random: f"'{random.randint(0, 99)}'", "utf8mb4_bin", True))
        return self._pools.setdefault(sql, Kind(
            sql, family, lambda random: str(random.randint(-3, 40))))

    def _new_partitioning(self):
        """The clause, for some of the tables that can be partitioned by their primary key."""
        unique = any(index.unique for index in self.indexes)
        if not self.primary or not self.primary.whole or unique:
            return ""
        if self.misleads_lookups(self.primary):
            return ""
        # Of the definition alone: a program is the same one with and without partitions.
        random = Random("\n".join(self._lines()))
        if random.random() < 0.6:
            return ""
        clauses = [f"KEY () PARTITIONS {random.randint(1, 5)}", "LINEAR KEY () PARTITIONS 3"]
        first = self.primary.columns()[0]
        if first.kind.family == "int":
            clauses += [f"HASH ({first.name}) PARTITIONS {random.randint(2, 4)}",
                        f"RANGE ({first.name}) (PARTITION p0 VALUES LESS THAN (5),"
                        " PARTITION p1 VALUES LESS THAN (20),"
                        " PARTITION p2 VALUES LESS THAN MAXVALUE)"]
        return f" PARTITION BY {random.choice(clauses)}"
