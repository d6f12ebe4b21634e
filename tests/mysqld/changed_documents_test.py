# SPDX-License-Identifier: GPL-2.0-only
"""Documents and texts off the page that are changed in part: beside InnoDB, with everything else
that happens to rows, and what is written of them."""
import re

from side_by_side import Pair

_COLUMNS = ("(id INT PRIMARY KEY, d JSON, b LONGTEXT, s VARCHAR(20) AS (d->>'$.s'), n INT,"
            " KEY (s), KEY ((CAST(d->'$.tags' AS UNSIGNED ARRAY))))")
_PARTITIONS = " PARTITION BY HASH (id) PARTITIONS 3"


class _Documents(Pair):
    """InnoDB 9.7 does not always take back what ROLLBACK TO SAVEPOINT should of a document that it
    changed in part: there they are written whole, as of an expression that is no column."""

    def open(self):
        super().open()
        run = self.theirs.outcome
        self.theirs.outcome = lambda statement: run(
            re.sub(r"(JSON_[A-Z]+)\(d,", r"\1(CAST(d AS JSON),", statement))


def _document(t):
    """SQL for a document of 1 KB to 300 KB."""
    filler = t.random.choice((300, 3000, 30000, 100000))
    tags = ", ".join(str(t.random.randrange(100)) for _ in range(3))
    return (f"JSON_OBJECT('s', '{t.random.randrange(10 ** 8):08d}', 'tags', JSON_ARRAY({tags}),"
            f" 'a', REPEAT('a', {filler}), 'm', JSON_OBJECT('x', REPEAT('x', 900), 'y', 1), 'z',"
            f" REPEAT('z', {filler * 2}))")


def _value(t):
    return t.random.choice((
        f"'{t.random.randrange(10 ** 8):08d}'", str(t.random.randrange(100)), "NULL",
        f"REPEAT('v', {t.random.randrange(40)})", f"REPEAT('w', {t.random.randrange(600, 900)})",
        "JSON_ARRAY(1, 2)"))


def _path(t):
    return t.random.choice(("'$.s'", "'$.tags[0]'", "'$.tags[1]'", "'$.m.x'", "'$.m.y'", "'$.m'",
                            "'$.new'", "'$.a'"))


def _change(t):
    call = t.random.choice(("JSON_SET", "JSON_SET", "JSON_REPLACE", "JSON_REMOVE"))
    paths = {_path(t) for _ in range(t.random.randrange(1, 3))}
    if call == "JSON_REMOVE":
        return f"d = JSON_REMOVE(d, {', '.join(sorted(paths))})"
    return f"d = {call}(d, {', '.join(f'{path}, {_value(t)}' for path in sorted(paths))})"


def _assignment(t):
    """What an UPDATE sets; now and then the key moves."""
    number = t.random.randrange(1000)
    return t.random.choice((
        _change(t), _change(t), _change(t), _change(t), f"n = {number}",
        f"b = INSERT(b, {number + 1}, 3, 'new'), n = {number}",
        f"b = INSERT(b, {number + 1}, 700, REPEAT({number % 10}, 700))",
        f"b = INSERT(b, {number + 1}, 900, REPEAT({number % 10}, 900)), {_change(t)}",
        f"b = CONCAT(b, '{number}')", f"b = REPEAT('b', {t.random.choice((10, 90000, 150000))})",
        f"{_change(t)}, b = INSERT(b, 5, 2, '{number % 90 + 10}')",
        f"d = {_document(t)}", f"id = id + 100, {_change(t)}"))


def _statement(t, table):
    row = t.random.randrange(1, 6)
    which = f"id % 100 = {row}"
    dice = t.random.random()
    if dice < 0.75:
        return f"UPDATE {table} SET {_assignment(t)} WHERE {which}"
    if dice < 0.83:
        return f"DELETE FROM {table} WHERE {which}"
    if dice < 0.91:
        return (f"INSERT INTO {table} (id, d, b, n) VALUES ({row}, {_document(t)},"
                f" REPEAT('i', 100000), 0) ON DUPLICATE KEY UPDATE {_change(t)}")
    return f"REPLACE INTO {table} (id, d, b, n) VALUES ({row}, {_document(t)}, 'short', 1)"


