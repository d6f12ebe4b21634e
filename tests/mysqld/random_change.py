# SPDX-License-Identifier: GPL-2.0-only
"""Random INSERT, REPLACE, UPDATE and DELETE statements whose effect the statement alone decides.

Where the order in which rows are taken matters (a limit, IGNORE, a new value of a unique key), the
statement has an ORDER BY under which no two different rows are equal.
"""
from random_condition import Conditions
from random_query import Statement
from random_switches import index_hint


class Insert(Statement):
    """Kept in parts, so that the shrinker can take away rows and columns."""

    def __init__(self, head, table, columns, rows, tail, typed=True):
        self.head, self.table, self.tail = head, table, tail
        self.columns, self.rows = columns, rows
        super().__init__(self.text(), typed=typed)

    def text(self):
        rows = ",\n  ".join("(" + ", ".join(row) + ")" for row in self.rows)
        return f"{self.head} {self.table} ({', '.join(self.columns)}) VALUES\n  {rows}{self.tail}"

    def without_rows(self, start, end):
        """None if nothing would be left."""
        rows = self.rows[:start] + self.rows[end:]
        return rows and Insert(self.head, self.table, self.columns, rows, self.tail, self.typed)

    def without_column(self, name):
        if name not in self.columns or len(self.columns) == 1:
            return self
        keep = [n for n, column in enumerate(self.columns) if column != name]
        return Insert(self.head, self.table, [self.columns[n] for n in keep],
                      [[row[n] for n in keep] for row in self.rows], self.tail, self.typed)


