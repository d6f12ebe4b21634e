# SPDX-License-Identifier: GPL-2.0-only
"""Statistics of tables: counted, kept across restarts, never taken inside a statement; and plans
that depend on them."""
import pytest

_OPTIONS = ["--information-schema-stats-expiry=0"]
pytestmark = pytest.mark.server(options=_OPTIONS)


def _figures(client, table):
    """Row count and cardinalities by index and part."""
    rows = client.value("SELECT table_rows FROM information_schema.tables WHERE "
                        f"table_schema = DATABASE() AND table_name = '{table}'")
    return rows, client.query("SELECT index_name, seq_in_index, cardinality FROM "
                              "information_schema.statistics WHERE table_schema = DATABASE() AND "
                              f"table_name = '{table}' ORDER BY 1, 2")


def _fill(client, table, rows, options=""):
    client.execute(f"CREATE TABLE {table} (id INT PRIMARY KEY, few INT, many INT, v CHAR(100), "
                   f"KEY few (few, many), KEY many (many)) {options}")
    client.execute("SET SESSION cte_max_recursion_depth = 1000000")
    client.execute(f"INSERT INTO {table} WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 "
                   f"FROM n WHERE i < {rows}) SELECT i, i % 10, i DIV 4, 'v' FROM n")


def test_an_empty_table_has_cardinalities_of_zero(t):
    for engine in (t.engine, "InnoDB"):
        t.run("DROP TABLE IF EXISTS e",
              "CREATE TABLE e (id INT PRIMARY KEY, a INT, b VARCHAR(20), c TEXT, "
              "g POINT NOT NULL SRID 0, UNIQUE (a), KEY (b, a), FULLTEXT (c), SPATIAL (g), "
              f"KEY ((a + 1))) ENGINE={engine}")
        cardinalities = [row[6] for row in t.run("SHOW INDEX FROM e")]
        t.equal(cardinalities, [0] * 7, engine)


def test_skip_scans_before_anything_is_counted(t):
    """The parts of the primary key behind an index's own: the server guesses them to be none."""
    for rows in (120, 150, 200, 250, 290):
        t.run("DROP TABLE IF EXISTS young")
        _fill(t.client(), "young", rows)
        t.equal(len(t.run("SELECT /*+ SKIP_SCAN(young few) */ id FROM young WHERE id < 45")), 44)


def test_each_document_counts_in_a_fulltext_index(t):
    for engine in (t.engine, "InnoDB"):
        t.run("DROP TABLE IF EXISTS d", "CREATE TABLE d (id INT PRIMARY KEY, a TEXT, b TEXT, "
              f"FULLTEXT (a, b)) ENGINE={engine}",
              "INSERT INTO d VALUES (1, 'same', 'word'), (2, 'same', 'word'), (3, 'same', NULL)",
              "ANALYZE TABLE d")
        t.equal([row[6] for row in t.run("SHOW INDEX FROM d")], [3] * 3, engine)


def test_small_tables_are_counted_and_kept(t):
    server = t.new_server(options=_OPTIONS)
    server.start()
    client = t.client(server)
    _fill(client, "small", 3000)
    client.execute("DELETE FROM small WHERE id > 2000")
    client.execute("ANALYZE TABLE small")
    exact = (2000, [("few", 1, 10), ("few", 2, 2000), ("many", 1, 501), ("PRIMARY", 1, 2000)])
    t.equal(_figures(client, "small"), exact)
    _fill(client, "temporary", 100, "STATS_PERSISTENT=0")
    client.execute("ANALYZE TABLE temporary")
    for end in (server.kill, server.stop):
        client.execute("INSERT INTO small VALUES (5000, 1, 1, 'late')")
        client.execute("DELETE FROM small WHERE id = 5000")
        if end is server.kill:  # the statistics of a crash are those of its last second or so
            client.value("SELECT ROWAN_WAIT_DURABLE(ROWAN_SESSION_LSN(), 30)")
        end()
        server.start()
        client = t.client(server)
        t.equal(_figures(client, "small"), exact)
    client.execute("DROP TABLE small")
    client.execute("CREATE TABLE small (id INT PRIMARY KEY)")
    t.equal(_figures(client, "small")[0], 0)


def test_statements_count_nothing(t):
    """A table that nobody has counted yet, and nothing of it in memory: who uses it reads what it
    asks for, not the leaves of all indexes."""
    if t.engine != "ROWAN":
        t.skip("counts reads of Rowan's files")
    server = t.new_server(options=("--performance-schema=ON",))
    server.start()
    _fill(t.client(server), "cold", 20000, "STATS_PERSISTENT=0")
    server.restart()
    client = t.client(server)
    client.query("SELECT v FROM cold WHERE id = 5")
    client.query("SELECT COUNT(*) FROM cold WHERE few = 3 AND many = 7")
    reads = int(client.value(
        "SELECT SUM(count_star) FROM "
        "performance_schema.events_waits_summary_by_thread_by_event_name"
        " JOIN performance_schema.threads USING (thread_id) WHERE processlist_id = CONNECTION_ID() "
        "AND event_name = 'wait/io/file/rowan/data_file'"))
    t.true(reads < 40, f"{reads} reads")  # whoever counts may have read them all before


