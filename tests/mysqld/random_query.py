# SPDX-License-Identifier: GPL-2.0-only
"""Random reads whose rows, or whose rows in order, are decided by the statement alone.

Where a statement leaves a choice (which of several equal values stands for a group, in which order
equal rows come), the list shows an expression that is equal for all choices. Every table reference
reads `tN AS aN`, for plan_variants.py.
"""
from random_condition import Conditions
from random_switches import index_hint, random_hint


class Statement:
    """What to send and what to compare. ordered: rows in sequence. typed: warnings too.
    affected: the count of rows (always for reads). settled: all plans must return the same."""
    settled = False

    def __init__(self, sql, ordered=False, typed=True, affected=True):
        self.sql, self.ordered, self.typed, self.affected = sql, ordered, typed, affected


class Queries:
    def __init__(self, random, tables, locking, joined=3):
        """locking: reads may lock rows. joined: the most tables of a join."""
        self._random, self._tables, self._aliases = random, tables, 0
        self._locking, self._joined_most = locking, joined
        self._shapes = (
            (self._rows, 26), (self._key_rows, 26), (self._aggregate, 8), (self._groups, 9),
            (self._distinct, 4), (self._ordered, 8), (self._join, 16), (self._join_groups, 4),
            (self._subquery, 14), (self._set_operation, 5), (self._window, 5), (self._derived, 6),
            (self._minimum_per_group, 5))

    def query(self):
        shapes, weights = zip(*self._shapes)
        self._aliases, self._where = 0, Conditions(self._random)
        text, ordered = self._random.choices(shapes, weights)[0]()
        return Statement(text, ordered, self._where.typed)

    def handler_read(self, table, index):
        """HANDLER ... READ of an open handler: a search for a key, and some rows on from there."""
        columns = index.columns()[:self._random.randint(1, len(index.parts))]
        values = ", ".join(column.kind.literal(self._random) for column in columns)
        order = self._random.choice(("=", "=", "<", "<=", ">", ">="))
        return (f"HANDLER {table.name} READ `{index.name or 'PRIMARY'}` {order} ({values}) "
                f"LIMIT {self._random.choice((1, 5, 1000))}")

    # --- parts ---

    def _reference(self, table=None):
        """(alias, Table)"""
        self._aliases += 1
        return f"a{self._aliases}", table or self._random.choice(self._tables)

    def _from(self, reference):
        alias, table = reference
        return f"{table.name} AS {alias}{index_hint(self._random, table)}"

    @staticmethod
    def _columns(*references):
        return [(f"{alias}.", column) for alias, table in references for column in table.columns]

    def _some(self, references, count=4):
        columns = self._columns(*references)
        chosen = self._random.sample(columns, min(len(columns), self._random.randint(1, count)))
        return ", ".join(f"{ref}{column.name}" for ref, column in chosen)

    def _groupable(self, *references):
        return [(ref, column) for ref, column in self._columns(*references)
                if column.kind.key_part]

    def _hint(self, *references):
        return random_hint(self._random, list(references))

    def _measure(self, pair):
        """An aggregate of one column."""
        ref, column = pair
        name = f"{ref}{column.name}"
        choices = [f"COUNT({name})", f"COUNT(DISTINCT {column.kind.shown(name)})"]
        if column.kind.key_part:
            function = self._random.choice(("MIN", "MAX"))
            if column.kind.family in ("enum", "set"):
                choices.append(f"{function}({name} + 0)")
            else:
                choices += [column.kind.shown(f"{function}({name})")] * 3
        if column.kind.numeric:
            choices.append(f"SUM({name})")
        if column.kind.family == "int":
            choices += [f"BIT_XOR({name})", f"AVG({name})"]
        return self._random.choice(choices)

    # --- one table ---

    def _rows(self):
        one = self._reference()
        where = self._where.condition(self._columns(one))
        if self._random.random() < 0.2:
            where = self._where.row_in(self._columns(one)) + f" AND {where}"
        lock = ""
        if self._locking and self._random.random() < 0.3:
            lock = self._random.choice((" FOR UPDATE", " FOR SHARE"))
        return (f"SELECT {self._hint(one)}{self._some([one])} FROM {self._from(one)} "
                f"WHERE {where}{lock}"), False

    def _key_rows(self):
        """Made for an index: conditions on its leading parts, and a residue to push down."""
        one = self._reference()
        if not one[1].keys():
            return self._rows()
        index, ref = self._random.choice(one[1].keys()), f"{one[0]}."
        where, conditions = self._where.key_condition, self._where
        terms = [where(ref, index)]
        if self._random.random() < 0.35:
            columns = [(ref, column) for column in index.columns()]
            terms = [self._random.choice((f"({where(ref, index)} OR {where(ref, index)})",
                                          f"({where(ref, index)} OR {where(ref, index)} OR "
                                          f"{where(ref, index)})",
                                          conditions.row_in(columns)))]
        if self._random.random() < 0.7:
            columns = [(ref, column) for column in index.columns()]
            if one[1].primary:
                columns += [(ref, column) for column in one[1].primary.columns()]
            terms.append(conditions.simple(self._random.choice(columns)))
        name = index.name or "PRIMARY"
        shown = self._random.choice((self._some([one]), ", ".join(
            f"{ref}{column.name}" for column in index.columns())))
        order = self._random.choice(("", "", one[1].total_order(one[0])))
        text = (f"SELECT {self._hint(one)}{shown} FROM {one[1].name} AS {one[0]} FORCE INDEX "
                f"({name}) WHERE {' AND '.join(terms)}")
        if order and self._random.random() < 0.5:
            order += f" LIMIT {self._random.randint(1, 8)}"
        return text + (f" ORDER BY {order}" if order else ""), bool(order)

    def _aggregate(self):
        one = self._reference()
        columns = self._columns(one)
        shown = ", ".join(self._measure(self._random.choice(columns)) for _ in range(
            self._random.randint(1, 3)))
        where = self._where.condition(columns) if self._random.random() < 0.7 else "TRUE"
        return (f"SELECT {self._hint(one)}COUNT(*), {shown} FROM {self._from(one)} "
                f"WHERE {where}"), False

    def _groups(self):
        one = self._reference()
        keys = self._random.sample(self._groupable(one), self._random.randint(1, 2))
        names = [f"{ref}{column.name}" for ref, column in keys]
        measure = self._measure(self._random.choice(self._columns(one)))
        where = self._where.condition(self._columns(one))
        if self._random.random() < 0.3:
            shown = ", ".join(f"GROUPING({name})" for name in names)
            return (f"SELECT {self._hint(one)}{shown}, COUNT(*), {measure} FROM "
                    f"{self._from(one)} WHERE {where} GROUP BY {', '.join(names)} WITH ROLLUP"
                    ), False
        shown = ", ".join(column.kind.shown(f"MIN({ref}{column.name})")
                          if column.kind.family not in ("enum", "set")
                          else f"MIN({ref}{column.name} + 0)" for ref, column in keys)
        having = self._random.choice(("", " HAVING COUNT(*) > 1"))
        return (f"SELECT {self._hint(one)}{shown}, COUNT(*), {measure} FROM {self._from(one)} "
                f"WHERE {where} GROUP BY {', '.join(names)}{having}"), False

    def _minimum_per_group(self):
        """The shape of a loose index scan: MIN or MAX of the part behind the group's."""
        indexes = [(table, index) for table in self._tables for index in table.keys()
                   if len(index.parts) > 1]
        if not indexes:
            return self._groups()
        table, index = self._random.choice(indexes)
        one, columns = self._reference(table), index.columns()
        count = self._random.randint(1, len(columns) - 1)
        names = [f"{one[0]}.{column.name}" for column in columns[:count]]
        last = columns[count]
        text = self._random.choice(("MIN", "MAX")) + f"({one[0]}.{last.name})"
        text = last.kind.shown(text) if last.kind.family not in ("enum", "set") else "COUNT(*)"
        shown = ", ".join(column.kind.shown(f"MIN({name})") if column.kind.family not in (
            "enum", "set") else "1" for column, name in zip(columns, names))
        where = self._random.choice(("TRUE", self._where.simple((f"{one[0]}.", last)),
                                     self._where.simple((f"{one[0]}.", columns[0]))))
        return (f"SELECT {self._hint(one)}{shown}, {text} FROM {self._from(one)} WHERE {where} "
                f"GROUP BY {', '.join(names)}"), False

    def _distinct(self):
        one = self._reference()
        keys = self._random.sample(self._groupable(one), self._random.randint(1, 2))
        shown = ", ".join(column.kind.shown(f"{ref}{column.name}") for ref, column in keys)
        if self._random.random() < 0.5:
            names = ", ".join(f"{ref}{column.name}" for ref, column in keys)
            shown = f"COUNT(DISTINCT {names})"
        return (f"SELECT {self._hint(one)}DISTINCT {shown} FROM {self._from(one)} WHERE "
                f"{self._where.condition(self._columns(one))}"), False

    def _ordered(self):
        """By index order where there is one; what is shown is decided by the order."""
        one = self._reference()
        keys = one[1].keys()
        if keys and self._random.random() < 0.7:
            index = self._random.choice(keys)
            columns = index.columns()[:self._random.randint(1, len(index.parts))]
        else:
            columns = [self._random.choice(self._groupable(one))[1]]
        backward = self._random.random() < 0.5
        names = [f"{one[0]}.{column.name}" for column in columns]
        down = {column.name: descending for index in keys
                for column, _, descending in index.parts}
        order = ", ".join(name + (" DESC" if down.get(column.name, False) != backward else "")
                          for column, name in zip(columns, names))
        shown = ", ".join(column.kind.shown(name) for column, name in zip(columns, names))
        where = (self._where.condition(self._columns(one)) if self._random.random() < 0.6
                 else "TRUE")
        limit = f" LIMIT {self._random.randint(1, 12)}"
        if self._random.random() < 0.3:
            limit = f"{limit} OFFSET {self._random.randint(1, 9)}"
        return (f"SELECT {self._hint(one)}{shown} FROM {self._from(one)} WHERE {where} ORDER BY "
                f"{order}{self._random.choice((limit, limit, ''))}"), True

    # --- several tables ---

    def _joined(self):
        """FROM text and references of a join of two or three tables."""
        references = [self._reference() for _ in range(
            min(self._joined_most, self._random.choice((2, 2, 2, 3))))]
        text = self._from(references[0])
        for number in range(1, len(references)):
            left = self._columns(references[self._random.randrange(number)])
            on = self._where.equal(*self._where.partners(left, self._columns(references[number])))
            if self._random.random() < 0.3:
                known = self._columns(*references[:number + 1])
                on += f" AND {self._where.simple(self._random.choice(known))}"
            kind = self._random.choice(("JOIN", "JOIN", "LEFT JOIN", "LEFT JOIN", "RIGHT JOIN",
                                        "STRAIGHT_JOIN"))
            text += f" {kind} {self._from(references[number])} ON {on}"
        return text, references

    def _join(self):
        text, references = self._joined()
        where = self._where.condition(self._columns(*references))
        return (f"SELECT {self._hint(*references)}{self._some(references, 5)} FROM {text} "
                f"WHERE {where}"), False

    def _join_groups(self):
        text, references = self._joined()
        ref, column = self._random.choice(self._groupable(*references))
        name = f"{ref}{column.name}"
        measure = self._measure(self._random.choice(self._columns(*references)))
        return (f"SELECT {self._hint(*references)}COUNT(*), {measure} FROM {text} WHERE "
                f"{self._where.condition(self._columns(*references))} GROUP BY {name}"), False

    def _subquery(self):
        outer, inner = self._reference(), self._reference()
        left, right = self._where.partners(self._columns(outer), self._columns(inner))
        inside = self._where.condition(self._columns(inner), 1)
        name, value = f"{left[0]}{left[1].name}", f"{right[0]}{right[1].name}"
        correlated = self._where.equal(left, right)
        source = f"FROM {self._from(inner)} WHERE {inside}"
        term = self._random.choice((
            f"{name} IN (SELECT {value} {source})", f"{name} NOT IN (SELECT {value} {source})",
            f"EXISTS (SELECT 1 {source} AND {correlated})",
            f"NOT EXISTS (SELECT 1 {source} AND {correlated})",
            f"{name} = ANY (SELECT {value} {source})", f"{name} > ALL (SELECT {value} {source})",
            f"(SELECT COUNT(*) {source} AND {correlated}) > 1"))
        if left[1].kind.sql != right[1].kind.sql:
            self._where.typed = False
        where = f"{term} {self._random.choice(('AND', 'AND', 'OR'))} " + self._where.condition(
            self._columns(outer), 1)
        shown = self._some([outer])
        if self._random.random() < 0.3:
            shown += f", (SELECT COUNT(*) {source} AND {correlated})"
        return (f"SELECT {self._hint(outer, inner)}{shown} FROM {self._from(outer)} "
                f"WHERE {where}"), False

    def _set_operation(self):
        parts = []
        for _ in range(self._random.choice((2, 2, 3))):
            one = self._reference()
            ref, column = self._random.choice(self._groupable(one))
            parts.append(f"SELECT {self._hint(one)}CAST({column.kind.shown(ref + column.name)} AS "
                         f"CHAR) COLLATE utf8mb4_bin AS v FROM {self._from(one)} WHERE "
                         f"{self._where.condition(self._columns(one), 1)}")
        text = parts[0]
        for part in parts[1:]:
            word = self._random.choice(("UNION", "UNION ALL", "INTERSECT", "EXCEPT"))
            text += f" {word} {part}"
        return text, False

    def _window(self):
        one = self._reference()
        group = self._random.choice(self._groupable(one))
        partition = f"PARTITION BY {group[0]}{group[1].name}"
        order = f"ORDER BY {one[1].total_order(one[0])}"
        name = f"{one[0]}.{self._random.choice(one[1].columns).name}"
        function, window = self._random.choice((
            ("ROW_NUMBER()", f"{partition} {order}"), ("COUNT(*)", partition),
            (f"LAG({name})", order), (f"FIRST_VALUE({name})", f"{partition} {order}"),
            ("COUNT(*)", f"{order} ROWS BETWEEN 1 PRECEDING AND CURRENT ROW"),
            ("NTILE(3)", order)))
        return (f"SELECT {self._hint(one)}{self._some([one])}, {function} OVER ({window}) FROM "
                f"{self._from(one)} WHERE {self._where.condition(self._columns(one))}"), False

    def _derived(self):
        inner, outer = self._reference(), self._reference()
        columns = self._random.sample(inner[1].columns, min(3, len(inner[1].columns)))
        names = ", ".join(f"{inner[0]}.{column.name}" for column in columns)
        body = (f"SELECT {names} FROM {self._from(inner)} "
                f"WHERE {self._where.condition(self._columns(inner), 1)}")
        left, right = self._where.partners([("d.", column) for column in columns if
                                            column.kind.key_part] or
                                           [("d.", columns[0])], self._columns(outer))
        on = self._where.equal(left, right)
        shown = ", ".join(f"d.{column.name}" for column in columns)
        where = self._where.condition([("d.", column) for column in columns], 1)
        tail = f"JOIN {self._from(outer)} ON {on} WHERE {where}"
        lateral = self._where.equal((f"{inner[0]}.", columns[0]), right)
        return self._random.choice((
            f"SELECT {shown} FROM ({body}) AS d {tail}",
            f"WITH d AS ({body}) SELECT {shown} FROM d {tail}",
            f"SELECT COUNT(*) FROM {self._from(outer)}, LATERAL ({body} AND {lateral}) AS d"
            )), False
