# SPDX-License-Identifier: GPL-2.0-only
"""rowan_serializable = optimistic: nobody waits for who reads, and circles fail with error 1213."""
import time

from isolation_test import Pending
from rowantools.client import ER_LOCK_DEADLOCK, MysqlError

ER_TABLE_DEF_CHANGED, ER_XA_RBROLLBACK, ER_XA_RBDEADLOCK = 1412, 1402, 1614
_SETTINGS = ("SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE",
             "SET SESSION rowan_serializable = optimistic")


def _session(t, server=None):
    if t.engine != "ROWAN":
        t.skip("InnoDB has no such setting")
    client = t.client(server)
    for statement in _SETTINGS:
        client.execute(statement)
    return client


def _fill(client):
    client.execute("DROP TABLE IF EXISTS a")
    client.execute("CREATE TABLE a (id INT PRIMARY KEY, k INT, u INT, v INT, KEY (k), UNIQUE (u))")
    client.execute("INSERT INTO a VALUES (1, 1, 10, 0), (2, 1, 20, 0), (3, 2, 30, 0)")


def _run(client, *statements):
    for statement in statements:
        client.execute(statement)


# Read by both, then written by the one and by the other: each pair is a circle.
SKEWS = (
    ("SELECT * FROM a", "UPDATE a SET v = 1 WHERE id = 1", "UPDATE a SET v = 1 WHERE id = 2"),
    ("SELECT COUNT(*) FROM a", "INSERT INTO a VALUES (8, 8, 80, 0)", "DELETE FROM a WHERE id = 2"),
    ("SELECT id FROM a WHERE k = 1", "INSERT INTO a VALUES (8, 1, 80, 0)",
     "UPDATE a SET k = 1 WHERE id = 3"),
    ("SELECT * FROM a WHERE id = 9", "INSERT INTO a VALUES (9, 9, 90, 0)",
     "REPLACE INTO a VALUES (9, 1, 20, 7)"),
    ("SELECT v FROM a WHERE u = 20", "UPDATE a SET v = 1 WHERE id = 2",
     "UPDATE a SET v = 2 WHERE u = 20"),
    ("SELECT id FROM a ORDER BY id DESC LIMIT 1", "INSERT INTO a VALUES (8, 8, 80, 0)",
     "INSERT INTO a VALUES (9, 9, 90, 0)"),
    ("SELECT MAX(u) FROM a", "INSERT INTO a VALUES (8, 8, 80, 0)",
     "INSERT INTO a VALUES (9, 9, 90, 0)"),
)
# The same, and no circle: what the one writes the other one has not read.
BESIDE = (
    ("SELECT * FROM a WHERE id = 1", "UPDATE a SET v = 1 WHERE id = 1",
     "UPDATE a SET v = 1 WHERE id = 2"),
    ("SELECT id FROM a ORDER BY id LIMIT 1", "INSERT INTO a VALUES (8, 8, 80, 0)",
     "INSERT INTO a VALUES (9, 9, 90, 0)"),
    ("SELECT id FROM a FORCE INDEX (k) WHERE k = 1", "UPDATE a SET v = 1 WHERE id = 3",
     "INSERT INTO a VALUES (8, 3, 80, 0)"),
)


def _play(one, two, read, write, other_write):
    """The error that one of them met, or 0."""
    _run(one, "BEGIN", read)
    _run(two, "BEGIN", read)
    codes = [one.error_code(write)]
    if codes == [0]:
        waiting = Pending(two, other_write)  # both may write one row: then it waits for the commit
        waiting.is_done(0.2)
        codes += [one.error_code("COMMIT"), waiting.error_code()]
    codes += [two.error_code("COMMIT")]
    return max(codes)


def test_circles_are_broken(t):
    one, two = _session(t), _session(t)
    for skew in SKEWS:
        _fill(one)
        t.equal(_play(one, two, *skew), ER_LOCK_DEADLOCK, f"{skew}")
        t.check_table("a", one)


def test_what_makes_no_circle_commits(t):
    one, two = _session(t), _session(t)
    for steps in BESIDE:
        _fill(one)
        t.equal(_play(one, two, *steps), 0, f"{steps}")


