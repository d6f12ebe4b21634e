# SPDX-License-Identifier: GPL-2.0-only
"""One random program of many query blocks over one table: rows enough for several leaves, some of
an earlier form of the table, some deleted, some changed by the reading transaction or since its
snapshot. Random blocks are in random_blocks.py."""
from framework import OPTIMIZERS
from random_blocks import Blocks
from random_change import Changes, Insert
from random_query import Statement
from random_switches import random_setting
from random_table import Column, Index, Table
from random_types import Kind
from twin_sessions import READER, WRITER

_SQL_MODES = ("STRICT_ALL_TABLES", "", "STRICT_ALL_TABLES,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO",
              "PAD_CHAR_TO_FULL_LENGTH", "NO_UNSIGNED_SUBTRACTION")
_LEVELS = 6 * ("REPEATABLE READ", "READ COMMITTED") + ("READ UNCOMMITTED", "SERIALIZABLE")
_ROWS_AT_ONCE = 150


class BlockTable(Table):
    """No generated columns; mostly with numbered rows; often many rows with equal keys."""

    def __init__(self, random, name, pools):
        self.name, self._random, self._pools = name, random, pools
        self._next_column = self._next_index = 0
        self.columns = [self._column() for _ in range(random.randint(3, 8))]
        if random.random() < 0.3:
            real = Kind("DOUBLE", "float", lambda random: random.choice(
                ("0", "-0e0", "0.25", "-65536.5", str(random.randint(-50, 50)))))
            self.columns.append(self.new_column(real))
        self.functional, self.partitioning, self.number = [], "", None
        if random.random() < 0.85:
            self.number = Column("id", Kind(random.choice(("INT", "BIGINT UNSIGNED")), "int", (
                lambda random: str(random.randint(1, 3000)))), nullable=False)
            self.columns.insert(random.choice((0, 0, len(self.columns))), self.number)
            self.primary = Index(None, [(self.number, 0, random.random() < 0.1)], unique=True)
        else:
            self.primary = self.new_primary()
        self.indexes = [index for index in (self.new_index() for _ in range(random.choice(
            (0, 1, 2, 3)))) if not index.unique]
        self.few = self._add_few() if random.random() < 0.4 else None
        if random.random() < 0.15:
            self.partitioning = self._new_partitioning()

    def _add_few(self):
        """A column of few values that a key begins with."""
        random = self._random
        few = Column("few", Kind("TINYINT", "int", lambda random: str(random.randint(0, 2))),
                     nullable=random.random() < 0.3)
        self.columns.insert(random.choice((0, len(self.columns))), few)
        if self.number and not few.nullable:
            self.primary = Index(None, [(few, 0, False), (self.number, 0, False)], unique=True)
            return few
        other = random.choice([column for column in self.columns if column.kind.key_part
                               and not column.kind.long and column is not few])
        self.indexes.append(Index(f"k{self._next_index}", [(few, 0, random.random() < 0.2),
                                                           (other, 0, False)]))
        self._next_index += 1
        return few

    def _column(self):
        """Mostly of a type that conditions in batches know."""
        column = self.new_column()
        kind = column.kind
        known = (kind.family not in ("bit", "json", "enum", "set", "time", "year")
                 and not kind.sql.startswith(("TIMESTAMP", "DECIMAL(65")))
        return column if known or self._random.random() < 0.15 else self._column()

    def without_column(self, column):
        return column is not self.number and column not in {
            part for index in self.keys() for part in index.columns()} and len(self.columns) > 3


