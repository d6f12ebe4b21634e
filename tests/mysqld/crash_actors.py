# SPDX-License-Identifier: GPL-2.0-only
"""Sessions for the crash loop, each with a journal of what it asked for and what was acknowledged.

An actor has run(client, stop), which works until the server dies, and settle(client), which
compares the database with the journal after the next start and takes over what the crash decided
about the one step that was in flight. A difference is a Failure that says "lost" or "phantom".
Each actor is used by one thread at a time.
"""
import typing
import zlib

from framework import Failure
from rowantools.client import ConnectionLost, MysqlError

_GOING_DOWN = (1053, 1317, 2013)
_ROWS_PER_WRITER = 120
_HOT_ROWS = 4


class Actor:
    """What all have in common: working until the server is gone."""

    def __init__(self, number, randomness):
        self.number, self._random = number, randomness
        self.unexpected = None
        self.commits = 0

    def run(self, client, stop):
        try:
            while not stop.is_set():
                self.step(client)
        except ConnectionLost:
            pass
        except MysqlError as error:
            if error.code not in _GOING_DOWN:
                self.unexpected = error


class Writer(Actor):
    """Transactions of several statements on rows of its own, with a copy of them at the client.

    A row of `mixed` is (id, k, u, c): k is indexed, u unique. Every transaction raises
    a counter that all writers share and leaves a row of evidence for it.
    """

    TABLES = ("mixed", "hot", "evidence")

    def __init__(self, number, randomness):
        super().__init__(number, randomness)
        self.rows, self.sequence = {}, 0        # acknowledged
        self._flying = None                     # rows as they would be after the flying commit

    @staticmethod
    def create(client):
        client.execute("CREATE TABLE mixed (id INT PRIMARY KEY, k INT NOT NULL, u VARCHAR(40), "
                       "c VARCHAR(3000), KEY (k), UNIQUE KEY (u))")
        client.execute("CREATE TABLE hot (id INT PRIMARY KEY, n INT NOT NULL, KEY (n))")
        client.execute("CREATE TABLE evidence (a BIGINT AUTO_INCREMENT, writer INT, sequence INT, "
                       "hot INT, PRIMARY KEY (a), UNIQUE KEY (writer, sequence), KEY (hot))")
        client.execute("INSERT INTO hot VALUES "
                       + ", ".join(f"({n}, 0)" for n in range(_HOT_ROWS)))

    def step(self, client):
        client.execute("BEGIN")
        rows = dict(self.rows)
        for _ in range(self._random.randint(1, 6)):
            client.execute(self._change(rows))
        if self._random.random() < 0.15:
            client.execute("SAVEPOINT s")
            client.execute(self._change(dict(rows)))
            client.execute("ROLLBACK TO s")
        hot = self._random.randrange(_HOT_ROWS)
        client.execute("INSERT INTO evidence (writer, sequence, hot) VALUES "
                       f"({self.number}, {self.sequence + 1}, {hot})")
        client.execute(f"UPDATE hot SET n = n + 1 WHERE id = {hot}")
        if self._random.random() < 0.1:
            client.execute("ROLLBACK")
            return
        self._flying = rows
        client.execute("COMMIT")
        self.rows, self._flying = rows, None
        self.sequence += 1
        self.commits += 1

    def _change(self, rows):
        """One statement on a random row; `rows` gets its effect."""
        row = self.number * _ROWS_PER_WRITER + self._random.randrange(_ROWS_PER_WRITER)
        k, c = self._random.randrange(50), self._random.choice("abc") * self._random.choice(
            (5, 120, 120, 120, 2500))
        u = self._free_unique(rows)
        if row not in rows:
            rows[row] = (k, u, c)
            return f"INSERT INTO mixed VALUES ({row}, {k}, '{u}', '{c}')"
        old = rows[row]
        kind = self._random.random()
        if kind < 0.2:
            del rows[row]
            return f"DELETE FROM mixed WHERE id = {row}"
        if kind < 0.5:
            rows[row] = (old[0] + 1, old[1], old[2])
            return f"UPDATE mixed SET k = k + 1 WHERE id = {row}"
        if kind < 0.7:
            rows[row] = (old[0], u, old[2])
            return f"UPDATE mixed SET u = '{u}' WHERE u = '{old[1]}'"
        if kind < 0.8:
            rows[row] = (k, u, c)
            return f"REPLACE INTO mixed VALUES ({row}, {k}, '{u}', '{c}')"
        rows[row] = (old[0], old[1], c)
        return f"UPDATE mixed SET c = '{c}' WHERE id = {row}"

    def _free_unique(self, rows):
        """From a small set, so that values go away and come back."""
        used = {row[1] for row in rows.values()}
        while True:
            value = f"w{self.number}-{self._random.randrange(4 * _ROWS_PER_WRITER)}"
            if value not in used:
                return value

    def settle(self, client):
        newest = client.value("SELECT COALESCE(MAX(sequence), 0) FROM evidence "
                              f"WHERE writer = {self.number}")
        count = client.value(f"SELECT COUNT(*) FROM evidence WHERE writer = {self.number}")
        if newest < self.sequence or count < newest:
            raise Failure(f"writer {self.number}: lost: {self.sequence} commits acknowledged, "
                          f"{count} there up to {newest}")
        flew = 0 if self._flying is None else 1
        if newest > self.sequence + flew or count > newest:
            raise Failure(f"writer {self.number}: phantom: {count} commits up to {newest}, asked "
                          f"for {self.sequence + flew}")
        if newest > self.sequence:
            self.rows, self.sequence = self._flying, newest
        self._flying = None
        low = self.number * _ROWS_PER_WRITER
        there = {row[0]: row[1:] for row in client.query(
            f"SELECT id, k, u, c FROM mixed WHERE id >= {low} AND id < {low + _ROWS_PER_WRITER}")}
        if there != self.rows:
            wrong = sorted(row for row in {*there, *self.rows}
                           if there.get(row) != self.rows.get(row))
            raise Failure(f"writer {self.number}: rows {wrong[:10]} differ from the journal")


