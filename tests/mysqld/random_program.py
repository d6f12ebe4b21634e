# SPDX-License-Identifier: GPL-2.0-only
"""One random program: tables, statements of two sessions, and the comparison of everything at last.

The writer changes and defines tables, in transactions with savepoints. The reader keeps snapshots
that grow old meanwhile. One seed gives one program, as long as the outcomes are right.
"""
from random_change import Changes
from random_ddl import Definitions
from random_query import Queries, Statement
from random_switches import random_setting
from random_table import Table
from twin_sessions import READER, RESTART, WRITER

_SQL_MODES = ("STRICT_ALL_TABLES", "STRICT_ALL_TABLES",
              "STRICT_ALL_TABLES,NO_ZERO_DATE,NO_ZERO_IN_DATE,ERROR_FOR_DIVISION_BY_ZERO",
              "", "PAD_CHAR_TO_FULL_LENGTH", "ANSI,STRICT_TRANS_TABLES")
_LEVELS = ("REPEATABLE READ", "REPEATABLE READ", "READ COMMITTED")
_SAVEPOINTS = ("s1", "s2", "S3", "s4")


class Program:
    """run(statements) does all of it; raises Difference."""

    def __init__(self, random, twins):
        self._random, self._twins = random, twins
        self._pools = {}
        self._tables = []
        self._clock = 1_700_000_000
        self._in_transaction = self._snapshot_read = self._snapshot = False

    def run(self, statements, crash=False):
        self._settings()
        self._make_tables()
        for _ in range(statements):
            self._step()
        if crash and self._random.random() < 0.5:
            self._crash()  # with the transactions open
        self._end_transactions()
        self.compare_everything()
        if crash:
            self._crash()
            self.compare_everything()

    def _sql(self, text, who=WRITER, **flags):
        return self._twins.run(who, Statement(text, **flags))

    # --- the start ---

    def _settings(self):
        mode = self._random.choice(_SQL_MODES)
        for who in (WRITER, READER):
            self._sql(f"SET SESSION sql_mode = '{mode}'", who)
            self._set_level(who)
        self._tick()

    def _set_level(self, who):
        self._sql(f"SET SESSION TRANSACTION ISOLATION LEVEL {self._random.choice(_LEVELS)}", who)

    def _make_tables(self):
        random, wanted = self._random, self._random.choice((2, 2, 3))
        while len(self._tables) < wanted:
            table = Table(random, f"t{len(self._tables)}", self._pools)
            if not self._sql(table.create(), typed=False).error:
                self._tables.append(table)
        large = random.random() < 0.12
        self._changes = Changes(random, self._tables)
        self._queries = Queries(random, self._tables, locking=True, joined=2 if large else 3)
        self._reads = Queries(random, self._tables, locking=False, joined=2 if large else 3)
        self._definitions = Definitions(random, self._tables, self._pools)
        for table in self._tables:
            for _ in range(random.choice((1, 1, 1, 4))):
                self._twins.run(WRITER, self._changes.fill(table, random.choice((5, 20, 40))))
        if large:
            self._twins.run(WRITER, self._changes.fill(random.choice(self._tables), 700))

    # --- one step ---

    def _step(self):
        random, choice = self._random, self._random.random()
        if choice < 0.36:
            self._twins.run(WRITER, self._changes.change())
        elif choice < 0.70:
            self._twins.run(WRITER, self._queries.query())
        elif choice < 0.80:
            self._transaction()
        elif choice < 0.89:
            self._reader()
        elif choice < 0.90:
            self._handler()
        elif choice < 0.91:
            self._cursor()
        elif choice < 0.92:
            self._killed()
        elif choice < 0.95:
            self._sql(random_setting(random), random.choice((WRITER, READER)), typed=False)
        elif choice < 0.97:
            self._tick()
        elif choice < 0.985:
            self._sql(f"CHECKSUM TABLE {random.choice(self._tables).name}",
                      random.choice((WRITER, READER)), typed=False)
        else:
            self._define()

    def _tick(self):
        self._clock += self._random.randint(1, 100)
        for who in (WRITER, READER):
            self._sql(f"SET SESSION timestamp = {self._clock}", who)

    def _transaction(self):
        random = self._random
        if not self._in_transaction:
            self._sql(random.choice(("BEGIN", "START TRANSACTION WITH CONSISTENT SNAPSHOT",
                                     "BEGIN")), typed=False)
            self._in_transaction = True
            return
        choice, name = random.random(), random.choice(_SAVEPOINTS)
        if choice < 0.45:
            self._sql(f"SAVEPOINT {name}")
        elif choice < 0.65:
            self._sql(f"ROLLBACK TO SAVEPOINT {name}")
        elif choice < 0.75:
            self._sql(f"RELEASE SAVEPOINT {name}")
        else:
            self._sql(random.choice(("COMMIT", "COMMIT", "ROLLBACK", "COMMIT AND CHAIN")))
            self._in_transaction = self._twins.history[-1][1].sql.endswith("CHAIN")
            if not self._in_transaction and random.random() < 0.3:
                self._set_level(WRITER)

    def _reader(self):
        """Reads of a snapshot that is kept for some time, or of none."""
        random = self._random
        if not self._snapshot and random.random() < 0.5:
            self._set_level(READER)
            self._sql("START TRANSACTION WITH CONSISTENT SNAPSHOT", READER, typed=False)
            self._snapshot, self._snapshot_read = True, False
        elif self._snapshot and random.random() < 0.12:
            self._end_snapshot()
        else:
            self._twins.run(READER, self._reads.query())
            self._snapshot_read = True

    def _handler(self):
        """HANDLER goes on from where it is, in both directions, while rows change."""
        random = self._random
        who, table = random.choice((WRITER, READER)), random.choice(self._tables)
        keys = [key for key in table.keys() if not key.has_virtual_prefix]
        if not keys:
            return
        index = random.choice(keys)
        read = f"HANDLER {table.name} READ `{index.name or 'PRIMARY'}`"
        self._sql(f"HANDLER {table.name} OPEN", who)
        # A read that finds nothing leaves the place to the engine; one that finds less than it may
        # is behind its last row, which is different places when rows come there.
        on_row = ends = False
        for _ in range(random.randint(3, 12)):
            choice = random.random()
            if choice < 0.3:
                self._twins.run(WRITER, self._changes.change())
                on_row = on_row and not ends
                continue
            text = f"{read} {random.choice(('NEXT', 'PREV'))} LIMIT {random.choice((1, 1, 3, 20))}"
            if choice < 0.45:
                text = self._queries.handler_read(table, index)
            elif not on_row:
                text = random.choice((f"{read} FIRST", f"{read} LAST"))
            count = len(self._sql(text, who, ordered=True).rows)
            on_row, ends = count > 0, count < int(text.partition("LIMIT ")[2] or 1)
        self._sql(f"HANDLER {table.name} CLOSE", who)

    def _cursor(self):
        """A cursor that the server keeps: the rows are those of the statement's start."""
        random, query = self._random, self._reads.query()
        if self._twins.run(READER, query).error:
            return
        self._twins.run_cursors(READER, query, random.choice((1, 3, 50)), lambda: self._twins.run(
            WRITER, self._changes.change()) if random.random() < 0.3 else None)

    def _killed(self):
        random = self._random
        change = self._in_transaction and random.random() < 0.5
        one = self._changes.change() if change else self._reads.query()
        one = Statement(one.sql, one.ordered, typed=False, affected=one.affected)
        self._twins.run_killed(WRITER, one, random.choice((0, 0, 0.0005, 0.002)))

    def _end_snapshot(self):
        self._sql(self._random.choice(("COMMIT", "ROLLBACK")), READER)
        self._snapshot = self._snapshot_read = False

    def _end_transactions(self):
        self._sql("COMMIT", WRITER)
        self._in_transaction = False
        self._end_snapshot()

    def _define(self):
        """Ends the writer's transaction. A snapshot that has read would hold its tables."""
        if self._snapshot and self._snapshot_read:
            self._end_snapshot()
        self._in_transaction = False
        statement, done = self._definitions.definition()
        if not self._twins.run(WRITER, statement).error:
            done()

    def _crash(self):
        self._twins.run(RESTART, Statement(""))
        self._in_transaction = self._snapshot = self._snapshot_read = False
        self._settings()

    # --- the end ---

    def compare_everything(self):
        """Every table by a scan and by every index in both directions."""
        for table in self._tables:
            self._sql(f"SELECT * FROM {table.name}", READER)
            self._sql(f"SELECT COUNT(*) FROM {table.name}")
            self._sql(f"CHECKSUM TABLE {table.name}", READER, typed=False)
            self._by_every_index(table)
            rows = self._sql(f"CHECK TABLE {table.name}", affected=False).rows
            if [row[3] for row in rows] != ["OK"]:
                raise AssertionError(f"CHECK TABLE {table.name}: {rows}")

    def _by_every_index(self, table):
        self._sql(f"HANDLER {table.name} OPEN")
        for name in table.key_names():
            for first in ("FIRST", "LAST"):
                self._sql(f"HANDLER {table.name} READ `{name}` {first}", ordered=True)
                then = "NEXT" if first == "FIRST" else "PREV"
                self._sql(f"HANDLER {table.name} READ `{name}` {then} LIMIT 1000000",
                          ordered=True)
        for index in table.keys() * 2:
            self._sql(self._queries.handler_read(table, index), ordered=True)
        self._sql(f"HANDLER {table.name} CLOSE")
