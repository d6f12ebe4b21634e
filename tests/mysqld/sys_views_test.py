# SPDX-License-Identifier: GPL-2.0-only
"""The views of rowan_sys (tools/sys/rowan_sys.sql)."""
import re
import subprocess

import pytest

from framework import ENGINE, ROOT, Client

pytestmark = [pytest.mark.server(options=("--performance-schema=ON",)),
              pytest.mark.skipif(ENGINE != "ROWAN", reason="about Rowan's tables")]
_SCRIPT = ROOT / "tools/sys/rowan_sys.sql"
_WITH_TWINS = ("io_by_cause", "lock_waits", "memory", "schema_index_statistics",
               "schema_table_statistics", "schema_unused_indexes")
_ALONE = ("metrics", "version")
_BYTES = re.compile(r" *[\d.]+ (bytes|[KMGT]iB)")


@pytest.fixture(autouse=True)
def _views(t):
    """As an operator creates them; again for each test, as an upgrade does."""
    with open(_SCRIPT) as script:
        result = subprocess.run(
            [str(t.server.tree.program("mysql")), "--no-defaults", f"--socket={t.server.socket}",
             "--user=root"], stdin=script, capture_output=True, text=True)
    t.equal((result.returncode, result.stderr), (0, ""))


def _one(t, view, condition="TRUE"):
    """Its only row, as a dictionary."""
    result = t.client().execute(f"SELECT * FROM rowan_sys.`{view}` WHERE {condition}")
    t.equal(len(result.rows), 1, f"rows of {view}: {result.rows}")
    return dict(zip(result.columns, result.rows[0]))


def test_each_view_answers_and_has_its_twin(t):
    views = {*_ALONE, *_WITH_TWINS, *(f"x${name}" for name in _WITH_TWINS)}
    t.equal({row[0] for row in t.run("SELECT table_name FROM information_schema.views WHERE "
                                     "table_schema = 'rowan_sys'")}, views)
    for view in views:
        t.run(f"SELECT * FROM rowan_sys.`{view}`")
    t.equal(_one(t, "version")["mysql_version"], t.value("SELECT VERSION()"))


def test_what_a_reader_needs(t):
    """Without SELECT on the tables themselves, too."""
    t.run("DROP USER IF EXISTS monitor", "CREATE USER monitor", "GRANT PROCESS ON *.* TO monitor",
          "GRANT SELECT ON performance_schema.* TO monitor",
          "GRANT SELECT, EXECUTE ON rowan_sys.* TO monitor",
          "GRANT SELECT, EXECUTE ON sys.* TO monitor",
          "CREATE TABLE seen (id INT PRIMARY KEY)", "INSERT INTO seen VALUES (5)")
    holder, waiting = t.client(), t.client()
    holder.execute("BEGIN")
    holder.execute("DELETE FROM seen")
    _wait(t, waiting, "DELETE FROM seen")
    with Client(t.server.socket, user="monitor") as monitor:
        for view in (*_ALONE, *_WITH_TWINS, *(f"x${name}" for name in _WITH_TWINS)):
            t.true(monitor.query(f"SELECT * FROM rowan_sys.`{view}`") or "unused" in view, view)
        # Columns are shown to who may read the table.
        t.equal(monitor.value("SELECT locked_key FROM rowan_sys.lock_waits"), "(0x80000005)")
        t.run(f"GRANT SELECT ON {t.database}.seen TO monitor")
    with Client(t.server.socket, user="monitor") as monitor:
        t.equal(monitor.value("SELECT locked_key FROM rowan_sys.lock_waits"), "(id = 5)")
    holder.execute("ROLLBACK")
    waiting.receive()


def _wait(t, waiting, statement):
    """Sends a statement that will wait for a row; returns when the view has the wait."""
    waiting.send(statement)
    t.wait_for(lambda: t.value("SELECT COUNT(*) FROM rowan_sys.lock_waits") == 1, "it waits")


