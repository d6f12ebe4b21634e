# SPDX-License-Identifier: GPL-2.0-only
"""Two writing sessions that never wait for each other, on a table of either engine."""
from framework import Failure
from twin_sessions import OURS, THEIRS


def short(outcome):
    text = repr(outcome)
    return text if len(text) < 500 else text[:500] + "..."


class Interleaving:
    """Two sessions per engine. Each changes rows of its own by primary key and reads everything,
    so nobody waits and what each may see is decided by the isolation level alone."""

    def __init__(self, t):
        self._random, self._log = t.random, []
        self._sessions = {(table, who): t.client() for table in (OURS, THEIRS) for who in (0, 1)}
        for table, engine in ((OURS, t.engine), (THEIRS, "InnoDB")):
            client = self._sessions[table, 0]
            client.execute(f"DROP TABLE IF EXISTS {table}")
            client.execute(f"CREATE TABLE {table} (id INT PRIMARY KEY, k INT, v VARCHAR(20), "
                           f"KEY (k), KEY (v, k)) ENGINE={engine}")
            client.execute(f"INSERT INTO {table} VALUES " + ", ".join(
                f"({n}, {n % 7}, 'v{n % 5}')" for n in range(60)))
        self._rows = [{n for n in range(60) if n % 2 == who} for who in (0, 1)]
        self._before = [None, None]  # rows at the start of the open transaction

    def run(self, who, statement):
        self._log.append((who, statement))
        outcomes = []
        for table in (OURS, THEIRS):
            result = self._sessions[table, who].execute(statement.replace("{table}", table))
            outcomes.append((result.affected, sorted(result.rows, key=repr)))
        if outcomes[0] != outcomes[1]:
            history = "\n".join(f"{who}: {text}" for who, text in self._log)
            raise Failure(f"ours {short(outcomes[0])}, theirs {short(outcomes[1])}\n{history}")

    def close(self):
        for session in self._sessions.values():
            session.close()

    def begin(self, who, level):
        self.run(who, f"SET SESSION TRANSACTION ISOLATION LEVEL {level}")
        self.run(who, self._random.choice(("BEGIN", "START TRANSACTION WITH CONSISTENT SNAPSHOT"
                                           if level == "REPEATABLE READ" else "BEGIN")))
        self._before[who] = set(self._rows[who])

    def end(self, who):
        commit = self._random.random() < 0.75
        self.run(who, "COMMIT" if commit else "ROLLBACK")
        if not commit:
            self._rows[who] = self._before[who]
        self._before[who] = None

    def step(self, who):
        if self._before[who] is None:
            self.begin(who, self._random.choice(("REPEATABLE READ", "READ COMMITTED")))
        kind, rows = self._random.random(), self._rows[who]
        row = self._random.choice(sorted(rows)) if rows else None
        if kind < 0.45:
            self.run(who, self._read())
        elif kind < 0.6 or row is None:
            row = self._random.choice(sorted(set(range(who, 120, 2)) - rows))
            rows.add(row)
            self.run(who, f"INSERT INTO {{table}} VALUES ({row}, {row % 9}, 'n{row % 4}')")
        elif kind < 0.7:
            rows.remove(row)
            self.run(who, f"DELETE FROM {{table}} WHERE id = {row}")
        elif kind < 0.9:
            change = self._random.choice(("k = k + 1", "v = 'w'", "k = 3, v = 'v1'", "k = 5 - k"))
            self.run(who, f"UPDATE {{table}} SET {change} WHERE id = {row}")
        else:
            self.end(who)

    def _read(self):
        return self._random.choice((
            "SELECT * FROM {table}", "SELECT COUNT(*), SUM(k) FROM {table}",
            "SELECT k, id FROM {table} FORCE INDEX (k) WHERE k BETWEEN 2 AND 5",
            "SELECT * FROM {table} FORCE INDEX (v) WHERE v >= 'v1'",
            "SELECT v, MAX(k) FROM {table} GROUP BY v",
            f"SELECT * FROM {{table}} WHERE id = {self._random.randrange(120)}"))