_READS = ("SELECT id, CAST(d AS CHAR) d, b, s, n FROM {} ORDER BY id",
          "SELECT id FROM {} FORCE INDEX (s) WHERE s > '5' ORDER BY id",
          "SELECT id FROM {} WHERE 5 MEMBER OF (d->'$.tags') ORDER BY id")


def _sum(read):
    return read.replace("CAST(d AS CHAR) d, b,", "SHA2(CAST(d AS CHAR), 256) d, SHA2(b, 256),")


def _transaction(t, pair, table):
    """A few changes with savepoints; commits, or rolls back."""
    pair.both("BEGIN")
    for step in range(t.random.randrange(1, 6)):
        if t.random.random() < 0.3:
            pair.both(f"SAVEPOINT p{step % 2}")
        pair.both(_statement(t, table))
        if t.random.random() < 0.15:
            pair.both(f"ROLLBACK TO p{step % 2}")
    pair.both(_sum(_READS[0]).format(table))
    pair.both(t.random.choice(("COMMIT", "COMMIT", "COMMIT", "ROLLBACK")))


def _prepare(pair):
    for table, options in (("t", ""), ("parts", _PARTITIONS)):
        pair.both(f"CREATE TABLE {table} {_COLUMNS}{options}")
    pair.both("CREATE TRIGGER changes BEFORE UPDATE ON parts FOR EACH ROW"
              " SET NEW.d = JSON_SET(NEW.d, '$.m.y', 7)")


_ALTERS = ("ADD COLUMN extra INT", "DROP COLUMN extra", "FORCE",
           "ADD KEY kn (n), ALGORITHM=INPLACE", "DROP KEY kn", "MODIFY n BIGINT")


def _check(t, pair, server):
    client = t.client(server, database=f"{t.database}_a")
    # With old versions about, CHECK TABLE does not know which pages are lost.
    t.wait_for(lambda: client.query("SHOW GLOBAL STATUS LIKE 'Rowan_history_list_length'")[0][1]
               == "0", "purge of all")
    for table in ("t", "parts"):
        for read in _READS:
            pair.both(_sum(read).format(table))
        t.check_table(table, client)
    client.close()


def test_random_changes_beside_innodb_with_kills(t):
    server = t.new_server(["--innodb-flush-log-at-trx-commit=2",
                           "--loose-rowan-flush-log-at-trx-commit=2"])
    server.start()
    pair = _Documents(t, server)
    _prepare(pair)
    alters = list(_ALTERS)
    for turn in range(3 if not t.long else 60):
        old = [(client, client.query(_sum(_READS[0]).format(table)), table) for client, table in
               ((_reader(t, server), "t"), (_reader(t, server), "parts"))]
        for _ in range(14):
            _transaction(t, pair, t.random.choice(("t", "t", "parts")))
        for client, rows, table in old:
            t.equal(client.query(_sum(_READS[0]).format(table)), rows, "an old snapshot's rows")
            client.close()
        if alters:
            pair.both(f"ALTER TABLE t {alters.pop(0)}")
        _check(t, pair, server)
        if turn % 2 == 0:
            pair.ours.outcome("BEGIN")
            pair.ours.outcome("UPDATE t SET d = JSON_SET(d, '$.s', 'lost')")
            server.kill()
            server.start()
            pair.open()
            _check(t, pair, server)


def _reader(t, server):
    client = t.client(server, database=f"{t.database}_a")
    client.execute("START TRANSACTION WITH CONSISTENT SNAPSHOT")
    return client