def test_nobody_waits_for_a_reader(t):
    reader, writer = _session(t), _session(t)
    _fill(reader)
    _run(reader, "BEGIN", "SELECT * FROM a")
    Pending(writer, "UPDATE a SET v = 1").must_finish()
    t.equal(reader.query("SELECT MAX(v) FROM a"), [(0,)])
    t.equal(reader.error_code("COMMIT"), 0, "who only reads comes before")
    reader.execute("SET SESSION rowan_serializable = locking")
    _run(reader, "BEGIN", "SELECT * FROM a")
    waiting = Pending(writer, "UPDATE a SET v = 2").must_wait()
    reader.execute("COMMIT")
    waiting.must_finish()


def _fails_at_commit(t, server=None):
    one, two = _session(t, server), _session(t, server)
    _fill(one)
    _run(one, "BEGIN", "SELECT * FROM a", "UPDATE a SET v = 1 WHERE id = 1")
    _run(two, "BEGIN", "SELECT * FROM a", "UPDATE a SET v = 1 WHERE id = 2")
    one.execute("COMMIT")
    t.equal(two.error_code("COMMIT"), ER_LOCK_DEADLOCK)
    # All of it is over and undone, and trying it again works.
    t.equal(two.query("SELECT v FROM a"), [(1,), (0,), (0,)])
    _run(two, "BEGIN", "SELECT * FROM a", "UPDATE a SET v = 1 WHERE id = 2", "COMMIT")
    t.equal(one.query("SELECT v FROM a"), [(1,), (1,), (0,)])
    # A statement of its own fails as a statement.
    _run(one, "BEGIN", "SELECT * FROM a WHERE id = 3", "UPDATE a SET v = 3 WHERE id = 1")
    t.equal(two.error_code("UPDATE a SET v = 4 WHERE id = 3"), 0)
    t.equal(one.error_code("COMMIT"), 0)


def test_a_commit_that_fails_has_undone_everything(t):
    _session(t)
    before = int(dict(t.run("SHOW STATUS LIKE 'Rowan_serialization_failures'")).popitem()[1])
    _fails_at_commit(t)
    after = int(dict(t.run("SHOW STATUS LIKE 'Rowan_serialization_failures'")).popitem()[1])
    t.equal(after - before, 1)


def test_the_binary_log_has_what_committed(t):
    _session(t)
    server = t.new_server(binlog=True)
    server.start()
    _fails_at_commit(t, server)


def test_xa_prepare_decides(t):
    one, two = _session(t), _session(t)
    _fill(one)
    _run(one, "XA START 'one'", "SELECT * FROM a", "UPDATE a SET v = 1 WHERE id = 1",
         "XA END 'one'", "XA PREPARE 'one'")
    _run(two, "XA START 'two'", "SELECT * FROM a WHERE id = 1")
    code = two.error_code("UPDATE a SET v = 1 WHERE id = 2")
    t.equal(code, ER_LOCK_DEADLOCK, "the prepared one must be able to commit")
    two.error_code("XA END 'two'")
    t.equal(two.error_code("XA ROLLBACK 'two'"), 0)
    _run(one, "XA COMMIT 'one'")

    _run(one, "XA START 'one'", "SELECT * FROM a", "UPDATE a SET v = 2 WHERE id = 1")
    _run(two, "XA START 'two'", "SELECT * FROM a", "UPDATE a SET v = 2 WHERE id = 2")
    _run(one, "XA END 'one'", "XA PREPARE 'one'")
    two.execute("XA END 'two'")
    code = two.error_code("XA PREPARE 'two'")
    t.true(code in (ER_LOCK_DEADLOCK, ER_XA_RBROLLBACK, ER_XA_RBDEADLOCK), f"XA PREPARE: {code}")
    two.error_code("XA ROLLBACK 'two'")
    _run(one, "XA COMMIT 'one'")
    t.equal(one.query("SELECT v FROM a"), [(2,), (0,), (0,)])
    _run(two, "BEGIN", "UPDATE a SET v = 9 WHERE id = 2", "COMMIT")


