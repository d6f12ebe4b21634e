# SPDX-License-Identifier: GPL-2.0-only
"""Foreign keys with several sessions, at every isolation level, and with crashes: no orphan arises.

Each of the interleavings runs at all levels at once, in tables of their own.
"""
import subprocess
import threading
import time

from framework import needs_foreign_keys
from isolation_test import Pending
from rowantools.client import (ER_LOCK_DEADLOCK, ER_LOCK_WAIT_TIMEOUT, ConnectionLost, MysqlError)
from rowantools.mysql_tree import find_tree

pytestmark = needs_foreign_keys

_LEVELS = ("READ UNCOMMITTED", "READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE")
_ROW_IS_REFERENCED, _NO_REFERENCED_ROW = 1451, 1452


class _Pair:
    """Two sessions, and the tables p and c of one level."""

    def __init__(self, t, level, number, rule, key):
        self.p, self.c = f"p{number}", f"c{number}"
        self.one, self.two, self.plain = (t.client() for _ in range(3))
        t.run(f"CREATE TABLE {self.p} (id INT PRIMARY KEY, k INT, UNIQUE (k))",
              f"CREATE TABLE {self.c} (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) "
              f"REFERENCES {self.p} ({key}) {rule})",
              f"INSERT INTO {self.p} VALUES (1, 1), (2, 2), (3, 3)")
        self._t, self._prefix = t, "innodb" if t.engine.lower() == "innodb" else "rowan"
        for session in (self.one, self.two):
            session.execute(f"SET SESSION TRANSACTION ISOLATION LEVEL {level}")
            session.execute(f"SET SESSION {self._prefix}_lock_wait_timeout = 20")

    def sql(self, statement):
        return statement.replace("@p", self.p).replace("@c", self.c)

    def run(self, session, *statements):
        for statement in statements:
            session.execute(self.sql(statement))

    def meet(self, first, second, end, code):
        """`first`, in an open transaction, makes `second` wait, which then ends with `code`."""
        self.run(self.one, "BEGIN", first)
        waiting = Pending(self.two, self.sql(second)).must_wait()
        self.run(self.one, end)
        self._t.equal(waiting.error_code(), code, f"{first} {end}, {second}")
        self.no_orphan()

    def no_orphan(self, key="k"):
        rows = self.plain.query(self.sql(f"SELECT * FROM @c WHERE p NOT IN (SELECT {key} FROM @p)"))
        self._t.equal(rows, [], "orphans")

    def children(self, expected):
        rows = self.plain.query(self.sql("SELECT id, p FROM @c ORDER BY id"))
        self._t.equal(rows, expected, "children")


def _at_all_levels(t, function, rule="", key="id"):
    pairs = [_Pair(t, level, number, rule, key) for number, level in enumerate(_LEVELS)]
    t.threads([lambda pair=pair: function(pair) for pair in pairs])


def test_child_comes_while_its_parent_goes(t):
    def run(pair):
        pair.meet("DELETE FROM @p WHERE id = 1", "INSERT INTO @c VALUES (1, 1)", "COMMIT",
                  _NO_REFERENCED_ROW)
        pair.meet("DELETE FROM @p WHERE id = 2", "INSERT INTO @c VALUES (2, 2)", "ROLLBACK", 0)
        pair.meet("UPDATE @p SET id = 30 WHERE id = 3", "INSERT INTO @c VALUES (3, 3)", "COMMIT",
                  _NO_REFERENCED_ROW)
        pair.meet("INSERT INTO @p VALUES (4, 4)", "UPDATE @c SET p = 4 WHERE id = 2", "COMMIT", 0)
        pair.meet("INSERT INTO @p VALUES (5, 5)", "INSERT INTO @c VALUES (5, 5)", "ROLLBACK",
                  _NO_REFERENCED_ROW)
        pair.children([(2, 4)])
    _at_all_levels(t, run)