def test_lock_waits_tell_both_statements_and_the_key(t):
    t.run("CREATE TABLE waited (id INT, name VARCHAR(20), PRIMARY KEY (name, id))",
          "INSERT INTO waited VALUES (-5, 'Ab c'), (6, 'd')")
    holder, waiting = t.client(), t.client()
    holder.execute("BEGIN")
    holder.execute("DELETE FROM waited WHERE id = -5")
    _wait(t, waiting, "UPDATE waited SET id = 7 WHERE name = 'ab C' AND id = -5")
    row = _one(t, "lock_waits")
    t.equal(row["locked_table"], f"`{t.database}`.`waited`")
    t.equal((row["locked_index"], row["locked_type"]), ("PRIMARY", "RECORD"))
    t.equal(row["locked_key"], "(name = 'ab c', id = -5)")
    t.equal(row["waiting_query"], "UPDATE waited SET id = 7 WHERE name = 'ab C' AND id = -5")
    t.equal((row["blocking_query"], row["blocking_command"]),
            ("DELETE FROM waited WHERE id = -5", "Sleep"))
    t.equal((row["waiting_pid"], row["blocking_pid"]),
            (waiting.connection_id, holder.connection_id))
    t.true(re.fullmatch(r" *[\d.]+ (ps|ns|us|ms|s|m)", row["waiting_statement_age"].rstrip("in")),
           row["waiting_statement_age"])
    plain = _one(t, "x$lock_waits")
    t.true(int(plain["waiting_statement_age"]) > 0, plain)
    t.true(plain["locked_key_bytes"].endswith("00007FFFFFFB"), plain["locked_key_bytes"])
    t.run(row["sql_kill_blocking_connection"])
    waiting.receive()
    t.rows("SELECT COUNT(*) FROM rowan_sys.lock_waits", [(0,)])


_PARTS = (("TINYINT", "-128"), ("SMALLINT UNSIGNED", "65535"), ("MEDIUMINT", "-1"),
          ("BIGINT", "-9223372036854775808"), ("BIGINT UNSIGNED", "18446744073709551615"),
          ("DATE", "'2026-02-28'"), ("DATETIME(3)", "'1999-12-31 23:59:58.070'"),
          ("TIMESTAMP(2)", "'2026-01-02 03:04:05.60'"), ("YEAR", "1999"), ("BINARY(3)", "0x00FF10"),
          ("VARBINARY(9)", "0x610000FF62"), ("VARCHAR(9)", "'a 9-z'"))


def test_keys_of_each_type_are_told_in_words(t):
    """One key of all of them, the same as an index with NULLs, and types that stay digits."""
    columns = ", ".join(f"c{i} {kind}" for i, (kind, _) in enumerate(_PARTS))
    names = ", ".join(f"c{i}" for i in range(len(_PARTS)))
    values = ", ".join(value for _, value in _PARTS)
    expected = ", ".join(f"c{i} = {value}" for i, (_, value) in enumerate(_PARTS))
    t.run(f"CREATE TABLE typed ({columns}, PRIMARY KEY ({names}))",
          f"INSERT INTO typed VALUES ({values})",
          "CREATE TABLE nulls (a INT, b INT, d DECIMAL(5,2), UNIQUE (a, d), id INT PRIMARY KEY)",
          "INSERT INTO nulls VALUES (7, NULL, 1.5, 3)", "CREATE INDEX ba ON nulls (b, a)")
    holder, waiting = t.client(), t.client()
    holder.execute("BEGIN")
    holder.query("SELECT * FROM typed FOR UPDATE")
    _wait(t, waiting, "DELETE FROM typed")
    t.equal(_one(t, "lock_waits")["locked_key"], f"({expected})")
    holder.execute("ROLLBACK")
    waiting.receive()
    words = f"SELECT rowan_sys.lock_in_words('{t.database}', 'nulls', '%s', '%s')"
    for index, key, answer in (
            ("ba", "00018000000780000003", "(b = NULL, a = 7, id = 3)"),
            ("ba", "0180000001", "(b = 1)"),
            ("a", "01800000070180018032", "(a = 7, 0x0180018032)"),
            ("PRIMARY", "[80000001, 80000009)", "from (id = 1) to before (id = 9)"),
            ("PRIMARY", "[80000001, )", "from (id = 1) to the end"),
            ("PRIMARY", "[, )", "from the beginning to the end"),
            ("no_such_index", "8000", "(0x8000)")):
        t.rows(words % (index, key), [(answer,)])


