# SPDX-License-Identifier: GPL-2.0-only
"""Who keeps old row versions, and what goes although somebody does."""


def _status(t, name):
    return t.run(f"SHOW GLOBAL STATUS LIKE 'Rowan_{name}'")[0][1]


def _fill(t, rows):
    t.run(f"CREATE TABLE q (id INT PRIMARY KEY, k INT, KEY (k)) ENGINE = {t.engine}",
          "INSERT INTO q VALUES " + ", ".join(f"({n}, {n % 10})" for n in range(rows)))


def test_the_oldest_snapshot_is_named(t):
    _fill(t, 100)
    reader = t.client()
    reader.execute("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ")
    reader.execute("BEGIN")
    t.equal(reader.value("SELECT COUNT(*) FROM q"), 100)
    thread = reader.value("SELECT CONNECTION_ID()")
    t.run("UPDATE q SET k = k + 1")
    t.wait_for(lambda: int(_status(t, "row_versions_kept")) >= 100, "versions that are kept")
    t.wait_for(lambda: int(_status(t, "oldest_snapshot_age")) >= 1, "the snapshot's age")
    t.equal(int(_status(t, "oldest_snapshot_thread")), thread)
    t.wait_for(lambda: int(_status(t, "purge_lag")) == 0, "what a snapshot keeps is no lag")
    t.run("SELECT GET_LOCK('report', 0)")
    reader.send("SELECT GET_LOCK('report', 600), 'a report' FROM q LIMIT 1")
    t.wait_for(lambda: "a report" in t.run("SHOW ENGINE ROWAN STATUS")[0][2], "its statement")
    report = t.run("SHOW ENGINE ROWAN STATUS")[0][2]
    t.true(f"oldest snapshot: thread {thread}, open for" in report, "the report names it")
    t.run("SELECT RELEASE_LOCK('report')")
    reader.receive()
    # The server holds the session's own lock meanwhile.
    t.equal(reader.query("SHOW STATUS LIKE 'Rowan_oldest_snapshot_thread'")[0][1], str(thread))
    reader.execute("COMMIT")
    t.wait_for(lambda: int(_status(t, "row_versions_kept")) == 0, "purge")
    t.wait_for(lambda: int(_status(t, "history_list_length")) == 0, "purge of all")


def test_what_came_and_went_beside_it_goes(t):
    _fill(t, 10)
    reader = t.client()
    reader.execute("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ")
    reader.execute("BEGIN")
    t.equal(reader.value("SELECT COUNT(*) FROM q"), 10)
    before = int(_status(t, "purged_entries"))
    for number in range(50):
        t.run(f"INSERT INTO q VALUES ({1000 + number}, 1)",
              f"DELETE FROM q WHERE id = {1000 + number}")
    t.wait_for(lambda: int(_status(t, "purged_entries")) >= before + 100,
               "50 rows and their entries are gone before the snapshot")
    t.equal(reader.query("SELECT COUNT(*), SUM(k) FROM q FORCE INDEX (k)"), [(10, "45")])
    t.run("DELETE FROM q")
    t.equal(reader.query("SELECT COUNT(*), SUM(k) FROM q FORCE INDEX (k)"), [(10, "45")])
    reader.execute("COMMIT")


def _leaves(t, index):
    return int(t.value("SELECT LEAF_PAGES FROM INFORMATION_SCHEMA.ROWAN_INDEXES WHERE "
                       f"TABLE_NAME = 'w' AND INDEX_NAME = '{index}'"))


def test_entries_lose_the_ids_of_their_creators(t):
    t.run("CREATE TABLE w (id INT PRIMARY KEY, k INT NOT NULL, v INT NOT NULL, KEY loaded (k)) "
          f"ENGINE = {t.engine}")
    before = int(_status(t, "entries_shortened"))
    reader = t.client()
    for batch in range(12):
        t.run("INSERT INTO w VALUES " + ", ".join(
            f"({1000 * batch + n}, {t.random.randrange(1 << 30)}, 1)" for n in range(1000)))
        if batch == 8:
            reader.execute("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            reader.execute("BEGIN")
            t.equal(reader.value("SELECT COUNT(*) FROM w FORCE INDEX (loaded)"), 9000)
        elif batch < 8:
            # Every snapshot, also those that come, sees what this batch did.
            t.wait_for(lambda: int(_status(t, "history_list_length")) == 0, "purge")
    shortened = int(_status(t, "entries_shortened")) - before
    t.true(shortened > 2000, f"{shortened} entries lost an id")
    # What the snapshot does not see it does not see without ids either.
    t.equal(reader.query("SELECT COUNT(*) FROM w FORCE INDEX (loaded) WHERE k >= 0"), [(9000,)])
    t.equal(reader.query("SELECT COUNT(k + v) FROM w FORCE INDEX (loaded)"), [(9000,)])
    reader.execute("COMMIT")
    t.run("ALTER TABLE w ADD INDEX built (k)", "ANALYZE TABLE w")
    print(f"{shortened} of 12000 entries lost an id; leaves: {_leaves(t, 'loaded')} loaded, "
          f"{_leaves(t, 'built')} built")
    t.equal(t.run("SELECT COUNT(*), SUM(k) FROM w FORCE INDEX (loaded)"),
            t.run("SELECT COUNT(*), SUM(k) FROM w FORCE INDEX (PRIMARY)"))
    t.equal(t.run("CHECK TABLE w")[0][3], "OK")


def test_the_lag_that_slows_writers_is_set(t):
    t.equal(t.value("SELECT @@GLOBAL.rowan_max_purge_lag"), 1000000)
    t.run("SET GLOBAL rowan_max_purge_lag = 1000")
    _fill(t, 2000)
    t.run("UPDATE q SET k = k + 1", "DELETE FROM q")
    t.wait_for(lambda: int(_status(t, "purge_lag")) == 0, "purge catches up")
    t.run("SET GLOBAL rowan_max_purge_lag = DEFAULT")
    t.error("SET GLOBAL rowan_max_purge_lag = -1", 1231)
