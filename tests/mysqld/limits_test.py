# SPDX-License-Identifier: GPL-2.0-only
"""Wide tables, many indexes, large rows and keys: what InnoDB takes is taken, the rest is refused
by CREATE with the server's own error, and rows that CREATE promised can be stored, changed, copied
and read back (docs/limits.md)."""

_ENGINES = ("ROWAN", "INNODB")


def _columns(count, kind, first=1):
    return ", ".join(f"c{n} {kind}" for n in range(first, first + count))


def _both(t, columns, keys="", charset="utf8mb4"):
    for engine in _ENGINES:
        t.run(f"CREATE TABLE wide_{engine} (id INT PRIMARY KEY, {columns}{keys}) "
              f"ENGINE={engine} DEFAULT CHARSET={charset}")


def _compare(t):
    rows = [t.client().query(f"SELECT * FROM wide_{engine} ORDER BY id") for engine in _ENGINES]
    t.true(rows[0] == rows[1], "rows differ from InnoDB's")
    t.check_table("wide_ROWAN")


def _drop(t):
    t.run("DROP TABLE " + ", ".join(f"wide_{engine}" for engine in _ENGINES))


def test_columns(t):
    for kind, value in (("INT", "7"), ("TINYINT", "7"), ("BIT", "b'1'")):
        _both(t, _columns(1016, kind))
        values = ", ".join([value] * 1016)
        for engine in _ENGINES:
            t.run(f"INSERT INTO wide_{engine} VALUES (1, {values})",
                  f"ALTER TABLE wide_{engine} ENGINE={engine}, COMMENT 'copied'")
        _compare(t)
        _drop(t)
    t.error(f"CREATE TABLE wide (id INT PRIMARY KEY, {_columns(1017, 'INT')})", 1117)
    # The most BIGINT columns that InnoDB takes.
    _both(t, _columns(1012, "BIGINT NOT NULL"))
    for engine in _ENGINES:
        t.run(f"INSERT INTO wide_{engine} VALUES (1{', -9' * 1012})",
              f"INSERT INTO wide_{engine} VALUES (2{', 9' * 1012})",
              f"UPDATE wide_{engine} SET c1012 = 5")
    _compare(t)
    _drop(t)
    t.error(f"CREATE TABLE wide (id INT PRIMARY KEY, {_columns(40, 'BINARY(204)')})", 1118)
    t.run(f"CREATE TABLE wide (id INT PRIMARY KEY, {_columns(39, 'BINARY(200)')})")
    t.error("ALTER TABLE wide ADD x BINARY(250), ADD y BINARY(250)", 1118)
    t.run("DROP TABLE wide")


def _fill(t, columns, text, others):
    """A full row, one that grows to full and shrinks, one rolled back; then a copy."""
    names = [f"c{n}" for n in range(1, columns + 1)]
    full = ", ".join([f"'{text}'"] * columns)
    for engine in _ENGINES:
        table = f"wide_{engine}"
        grow = ", ".join(f"{name} = '{text}'" for name in names)
        shrink = ", ".join(f"{name} = '{other}'" for name, other in zip(names, others * columns))
        t.run(f"INSERT INTO {table} VALUES (1, {full})",
              f"INSERT INTO {table} (id) VALUES (2), (3)",
              f"UPDATE {table} SET {grow} WHERE id = 2",
              f"UPDATE {table} SET {shrink} WHERE id = 2",
              f"UPDATE {table} SET {grow} WHERE id = 3", "BEGIN",
              f"UPDATE {table} SET {shrink} WHERE id = 3", f"DELETE FROM {table} WHERE id = 1",
              "ROLLBACK", f"UPDATE {table} SET c1 = 'z' WHERE id = 3",
              f"INSERT INTO {table} SELECT id + 10, {', '.join(names)} FROM {table}",
              f"ALTER TABLE {table} ENGINE={engine}, COMMENT 'copied'",
              f"DELETE FROM {table} WHERE id = 12")
    _compare(t)
    _drop(t)


def test_many_short_variable_columns(t):
    for count, kind, text in ((220, "VARCHAR(20)", "x" * 20), (500, "CHAR(15)", "y" * 15),
                              (300, "VARCHAR(24)", "z" * 24)):
        _both(t, _columns(count, kind), charset="latin1")
        _fill(t, count, text, ["", "q", "w" * 15])


def test_rows_that_innodb_refuses(t):
    # Every column full, in letters of four bytes: all of them move into one value off the page.
    for count, kind, text in ((500, "CHAR(15)", "😀" * 15), (33, "CHAR(255)", "é" * 255),
                              (300, "TEXT", "t" * 700),
                              (1015, "VARCHAR(60) CHARACTER SET latin1", "v" * 60)):
        t.run(f"CREATE TABLE wide (id INT PRIMARY KEY, {_columns(count, kind)}) "
              "DEFAULT CHARSET=utf8mb4")
        full = ", ".join([f"'{text}'"] * count)
        t.run(f"INSERT INTO wide VALUES (1, {full})", f"INSERT INTO wide VALUES (2, {full})",
              "UPDATE wide SET c2 = 'a' WHERE id = 1", "UPDATE wide SET c2 = '' WHERE id = 1",
              "ALTER TABLE wide ADD n INT, ALGORITHM=COPY")
        t.rows(f"SELECT id, c1 = '{text}', c2 = '{text}', c{count} = '{text}', n FROM wide",
               [(1, 1, 0, 1, None), (2, 1, 1, 1, None)])
        # Columns in the middle of the shared value, without those before.
        t.rows(f"SELECT c{count - 1} = '{text}' FROM wide", [(1,), (1,)])
        t.run("DELETE FROM wide WHERE id = 2")
        t.check_table("wide")
        t.run("DROP TABLE wide")