def test_a_prepared_transaction_keeps_its_conflicts_over_a_crash(t):
    _session(t)
    server = t.new_server()
    server.start()
    one, two = _session(t, server), _session(t, server)
    _fill(one)
    # It reads row 1, which another changes and commits, and changes row 2.
    _run(one, "XA START 'one'", "SELECT v FROM a WHERE id = 1", "UPDATE a SET v = 1 WHERE id = 2",
         "XA END 'one'", "XA PREPARE 'one'")
    _run(two, "BEGIN", "UPDATE a SET v = 1 WHERE id = 1", "COMMIT")
    server.kill()
    server.start()
    # Who sees the change of row 1 and not that of row 2 comes before and after the prepared one.
    for statement in ("BEGIN", "START TRANSACTION READ ONLY"):
        reader = _session(t, server)
        _run(reader, statement, "SELECT v FROM a WHERE id = 1")
        t.equal(reader.error_code("SELECT v FROM a WHERE id = 2"), ER_LOCK_DEADLOCK, statement)
    plain = t.client(server)
    t.equal(plain.query("SELECT v FROM a WHERE id < 3"), [(1,), (0,)], "no concern of its level")
    reader = _session(t, server)
    _run(reader, "BEGIN", "SELECT v FROM a WHERE id = 3", "UPDATE a SET v = 3 WHERE id = 3",
         "COMMIT")
    plain.execute("XA COMMIT 'one'")
    t.equal(reader.query("SELECT v FROM a"), [(1,), (1,), (3,)])


# A unique value that another has for a while, and then gives up.
CAME_AND_WENT = (
    ("UPDATE a SET u = 5 WHERE id = 2", "UPDATE a SET u = 20 WHERE id = 2"),
    ("INSERT INTO a VALUES (9, 9, 5, 0)", "DELETE FROM a WHERE id = 9"),
    ("REPLACE INTO a VALUES (2, 1, 5, 0)", "REPLACE INTO a VALUES (2, 1, 20, 0)"),
    ("SAVEPOINT s", "INSERT INTO a VALUES (8, 8, 5, 0)", "ROLLBACK TO s"),
    ("SAVEPOINT s", "INSERT INTO a VALUES (9, 9, 90, 0)", "ROLLBACK TO s"),
)


def test_what_came_and_went_was_seen(t):
    one, two = _session(t), _session(t)
    for steps in CAME_AND_WENT:
        for insert in ("INSERT INTO", "INSERT IGNORE INTO", "REPLACE INTO"):
            _fill(one)
            _run(one, "BEGIN", "SELECT v FROM a WHERE id = 1")
            # Before the savepoint: one that is older than an engine's part ends that part.
            _run(two, "BEGIN", "SELECT v FROM a WHERE id = 3", *steps,
                 "UPDATE a SET v = 1 WHERE id = 1", "COMMIT")
            codes = [one.error_code(f"{insert} a VALUES (9, 9, 5, 0)"), one.error_code("COMMIT")]
            t.equal(max(codes), ER_LOCK_DEADLOCK, f"{steps}, {insert}")


def test_definitions_change_beside(t):
    """What was read by an index that is gone, or in a table made anew, is not known any more."""
    one, two, other = _session(t), _session(t), t.client()
    for change in ("ALTER TABLE a DROP KEY k", "ALTER TABLE a FORCE", "TRUNCATE TABLE a",
                   "ALTER TABLE a DROP COLUMN k"):
        _fill(one)
        _run(one, "DROP TABLE IF EXISTS x", "CREATE TABLE x (id INT PRIMARY KEY, v INT)",
             "INSERT INTO x VALUES (1, 0)")
        _run(two, "BEGIN", "SELECT v FROM x WHERE id = 1")
        _run(one, "BEGIN", "SELECT COUNT(*) FROM a FORCE INDEX (k) WHERE k = 8",
             "UPDATE x SET v = 1 WHERE id = 1", "COMMIT")
        other.execute(change)
        row = "(8, 80, 0)" if "COLUMN" in change else "(8, 8, 80, 0)"
        code = two.error_code(f"INSERT INTO a VALUES {row}")
        t.true(code in (ER_LOCK_DEADLOCK, ER_TABLE_DEF_CHANGED), f"{change}: {code}")
        two.execute("ROLLBACK")
        _run(two, "BEGIN", f"INSERT INTO a VALUES {row}", "COMMIT")
    # What was changed before a table was made anew is not lost either.
    for level in ("SERIALIZABLE", "REPEATABLE READ"):
        _fill(one)
        two.execute(f"SET SESSION TRANSACTION ISOLATION LEVEL {level}")
        _run(two, "SET SESSION rowan_snapshot_isolation = ON", "BEGIN", "SELECT v FROM x")
        _run(other, "UPDATE a SET v = v + 1", "ALTER TABLE a FORCE")
        t.equal(two.error_code("UPDATE a SET v = v + 1"), ER_TABLE_DEF_CHANGED, level)
        two.execute("ROLLBACK")


