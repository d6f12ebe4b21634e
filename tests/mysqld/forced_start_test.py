# SPDX-License-Identifier: GPL-2.0-only
"""Starts with rowan_force_recovery: what is readable of a damaged table is saved, and a level that
changes nothing changes nothing."""
import os
import subprocess

from damaged_files import PAGE, damage, folder_of, is_leaf, newest_space, page_of
from rowantools.mysql_tree import find_tree

_ROWS = 3000
_ER_TABLE_CORRUPT, _ER_CRASHED, _ER_READ_ONLY_MODE = 1877, 1194, 1836


def _runs(ids):
    """Ids as runs of neighbours."""
    runs = []
    for number in sorted(ids):
        if runs and runs[-1][-1] == number - 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return runs


def test_what_is_readable_of_a_damaged_table_can_be_saved(t):
    server = t.new_server()
    server.start()
    client = t.client(server)
    client.execute("CREATE TABLE bad (id INT PRIMARY KEY, k INT, v VARCHAR(200), KEY (k))")
    rows = [(n, n % 100, "v" * 100) for n in range(_ROWS)]
    client.execute("INSERT INTO bad VALUES " + ", ".join(map(str, rows)))
    t.true(server.stop(), "no orderly shutdown")
    path = newest_space(server)
    leaves = [number for number in range(3, os.path.getsize(path) // PAGE)
              if is_leaf(path, number)]
    index_of = {number: page_of(path, number)[24:32] for number in leaves}
    clustered = [number for number in leaves if index_of[number] == index_of[leaves[0]]]
    damaged = clustered[3:len(clustered) - 1:5]
    for number in damaged:
        damage(path, number * PAGE + 5000)
    server.start()
    client = t.client(server)
    t.error("SELECT COUNT(*), SUM(LENGTH(v)) FROM bad", (_ER_TABLE_CORRUPT, _ER_CRASHED), client)
    t.true(server.stop(), "no orderly shutdown")
    server.start(["--loose-rowan-force-recovery=1"])
    client = t.client(server)
    found = client.query("SELECT * FROM bad")
    t.true(set(found) <= set(rows) and len(set(found)) == len(found), "rows that nobody inserted")
    warnings = client.query("SHOW WARNINGS")
    t.true(len(warnings) == 1 and f"{len(damaged)} pages" in warnings[0][2], f"{warnings}")
    t.true(all(f" {number}" in warnings[0][2] for number in damaged), f"{warnings}, {damaged}")
    t.true(warnings[0][2] in server.messages(), "the error log has it, too")
    missing = _runs({row[0] for row in rows} - {row[0] for row in found})
    t.equal(len(missing), len(damaged), f"runs of missing rows for {damaged}: {missing}")
    most = PAGE // 100
    t.true(all(len(run) < most for run in missing), f"more than a page is missing: {missing}")
    t.true(int(client.query("SHOW STATUS LIKE 'Rowan_salvage_pages_skipped'")[0][1])
           >= len(damaged), "not counted")
    t.equal(client.query("SELECT * FROM bad FORCE INDEX (k) ORDER BY k, id"),
            sorted(found, key=lambda row: (row[1], row[0])), "by the index")
    t.equal(int(client.value("SELECT COUNT(*) FROM bad FORCE INDEX (PRIMARY)")), len(found))
    t.error("UPDATE bad SET k = 1", (_ER_TABLE_CORRUPT, _ER_CRASHED), client)
    client.execute("CREATE TABLE saved AS SELECT * FROM bad")
    client.execute("CREATE TABLE again LIKE bad")
    client.execute("INSERT INTO again SELECT * FROM bad")
    for copy in ("saved", "again"):
        t.equal(sorted(client.query(f"SELECT * FROM {copy}")), sorted(found), copy)
    client.execute("DROP TABLE bad")
    client.execute("RENAME TABLE again TO bad")
    t.true(server.stop(), "no orderly shutdown")
    server.start()
    client = t.client(server)
    t.equal(sorted(client.query("SELECT * FROM bad")), sorted(found), "the table made anew")
    t.check_table("bad", client)


def _contents(server):
    contents = {}
    for name in sorted(os.listdir(folder_of(server))):
        with open(os.path.join(folder_of(server), name), "rb") as file:
            contents[name] = hash(file.read())
    return contents


def test_level_that_changes_nothing(t):
    server = t.new_server()
    server.start()
    client = t.client(server)
    client.execute("CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, v INT, KEY (v))")
    client.execute("INSERT INTO t (v) VALUES (1), (2), (3)")
    other = t.client(server)
    other.execute("BEGIN")
    other.execute("UPDATE t SET v = 7 WHERE id = 1")
    client.execute("INSERT INTO t (v) VALUES (4)")
    server.kill()
    before = _contents(server)
    for _ in range(2):
        server.start(["--loose-rowan-force-recovery=4"])
        client = t.client(server)
        t.equal(client.query("SELECT id, v FROM t ORDER BY v"), [(n, n) for n in range(1, 5)])
        t.equal(client.query("SELECT id FROM t FORCE INDEX (v) WHERE v = 4"), [(4,)])
        for statement in ("INSERT INTO t (v) VALUES (5)", "UPDATE t SET v = 9 WHERE id = 4",
                          "DELETE FROM t WHERE id = 4", "CREATE TABLE u (id INT)", "DROP TABLE t",
                          "TRUNCATE TABLE t", "ALTER TABLE t ADD COLUMN w INT",
                          "RENAME TABLE t TO w", "ALTER TABLE t DROP INDEX v"):
            t.error(statement, _ER_READ_ONLY_MODE, client)
        t.equal(int(client.value("SELECT COUNT(*) FROM t")), 4, "rows after all that")
        dumped = subprocess.run(
            [find_tree().program("mysqldump"), "--no-defaults", f"--socket={server.socket}",
             "-uroot", "--single-transaction", "--set-gtid-purged=OFF", t.database],
            capture_output=True, text=True)
        t.equal(dumped.returncode, 0, dumped.stderr)
        t.true("VALUES (1,1),(2,2),(3,3),(4,4);" in dumped.stdout, dumped.stdout)
        t.true(server.stop(), "no orderly shutdown")
        t.equal(_contents(server), before, "files were changed")
    server.start()
    client = t.client(server)
    t.equal(client.query("SELECT id, v FROM t ORDER BY v"), [(n, n) for n in range(1, 5)])
    client.execute("INSERT INTO t (v) VALUES (5)")
    t.check_table("t", client)
