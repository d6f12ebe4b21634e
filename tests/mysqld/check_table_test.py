# SPDX-License-Identifier: GPL-2.0-only
"""CHECK TABLE by several threads (docs/whole_queries.md, Workers) says what one thread says."""
import os
import threading

import pytest

from damaged_files import PAGE, damage, folder_of, is_leaf, newest_space, page_of
from framework import ENGINE, MysqlError

_OPTIONS = ("--loose-rowan-parallel-rows-min=0", "--loose-rowan-parallel-workers-max=3",
            "--loose-rowan-parallel-workers=3")
pytestmark = [pytest.mark.server(options=_OPTIONS),
              pytest.mark.skipif(ENGINE != "ROWAN", reason="about threads of ours")]

_STORED = ("id INT PRIMARY KEY, k INT, s VARCHAR(300), t TEXT, p POINT NOT NULL SRID 0, "
           "KEY (k), KEY down (s DESC, k), KEY prefix (t(5)), SPATIAL KEY (p), FULLTEXT KEY (t)")
_COMPUTED = "d INT AS (k * 2), j JSON, KEY (d), KEY many ((CAST(j->'$' AS UNSIGNED ARRAY)))"
_ROW = ("SELECT i, IF(i % 9 = 0, NULL, i % 100), REPEAT(CHAR(97 + i % 26), i % 200), "
        "IF(i % 400 = 3, REPEAT('long ', 4000), CONCAT('word', i % 50)), POINT(i, i % 7)")


def _numbers(count):
    return ("WITH RECURSIVE s(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM s WHERE i < "
            f"{count})")


def _pieces(t):
    return int(t.run("SHOW GLOBAL STATUS LIKE 'Rowan_parallel_pieces'")[0][1])


def _verdicts(client, table):
    """By no helper and by three; without the database's name."""
    verdicts = []
    for workers in (0, 3):
        client.execute(f"SET rowan_parallel_workers = {workers}")
        verdicts.append([row[2:] for row in client.query(f"CHECK TABLE {table}")])
    return verdicts


def test_all_kinds_of_indexes(t):
    t.run("SET cte_max_recursion_depth = 10000",
          f"CREATE TABLE a ({_STORED})", f"INSERT INTO a {_numbers(4000)} {_ROW} FROM s",
          f"CREATE TABLE c ({_STORED}, {_COMPUTED})",
          f"INSERT INTO c (id, k, s, t, p, j) {_numbers(1000)} {_ROW}, JSON_ARRAY(i, i % 5) FROM s",
          f"CREATE TABLE q ({_STORED.replace('PRIMARY', 'UNIQUE').split(', SPATIAL')[0]}) "
          "PARTITION BY HASH (id) PARTITIONS 3",
          f"INSERT INTO q {_numbers(2000)} {_ROW} FROM s", "CREATE TABLE none LIKE a",
          "CREATE TEMPORARY TABLE own LIKE a", "INSERT INTO own SELECT * FROM a",
          "DELETE FROM a WHERE id % 7 = 0", "UPDATE a SET k = k + 1, t = 'new' WHERE id % 5 = 0")
    for table, has_helpers in (("a", True), ("q", True), ("c", False), ("none", True),
                               ("own", True)):
        before = _pieces(t)
        t.equal(_verdicts(t.client(), table) if table != "own" else
                [[row[2:] for row in t.run("CHECK TABLE own")]] * 2,
                [[("status", "OK")]] * 2, table)
        t.equal(_pieces(t) > before, has_helpers, f"{table} is read in pieces")


def test_among_writers(t):
    t.run("SET cte_max_recursion_depth = 10000", f"CREATE TABLE a ({_STORED})",
          f"INSERT INTO a {_numbers(3000)} {_ROW} FROM s")
    done = threading.Event()

    def write():
        client, i = t.client(), 0
        while not done.is_set():
            i += 1
            client.execute("UPDATE a SET k = k + 1, s = REPEAT('n', id % 50) "
                           f"WHERE id % 40 = {i % 40}")
            client.execute(f"DELETE FROM a WHERE id = {i}")
            row = _ROW.replace("i,", f"{5000 + i},", 1)
            client.execute(f"INSERT INTO a {_numbers(1)} {row} FROM s")

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for _ in range(10):
            t.equal(_verdicts(t.client(), "a"), [[("status", "OK")]] * 2)
    finally:
        done.set()
        writer.join()


def test_kill_ends_it(t):
    t.run("SET cte_max_recursion_depth = 100000", f"CREATE TABLE a ({_STORED})",
          f"INSERT INTO a {_numbers(8000)} {_ROW} FROM s")
    client, ends = t.client(), []
    connection = client.query("SELECT CONNECTION_ID()")[0][0]

    def repeat():
        while not ends:
            try:
                texts = [row[3] for row in client.query("CHECK TABLE a")]
                ends.extend([texts] if texts[-1] != "OK" else ())
            except MysqlError as error:
                ends.append(error.code)

    thread = threading.Thread(target=repeat)
    thread.start()
    t.wait_for(lambda: ends or t.run(f"KILL QUERY {connection}") is None, "it has ended")
    thread.join()
    # The latter two are the server's, where the KILL comes as it opens the table: InnoDB's, too.
    t.true(ends[0] in (1317, ["Operation failed"], ["Can't open table", "Corrupt"],
                       ["Query execution was interrupted", "Corrupt"]), str(ends))
    t.check_table("a")


def _with_an_index(t):
    server = t.new_server(_OPTIONS)
    server.start()
    client = t.client(server)
    client.execute("SET cte_max_recursion_depth = 20000")
    client.execute("CREATE TABLE bad (id INT PRIMARY KEY, k INT, v CHAR(100), KEY (k))")
    client.execute(f"INSERT INTO bad {_numbers(20000)} SELECT i, i, 'v' FROM s")
    t.true(server.stop(), "no orderly shutdown")
    server.start()  # nothing of it is in the doublewrite file after another one
    t.true(server.stop(), "no orderly shutdown")
    path = newest_space(server)
    leaves = [number for number in range(3, os.path.getsize(path) // PAGE)
              if is_leaf(path, number)]
    tree_of = {number: page_of(path, number)[24:32] for number in leaves}
    return server, path, [number for number in leaves if tree_of[number] != tree_of[leaves[0]]]


def test_damage_is_named(t):
    server, path, of_k = _with_an_index(t)
    damage(path, of_k[1] * PAGE + 5000)
    server.start()
    alone, helped = _verdicts(t.client(server), "bad")
    t.equal(alone, helped)
    t.true("index 'k' is damaged" in str(alone), str(alone))


def test_entries_that_the_rows_do_not_call_for(t):
    """A leaf of the index is put back to what it was before an update."""
    server, path, of_k = _with_an_index(t)
    kept = {number: page_of(path, number) for number in of_k}
    server.start()
    t.client(server).execute("UPDATE bad SET k = -k WHERE id = 10000")
    for _ in range(2):
        t.true(server.stop(), "no orderly shutdown")
        server.start()
    t.true(server.stop(), "no orderly shutdown")
    changed = [number for number in of_k[1:] if page_of(path, number) != kept[number]]
    t.true(changed != [], "no leaf has changed")
    with open(path, "r+b") as file:
        file.seek(changed[0] * PAGE)
        file.write(kept[changed[0]])
    os.remove(os.path.join(folder_of(server), "rowan.page_lsns"))
    server.start()
    alone, helped = _verdicts(t.client(server), "bad")
    t.equal(alone, helped)
    t.true("entries, the rows call for 20000" in str(alone), str(alone))