def test_parent_goes_while_a_child_comes(t):
    def run(pair):
        pair.meet("INSERT INTO @c VALUES (1, 1)", "DELETE FROM @p WHERE k = 1", "COMMIT",
                  _ROW_IS_REFERENCED)
        pair.meet("INSERT INTO @c VALUES (2, 2)", "DELETE FROM @p WHERE k = 2", "ROLLBACK", 0)
        pair.meet("UPDATE @c SET p = 3 WHERE id = 1", "UPDATE @p SET k = 33 WHERE id = 3", "COMMIT",
                  _ROW_IS_REFERENCED)
        pair.meet("DELETE FROM @c WHERE id = 1", "DELETE FROM @p WHERE id = 3", "COMMIT", 0)
        pair.children([])
    _at_all_levels(t, run, key="k")


def test_cascades_meet_children_that_come(t):
    def run(pair):
        pair.meet("INSERT INTO @c VALUES (1, 1)", "DELETE FROM @p WHERE k = 1", "COMMIT", 0)
        pair.children([])
        pair.meet("INSERT INTO @c VALUES (2, 2)", "UPDATE @p SET k = 20 WHERE id = 2", "COMMIT", 0)
        pair.children([(2, None)])
        pair.meet("DELETE FROM @p WHERE id = 3", "INSERT INTO @c VALUES (3, 3)", "COMMIT",
                  _NO_REFERENCED_ROW)
    _at_all_levels(t, run, "ON DELETE CASCADE ON UPDATE SET NULL", "k")


def test_checks_see_what_was_committed_last(t):
    """Whatever the snapshot of the transaction shows."""
    def run(pair):
        pair.run(pair.two, "BEGIN", "SELECT * FROM @p", "SELECT * FROM @c")
        try:
            # At SERIALIZABLE those reads locked the rows.
            pair.run(pair.one, f"SET SESSION {pair._prefix}_lock_wait_timeout = 1",
                     "DELETE FROM @p WHERE id = 1")
        except MysqlError as error:
            t.equal(error.code, ER_LOCK_WAIT_TIMEOUT)
            pair.run(pair.two, "COMMIT")
            return
        pair.run(pair.one, "INSERT INTO @p VALUES (4, 4)", "INSERT INTO @c VALUES (2, 2), (3, 3)")
        t.error(pair.sql("INSERT INTO @c VALUES (1, 1)"), _NO_REFERENCED_ROW, pair.two)
        pair.run(pair.two, "INSERT INTO @c VALUES (4, 4)")
        t.error(pair.sql("DELETE FROM @p WHERE id = 2"), _ROW_IS_REFERENCED, pair.two)
        pair.run(pair.two, "COMMIT")
        pair.children([(2, 2), (3, 3), (4, 4)])
    _at_all_levels(t, run)


def test_two_children_of_one_parent_do_not_wait(t):
    def run(pair):
        pair.run(pair.one, "BEGIN", "INSERT INTO @c VALUES (1, 1)")
        pair.run(pair.two, f"SET SESSION {pair._prefix}_lock_wait_timeout = 1", "BEGIN",
                 "INSERT INTO @c VALUES (2, 1)")
        # Both hold the parent's row shared: the first that wants to change it waits.
        t.error(pair.sql("DELETE FROM @p WHERE id = 1"), ER_LOCK_WAIT_TIMEOUT, pair.two)
        pair.run(pair.two, "COMMIT")
        pair.run(pair.one, "COMMIT")
        pair.children([(1, 1), (2, 1)])
    _at_all_levels(t, run)


def test_rows_of_one_table_that_refer_to_each_other(t):
    """The server opens the table a second time for these, on the way."""
    def run(pair):
        pair.run(pair.plain, "CREATE TABLE s_@p (id INT PRIMARY KEY, up INT, "
                 "FOREIGN KEY (up) REFERENCES s_@p (id))",
                 "INSERT INTO s_@p VALUES (1, NULL), (2, NULL), (3, NULL)")
        pair.meet("DELETE FROM s_@p WHERE id = 1", "INSERT INTO s_@p VALUES (4, 1)", "COMMIT",
                  _NO_REFERENCED_ROW)
        pair.meet("INSERT INTO s_@p VALUES (5, 2)", "DELETE FROM s_@p WHERE id = 2", "COMMIT",
                  _ROW_IS_REFERENCED)
        pair.meet("DELETE FROM s_@p WHERE id = 3", "UPDATE s_@p SET up = 3 WHERE id = 5",
                  "ROLLBACK", 0)
    _at_all_levels(t, run)