class BlockProgram:
    """run(blocks, rows) does all of it; raises Difference. compared: blocks so far."""

    def __init__(self, random, twins):
        self._random, self._twins = random, twins
        self._table = BlockTable(random, "t0", {})
        self._changes = Changes(random, [self._table], joins=False)
        self._blocks = Blocks(random)
        self._next_number, self.compared = 1, 0
        self._hypergraph = set()  # sessions whose optimizer takes this or that plan by its cost

    def run(self, blocks, rows):
        random = self._random
        self._sql("SET @one = 'x'", WRITER)
        self._sql("SET @one = 'x'", READER)
        self._sql(f"SET SESSION sql_mode = '{random.choice(_SQL_MODES)}'", WRITER)
        self._sql(f"SET SESSION sql_mode = '{random.choice(_SQL_MODES)}'", READER)
        for who in (WRITER, READER):
            self._sql("SET SESSION rowan_pushdown_rows_min = 0", who)
            if random.random() < 0.6:  # scans are read in pieces
                self._sql("SET SESSION rowan_parallel_rows_min = 0", who)
                self._sql(f"SET SESSION rowan_parallel_workers = {random.choice('0124')}", who)
        if self._sql(self._table.create(), typed=False).error:
            return
        self._fill(rows)
        for number in range(blocks):
            if number % 20 == 0:
                self._turn()
            who = WRITER if random.random() < 0.6 else READER
            for statement in self._blocks.statements(self._table, who not in self._hypergraph):
                self._twins.run(who, statement)
                self.compared += not statement.sql.startswith("PREPARE")
        for who in (READER, WRITER):
            self._sql("COMMIT", who)

    def _sql(self, text, who=WRITER, **flags):
        return self._twins.run(who, Statement(text, **flags))

    # --- rows ---

    def _fill(self, rows):
        """Some rows as literals, others by copying; half of them before the table is altered."""
        self._insert(min(rows, _ROWS_AT_ONCE))
        if self._random.random() < 0.4:
            self._alter()
        self._insert(min(rows, _ROWS_AT_ONCE))
        have = 2 * _ROWS_AT_ONCE
        while self._table.number and have < rows:
            self._copy()
            have *= 2
        if self._random.random() < 0.25:
            self._alter()
        if self._random.random() < 0.5:
            self._sql(f"ANALYZE TABLE {self._table.name}", typed=False, affected=False)
        for _ in range(self._random.randint(0, 4)):
            self._twins.run(WRITER, self._changes.change())

    def _insert(self, count):
        table, random = self._table, self._random
        columns = table.settable()
        rows = []
        for _ in range(count):
            rows.append([str(self._next_number) if column is table.number
                         else column.literal(random) for column in columns])
            self._next_number += random.choice((1, 1, 1, 2))
        self._twins.run(WRITER, Insert("INSERT IGNORE INTO", table.name, [
            column.name for column in columns], rows, "", typed=False))

    def _copy(self):
        """Each row once more, behind all others; columns of one type change places."""
        table, random = self._table, self._random
        values = []
        for column in table.settable():
            same = [other.name for other in table.settable()
                    if other.kind.sql == column.kind.sql and column.nullable]
            values.append(f"id + {self._next_number}" if column is table.number else
                          random.choice(same or [column.name]))
        names = ", ".join(column.name for column in table.settable())
        self._sql(f"INSERT IGNORE INTO {table.name} ({names}) SELECT {', '.join(values)} FROM "
                  f"{table.name} ORDER BY {table.total_order()}", typed=False)
        self._next_number *= 2

    def _alter(self):
        """Columns that are added and dropped without touching the rows, where an engine can."""
        table, random = self._table, self._random
        able = [column for column in table.columns if table.without_column(column)]
        if able and random.random() < 0.4:
            column = random.choice(able)
            text, done = f"DROP COLUMN {column.name}", (lambda: table.columns.remove(column))
        else:
            column = table.new_column()
            text, done = f"ADD COLUMN {column.definition()}", (lambda: table.columns.append(column))
        if not self._sql(f"ALTER TABLE {table.name} {text}", typed=False, affected=False).error:
            done()

    # --- sessions ---

    def _turn(self):
        """Another level, a snapshot, changes before the next blocks."""
        random = self._random
        self._sql("COMMIT", READER)
        level = random.choice(_LEVELS)
        if level == "SERIALIZABLE":  # would wait for the writer's locks
            level = "REPEATABLE READ"
        self._sql(f"SET SESSION TRANSACTION ISOLATION LEVEL {level}", READER)
        if random.random() < 0.6:
            self._sql("START TRANSACTION WITH CONSISTENT SNAPSHOT", READER, typed=False)
        if random.random() < 0.5:
            self._sql(random.choice(("COMMIT", "ROLLBACK")))
            self._sql(f"SET SESSION TRANSACTION ISOLATION LEVEL {random.choice(_LEVELS)}")
            if random.random() < 0.7:
                self._sql("BEGIN")
        for _ in range(random.choice((0, 0, 1, 2))):
            self._twins.run(WRITER, self._changes.change())
        who = random.choice((WRITER, READER))
        if random.random() < 0.2:
            self._sql(random_setting(random), who, typed=False)
        on = random.random() < 0.3 and "on" in OPTIMIZERS
        self._sql("SET SESSION optimizer_switch = 'hypergraph_optimizer="
                  f"{'on' if on else 'off'}'", who, typed=False)
        self._hypergraph = self._hypergraph | {who} if on else self._hypergraph - {who}