class XaActor(Actor):
    """XA transactions that are left prepared, committed or rolled back.

    A branch is open until its end was acknowledged: prepared, and what was asked for last decides
    what may have become of it.
    """

    TABLES = ("branches", "accounts")

    def __init__(self, number, randomness):
        super().__init__(number, randomness)
        self._next = 0
        self.open = {}   # branch -> "preparing", "prepared", "committing", "rolling back"
        self.ended = {}  # branch -> True if committed

    @staticmethod
    def create(client):
        client.execute("CREATE TABLE branches (id BIGINT AUTO_INCREMENT PRIMARY KEY, "
                       "branch VARCHAR(40), step INT, UNIQUE KEY (branch, step), KEY (step))")
        client.execute("CREATE TABLE accounts (id INT PRIMARY KEY, branch VARCHAR(40), "
                       "KEY (branch))")
        client.execute("INSERT INTO accounts VALUES "
                       + ", ".join(f"({n}, '')" for n in range(4000)))

    def step(self, client):
        self._next += 1
        branch = f"x{self.number}-{self._next}"
        client.execute(f"XA START '{branch}'")
        for step in range(self._random.randint(1, 4)):
            client.execute(f"INSERT INTO branches (branch, step) VALUES ('{branch}', {step})")
        # A row nobody else changes: prepared transactions keep their locks.
        row = self.number * 1000 + self._next % 1000
        client.execute(f"UPDATE accounts SET branch = '{branch}' WHERE id = {row} "
                       f"AND branch NOT IN ('{branch}')")
        client.execute(f"XA END '{branch}'")
        self.open[branch] = "preparing"
        client.execute(f"XA PREPARE '{branch}'")
        self.open[branch] = "prepared"
        self.commits += 1
        fate = self._random.random()
        if fate < 0.3 and len(self.open) < 30:
            return
        self._end(client, branch, commit=fate < 0.75)

    def _end(self, client, branch, commit):
        self.open[branch] = "committing" if commit else "rolling back"
        client.execute(f"XA {'COMMIT' if commit else 'ROLLBACK'} '{branch}'")
        del self.open[branch]
        self.ended[branch] = commit

    def settle(self, client):
        listed = {row[3] for row in client.query("XA RECOVER")
                  if row[3].startswith(f"x{self.number}-")}
        for branch in listed - set(self.open):
            raise Failure(f"phantom: {branch} is prepared; the journal says "
                          f"{self.ended.get(branch, 'never asked')}")
        for branch, state in list(self.open.items()):
            if branch in listed:
                self.open[branch] = "prepared"
                continue
            if state == "prepared":
                raise Failure(f"lost: {branch} was prepared and is not in XA RECOVER")
            self.ended[branch] = state == "committing"
            del self.open[branch]
        self._compare_rows(client)
        for branch in list(self.open):
            if self._random.random() < 0.7:
                self._end(client, branch, commit=self._random.random() < 0.5)
        self._compare_rows(client)

    def _compare_rows(self, client):
        there = {row[0] for row in client.query(
            f"SELECT DISTINCT branch FROM branches WHERE branch LIKE 'x{self.number}-%'")}
        committed = {branch for branch, commit in self.ended.items() if commit}
        if there != committed:
            raise Failure(f"branches {sorted(there ^ committed)[:8]}: lost "
                          f"{len(committed - there)}, phantom {len(there - committed)}")