def test_waits_for_gaps_and_the_end_of_an_index(t):
    t.run("CREATE TABLE gaps (id INT PRIMARY KEY, k VARCHAR(9), KEY (k))",
          "INSERT INTO gaps VALUES (1, 'a'), (5, 'e')")
    in_words = ("SELECT lock_index, rowan_sys.lock_in_words(SUBSTRING_INDEX(lock_table, '/', 1), "
                "'gaps', lock_index, lock_key) FROM information_schema.rowan_locks "
                "WHERE lock_type = 'NEXT-KEY'")
    for locked, insert, index, key, held in (
            ("id > 5", "(9, 'z')", "PRIMARY", "(id = 9)", "from (id = 6) to the end"),
            ("id BETWEEN 2 AND 4", "(3, 'c')", "PRIMARY", "(id = 3)",
             "from (id = 2) to before (id = 5)"),
            ("k > 'e'", "(9, 'z')", "k", "(k = 'z', id = 9)", None)):
        holder, waiting = t.client(), t.client()
        holder.execute("BEGIN")
        holder.query(f"SELECT * FROM gaps FORCE INDEX ({index}) WHERE {locked} FOR UPDATE")
        ranges = t.run(in_words)
        t.true(held is None or (index, held) in ranges, f"{locked}: {ranges}")
        _wait(t, waiting, f"INSERT INTO gaps VALUES {insert}")
        row = _one(t, "lock_waits")
        t.equal((row["locked_index"], row["locked_type"], row["locked_key"]),
                (index, "INSERT INTENTION", key))
        holder.execute("ROLLBACK")
        waiting.receive()
        t.run("DELETE FROM gaps WHERE id NOT IN (1, 5)")


def test_tables_and_indexes_have_sizes_and_use(t):
    t.run("CREATE TABLE used (id INT PRIMARY KEY, k INT, u INT UNIQUE, KEY (k))",
          "INSERT INTO used WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE "
          "i < 1000) SELECT i, i % 10, i FROM n", "ANALYZE TABLE used")
    here = f"table_schema = '{t.database}'"
    table, plain = (_one(t, view, here) for view in
                    ("schema_table_statistics", "x$schema_table_statistics"))
    t.equal((table["table_name"], table["rows_inserted"], int(table["table_rows"])),
            ("used", 1000, 1000))
    pages = t.run("SELECT clustered_pages, secondary_pages FROM information_schema.rowan_tables "
                  f"WHERE {here}")[0]
    t.equal([int(plain[name]) for name in ("data_bytes", "index_bytes")],
            [16384 * count for count in pages])
    for name in ("data_bytes", "index_bytes", "file_bytes", "pool_bytes"):
        t.true(_BYTES.fullmatch(table[name]), table[name])
    unused = ("SELECT index_name FROM rowan_sys.schema_unused_indexes WHERE object_schema = "
              f"'{t.database}'")
    t.rows(unused, [("k",)])
    t.run("SELECT id FROM used FORCE INDEX (k) WHERE k = 3")
    t.rows(unused, [])
    index = _one(t, "schema_index_statistics", here + " AND index_name = 'k'")
    t.equal((index["rows_selected"], int(index["entries"])), (100, 1000))
    t.true(_BYTES.fullmatch(index["size_bytes"]), index["size_bytes"])


def test_io_and_memory_add_up(t):
    t.run("CREATE TABLE written (id INT PRIMARY KEY)", "INSERT INTO written VALUES (1)")
    status = {name: int(value) for name, value in t.run("SHOW GLOBAL STATUS LIKE 'Rowan%'")
              if value.isdigit()}
    written = sum(value for name, value in status.items() if name.startswith("Rowan_written_"))
    causes = t.run("SELECT cause, total_bytes FROM rowan_sys.`x$io_by_cause` "
                   "WHERE operation = 'write'")
    t.true(int(sum(total for _, total in causes)) >= written > 0, causes)
    t.true({"redo", "data checkpoint", "doublewrite"} <= {cause for cause, _ in causes}, causes)
    t.true(_BYTES.fullmatch(t.value("SELECT MAX(total) FROM rowan_sys.io_by_cause "
                                    "WHERE cause = 'redo'")), "a size")
    pool = t.value("SELECT SUM(current_alloc) FROM rowan_sys.`x$memory` "
                   "WHERE event_name LIKE 'buffer pool:%'")
    t.true(0.9 < int(pool) / status["Rowan_buffer_pool_bytes"] <= 1.01, pool)
    t.equal(t.value("SELECT COUNT(*) FROM rowan_sys.metrics"),
            t.value("SELECT COUNT(*) FROM information_schema.rowan_metrics"))
