# SPDX-License-Identifier: GPL-2.0-only
"""Random conditions on columns of named table references.

A condition is `typed` when it compares values of one family only, so that evaluating it cannot
raise a conversion warning; how often an untyped one is evaluated, and so how many warnings there
are, is the optimizer's choice.
"""

_ORDERS = ("=", "=", "=", "<", "<=", ">", ">=", "<>", "<=>")


class Conditions:
    """Columns are (reference, Column) pairs; every method returns SQL text."""

    def __init__(self, random):
        self._random = random
        self.typed = True  # until a method has written something else

    def condition(self, columns, depth=2):
        random = self._random
        kind = random.random()
        if depth == 0 or kind < 0.55:
            return self.simple(random.choice(columns))
        left, right = (self.condition(columns, depth - 1) for _ in range(2))
        if kind < 0.82:
            return f"{left} AND {right}"
        if kind < 0.95:
            return f"({left} OR {right})"
        return f"NOT ({left})"

    def simple(self, pair):
        """One column against literals."""
        random, (ref, column) = self._random, pair
        name, kind = f"{ref}{column.name}", column.kind
        value, choice = kind.literal(random), random.random()
        if kind.family == "json":
            return random.choice((f"{name} IS NULL", f"JSON_EXTRACT({name}, '$.a') > 3",
                                  f"JSON_TYPE({name}) = 'OBJECT'"))
        if random.random() < 0.02:
            self.typed = False
            return f"{name} = {random.choice(('1', '1.5', 'x_2020_01_01', self._text()))}".replace(
                "x_2020_01_01", "'2020-01-01'")
        if choice < 0.6:
            return f"{name} {random.choice(_ORDERS)} {value}"
        if choice < 0.72:
            return f"{name} {random.choice(('', 'NOT '))}BETWEEN {value} AND {kind.literal(random)}"
        if choice < 0.84:
            values = ", ".join(kind.literal(random) for _ in range(random.randint(1, 4)))
            return f"{name} {random.choice(('', '', 'NOT '))}IN ({values})"
        if choice < 0.92:
            return f"{name} IS {random.choice(('', 'NOT '))}NULL"
        if kind.family == "string":
            end = random.choice(("%", "_", "%a"))
            return f"{name} LIKE {value[:random.randint(2, 4)].rstrip(chr(39) + chr(92))}{end}'"
        if kind.family == "int":
            return f"{name} % 3 = {random.randint(0, 2)}"
        return f"{name} >= {value}"

    def row_in(self, columns):
        """(a, b) IN ((..), (..)) over two columns: several ranges whose parts do not rise."""
        pairs = [pair for pair in columns if pair[1].kind.family != "json"]
        chosen = self._random.sample(pairs, min(2, len(pairs)))
        names = ", ".join(f"{ref}{column.name}" for ref, column in chosen)
        rows = ", ".join("(" + ", ".join(column.kind.literal(self._random) for _, column in chosen)
                         + ")" for _ in range(self._random.randint(2, 4)))
        return f"({names}) IN ({rows})"

    def key_condition(self, ref, index, length=None):
        """Conditions on leading parts of an index: equal ones, then a range, IN or LIKE."""
        random = self._random
        columns = index.columns()[:length or random.randint(1, len(index.parts))]
        terms = []
        for number, column in enumerate(columns):
            name, value = f"{ref}{column.name}", column.kind.literal(random)
            last = number == len(columns) - 1
            if not last or random.random() < 0.3:
                terms.append(f"{name} = {value}" if random.random() < 0.9 else f"{name} IS NULL")
            else:
                terms.append(self.simple((ref, column)))
        return " AND ".join(terms)

    def equal(self, left, right):
        """A join condition between two (reference, Column) pairs."""
        if left[1].kind.sql != right[1].kind.sql:
            self.typed = False
        order = self._random.choice(("=", "=", "=", "=", "<=>", "<", ">="))
        return f"{left[0]}{left[1].name} {order} {right[0]}{right[1].name}"

    def partners(self, left_columns, right_columns):
        """A pair of columns to join on: of one type if there is such a pair."""
        random = self._random
        able = [[pair for pair in side if pair[1].kind.family != "json"]
                for side in (left_columns, right_columns)]
        same = [(left, right) for left in able[0] for right in able[1]
                if left[1].kind.sql == right[1].kind.sql]
        family = [(left, right) for left in able[0] for right in able[1]
                  if left[1].kind.family == right[1].kind.family
                  and left[1].kind.collation == right[1].kind.collation]
        choice = random.random()
        if same and choice < 0.85:
            return random.choice(same)
        if family and choice < 0.97:
            return random.choice(family)
        return random.choice(able[0]), random.choice(able[1])

    def _text(self):
        return self._random.choice(("'1'", "'abc'", "''", "x'31'"))