def test_little_is_written_of_a_small_change(t):
    t.run("CREATE TABLE t (id INT PRIMARY KEY, d JSON, b LONGBLOB, c VARCHAR(12000))",
          "INSERT INTO t VALUES (1, JSON_OBJECT('k', '0123456789', 'f', REPEAT('f', 1000000)),"
          " REPEAT('b', 1000000), REPEAT('c', 12000))")

    def written(statement):
        before = _lsn(t)
        t.run(statement)
        return _lsn(t) - before
    for statement in ("UPDATE t SET d = JSON_SET(d, '$.k', 'abcdefghij')",
                      "UPDATE t SET b = INSERT(b, 500000, 3, 'new')",
                      "UPDATE t SET d = JSON_SET(d, '$.k', 'klmnopqrst'),"
                      " c = INSERT(c, 9, 1, 'x')"):
        count = _changed(t)
        redo = written(statement)
        t.true(redo < 20000, f"{statement}: {redo} bytes of redo")
        t.true(_changed(t) > count, f"{statement}: counted")
    redo = written("UPDATE t SET d = JSON_SET(d, '$.longer', 1)")
    t.true(redo > 1000000, f"a document of another size is written whole: {redo} bytes")
    t.rows("SELECT d->>'$.k', LENGTH(d->>'$.f'), SHA2(b, 256), SHA2(c, 256) FROM t",
           [("klmnopqrst", 1000000) + t.run(
               "SELECT SHA2(INSERT(REPEAT('b', 1000000), 500000, 3, 'new'), 256),"
               " SHA2(INSERT(REPEAT('c', 12000), 9, 1, 'x'), 256)")[0]])
    t.check_table("t")


def _varchars(first, end, size, declare=""):
    return ", ".join(f"v{i} {declare}" if declare else f"v{i} = REPEAT('x', {size})"
                     for i in range(first, end))


def test_what_is_in_the_row_of_changes_makes_room_for_other_values(t):
    columns = _varchars(0, 16, 0, "VARCHAR(500) CHARACTER SET latin1")
    t.run("CREATE TABLE t (id VARCHAR(800) CHARACTER SET latin1 PRIMARY KEY, a LONGBLOB,"
          f" b LONGBLOB, {columns})")
    change = "INSERT({0}, 500, 440, REPEAT('n', 440))"
    for size in (20000, 300000):  # without and with a patch
        for keep in ("", ", b = INSERT(b, 1, 1, 'c')"):
            a, b = f"REPEAT('a', {size})", f"REPEAT('b', {size})"
            t.run("DELETE FROM t", f"INSERT INTO t (id, a, b) VALUES ('k', {a}, {b})",
                  f"UPDATE t SET a = {change.format('a')}, b = {change.format('b')}",
                  f"UPDATE t SET {_varchars(0, 16, 500)}{keep}",
                  "UPDATE t SET id = REPEAT('k', 700)")
            a, b = change.format(a), change.format(b)
            b = f"INSERT({b}, 1, 1, 'c')" if keep else b
            t.rows("SELECT SHA2(a, 256), SHA2(b, 256), LENGTH(v15), LENGTH(id) FROM t", t.run(
                f"SELECT SHA2({a}, 256), SHA2({b}, 256), 500, 700"))
            t.check_table("t")


def test_shared_values_are_not_taken_for_one_of_a_dropped_column(t):
    columns = _varchars(0, 16, 0, "VARCHAR(511) CHARACTER SET latin1")
    t.run(f"CREATE TABLE t (id INT PRIMARY KEY, d LONGBLOB, {columns}, n INT)",
          "INSERT INTO t (id, d) VALUES (1, CONCAT(x'FF03', REPEAT('x', 510), 'y'))",
          f"UPDATE t SET {_varchars(0, 9, 511)}",
          # What is shared soon: the length of one value, and the value.
          "UPDATE t SET d = CONCAT(x'FF03', REPEAT('x', 511))",
          "ALTER TABLE t DROP COLUMN d, ALGORITHM=INSTANT",
          f"UPDATE t SET {_varchars(9, 16, 511)}")
    t.rows(f"SELECT {', '.join(f'SHA2(v{i}, 256)' for i in range(16))} FROM t",
           [(t.run("SELECT SHA2(REPEAT('x', 511), 256)")[0][0],) * 16])
    t.check_table("t")


def _lsn(t):
    return int(t.run("SHOW GLOBAL STATUS LIKE 'Rowan_log_lsn'")[0][1])


def _changed(t):
    return int(t.run("SHOW GLOBAL STATUS LIKE 'Rowan_off_page_values_changed'")[0][1])
