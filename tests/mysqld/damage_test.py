# SPDX-License-Identifier: GPL-2.0-only
"""A byte changed in each kind of file, under a real server.

The server refuses the engine or runs without what is damaged; the error log names the file; tables
that are not damaged work; CHECK TABLE finds damage in a table's file; nothing answers wrongly and
nothing crashes. The file with the damage is left as it is.
"""
import os
import re
import shutil

from damaged_files import PAGE, damage, folder_of, is_leaf, newest_space, page_of
from rowantools.client import MysqlError

_ROWS = 3000
_ER_TABLE_CORRUPT, _ER_CRASHED = 1877, 1194


def _prepare(t, cleanly):
    server = t.new_server()
    server.start()
    client = t.client(server)
    for table in ("good", "bad"):
        client.execute(f"CREATE TABLE {table} (id INT PRIMARY KEY, k INT, v VARCHAR(200), KEY (k))")
        rows = ", ".join(f"({n}, {n % 100}, REPEAT('v', 100))" for n in range(_ROWS))
        client.execute(f"INSERT INTO {table} VALUES {rows}")
    if cleanly:
        t.true(server.stop(), "no orderly shutdown")
    else:
        server.kill()
    return server


def _start(t, server):
    """A client, or None when the server or the engine in it does not start."""
    try:
        server.start()
        client = t.client(server)
        client.query("SELECT COUNT(*) FROM good")
        return client
    except Exception:  # whatever keeps it from starting: the error log must say why
        return None


def _judge(t, server, path, what):
    """The damage is named, or everything that is answered is right."""
    client = _start(t, server)
    messages = server.messages()
    t.true("got signal" not in messages, f"{what}: {messages}")
    name = os.path.basename(path)
    if client is None:
        t.true(name in messages or "Rowan" in messages, f"{what}: nobody says why: {messages}")
        return False
    named = False
    for table in ("good", "bad"):
        for query in (f"SELECT COUNT(*), SUM(k), SUM(LENGTH(v)) FROM {table} FORCE INDEX (PRIMARY)",
                      f"SELECT COUNT(k), SUM(k), {_ROWS * 100} FROM {table} FORCE INDEX (k)"):
            try:
                rows = client.query(query)
            except MysqlError:
                named = True
                continue
            total = sum(n % 100 for n in range(_ROWS))
            t.equal([int(value) for value in rows[0]], [_ROWS, total, _ROWS * 100],
                    f"{what}: {query}")
    if named:
        t.true(name in server.messages(), f"{what}: the error log does not name {name}")
    return True