class Changes:
    def __init__(self, random, tables, joins=True):
        """joins: there are changes by a join, which take long where tables have many rows."""
        self._random, self._tables = random, tables
        self._shapes = ((self._insert, 40), (self._insert_select, 7), (self._update, 28),
                        (self._delete, 12))
        if joins:
            self._shapes += ((self._update_join, 5), (self._delete_join, 4))

    def change(self):
        shapes, weights = zip(*self._shapes)
        self._where = Conditions(self._random)
        return self._random.choices(shapes, weights)[0](self._random.choice(self._tables))

    def fill(self, table, rows):
        """Many rows at once; equal keys are passed over."""
        self._where = Conditions(self._random)
        return self._insert(table, rows, "INSERT IGNORE INTO", "")

    # --- rows in ---

    def _insert(self, table, count=None, head=None, tail=None):
        random, columns = self._random, table.settable()
        if random.random() < 0.25:  # the others get their defaults
            columns = [column for column in columns if not column.nullable and not column.suffix
                       or random.random() < 0.6] or columns
        rows = [[self._inserted(column) for column in columns]
                for _ in range(count or random.choice((1, 1, 2, 4, 10)))]
        if head is None:
            head = random.choice(("INSERT INTO", "INSERT INTO", "INSERT INTO",
                                  "INSERT IGNORE INTO", "REPLACE INTO", "REPLACE INTO"))
            tail = ""
            if head == "INSERT INTO" and random.random() < 0.35:
                tail = self._on_duplicate(table, columns)
        return Insert(head, table.name, [column.name for column in columns], rows, tail)

    def _inserted(self, column):
        random = self._random
        given = column.suffix or column.nullable
        if random.random() < (0.5 if column.suffix else 0.05 if given else 0.002):
            return "DEFAULT"
        if not column.nullable and random.random() < 0.005:
            return "NULL"
        return column.literal(random)

    def _on_duplicate(self, table, columns):
        random = self._random
        column = random.choice(table.settable())
        if column in columns and random.random() < 0.5:
            value = random.choice((f"n.{column.name}", f"{table.name}.{column.name}"))
        else:
            value = column.literal(random)
        return f" AS n ON DUPLICATE KEY UPDATE {column.name} = {value}"

    def _insert_select(self, table):
        """Columns from another table where one of the same type is found, else literals."""
        random, source = self._random, self._random.choice(self._tables)
        columns, values = table.settable(), []
        for column in columns:
            same = [other for other in source.columns if other.kind.sql == column.kind.sql]
            values.append(f"a1.{random.choice(same).name}" if same and random.random() < 0.8
                          else column.literal(random))
        head = random.choice(("INSERT INTO", "INSERT IGNORE INTO", "INSERT IGNORE INTO",
                              "REPLACE INTO"))
        names = ", ".join(column.name for column in columns)
        where = self._where.condition([("a1.", column) for column in source.columns], 1)
        return self._statement(
            f"{head} {table.name} ({names}) SELECT {', '.join(values)} FROM {source.name} AS a1"
            f"{index_hint(random, source)} WHERE {where} ORDER BY {source.total_order('a1')} "
            f"LIMIT {random.randint(1, 20)}")

    # --- rows changed ---

    def _update(self, table):
        random = self._random
        chosen = random.sample(table.settable(), min(len(table.settable()),
                                                     random.choice((1, 1, 1, 2, 3))))
        text = ", ".join(f"{column.name} = {self._new_value(table, column)}" for column in chosen)
        ignore = " IGNORE" if random.random() < 0.15 else ""
        tail = self._order(table, ignore or any(table.in_unique_key(column) for column in chosen))
        hint = index_hint(random, table)
        return self._statement(f"UPDATE{ignore} {table.name} AS a1{hint} SET {text} WHERE "
                               f"{self._some_rows(table)}{tail}")

    def _new_value(self, table, column):
        random, name, family = self._random, column.name, column.kind.family
        choice = random.random()
        if choice < 0.5:
            return column.literal(random)
        if choice < 0.6:
            return "DEFAULT" if column.suffix or random.random() < 0.1 else name
        if choice < 0.75:
            same = [other for other in table.columns if other.kind.sql == column.kind.sql]
            return random.choice(same).name
        if family in ("int", "float", "decimal"):
            return f"{name} {random.choice('+-')} {random.choice((1, 1, 2, 10))}"
        if family == "string":
            return random.choice((f"CONCAT({name}, 'q')", f"UPPER({name})", f"LEFT({name}, 2)",
                                  f"RTRIM({name})"))
        if family == "json":
            return f"JSON_SET({name}, '$.a', {random.randint(0, 9)})"
        if family in ("date", "datetime"):
            return f"{name} + INTERVAL {random.randint(-2, 2)} DAY"
        return column.literal(random)

    def _delete(self, table):
        where = self._some_rows(table)
        if self._random.random() < 0.5:
            where += f" AND {self._where.condition([('', c) for c in table.columns], 1)}"
        return self._statement(f"DELETE FROM {table.name} WHERE {where}"
                               + self._order(table, False))

    def _some_rows(self, table):
        random = self._random
        if table.keys() and random.random() < 0.5:
            return self._where.key_condition("", random.choice(table.keys()))
        return self._where.condition([("", column) for column in table.columns], 1)

    def _order(self, table, needed):
        random = self._random
        if not needed and random.random() < 0.7:
            return ""
        limit = f" LIMIT {random.randint(1, 6)}" if random.random() < 0.5 else ""
        return f" ORDER BY {table.total_order()}{limit}"

    # --- several tables ---

    def _update_join(self, table):
        """Values that no other row decides, in columns of no unique key."""
        random, other = self._random, random_other(self._random, self._tables, table)
        able = [column for column in table.settable() if not table.in_unique_key(column)]
        if not able:
            return self._update(table)
        column = random.choice(able)
        return self._statement(
            f"UPDATE {table.name} AS a1, {other.name} AS a2 SET a1.{column.name} = "
            f"{column.literal(random)} WHERE {self._join(table, other)}")

    def _delete_join(self, table):
        other = random_other(self._random, self._tables, table)
        both = ", a2" if other is not table and self._random.random() < 0.2 else ""
        where = self._join(table, other)
        residue = self._where.condition([("a1.", column) for column in table.columns], 1)
        return self._statement(f"DELETE a1{both} FROM {table.name} AS a1 JOIN {other.name} AS a2 "
                               f"WHERE {where} AND {residue}")

    def _join(self, table, other):
        """Only columns of one type are compared: a conversion that fails fails the statement,
        and how often it is tried is the optimizer's choice."""
        left, right = self._where.partners([("a1.", column) for column in table.columns],
                                           [("a2.", column) for column in other.columns])
        if left[1].kind.sql != right[1].kind.sql:
            return self._where.simple(left)
        return self._where.equal(left, right)

    def _statement(self, text):
        return Statement(text, typed=self._where.typed)


def random_other(random, tables, table):
    return random.choice([other for other in tables if other is not table] or [table])