def test_a_failed_statement_leaves_no_cascade(t):
    t.run("CREATE TABLE p (id INT PRIMARY KEY)",
          "CREATE TABLE c (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES p (id) "
          "ON DELETE CASCADE ON UPDATE CASCADE)",
          "CREATE TABLE g (id INT PRIMARY KEY, FOREIGN KEY (id) REFERENCES c (id))",
          "INSERT INTO p VALUES (1), (2)", "INSERT INTO c VALUES (1, 1), (2, 1), (3, 2)",
          "INSERT INTO g VALUES (3)", "BEGIN", "INSERT INTO p VALUES (9)")
    t.error("DELETE FROM p WHERE id < 9", _ROW_IS_REFERENCED)
    t.rows("SELECT COUNT(*) FROM c", [(3,)])
    t.run("DELETE FROM p WHERE id = 1", "COMMIT")
    t.rows("SELECT * FROM c", [(3, 2)])
    t.check_table("c")


def test_a_lock_that_a_cascade_does_not_get_fails_the_statement(t):
    """The server would go on, with the first child changed and the parent as it was."""
    if t.engine != "ROWAN":
        t.skip("on InnoDB the statement succeeds and leaves an orphan")
    t.run("CREATE TABLE p (id INT PRIMARY KEY)",
          "CREATE TABLE c (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES p (id) "
          "ON DELETE CASCADE ON UPDATE CASCADE)",
          "INSERT INTO p VALUES (1), (2)", "INSERT INTO c VALUES (1, 1), (2, 1)")
    holder, writer = t.client(), t.client()
    holder.execute("BEGIN")
    holder.execute("SELECT * FROM c WHERE id = 2 FOR UPDATE")
    writer.execute("SET SESSION rowan_lock_wait_timeout = 1")
    for statement in ("UPDATE p SET id = 10 WHERE id = 1", "DELETE FROM p WHERE id = 1"):
        t.error(statement, ER_LOCK_WAIT_TIMEOUT, writer)
    holder.execute("COMMIT")
    t.rows("SELECT c.id, c.p FROM c JOIN p ON p.id = c.p ORDER BY 1", [(1, 1), (2, 1)])
    t.check_table("c")


def test_random_writers_leave_no_orphan(t):
    """Parents and children come, move and go in many sessions; cascades of two levels."""
    rule = "ON DELETE CASCADE ON UPDATE CASCADE"
    t.run("CREATE TABLE p (id INT PRIMARY KEY, v INT)",
          f"CREATE TABLE c (id INT PRIMARY KEY AUTO_INCREMENT, p INT, k INT, UNIQUE (k), "
          f"FOREIGN KEY (p) REFERENCES p (id) {rule})",
          f"CREATE TABLE g (id INT PRIMARY KEY AUTO_INCREMENT, k INT, "
          f"FOREIGN KEY (k) REFERENCES c (k) ON DELETE SET NULL ON UPDATE CASCADE)",
          "CREATE TABLE r (id INT PRIMARY KEY AUTO_INCREMENT, p INT, FOREIGN KEY (p) "
          "REFERENCES p (id))")
    templates = ("INSERT IGNORE INTO p VALUES ({a}, 0)", "DELETE FROM p WHERE id = {a}",
                 "INSERT INTO c (p, k) VALUES ({a}, {b})", "INSERT INTO g (k) VALUES ({b})",
                 "INSERT INTO r (p) VALUES ({a})", "DELETE FROM r WHERE p = {a}",
                 "UPDATE p SET id = {a} WHERE id = {b}", "UPDATE c SET k = {a} WHERE k = {b}",
                 "UPDATE c SET p = {a} WHERE p = {b}", "UPDATE r SET p = {a} WHERE id % 20 = {b}",
                 "REPLACE INTO p VALUES ({a}, 1)")
    expected = {_ROW_IS_REFERENCED, _NO_REFERENCED_ROW, ER_LOCK_DEADLOCK, ER_LOCK_WAIT_TIMEOUT,
                1062, 1761}
    deadline = time.monotonic() + (20 if t.long else 2)
    seeds = [t.random.randrange(1 << 30) for _ in range(6)]

    def work(number):
        import random
        numbers, client = random.Random(seeds[number]), t.client()
        client.execute(f"SET SESSION TRANSACTION ISOLATION LEVEL {_LEVELS[number % 4]}")
        while time.monotonic() < deadline:
            statement = numbers.choice(templates).format(a=numbers.randrange(20),
                                                         b=numbers.randrange(20))
            single = numbers.random() < 0.5
            code = client.error_code("BEGIN") if not single else 0
            for text in [statement] if single else [statement, numbers.choice(templates).format(
                    a=numbers.randrange(20), b=numbers.randrange(20))]:
                code = client.error_code(text)
                t.true(code == 0 or code in expected, f"{text}: error {code}")
            if not single:
                client.execute(numbers.choice(("COMMIT", "ROLLBACK")))
    t.threads([lambda n=n: work(n) for n in range(6)])
    for child, column, parent, key in (("c", "p", "p", "id"), ("r", "p", "p", "id"),
                                       ("g", "k", "c", "k")):
        t.rows(f"SELECT * FROM {child} WHERE {column} NOT IN "
               f"(SELECT {key} FROM {parent} WHERE {key} IS NOT NULL)", [])
    for table in "pcgr":
        t.check_table(table)