def test_table_space(t):
    server = _prepare(t, True)
    # The last batch of pages could still be restored; a further start empties the doublewrite file.
    server.start()
    t.true(server.stop(), "no orderly shutdown")
    path = newest_space(server)
    pages = [number for number in range(3, os.path.getsize(path) // PAGE)
             if is_leaf(path, number)]
    t.true(len(pages) > 10, f"{path} has {len(pages)} pages with entries")
    for number in pages:
        damage(path, number * PAGE + 5000)
    before = open(path, "rb").read()
    t.true(_judge(t, server, path, "table space"), "one damaged table keeps the server from work")
    client = t.client(server)
    verdict = client.query("CHECK TABLE bad")
    t.true(verdict[-1][-1] != "OK", f"CHECK TABLE sees nothing: {verdict}")
    t.check_table("good", client)
    named = {int(number) for number in re.findall(r"Page (\d+) of \S*" + os.path.basename(path),
                                                  server.messages())}
    t.true(named and named <= set(pages), f"named: {named}, damaged: {pages}")
    for query in ("SELECT SUM(LENGTH(v)) FROM bad FORCE INDEX (PRIMARY)",
                  "SELECT v FROM bad WHERE id = 1", "SELECT v FROM bad WHERE id = 2900"):
        _refused_and_named(t, server, client, path, "PRIMARY", query)
    t.true(server.stop(), "no orderly shutdown")
    after = open(path, "rb").read()
    for number in pages:
        start, end = number * PAGE, (number + 1) * PAGE
        t.true(after[start:end] == before[start:end], f"page {number} was overwritten")


def _refused_and_named(t, server, client, path, index, query):
    """The error is MySQL's own; the error log names file, table and index."""
    before = len(server.messages())
    try:
        client.query(query)
        t.true(False, f"answered although every page is damaged: {query}")
    except MysqlError as error:
        t.true(error.code in (_ER_TABLE_CORRUPT, _ER_CRASHED), f"{query}: {error}")
    said = server.messages()[before:]
    t.true(re.search(rf"Page \d+ of \S*{os.path.basename(path)} is damaged: wrong checksum\. "
                     rf"It is of index '{index}' of table '[^']*/bad'\. ", said),
           f"{query}: {said}")


def test_secondary_index(t):
    """Damage of a secondary index: the rows are served, and a new index mends it as promised."""
    server = _prepare(t, True)
    server.start()
    t.true(server.stop(), "no orderly shutdown")
    path = newest_space(server)
    leaves = [number for number in range(3, os.path.getsize(path) // PAGE)
              if is_leaf(path, number)]
    index_of = {number: page_of(path, number)[24:32] for number in leaves}
    of_k = [number for number in leaves if index_of[number] != index_of[leaves[0]]]
    t.true(0 < len(of_k) < len(leaves) / 2, f"{len(of_k)} of {len(leaves)} leaves are of the index")
    for number in of_k:
        damage(path, number * PAGE + 5000)
    server.start()
    client = t.client(server)
    by_k = "SELECT COUNT(k), SUM(k) FROM bad FORCE INDEX (k)"
    _refused_and_named(t, server, client, path, "k", by_k)
    t.true("Dropping the index and adding it again mends it." in server.messages(), "no advice")
    client.query("SELECT SUM(LENGTH(v)) FROM bad FORCE INDEX (PRIMARY)")
    client.execute("ALTER TABLE bad DROP INDEX k")
    client.execute("ALTER TABLE bad ADD INDEX k (k)")
    t.equal(int(client.query(by_k)[0][0]), _ROWS, "rows by the new index")


def test_page_put_back(t):
    """Pages put back to what they were before an update: whole, but older than their last write."""
    server = _prepare(t, True)
    path = newest_space(server)
    kept = {number: page_of(path, number) for number in range(3, os.path.getsize(path) // PAGE)
            if is_leaf(path, number)}
    server.start()
    t.client(server).execute("UPDATE bad SET v = REPEAT('w', 100)")
    t.true(server.stop(), "no orderly shutdown")
    # The last batch of pages could still be restored; a further start empties the doublewrite file.
    server.start()
    t.true(server.stop(), "no orderly shutdown")
    changed = [number for number, page in kept.items()
               if page_of(path, number)[8:16] != page[8:16] and is_leaf(path, number)]
    t.true(len(changed) > 10, f"{len(changed)} pages of {path} were changed by the update")
    put_back = changed[len(changed) // 2]
    with open(path, "r+b") as file:
        file.seek(put_back * PAGE)
        file.write(kept[put_back])
    server.start()
    client = t.client(server)
    try:
        rows = client.query("SELECT COUNT(*), SUM(LENGTH(v)), SUM(v LIKE 'w%') FROM bad")
        t.true(False, f"a wrong answer: {rows}")
    except MysqlError as error:
        t.true("damage" in str(error) or "corrupt" in str(error).lower(), f"unclear: {error}")
    name = os.path.basename(path)
    said = re.findall(rf"Page (\d+) of \S*{name} is damaged: it is older than its last write "
                      r"\(LSN (\d+), expected at least (\d+)\)", server.messages())
    t.true(said and {int(number) for number, _, _ in said} == {put_back}, f"said: {said}")
    t.true(all(int(found) < int(wanted) for _, found, wanted in said), f"said: {said}")
    found = client.query("SHOW GLOBAL STATUS LIKE 'Rowan_stale_pages_found'")
    t.true(int(found[0][1]) > 0, f"not counted: {found}")
    verdict = client.query("CHECK TABLE bad")
    t.true(verdict[-1][-1] != "OK", f"CHECK TABLE sees nothing: {verdict}")
    t.check_table("good", client)
    rows = client.query("SELECT COUNT(*) FROM good FORCE INDEX (PRIMARY)")
    t.equal(int(rows[0][0]), _ROWS, "rows of the other table")
    t.true(server.stop(), "no orderly shutdown")
    # Without the file there is nothing to compare with: said at the start, and the page is read.
    os.remove(os.path.join(folder_of(server), "rowan.page_lsns"))
    server.start()
    t.true("rowan.page_lsns' is missing" in server.messages(), "nobody says that it is missing")
    client = t.client(server)
    rows = client.query("SELECT COUNT(*), SUM(v LIKE 'w%') < COUNT(*) FROM bad "
                        "FORCE INDEX (PRIMARY)")
    t.equal([int(value) for value in rows[0]], [_ROWS, 1], "the old page")
    t.true(server.stop(), "no orderly shutdown")


def _sweep(t, names, offsets, cleanly):
    """Looks at one damage after the other; each time all files are put back."""
    server = _prepare(t, cleanly)
    folder = folder_of(server)
    for name in sorted(os.listdir(folder)):
        if not any(name.startswith(prefix) for prefix in names):
            continue
        path = os.path.join(folder, name)
        for offset in offsets:
            if offset >= os.path.getsize(path):
                continue
            saved = {}
            for other in os.listdir(folder):
                with open(os.path.join(folder, other), "rb") as file:
                    saved[other] = file.read()
            damage(path, offset)
            _judge(t, server, path, f"{name} at {offset}")
            if server.is_running():
                server.kill()
            for other in os.listdir(folder):
                if other not in saved:
                    os.remove(os.path.join(folder, other))
            for other, content in saved.items():
                with open(os.path.join(folder, other), "wb") as file:
                    file.write(content)
        break


def test_a_rollback_that_fails_leaves_nothing_for_the_binary_log(t):
    server = t.new_server(["--loose-rowan-buffer-pool-size=5M"], binlog=True, buffer_pool="5M")
    server.start()
    client = t.client(server)
    for table in ("good", "bad"):
        client.execute(f"CREATE TABLE {table} (id INT PRIMARY KEY, v VARCHAR(1000))")
    for first in range(0, 16000, 1000):
        rows = ", ".join(f"({n}, REPEAT('v', 800))" for n in range(first, first + 1000))
        client.execute(f"INSERT INTO bad VALUES {rows}")
    client.execute("FLUSH BINARY LOGS")
    client.execute("BEGIN")
    client.execute("UPDATE bad SET v = REPEAT('w', 800)")
    space = newest_space(server)
    for page in range(20, os.path.getsize(space) // PAGE):
        damage(space, page * PAGE + 200)
    client.execute("ROLLBACK")
    warnings = client.query("SHOW WARNINGS")
    t.true(any("could not undo" in row[2] for row in warnings), f"a warning tells: {warnings}")
    client.execute("INSERT INTO good VALUES (1, 'x')")
    log = client.query("SHOW BINARY LOG STATUS")[0][0]
    events = [row[2] for row in client.query(f"SHOW BINLOG EVENTS IN '{log}'")]
    t.true("Write_rows" in events, f"the insert is logged: {events}")
    t.true("Update_rows" not in events, "what was rolled back is logged")
    t.equal(client.query("SELECT * FROM good"), [(1, "x")])
    server.kill()


def test_control_file(t):
    _sweep(t, ["rowan.control"], [20, 4096 + 20], True)


def test_system_space(t):
    _sweep(t, ["space_1"], [40, 3 * PAGE + 100], True)


def test_undo_space(t):
    _sweep(t, ["space_2"], [40, 2 * PAGE + 60], True)


def test_doublewrite_file(t):
    _sweep(t, ["rowan.doublewrite"], [10, 4096 + 500], False)


def test_page_versions_file(t):
    _sweep(t, ["rowan.page_lsns"], [20, 4096 + 100], True)


def test_journal_of_page_versions(t):
    _sweep(t, ["rowan.page_lsns."], [20, 40, 600], False)


def test_log(t):
    _sweep(t, ["redo_"], [20, 4096 + 3000], False)


def test_table_that_redo_cannot_bring_up_to_date(t):
    """One table's pages are garbage when redo needs them: it is refused by name, the other works,
    and it can be dropped."""
    server = _prepare(t, True)
    path = newest_space(server)
    # A further start empties the doublewrite file, which could restore the pages.
    for _ in range(2):
        server.start()
        t.true(server.stop(), "no orderly shutdown")
    server.start()
    client = t.client(server)
    for table in ("good", "bad"):
        client.execute(f"INSERT INTO {table} VALUES ({_ROWS}, 0, REPEAT('v', 100))")
    server.kill()
    with open(path, "r+b") as file:
        file.seek(2 * PAGE)
        file.write(b"\x5a" * (os.path.getsize(path) - 2 * PAGE))
    for start in range(2):
        server.start()
        client = t.client(server)
        t.wait_for(lambda: "/bad' is damaged" in server.messages(), "the error log names the table")
        t.equal(client.value("SELECT COUNT(*) FROM good"), _ROWS + 1, "the other table")
        for statement in ("SELECT COUNT(*) FROM bad", "INSERT INTO bad VALUES (-1, 0, '')"):
            message = t.error(statement, (_ER_TABLE_CORRUPT, _ER_CRASHED), client)
            t.true("bad" in message, f"the message does not name the table: {message}")
        if start == 0:
            t.true(server.stop(), "no orderly shutdown")
    client.execute("DROP TABLE bad")
    t.wait_for(lambda: not [name for name in os.listdir(folder_of(server))
                            if name.startswith(os.path.basename(path)[:-4] + ".")],
               "file and mark go")
    client.execute("CREATE TABLE bad (id INT PRIMARY KEY)")
    client.execute("INSERT INTO bad VALUES (1)")


def _partition_file(client, partition):
    return client.query("SELECT file_name FROM information_schema.rowan_tables WHERE table_name"
                        f" = 'p' AND partition_name = '{partition}'")[0][0]


def _restart_without(t, server, moves):
    """Restarts with files moved away, pairs of paths; returns a new session."""
    t.true(server.stop(), "no orderly shutdown")
    for path, away in moves:
        os.rename(path, away)
    server.start()
    return t.client(server)


def test_a_partition_whose_file_is_lost_leaves_the_others(t):
    server = t.new_server()
    server.start()
    client = t.client(server)
    client.execute("CREATE TABLE p (id INT PRIMARY KEY AUTO_INCREMENT, k INT, KEY (k)) PARTITION BY"
                   " RANGE (id) (PARTITION a VALUES LESS THAN (10), PARTITION b VALUES LESS THAN"
                   " (20), PARTITION c VALUES LESS THAN (30), PARTITION d VALUES LESS THAN (40))")
    client.execute("INSERT INTO p VALUES (1, 1), (11, 2), (21, 3), (31, 4)")
    files = [_partition_file(client, name) for name in "abc"]
    paths = [os.path.join(folder_of(server), name) for name in files]
    away = [os.path.join(str(server.folder), name) for name in files]
    client = _restart_without(t, server, zip(paths, away))
    t.equal(client.query("SELECT * FROM p PARTITION (d)"), [(31, 4)])
    for statement in ("SELECT COUNT(*) FROM p", "INSERT INTO p VALUES (2, 2)", "CHECK TABLE p",
                      "UPDATE p SET k = 1 WHERE id = 11", "FLUSH TABLES p FOR EXPORT",
                      "ALTER TABLE p ADD COLUMN n INT", "ALTER TABLE p DROP INDEX k",
                      "ALTER TABLE p COMMENT 'c', ALGORITHM=COPY",
                      "ALTER TABLE p REBUILD PARTITION b"):
        if statement.startswith("CHECK"):
            t.true(client.query(statement)[-1][3] != "OK", "CHECK TABLE says OK")
        else:
            t.error(statement, 1812, client)
    os.rename(away[0], paths[0])
    t.error("SELECT * FROM p PARTITION (a)", 1812, client)
    t.equal(client.query("SELECT * FROM p PARTITION (a)"), [(1, 1)], "the file is back")
    client.execute("ALTER TABLE p TRUNCATE PARTITION b")
    client.execute("ALTER TABLE p DISCARD PARTITION c TABLESPACE")
    client.execute("ALTER TABLE p DROP PARTITION c")
    client.execute("INSERT INTO p (k) VALUES (5)")
    client.execute("INSERT INTO p VALUES (11, 6)")
    rows = client.query("SELECT * FROM p FORCE INDEX (k) ORDER BY k")
    t.equal(rows, [(1, 1), (31, 4), (32, 5), (11, 6)])
    t.check_table("p", client=client)


def test_no_value_is_generated_while_a_partition_is_lost(t):
    server = t.new_server()
    server.start()
    client = t.client(server)
    client.execute("CREATE TABLE p (id INT AUTO_INCREMENT, k INT, PRIMARY KEY (id, k)) PARTITION BY"
                   " RANGE (k) (PARTITION a VALUES LESS THAN (10), PARTITION b VALUES LESS THAN"
                   " (20))")
    client.execute("INSERT INTO p VALUES (1, 1), (1001, 11)")
    path = os.path.join(folder_of(server), _partition_file(client, "b"))
    away = os.path.join(str(server.folder), "away")
    client = _restart_without(t, server, [(path, away)])
    insert = "INSERT INTO p PARTITION (a) (k) VALUES (2)"
    t.true("partition b" in t.error(insert, 1812, client), "the error names no partition")
    client.execute("INSERT INTO p PARTITION (a) VALUES (5, 5)")
    t.true("AUTO_INCREMENT=" not in client.query("SHOW CREATE TABLE p")[0][1], "a wrong counter")
    t.error("ALTER TABLE p AUTO_INCREMENT = 7", 1812, client)
    client.execute("ALTER TABLE p ADD PARTITION (PARTITION c VALUES LESS THAN (30))")
    t.error("ALTER TABLE p EXCHANGE PARTITION b WITH TABLE x", 1146, client)
    client.execute("CREATE TABLE x (id INT AUTO_INCREMENT, k INT, PRIMARY KEY (id, k))")
    t.error("ALTER TABLE p EXCHANGE PARTITION b WITH TABLE x", 1812, client)
    for partition, healthy in (("a", True), ("b", False), ("a, b", False), ("ALL", False)):
        status = client.query(f"ALTER TABLE p CHECK PARTITION {partition}")[-1][3]
        t.equal(status == "OK", healthy, partition)
    os.rename(away, path)
    t.error(insert, 1812, client)
    client.execute(insert)
    t.equal(client.query("SELECT id FROM p ORDER BY id"), [(1,), (5,), (1001,), (1002,)])
    client.execute("FLUSH TABLES p FOR EXPORT")
    exported = os.path.join(str(server.data), client.query("SELECT DATABASE()")[0][0], "p#p#b.rwx")
    copy = os.path.join(str(server.folder), "copy")
    shutil.copy(exported, copy)
    client.execute("UNLOCK TABLES")
    client = _restart_without(t, server, [(path, away)])
    client.execute("ALTER TABLE p DISCARD PARTITION b TABLESPACE")
    t.error(insert, 1814, client)
    shutil.copy(copy, exported)
    client.execute("ALTER TABLE p IMPORT PARTITION b TABLESPACE")
    client.execute(insert)
    t.equal(client.query("SELECT MAX(id), COUNT(*) FROM p"), [(1003, 5)])
    t.check_table("p", client=client)
