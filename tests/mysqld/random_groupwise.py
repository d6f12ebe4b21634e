# SPDX-License-Identifier: GPL-2.0-only
"""Random tables and queries for the first rows of each group. Every answer is determined: where
rows may tie, the query takes all of them or orders by the primary key as well."""

_GROUP_TYPES = ("INT NOT NULL", "INT", "VARCHAR(10) NOT NULL", "VARCHAR(10)", "DECIMAL(6,1)",
                "VARBINARY(8)", "DATE NOT NULL", "BIGINT UNSIGNED NOT NULL")
_ORDER_TYPES = ("INT NOT NULL", "INT", "DATETIME", "DECIMAL(8,2) NOT NULL", "VARCHAR(8)")


def _literal(random, column_type):
    if "NOT NULL" not in column_type and random.random() < 0.2:
        return "NULL"
    number = random.randrange(6)
    if column_type.startswith("VAR"):
        return f"'{random.choice(('a', 'A', 'b', 'B ', 'b', 'ä', 'z'))}'"
    if column_type.startswith("DATE"):
        return f"'2026-01-0{number + 1}'"
    return str(number)


class RandomTable:
    """The table `r`: pk, two group columns, an order column, and one without an index."""

    def __init__(self, random):
        self.random = random
        self.types = {"a": random.choice(_GROUP_TYPES), "b": random.choice(_GROUP_TYPES),
                      "o": random.choice(_ORDER_TYPES), "v": "INT NOT NULL"}

    def create(self):
        direction = lambda: self.random.choice(("", " DESC"))  # noqa: E731
        keys = [f"KEY (a{direction()}, o{direction()})",
                f"KEY (a{direction()}, b{direction()}, o{direction()})",
                f"KEY (b{direction()}, a{direction()}, pk{direction()})",
                f"KEY (a{direction()}, pk{direction()})", f"KEY (b{direction()})"]
        self.random.shuffle(keys)
        columns = ", ".join(f"{name} {kind}" for name, kind in self.types.items())
        return (f"CREATE TABLE r (pk INT PRIMARY KEY, {columns}, "
                f"{', '.join(keys[:self.random.randrange(2, 6)])})")

    def insert(self, key):
        values = ", ".join(_literal(self.random, kind) for kind in self.types.values())
        return f"REPLACE INTO r VALUES ({key}, {values})"

    def change(self, keys):
        key = self.random.randrange(1, keys)
        kind = self.random.randrange(3)
        if kind == 0:
            return f"DELETE FROM r WHERE pk = {key}"
        if kind == 1:
            name = self.random.choice(list(self.types))
            value = _literal(self.random, self.types[name])
            return f"UPDATE r SET {name} = {value} WHERE pk = {key}"
        return self.insert(key)

    # --- queries ---

    def query(self):
        shapes = (self._ranked, self._equal, self._in_list, self._anti, self._lateral,
                  self._grouped)
        return self.random.choice(shapes)()

    def _groups(self):
        return self.random.choice((["a"], ["b"], ["a", "b"], ["b", "a"]))

    def _condition(self, table):
        if self.random.random() < 0.5:
            return ""
        name = self.random.choice(("a", "b", "o", "v"))
        operator = self.random.choice(("=", "<>", "<", ">=", "<=>"))
        return f" AND {table}.{name} {operator} {_literal(self.random, self.types[name])}"

    def _direction(self):
        return self.random.choice(("", " DESC"))

    def _ranked(self):
        groups = ", ".join(self._groups())
        way = self._direction()
        order = self.random.choice((f"o{way}", f"o{way}, pk{way}", f"pk{way}", "o, pk DESC",
                                    f"o{way}, v, pk", f"o{way}, v"))
        functions = ("RANK()", "DENSE_RANK()") + (("ROW_NUMBER()",) if "pk" in order else ())
        limit = self.random.choice(("= 1", "<= 2", "< 4", "BETWEEN 2 AND 3"))
        window = f"PARTITION BY {groups} ORDER BY {order}"
        others = "".join(f", {function} OVER (PARTITION BY {groups} ORDER BY {more}) AS n{i}"
                         for i, (function, more) in enumerate(self._other_windows(order)))
        return (f"SELECT * FROM (SELECT *, {self.random.choice(functions)} OVER ({window}) AS n"
                f"{others} FROM r WHERE TRUE{self._condition('r')}) d WHERE n {limit}"
                f"{self._condition('d')}")

    def _other_windows(self, order):
        """Orders that begin alike, mostly."""
        if self.random.random() < 0.7:
            return ()
        first = order.split(",")[0]
        return ((self.random.choice(("RANK()", "DENSE_RANK()")),
                 self.random.choice((first, f"{first}, pk", f"{first}, v DESC", "pk"))),)

    def _order(self):
        """Of the answer, all of it determined."""
        if self.random.random() < 0.6:
            return ""
        way = self._direction()
        limit = self.random.choice(("", "", " LIMIT 5", " LIMIT 300"))
        return " ORDER BY " + self.random.choice(("r.pk", "r.a{0}, r.pk", "r.a{0}, r.o{0}, r.pk",
                                                  "r.v, r.pk")).format(way) + way + limit

    def _correlation(self, groups, inner="s", outer="r"):
        return " AND ".join(f"{inner}.{name} = {outer}.{name}" for name in groups)

    def _equal(self):
        column = self.random.choice(("pk", "o"))
        function = self.random.choice(("MAX", "MIN"))
        extra = self._condition("s") if self.random.random() < 0.4 else ""
        return (f"SELECT pk, a, b, o FROM r WHERE {column} = (SELECT {function}(s.{column}) FROM r "
                f"s WHERE {self._correlation(self._groups())}{extra}){self._condition('r')}"
                f"{self._order()}")

    def _in_list(self):
        groups = self._groups()
        column = self.random.choice(("pk", "o"))
        names = ", ".join(groups)
        function = self.random.choice(("MAX", "MIN"))
        negated = "NOT " if self.random.random() < 0.2 else ""
        return (f"SELECT pk, a, b, o FROM r WHERE ({names}, {column}) {negated}IN (SELECT {names}, "
                f"{function}({column}) FROM r s WHERE TRUE{self._condition('s')} GROUP BY {names})"
                f"{self._condition('r')}{self._order()}")

    def _anti(self):
        on = (f"{self._correlation(self._groups())} AND s.{self.random.choice(('pk', 'o'))} "
              f"{self.random.choice('<>')} r.")
        on += on.rsplit("s.", 1)[1].split(" ")[0]
        if self.random.random() < 0.3:
            on += self._condition("s")
        if self.random.random() < 0.5:
            return (f"SELECT r.pk, r.a, r.b FROM r WHERE NOT EXISTS (SELECT 1 FROM r s WHERE {on})"
                    f"{self._condition('r')}{self._order()}")
        return (f"SELECT r.pk, r.a, r.b FROM r LEFT JOIN r s ON {on} WHERE s.pk IS NULL"
                f"{self._condition('r')}{self._order()}")

    def _lateral(self):
        groups = self._groups()
        way = self._direction()
        order = self.random.choice((f"o{way}, pk{way}", f"pk{way}"))
        limit = self.random.choice(("1", "2", "1, 2"))
        return (f"SELECT x.pk, l.pk AS n FROM r x, LATERAL (SELECT pk FROM r s WHERE "
                f"{self._correlation(groups, 's', 'x')}{self._condition('s')} ORDER BY {order} "
                f"LIMIT {limit}) l WHERE x.pk < 30")

    def _grouped(self):
        names = ", ".join(self._groups())
        # Of texts that are equal MAX may give any.
        column = "pk" if self.types["o"].startswith("VAR") else self.random.choice(("pk", "o"))
        function = self.random.choice(("MAX", "MIN"))
        return (f"SELECT {function}({column}) FROM r WHERE TRUE{self._condition('r')} "
                f"GROUP BY {names}")