def test_what_a_crash_loses_is_counted_again(t):
    server = t.new_server(options=_OPTIONS)
    server.start()
    client = t.client(server)
    client.execute("CREATE TABLE young (id INT PRIMARY KEY, k INT, KEY (k))")
    client.execute("ANALYZE TABLE young")
    client.execute("INSERT INTO young WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 "
                   "FROM n WHERE i < 900) SELECT i, i % 10 FROM n")
    server.kill()
    server.start()
    client = t.client(server)
    t.equal(client.value("SELECT COUNT(*) FROM young"), 900)
    counted = (900, [("k", 1, 10), ("PRIMARY", 1, 900)])
    t.wait_for(lambda: _figures(client, "young") == counted, "they are counted")


def test_background_counts_changed_tables(t):
    client = t.client()
    _fill(client, "grown", 2000)
    _fill(client, "left_alone", 2000, "STATS_AUTO_RECALC=0")
    exact = (2000, [("few", 1, 10), ("few", 2, 2000), ("many", 1, 501), ("PRIMARY", 1, 2000)])
    t.wait_for(lambda: _figures(client, "grown") == exact, "the background counts")
    client.execute("ANALYZE TABLE left_alone")
    client.execute("INSERT INTO left_alone SELECT id + 2000, few, 1, v FROM left_alone")
    client.execute("INSERT INTO grown SELECT id + 2000, few, many + 1000, v FROM grown")
    client.execute("INSERT INTO grown SELECT id + 4000, few, many + 2000, v FROM grown")
    t.wait_for(lambda: _figures(client, "grown")[1][2][2] == 2004, "it counts again")
    rows, cardinalities = _figures(client, "left_alone")
    # Shown is rows by rows per key, which are those of before: a new count finds 501 again.
    t.equal((rows, cardinalities[2][2]), (4000, 1002), "counted once")
    for table in ("grown", "left_alone"):
        client.execute(f"SELECT COUNT(*) FROM {table} WHERE few = 3 AND many = 7")


def test_update_time(t):
    client, other = t.client(), t.client()
    statement = ("SELECT update_time IS NOT NULL AND update_time <= NOW() AND "
                 "update_time > NOW() - INTERVAL 1 MINUTE FROM information_schema.tables WHERE "
                 "table_schema = DATABASE() AND table_name = 'changed'")
    client.execute("CREATE TABLE changed (id INT PRIMARY KEY)")
    client.execute("BEGIN")
    client.execute("INSERT INTO changed VALUES (1)")
    t.equal(other.value(statement), 0, "before the commit")
    client.execute("ROLLBACK")
    t.equal(other.value(statement), 0, "after a rollback")
    client.execute("INSERT INTO changed VALUES (1)")
    t.equal(other.value(statement), 1, "after a commit")


def test_multi_range_read(t):
    """The same plans as InnoDB's, the same rows as without."""
    client = t.client()
    _fill(client, "r", 5000)
    client.execute("CREATE TABLE no_key (a INT, b INT, KEY (a))")
    client.execute("INSERT INTO no_key SELECT many % 97, id FROM r")
    client.execute("ANALYZE TABLE r, no_key")
    client.execute("SET SESSION optimizer_switch = 'mrr=on,mrr_cost_based=off,"
                   "batched_key_access=on'")
    queries = (
        ("r", "SELECT {} id, v FROM r FORCE INDEX (many) WHERE many BETWEEN 100 AND 300 "
              "AND v <> 'x'"),
        ("r", "SELECT {} id, v FROM r FORCE INDEX (few) WHERE few IN (1, 3) AND many % 5 = 2"),
        ("no_key", "SELECT {} * FROM no_key FORCE INDEX (a) WHERE a BETWEEN 3 AND 9"),
        ("r", "SELECT {} id, v FROM r FORCE INDEX (many) WHERE many BETWEEN 100 AND 120 "
              "AND v <> 'x' FOR UPDATE"))
    for table, query in queries:
        plan = client.query("EXPLAIN FORMAT=TRADITIONAL " + query.format(f"/*+ MRR({table}) */"))
        t.true("Using MRR" in plan[-1][-1], f"{query}: {plan}")
        with_mrr = sorted(client.query(query.format(f"/*+ MRR({table}) */")))
        without = sorted(client.query(query.format(f"/*+ NO_MRR({table}) */")))
        t.equal(with_mrr, without, query)
        t.true(with_mrr, f"{query}: no rows")
    join = ("SELECT {} a.id, b.id, b.v FROM r a STRAIGHT_JOIN r b FORCE INDEX (many) "
            "ON b.many = a.few WHERE a.id < 300")
    plan = client.query("EXPLAIN FORMAT=TRADITIONAL " + join.format("/*+ BKA(b) */"))
    t.true("Batched Key Access" in plan[-1][-1], str(plan))
    t.equal(sorted(client.query(join.format("/*+ BKA(b) */"))),
            sorted(client.query(join.format("/*+ NO_BKA(b) NO_BNL(b) */"))), join)
    client.execute("UPDATE /*+ MRR(r) */ r FORCE INDEX (many) SET v = 'new' "
                   "WHERE many BETWEEN 10 AND 40 AND few < 5")
    t.equal(client.query("SELECT COUNT(*) FROM r WHERE v = 'new'"),
            client.query("SELECT COUNT(*) FROM r WHERE many BETWEEN 10 AND 40 AND few < 5"))
    client.execute("SET SESSION optimizer_switch = 'default'")
    plan = client.query("EXPLAIN FORMAT=TRADITIONAL SELECT id, v FROM r FORCE INDEX (many) "
                        "WHERE many BETWEEN 100 AND 300")
    t.true("Using MRR" not in plan[-1][-1], f"chosen for a table in memory: {plan}")