def _apply(t, log):
    """Runs a binary log on the server under test; returns the errors, empty if all is well."""
    tree = find_tree()
    events = subprocess.run([tree.program("mysqlbinlog"), "--no-defaults", log], check=True,
                            capture_output=True).stdout
    return subprocess.run([tree.program("mysql"), "--no-defaults", f"--socket={t.server.socket}",
                           "-uroot", f"--init-command=SET default_storage_engine={t.engine}"],
                          input=events, capture_output=True).stderr.decode()


def test_a_replica_does_what_its_source_did(t):
    """The binary log has the rows that cascades changed; applying them does not cascade again."""
    source, copy = t.new_server(binlog=True), t.client()
    source.start()
    client = t.client(source)
    for statement in (
            "CREATE TABLE p (id INT PRIMARY KEY)",
            "CREATE TABLE c (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES p (id) "
            "ON DELETE CASCADE ON UPDATE CASCADE)",
            "CREATE TABLE s (id INT PRIMARY KEY, up INT, FOREIGN KEY (up) REFERENCES s (id) "
            "ON DELETE SET NULL)",
            "INSERT INTO p VALUES (1), (2), (3)", "INSERT INTO c VALUES (1, 1), (2, 2), (3, 2)",
            "INSERT INTO s VALUES (1, NULL), (2, 1), (3, 3)",
            "UPDATE p SET id = 10 WHERE id = 1", "DELETE FROM p WHERE id = 2",
            "DELETE FROM s WHERE id = 1", "DELETE FROM s WHERE id = 3",
            "REPLACE INTO p VALUES (3)"):
        client.execute(statement)
    log = source.data / client.value("SHOW BINARY LOG STATUS")
    t.equal(_apply(t, log), "", "errors")
    for table in ("p", "c", "s"):
        query = f"SELECT * FROM {table} ORDER BY id"
        t.equal(copy.query(query), client.query(query), query)
        t.check_table(table, copy)
    t.equal(copy.query("SELECT * FROM c"), [(1, 10)])
    text = subprocess.run([find_tree().program("mysqlbinlog"), "--no-defaults", "-v", log],
                          check=True, capture_output=True, text=True).stdout
    t.equal(text.count("### DELETE FROM"), 1 + 2 + 2 + 1, "deleted rows in the binary log")