class DdlActor(Actor):
    """CREATE, DROP, RENAME, TRUNCATE, OPTIMIZE and ALTER by any algorithm on tables of its own,
    each with known content. `logged`: its statements go to the binary log, if there is one."""

    def __init__(self, number, randomness, logged=True):
        super().__init__(number, randomness)
        self._logged = logged
        self.names = tuple(f"ddl{number}_{n}" for n in range(4))
        self.tables = {}  # name -> _Table
        self.met = 0  # statements that a crash came upon
        self._flying = self._statement = None

    def run(self, client, stop):
        if not self._logged:
            client.execute("SET SESSION sql_log_bin = 0")
        super().run(client, stop)

    def step(self, client):
        after, statement = self._choose()
        self._flying, self._statement = after, statement
        client.execute(statement)
        self.tables, self._flying = after, None
        self.commits += 1

    def _choose(self):
        """(tables afterwards, statement): one statement that takes effect as a whole."""
        random = self._random
        after, name = dict(self.tables), random.choice(self.names)
        if name not in after:
            after[name] = _Table()
            return after, (f"CREATE TABLE {name} (id INT AUTO_INCREMENT, k INT NOT NULL,"
                           " v VARCHAR(50), t TEXT, PRIMARY KEY (id), KEY id (id), KEY (k))")
        table, other = after[name], random.choice(self.names)
        kind = random.randrange(12)
        if kind == 0:
            del after[name]
            return after, f"DROP TABLE {name}"
        if kind == 1 and other not in after:
            after[other] = after.pop(name)
            return after, f"RENAME TABLE {name} TO {other}"
        if kind == 2:
            after[name] = table._replace(rows=0, content=0)
            return after, f"TRUNCATE TABLE {name}"
        if kind == 3 and other in after and other != name:
            after[name], after[other] = after[other], after[name]
            third = f"ddl{self.number}_x"
            return after, f"RENAME TABLE {name} TO {third}, {other} TO {name}, {third} TO {other}"
        if kind < 9:
            after[name], change = table.altered(random, kind)
            return after, f"ALTER TABLE {name} {change}" if change else f"OPTIMIZE TABLE {name}"
        rows = [(n % 9, f"v{n}", "t" * random.choice((3, 30, 9000)))
                for n in range(random.randint(1, 40))]
        content = sum(zlib.crc32(f"{k}{v}{t}".encode()) for k, v, t in rows)
        after[name] = table._replace(rows=table.rows + len(rows), content=table.content + content)
        values = ", ".join(f"({k}, '{v}', '{t}')" for k, v, t in rows)
        return after, f"INSERT INTO {name} (k, v, t) VALUES {values}"

    def settle(self, client):
        there = {}
        try:
            for (name,) in client.query(f"SHOW TABLES LIKE 'ddl{self.number}%'"):
                there[name] = _table_there(client, name)
        except MysqlError as error:
            raise Failure(f"{name}: {error}; last statement: {self._statement}") from error
        if there != self.tables and there != self._flying:
            raise Failure(f"tables are {there}, the journal says {self.tables}"
                          + (f" or {self._flying}" if self._flying is not None else "")
                          + f"; last statement: {self._statement}")
        self.met += self._flying is not None
        self.tables, self._flying = there, None


class _Table(typing.NamedTuple):
    rows: int = 0
    content: int = 0  # sum over rows
    index: bool = False
    column: bool = False
    long_key: bool = False  # PRIMARY KEY (k, id)

    def altered(self, random, kind):
        """(table afterwards, change, "" for OPTIMIZE)."""
        if kind == 4:
            change = "DROP INDEX extra" if self.index else "ADD INDEX extra (v, k)"
            return self._replace(index=not self.index), change + _algorithm(random, "INPLACE")
        if kind == 5:
            change = "DROP COLUMN more" if self.column else "ADD COLUMN more INT DEFAULT 5 AFTER id"
            algorithm = _algorithm(random, "INPLACE", "INSTANT")
            return self._replace(column=not self.column), change + algorithm
        if kind == 6:
            key = "id" if self.long_key else "k, id"
            change = f"DROP PRIMARY KEY, ADD PRIMARY KEY ({key})" + _algorithm(random, "INPLACE")
            return self._replace(long_key=not self.long_key), change
        if kind == 7:
            index = "DROP INDEX extra" if self.index else "ADD INDEX extra (v, k)"
            column = "DROP COLUMN more" if self.column else "ADD COLUMN more INT DEFAULT 5 FIRST"
            change = f"FORCE, {index}, {column}" + _algorithm(random, "INPLACE")
            return self._replace(index=not self.index, column=not self.column), change
        return self, random.choice(("", "FORCE" + _algorithm(random, "INPLACE")))


def _table_there(client, name):
    definition = client.query(f"SHOW CREATE TABLE {name}")[0][1]
    rows, content = client.query(
        f"SELECT COUNT(*), IFNULL(SUM(CRC32(CONCAT(k, v, t))), 0) FROM {name}")[0]
    return _Table(rows, int(content), "`extra`" in definition, "`more`" in definition,
                  "PRIMARY KEY (`k`,`id`)" in definition)


def _algorithm(random, *able):
    algorithm = random.choice(("", "COPY") + able)
    return f", ALGORITHM={algorithm}" if algorithm else ""
