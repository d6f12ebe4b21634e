# SPDX-License-Identifier: GPL-2.0-only
"""Random ALTER, TRUNCATE and RENAME statements; what succeeds is done to the Table, too.

What changes rows or indexes asks for a copy: InnoDB would do some of it in place, where values are
checked by other rules and an older snapshot may go on reading. Half of what makes a table anew is
left to the engines, which do it in place.
"""
from random_query import Statement
from random_types import random_kind


class Definitions:
    def __init__(self, random, tables, pools):
        self._random, self._tables, self._pools = random, tables, pools
        self._names = len(tables)

    def definition(self):
        """(Statement, function to call when it succeeded)."""
        random = self._random
        table = random.choice(self._tables)
        shape = random.choices((self._add_column, self._drop_column, self._modify_column,
                                self._add_index, self._drop_index, self._truncate, self._rename,
                                self._rebuild, self._visibility, self._analyze, self._primary,
                                self._metadata),
                               (12, 9, 14, 16, 9, 4, 6, 5, 5, 14, 5, 7))[0]
        text, done = shape(table)
        if text.startswith("ALTER TABLE") and shape not in (self._visibility, self._metadata):
            anew = shape in (self._rebuild, self._primary)
            text += random.choice(("", ", ALGORITHM = COPY")) if anew else ", ALGORITHM = COPY"
        return Statement(text, affected=False, typed=False), done

    def _add_column(self, table):
        column = table.new_column()
        place = self._random.choice(("", "", " FIRST", f" AFTER {table.columns[0].name}"))
        index = 0 if "FIRST" in place else 1 if place else len(table.columns)
        return (f"ALTER TABLE {table.name} ADD COLUMN {column.definition()}{place}",
                lambda: table.columns.insert(index, column))

    def _drop_column(self, table):
        used = {column for index in table.keys() for column in index.columns()}
        bases = {column.base for column in table.columns}
        able = [column for column in table.columns
                if column not in used and column.name not in bases]
        if not able or len(table.columns) < 3:
            return self._add_column(table)
        column = self._random.choice(able)
        return (f"ALTER TABLE {table.name} DROP COLUMN {column.name}",
                lambda: table.columns.remove(column))

    def _modify_column(self, table):
        """A wider, narrower or quite other type; or NULL to NOT NULL and back."""
        random, column = self._random, self._random.choice(table.settable())
        kind, nullable = column.kind, column.nullable
        primary = table.primary.columns() if table.primary else []
        before = (column.kind, column.nullable, column.suffix)
        if random.random() < 0.6:
            kind = random_kind(random, self._pools)
            parts = [(index, length) for index in table.keys()
                     for part, length, _ in index.parts if part is column]
            if parts and (not kind.key_part or kind.prefix != column.kind.prefix or kind.long):
                kind = column.kind
        if column not in primary:
            nullable = random.random() < 0.6
        column.kind, column.nullable, column.suffix = kind, nullable, ""
        text = f"ALTER TABLE {table.name} MODIFY COLUMN {column.definition()}"
        column.kind, column.nullable, column.suffix = before

        def done():
            column.kind, column.nullable, column.suffix = kind, nullable, ""
        return text, done

    def _add_index(self, table):
        if len(table.indexes) > 6:
            return self._drop_index(table)
        index = table.new_index()
        return (f"ALTER TABLE {table.name} ADD {index.definition()}",
                lambda: table.indexes.append(index))

    def _drop_index(self, table):
        if not table.indexes:
            return self._add_index(table)
        index = self._random.choice(table.indexes)
        return (f"ALTER TABLE {table.name} DROP INDEX {index.name}",
                lambda: table.indexes.remove(index))

    def _primary(self, table):
        random = self._random
        if table.primary and random.random() < 0.5:
            return f"ALTER TABLE {table.name} DROP PRIMARY KEY", lambda: _set_primary(table, None)
        nullable = {column: column.nullable for column in table.columns}
        index = table.new_primary()
        definitely = {column: column.nullable for column in table.columns}
        for column, was in nullable.items():
            column.nullable = was
        if index is None or table.partitioning and table.misleads_lookups(index):
            return self._analyze(table)
        drop = "DROP PRIMARY KEY, " if table.primary else ""

        def done():
            for column in index.columns():
                column.nullable = definitely[column]
            _set_primary(table, index)
        return f"ALTER TABLE {table.name} {drop}ADD {index.definition()}", done

    def _truncate(self, table):
        return f"TRUNCATE TABLE {table.name}", _nothing

    def _rename(self, table):
        new = f"t{self._names}"
        self._names += 1

        def done():
            table.name = new
        return f"RENAME TABLE {table.name} TO {new}", done

    def _rebuild(self, table):
        return self._random.choice((f"ALTER TABLE {table.name} FORCE",
                                    f"OPTIMIZE TABLE {table.name}")), _nothing

    def _visibility(self, table):
        if not table.indexes:
            return self._analyze(table)
        name = self._random.choice(table.indexes).name
        word = self._random.choice(("INVISIBLE", "VISIBLE"))
        return f"ALTER TABLE {table.name} ALTER INDEX {name} {word}", _nothing

    def _metadata(self, table):
        """A new name for a column or an index, or a new default."""
        random = self._random
        column = random.choice(table.columns)
        bases = {other.base for other in table.columns}
        if column.name in bases or column.generated or random.random() < 0.3:
            return self._rename_index(table)
        if column.nullable and random.random() < 0.4:
            return f"ALTER TABLE {table.name} ALTER COLUMN {column.name} SET DEFAULT NULL", _nothing
        new = table.new_column(column.kind).name

        def done():
            column.name = new
        return f"ALTER TABLE {table.name} RENAME COLUMN {column.name} TO {new}", done

    def _rename_index(self, table):
        if not table.indexes:
            return self._analyze(table)
        index = self._random.choice(table.indexes)
        new = table.new_index().name

        def done():
            index.name = new
        return f"ALTER TABLE {table.name} RENAME INDEX {index.name} TO {new}", done

    def _analyze(self, table):
        return f"ANALYZE TABLE {table.name}", _nothing


def _nothing():
    pass


def _set_primary(table, index):
    table.primary = index