def test_many_reads_are_in_nobodys_way(t):
    one, two = _session(t), _session(t)
    one.execute("CREATE TABLE b (id INT PRIMARY KEY, v INT)")
    one.execute("INSERT INTO b WITH RECURSIVE n AS (SELECT 0 i UNION ALL SELECT i + 1 FROM n "
                "WHERE i < 999) SELECT i * 10, 0 FROM n")
    _fill(one)
    one.execute("BEGIN")
    for row in range(600):
        one.execute(f"SELECT v FROM b WHERE id = {row * 10}")
    _run(two, "BEGIN", "SELECT v FROM a WHERE id = 1", "UPDATE b SET v = 1 WHERE id = 9000",
         "INSERT INTO b VALUES (15, 0)")
    _run(one, "UPDATE a SET v = 1 WHERE id = 1", "COMMIT")
    t.equal(two.error_code("COMMIT"), 0)


def test_the_setting(t):
    client = _session(t)
    _fill(client)
    t.error("SET SESSION rowan_serializable = other", 1231, client)
    t.equal(client.query("SELECT @@SESSION.rowan_serializable, @@GLOBAL.rowan_serializable"),
            [("optimistic", "locking")])
    other = _session(t)
    # From the next transaction on, and below SERIALIZABLE not at all.
    _run(client, "BEGIN", "SELECT * FROM a", "SET SESSION rowan_serializable = locking")
    Pending(other, "UPDATE a SET v = 1").must_finish()
    t.equal(client.query("SELECT MAX(v) FROM a"), [(0,)])
    client.execute("COMMIT")
    for level in ("READ COMMITTED", "REPEATABLE READ"):
        one, two = _session(t), _session(t)
        for each in (one, two):
            each.execute(f"SET SESSION TRANSACTION ISOLATION LEVEL {level}")
        _fill(one)
        t.equal(_play(one, two, *SKEWS[0]), 0, level)
    # Definitions change as ever.
    _run(other, "ALTER TABLE a ADD COLUMN w INT", "CREATE TABLE b SELECT * FROM a",
         "ALTER TABLE b ENGINE = ROWAN, ALGORITHM = COPY", "TRUNCATE b", "DROP TABLE b")


def test_money_moves_and_stays(t):
    """Transfers that keep each pair's sum at or above zero by reading both accounts."""
    setup = _session(t)
    setup.execute("CREATE TABLE a (id INT PRIMARY KEY, v INT)")
    setup.execute("INSERT INTO a VALUES (0, 50), (1, 50), (2, 50), (3, 50)")
    done, refused = [0] * 4, [0] * 4

    def work(number):
        client, end = _session(t), time.monotonic() + 1.5
        choice = t.random.__class__(number)
        while time.monotonic() < end or not any(done):  # something commits
            account, amount = choice.randrange(4), choice.randrange(-60, 80)
            try:
                client.execute("BEGIN")
                pair = client.query(f"SELECT id, v FROM a WHERE id IN ({account}, {account ^ 1})")
                if sum(value for _, value in pair) - amount >= 0:
                    mine = dict(pair)[account]
                    client.execute(f"UPDATE a SET v = {mine - amount} WHERE id = {account}")
                client.execute("COMMIT")
                done[number] += 1
            except MysqlError as error:
                if error.code != ER_LOCK_DEADLOCK:
                    raise
                refused[number] += 1

    def watch():
        client, end = _session(t), time.monotonic() + 1.5
        while time.monotonic() < end:
            values = dict(client.query("SELECT id, v FROM a"))
            t.true(values[0] + values[1] >= 0 and values[2] + values[3] >= 0, f"{values}")
    t.threads([lambda number=number: work(number) for number in range(4)] + [watch])
    print(f"{sum(done)} done, {sum(refused)} refused")