_HISTOGRAM = ("SELECT JSON_REMOVE(histogram, '$.\"last-updated\"') FROM "
              "information_schema.column_statistics WHERE schema_name = DATABASE() AND "
              "table_name = '{}' ORDER BY column_name")


def _reads_of(client, statement):
    """How many rows and leaves it reads."""
    def counters():
        return [int(client.query(f"SHOW GLOBAL STATUS LIKE 'Rowan_{name}'")[0][1])
                for name in ("rows_read", "leaves_all_visible")]
    before = counters()
    client.query(statement)
    return [after - first for after, first in zip(counters(), before)]


def test_histograms_of_whole_tables(t):
    """The same as InnoDB's, of one leaf, of many and of partitions."""
    client = t.client()
    for rows, options in ((0, ""), (50, ""), (8000, ""), (3000, "PARTITION BY HASH (id) "
                                                                "PARTITIONS 4")):
        found = []
        for engine in (t.engine, "InnoDB"):
            client.execute("DROP TABLE IF EXISTS h")
            _fill(client, "h", rows, f"ENGINE={engine} {options}")
            if rows == 0:
                client.execute("DELETE FROM h")
            client.execute("ANALYZE TABLE h UPDATE HISTOGRAM ON few, many, v WITH 20 BUCKETS")
            found.append(client.query(_HISTOGRAM.format("h")))
        t.equal(found[0], found[1], f"{rows} rows {options}")


def test_histograms_by_samples(t):
    """Of a large table the share of leaves is read that the server has memory for."""
    if t.engine != "ROWAN":
        t.skip("about our counters")
    client = t.client()
    rows = 24000
    client.execute("SET SESSION cte_max_recursion_depth = 1000000, "
                   "histogram_generation_max_mem_size = 1000000")
    for table, options in (("one", ""), ("parts", "PARTITION BY KEY (id) PARTITIONS 3")):
        client.execute(f"CREATE TABLE {table} (id INT PRIMARY KEY, k BIGINT, l BIGINT, "
                       f"pad VARCHAR(500)) {options}")
        client.execute(f"INSERT INTO {table} WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT "
                       f"i + 1 FROM n WHERE i < {rows}) SELECT i, i % 1000, i % 7, "
                       "REPEAT('p', 400) FROM n")
        client.execute(f"ANALYZE TABLE {table}")
        _, all_leaves = _reads_of(client, f"SELECT SUM(LENGTH(pad)) FROM {table}")
        read, leaves = _reads_of(client, f"ANALYZE TABLE {table} UPDATE HISTOGRAM ON k, l")
        share = float(client.value(
            "SELECT histogram->>'$.\"sampling-rate\"' FROM information_schema.column_statistics "
            f"WHERE schema_name = DATABASE() AND table_name = '{table}' AND column_name = 'k'"))
        t.true(share < 0.7, f"the server samples: {share}")
        for what, count, of in (("rows", read, rows), ("leaves", leaves, all_leaves)):
            t.true(share / 2 < count / of < share * 1.4,
                   f"{table}: {count} of {of} {what} read for a share of {share}")


def test_no_definition_files(t):
    """Nothing per table outside of the engine's folder, which a crash could leave there."""
    if t.engine != "ROWAN":
        t.skip("about our files")
    client = t.client()
    client.execute("CREATE TABLE alone (id INT PRIMARY KEY)")
    client.execute("ALTER TABLE alone ADD COLUMN a INT")
    t.equal([path.name for path in (t.server.data / t.database).iterdir()], [])
    client.execute("RENAME TABLE alone TO renamed")
    client.execute("DROP TABLE renamed")