def test_sixty_four_indexes(t):
    name = "ключ" * 15
    columns = _columns(16, "INT")
    keys = "".join(f", KEY `{name}{n:04}` ({', '.join(f'c{1 + (n + i) % 16}' for i in range(16))})"
                   for n in range(63))
    _both(t, columns, keys)
    for engine in _ENGINES:
        t.run(f"INSERT INTO wide_{engine} VALUES (1{', 1' * 16}), (2{', 2' * 16})",
              f"UPDATE wide_{engine} SET c3 = 9 WHERE id = 1",
              f"RENAME TABLE wide_{engine} TO other, other TO wide_{engine}")
    _compare(t)
    t.error(f"ALTER TABLE wide_ROWAN ADD KEY one_more (c1), ADD KEY two_more (c2)", 1069)
    _drop(t)
    keys = "".join(f", KEY `{name}{n:04}` ({', '.join(f'c{1 + (n + i) % 16}' for i in range(16))})"
                   for n in range(40))
    _both(t, _columns(16, "VARCHAR(48)"), keys)
    for engine in _ENGINES:
        values = ", ".join(f"'{chr(97 + n) * 48}'" for n in range(16))
        t.run(f"INSERT INTO wide_{engine} VALUES (1, {values})",
              f"INSERT INTO wide_{engine} (id, c4) VALUES (2, '한글')")
    _compare(t)
    _drop(t)


def test_long_keys(t):
    t.error("CREATE TABLE long_key (a VARCHAR(769) CHARACTER SET utf8mb4 PRIMARY KEY)", 1071)
    t.error("CREATE TABLE long_key (a INT PRIMARY KEY, b VARBINARY(3073), KEY (b))", 1071)
    # Key and values of such an entry are more than a page takes: the row has the values.
    for letter in "aé漢😀":
        for engine in _ENGINES:
            t.run(f"CREATE TABLE wide_{engine} (id VARCHAR(768) PRIMARY KEY, b VARCHAR(768), "
                  f"v INT, KEY (b)) ENGINE={engine} DEFAULT CHARSET=utf8mb4")
            for n in (1, 2, 3):
                t.run(f"INSERT INTO wide_{engine} VALUES (CONCAT('{n}', REPEAT('{letter}', 767)), "
                      f"CONCAT(REPEAT('{letter}', 767), '{n}'), {n})")
            t.run(f"INSERT INTO wide_{engine} VALUES ('short', 'short', 4)",
                  f"UPDATE wide_{engine} SET b = CONCAT(REPEAT('{letter}', 767), '9') WHERE v = 2")
        for query in ("SELECT b, id FROM wide_{} FORCE INDEX (b) ORDER BY b",
                      "SELECT b FROM wide_{} FORCE INDEX (b) WHERE b > '1' AND b LIKE '%9%'",
                      "SELECT v FROM wide_{} FORCE INDEX (b) WHERE b > '1' AND b LIKE '%1%'",
                      "SELECT COUNT(DISTINCT b) FROM wide_{} FORCE INDEX (b)"):
            t.rows(query.format("ROWAN"), t.client().query(query.format("INNODB")))
        _compare(t)
        _drop(t)


def test_no_database_has_the_name_of_the_folder(t):
    t.error("CREATE DATABASE rowan", 3678)


def test_other_page_sizes(t):
    for kilobytes in (4, 64):
        server = t.new_server(options=[f"--loose-rowan-page-size={kilobytes}K"])
        server.start()
        client = t.client(server, database="test")
        limit = (kilobytes * 1024 - 64) // 2 - 10
        size = limit - 13 - 1 - 1 - 4
        parts = [f"c{n} BINARY({min(255, size - at)}) NOT NULL"
                 for n, at in enumerate(range(0, size, 255))]
        client.execute(f"CREATE TABLE wide (id INT PRIMARY KEY, {', '.join(parts)})")
        values = ", ".join(["'x'"] * len(parts))
        for n in range(20):
            client.execute(f"INSERT INTO wide VALUES ({n * 7 % 20}, {values})")
        client.execute("UPDATE wide SET c0 = 'y'")
        client.execute("ALTER TABLE wide ENGINE=ROWAN, COMMENT 'copied'")
        t.check_table("wide", client)
        t.error("ALTER TABLE wide ADD last BINARY(3) NOT NULL", 1118, client)
        client.execute(f"CREATE TABLE shares (id INT PRIMARY KEY, {_columns(200, 'VARCHAR(50)')})")
        client.execute("INSERT INTO shares VALUES (1" + f", '{'s' * 50}'" * 200 + ")")
        t.check_table("shares", client)
