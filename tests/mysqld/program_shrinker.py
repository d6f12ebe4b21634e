# SPDX-License-Identifier: GPL-2.0-only
"""Makes a failing program small: takes away statements, rows, indexes and columns while the same
kind of difference remains, and returns what is left.
"""
import re
import time

from random_change import Insert
from random_query import Statement
from rowantools.client import ConnectionLost
from twin_sessions import Difference, RESTART


class Shrinker:
    """counts(difference): whether a difference found in a smaller program is the one looked for;
    counts(None): whether the loss of the server is."""

    def __init__(self, twins, counts, limit_s):
        self._twins, self._counts = twins, counts
        self._deadline = time.monotonic() + limit_s

    def shrink(self, history):
        """`history` ends with the statement that differs. Returns a shorter one that fails, too,
        or the same."""
        best = self._failing_prefix(list(history))
        if best is None:
            return list(history)
        best = self._without_reads(best)
        while True:
            size = self._size(best)
            for smaller in (self._statements, self._rows, self._lines):
                best = smaller(best)
            if self._size(best) == size or self._late():
                return best

    @staticmethod
    def _size(history):
        return sum(len(statement.sql) for _, statement in history) + len(history)

    def _late(self):
        return time.monotonic() > self._deadline

    def _failing_prefix(self, history):
        """Runs a program from the start; the part up to the first difference, or None."""
        if self._late():
            return None
        self._twins.reset()
        self._twins.history = []
        try:
            for who, statement in history:
                self._twins.run(who, statement)
        except Difference as difference:
            found = list(self._twins.history)
            return found if self._counts(difference) else None
        except ConnectionLost:
            found = list(self._twins.history)
            self._twins.run(RESTART, Statement(""))
            return found if self._counts(None) else None
        return None

    def _without_reads(self, best):
        """Most programs fail by what is in the tables."""
        changes = [pair for pair in best[:-1] if not pair[1].sql.startswith("SELECT")]
        return self._failing_prefix(changes + best[-1:]) or best

    def _statements(self, best):
        """Halves, quarters, ... single statements; the one that differs stays the last."""
        width = max(1, len(best) // 2)
        while width and not self._late():
            start = len(best) - 1
            while start > 0 and not self._late():
                begin = max(0, start - width)
                found = self._failing_prefix(best[:begin] + best[start:])
                if found is not None and len(found) < len(best):
                    best = found
                start = min(begin, len(best) - 1)
            width //= 2
        return best

    def _rows(self, best):
        position = 0
        while position < len(best) and not self._late():
            if isinstance(best[position][1], Insert):
                best = self._rows_of(best, position)
            position += 1
        return best

    def _rows_of(self, best, position):
        """Rows of one INSERT: halves, quarters, ... single rows."""
        width = len(best[position][1].rows) // 2
        while width and not self._late():
            start = 0
            while position < len(best) and start < len(best[position][1].rows):
                smaller = best[position][1].without_rows(start, start + width)
                found = smaller and self._failing_prefix(_replaced(best, position, smaller))
                if found:
                    best = found
                else:
                    start += width
            width //= 2
        return best

    def _lines(self, best):
        """Index and column definitions of CREATE TABLE; a column's values go with it."""
        for position in range(len(best)):
            line = 1
            while (position < len(best) and not self._late()
                   and best[position][1].sql.startswith("CREATE TABLE")
                   and line < len(best[position][1].sql.split("\n")) - 1):
                found = self._failing_prefix(_without_line(best, position, line))
                if found is not None and len(found) <= len(best):
                    best = found
                else:
                    line += 1
        return best


def _replaced(history, position, statement):
    changed = list(history)
    changed[position] = (changed[position][0], statement)
    return changed


def _without_line(history, position, number):
    who, create = history[position]
    lines = create.sql.split("\n")
    gone = lines.pop(number)
    lines[-2] = lines[-2].rstrip(",")
    changed = _replaced(history, position, Statement("\n".join(lines), typed=False))
    column = re.match(r"\s+(c\d+) ", gone)
    if column:
        table = create.sql.split()[2]
        changed = [(who, statement.without_column(column.group(1))
                    if isinstance(statement, Insert) and statement.table == table else statement)
                   for who, statement in changed]
    return changed
