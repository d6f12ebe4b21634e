# SPDX-License-Identifier: GPL-2.0-only
"""Random transactions that append to lists, and what their history says about isolation.

Each row is a list of tokens, one for each write, so that a read tells which writes it saw and the
last state in which order they came. Edges between committed transactions: ww (the next write of a
row), wr (read what was written), rw (read a list that the other one then appended to). A row that
is not there is an empty list: reads of ranges see, or miss, rows that others insert.
"""
from dataclasses import dataclass, field

ROWS = 5
TABLE = ("CREATE TABLE {table} (id INT PRIMARY KEY, k INT, h VARCHAR(2000) CHARACTER SET latin1, "
         "KEY kh (k, h)) ENGINE={engine}")


@dataclass
class Txn:
    name: int
    reads: list = field(default_factory=list)  # (row, tokens)
    writes: dict = field(default_factory=dict)  # row -> its tokens
    committed: bool = False


def tokens_of(text):
    return [int(token) for token in (text or "").split(",") if token]


class Program:
    """The statements of one transaction; `client` raises what the server says."""

    def __init__(self, random, client, table, txn, next_token):
        self._random, self._client, self._table = random, client, table
        self._txn, self._next_token = txn, next_token

    def run(self, kinds):
        """True if it committed."""
        self._client.execute("BEGIN")
        for _ in range(self._random.randint(2, 4)):
            getattr(self, "_" + self._random.choice(kinds))()
        commits = self._random.random() < 0.9
        self._client.execute("COMMIT" if commits else "ROLLBACK")
        return commits

    def _rows(self):
        low = self._random.randint(1, ROWS)
        return low, self._random.randint(low, ROWS)

    def _note(self, low, high, rows):
        found = {row: tokens_of(text) for row, text in rows}
        for row in range(low, high + 1):
            if row not in self._txn.writes:
                self._txn.reads.append((row, found.get(row, [])))

    def _read(self):
        low, high = self._rows()
        query = self._random.choice((
            f"SELECT id, h FROM {self._table} WHERE id BETWEEN {low} AND {high}",
            f"SELECT k, h FROM {self._table} FORCE INDEX (kh) WHERE k BETWEEN {low} AND {high}",
            f"SELECT id, h FROM {self._table} WHERE id BETWEEN {low} AND {high} ORDER BY id DESC"))
        self._note(low, high, self._client.query(query))

    def _read_one(self):
        row = self._random.randint(1, ROWS)
        self._note(row, row, self._client.query(
            f"SELECT id, h FROM {self._table} WHERE id = {row}"))

    def _append(self):
        """By the newest version, whatever was read."""
        row, token = self._random.randint(1, ROWS), self._next_token(self._txn)
        self._txn.writes.setdefault(row, []).append(token)
        self._client.execute(f"INSERT INTO {self._table} VALUES ({row}, {row}, '{token},') "
                             f"ON DUPLICATE KEY UPDATE h = CONCAT(h, '{token},')")

    def _set(self):
        """By what was read: a write in between would be lost."""
        row = self._random.randint(1, ROWS)
        if row in self._txn.writes:
            return
        rows = self._client.query(f"SELECT id, h FROM {self._table} WHERE id = {row}")
        self._note(row, row, rows)
        token = self._next_token(self._txn)
        self._txn.writes[row] = [token]
        text = (rows[0][1] if rows else "") + f"{token},"
        self._client.execute(
            f"UPDATE {self._table} SET h = '{text}' WHERE id = {row}" if rows else
            f"INSERT INTO {self._table} VALUES ({row}, {row}, '{text}')")


class History:
    """What happened to the rows of one table."""

    def __init__(self, txns, final):
        self._txns = {txn.name: txn for txn in txns if txn.committed}
        self._writer = {token: txn for txn in txns for row in txn.writes.values() for token in row}
        self._final = final  # row -> tokens
        self.direct, self.anti = {name: set() for name in self._txns}, []
        self.faults = []
        self._check_values()
        self._draw_edges()

    def _check_values(self):
        for row, tokens in self._final.items():
            for token in tokens:
                if not self._writer[token].committed:
                    self.faults.append(f"row {row} holds {token}, which was rolled back")
        for txn in self._txns.values():
            for row, written in txn.writes.items():
                if [t for t in self._final.get(row, []) if t in written] != written:
                    self.faults.append(f"row {row} lost {written} of {txn.name}")

    def _draw_edges(self):
        for tokens in self._final.values():
            for before, after in zip(tokens, tokens[1:]):
                self._direct(self._writer[before], self._writer[after])
        for txn in self._txns.values():
            for row, seen in txn.reads:
                self._draw_read(txn, row, seen)

    def _draw_read(self, txn, row, seen):
        final = self._final.get(row, [])
        if final[:len(seen)] != seen:
            self.faults.append(f"{txn.name} read {seen} of row {row}, which came to be {final}")
            return
        if seen:
            writer = self._writer[seen[-1]]
            self._direct(writer, txn)
            if writer is not txn and writer.writes[row][-1] != seen[-1]:
                self.faults.append(f"{txn.name} read a state of row {row} within {writer.name}")
        if len(seen) < len(final) and self._writer[final[len(seen)]] is not txn:
            self.anti.append((txn.name, self._writer[final[len(seen)]].name))

    def _direct(self, one, other):
        if one is not other and one.committed and other.committed:
            self.direct[one.name].add(other.name)

    def _reaches(self, start, goal, edges):
        seen, todo = {start}, [start]
        while todo:
            name = todo.pop()
            if name == goal:
                return True
            for following in edges[name] - seen:
                seen.add(following)
                todo.append(following)
        return False

    def check(self, anti_edges):
        """Adds cycles: with 0 anti-dependencies, with one at most, or (None) any."""
        edges = {name: set(others) for name, others in self.direct.items()}
        anti = [(one, other) for one, other in self.anti if one in edges and other in edges]
        if anti_edges is None:
            for one, other in anti:
                edges[one].add(other)
        for one, others in edges.items():
            for other in others:
                if self._reaches(other, one, edges):
                    self.faults.append(f"a circle through {one} and {other}")
                    return
        for one, other in anti if anti_edges == 1 else ():
            if self._reaches(other, one, edges):
                self.faults.append(f"{one} missed a write of {other} and saw what depends on it")
                return