def test_a_replica_stops_at_what_its_source_did_not_write_down(t):
    """The source's InnoDB cascades by itself."""
    if t.engine != "ROWAN":
        t.skip("InnoDB then cascades here, too")
    source = t.new_server(("--innodb-native-foreign-keys=ON",), binlog=True)
    source.start()
    client, copy = t.client(source), t.client()
    client.execute("SET default_storage_engine = InnoDB")
    for statement in (
            "CREATE TABLE q (id INT PRIMARY KEY)",
            "CREATE TABLE d (id INT PRIMARY KEY, q INT, FOREIGN KEY (q) REFERENCES q (id))",
            "CREATE TABLE p (id INT PRIMARY KEY)",
            "CREATE TABLE c (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES p (id) "
            "ON DELETE CASCADE)",
            "INSERT INTO q VALUES (1), (2)", "INSERT INTO d VALUES (1, 1)",
            "DELETE FROM q WHERE id = 2", "INSERT INTO p VALUES (1), (2)",
            "INSERT INTO c VALUES (1, 1)", "DELETE FROM p WHERE id = 1"):
        client.execute(statement)
    message = _apply(t, source.data / client.value("SHOW BINARY LOG STATUS"))
    t.true("innodb_native_foreign_keys" in message, f"the message: {message}")
    t.equal(copy.query("SELECT q.id, d.id FROM q JOIN d ON d.q = q.id"), [(1, 1)])
    t.equal(copy.query("SELECT p.id, c.id FROM p LEFT JOIN c ON c.p = p.id ORDER BY 1"),
            [(1, 1), (2, None)])


def _fill(t, rows):
    digits = "(SELECT 0 n UNION SELECT 1 UNION SELECT 2 UNION SELECT 3 UNION SELECT 4)"
    t.run("CREATE TABLE p (id INT PRIMARY KEY)", "INSERT INTO p VALUES (1), (2)",
          "CREATE TABLE c (id INT PRIMARY KEY AUTO_INCREMENT, p INT, FOREIGN KEY (p) "
          "REFERENCES p (id) ON DELETE CASCADE ON UPDATE CASCADE)",
          "CREATE TABLE n (id INT PRIMARY KEY, FOREIGN KEY (id) REFERENCES c (id) "
          "ON DELETE CASCADE)",
          "INSERT INTO c (p) VALUES (1)")
    while t.value("SELECT COUNT(*) FROM c") < rows:
        t.run(f"INSERT INTO c (p) SELECT 1 FROM c, {digits} d")
    t.run("INSERT INTO n SELECT id FROM c")
    return t.value("SELECT COUNT(*) FROM c")


def _killed_during(t, statement, after_s):
    """Whether the statement was finished before the server was killed."""
    client, finished = t.client(), []

    def run():
        try:
            client.execute(statement)
            finished.append(True)
        except ConnectionLost:
            pass
    worker = threading.Thread(target=run)
    worker.start()
    time.sleep(after_s)
    t.server.kill()
    worker.join()
    t.server.start()
    del t._first
    return bool(finished)


def test_a_crash_in_a_cascade_leaves_all_or_nothing(t):
    count = _fill(t, 2000)
    for statement, after_s in (("UPDATE p SET id = 7 WHERE id = 1", 0.01),
                               ("DELETE FROM p WHERE id <> 2", 0.05)):
        finished = _killed_during(t, statement, after_s)
        parents = [row[0] for row in t.run("SELECT id FROM p ORDER BY id")]
        figures = t.run("SELECT p, COUNT(*), (SELECT COUNT(*) FROM n) FROM c GROUP BY p")
        if finished:
            t.true(parents != [1, 2], f"{statement} was committed, and is gone")
        survivors = [key for key in parents if key != 2]
        t.equal(figures, [(key, count, count) for key in survivors], f"after {statement}")
        for table in "pcn":
            t.check_table(table)


def test_a_crash_while_a_key_is_added(t):
    count = _fill(t, 2000)
    t.run("ALTER TABLE c DROP FOREIGN KEY c_ibfk_1")
    _killed_during(t, "ALTER TABLE c ADD CONSTRAINT added FOREIGN KEY (p) REFERENCES p (id)", 0.1)
    added = "CONSTRAINT `added`" in t.run("SHOW CREATE TABLE c")[0][1]
    t.rows("SELECT COUNT(*) FROM c", [(count,)])
    if added:
        t.error("INSERT INTO c (p) VALUES (5)", _NO_REFERENCED_ROW)
    else:
        t.run("INSERT INTO c (p) VALUES (5)", "DELETE FROM c WHERE p = 5",
              "ALTER TABLE c ADD CONSTRAINT added FOREIGN KEY (p) REFERENCES p (id)")
    t.error("DELETE FROM p WHERE id = 1", _ROW_IS_REFERENCED)
    t.check_table("c")
