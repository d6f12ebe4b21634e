# SPDX-License-Identifier: GPL-2.0-only
"""Every way the server writes a table: duplicates, REPLACE, AUTO_INCREMENT, types, long values."""

_ER_DUP_ENTRY = 1062


def test_replace(t):
    t.run("CREATE TABLE a (id INT PRIMARY KEY, u INT, v INT, UNIQUE (u), KEY (v))",
          "INSERT INTO a VALUES (1, 1, 1), (2, 2, 2), (3, 3, 3)",
          "REPLACE INTO a VALUES (1, 1, 10)", "REPLACE INTO a VALUES (4, 2, 20)",
          "REPLACE INTO a VALUES (1, 3, 30)")
    t.rows("SELECT * FROM a ORDER BY id", [(1, 3, 30), (4, 2, 20)])
    t.rows("SELECT v FROM a ORDER BY v", [(20,), (30,)])
    t.check_table("a")


def test_on_duplicate_key_update(t):
    t.run("CREATE TABLE a (id INT PRIMARY KEY, u INT, n INT, UNIQUE (u))",
          "INSERT INTO a VALUES (1, 1, 0), (2, 2, 0)")
    t.run("INSERT INTO a VALUES (1, 9, 0) ON DUPLICATE KEY UPDATE n = n + 1",
          "INSERT INTO a VALUES (9, 2, 0) ON DUPLICATE KEY UPDATE n = n + 5, id = 20",
          "INSERT INTO a VALUES (3, 3, 0) ON DUPLICATE KEY UPDATE n = 7")
    t.rows("SELECT * FROM a ORDER BY id", [(1, 1, 1), (3, 3, 0), (20, 2, 5)])
    t.error("INSERT INTO a VALUES (1, 9, 0) ON DUPLICATE KEY UPDATE u = 3", _ER_DUP_ENTRY)
    t.check_table("a")


def test_ignore(t):
    t.run("CREATE TABLE a (id INT PRIMARY KEY, u INT, UNIQUE (u))",
          "INSERT IGNORE INTO a VALUES (1, 1), (1, 2), (2, 1), (3, 3)")
    t.rows("SELECT * FROM a ORDER BY id", [(1, 1), (3, 3)])
    t.run("UPDATE IGNORE a SET u = 1")
    t.rows("SELECT * FROM a ORDER BY id", [(1, 1), (3, 3)])
    t.check_table("a")


def test_duplicate_names_the_key(t):
    t.run("CREATE TABLE a (id INT PRIMARY KEY, u INT, w INT, UNIQUE one (u), UNIQUE two (w))",
          "INSERT INTO a VALUES (1, 1, 1)")
    t.true("a.PRIMARY" in t.error("INSERT INTO a VALUES (1, 2, 2)", _ER_DUP_ENTRY), "primary")
    t.true("a.one" in t.error("INSERT INTO a VALUES (2, 1, 2)", _ER_DUP_ENTRY), "one")
    t.true("a.two" in t.error("INSERT INTO a VALUES (2, 2, 1)", _ER_DUP_ENTRY), "two")


def test_failed_statement_is_undone_whole(t):
    t.run("CREATE TABLE a (id INT PRIMARY KEY, k INT, KEY (k))", "INSERT INTO a VALUES (5, 5)",
          "BEGIN", "INSERT INTO a VALUES (1, 1)")
    t.error("INSERT INTO a VALUES (2, 2), (3, 3), (5, 9)", _ER_DUP_ENTRY)
    t.error("UPDATE a SET id = 5, k = 7 WHERE id = 1", _ER_DUP_ENTRY)
    t.rows("SELECT * FROM a", [(1, 1), (5, 5)])
    t.run("COMMIT")
    t.rows("SELECT id FROM a FORCE INDEX (k) WHERE k > 0", [(1,), (5,)])
    t.check_table("a")


def test_update_moves_keys(t):
    t.run("CREATE TABLE a (id INT PRIMARY KEY, k INT, KEY (k))")
    t.run("INSERT INTO a VALUES " + ", ".join(f"({i}, {i})" for i in range(1, 101)))
    t.run("UPDATE a SET k = k + 1000", "UPDATE a SET id = id + 1000 ORDER BY id DESC",
          "UPDATE a SET k = 5 WHERE k > 1090", "DELETE FROM a WHERE k = 1001")
    t.rows("SELECT COUNT(*), MIN(id), MAX(id) FROM a", [(99, 1002, 1100)])
    t.rows("SELECT COUNT(*) FROM a WHERE k = 5", [(10,)])
    t.check_table("a")


def test_update_reports_what_changed(t):
    t.run("CREATE TABLE a (id INT PRIMARY KEY, k INT)", "INSERT INTO a VALUES (1, 1), (2, 2)")
    result = t.client().execute("UPDATE a SET k = 2")
    t.true("Changed: 1" in result.info, result.info)


def test_auto_increment(t):
    t.run("CREATE TABLE a (id INT PRIMARY KEY AUTO_INCREMENT, v INT)",
          "INSERT INTO a (v) VALUES (1), (2)", "INSERT INTO a VALUES (10, 3)",
          "INSERT INTO a (v) VALUES (4)", "INSERT INTO a VALUES (0, 5), (NULL, 6)")
    t.rows("SELECT id, v FROM a", [(1, 1), (2, 2), (10, 3), (11, 4), (12, 5), (13, 6)])
    t.run("UPDATE a SET id = 50 WHERE v = 6", "INSERT INTO a (v) VALUES (7)")
    t.true(t.value("SELECT id FROM a WHERE v = 7") > 50, "raised by UPDATE")
    t.run("ALTER TABLE a AUTO_INCREMENT = 1000", "INSERT INTO a (v) VALUES (8)")
    t.rows("SELECT id FROM a WHERE v = 8", [(1000,)])
    t.true("AUTO_INCREMENT=" in t.run("SHOW CREATE TABLE a")[0][1], "in SHOW CREATE TABLE")
    t.run("TRUNCATE a", "INSERT INTO a (v) VALUES (9)")
    t.rows("SELECT id FROM a", [(1,)])
    t.run("SET SESSION auto_increment_increment = 10, auto_increment_offset = 3",
          "INSERT INTO a (v) VALUES (10), (11)")
    t.equal([row[0] % 10 for row in t.run("SELECT id FROM a WHERE v >= 10")], [3, 3])


def test_auto_increment_at_the_end_of_its_range(t):
    t.run("CREATE TABLE a (id TINYINT PRIMARY KEY AUTO_INCREMENT, v INT)",
          "INSERT INTO a VALUES (126, 1)", "INSERT INTO a (v) VALUES (2)")
    t.rows("SELECT id FROM a", [(126,), (127,)])
    for _ in range(2):
        t.error("INSERT INTO a (v) VALUES (3)", _ER_DUP_ENTRY)
    t.run("DELETE FROM a WHERE id = 127", "INSERT INTO a (v) VALUES (4)")
    t.rows("SELECT id, v FROM a", [(126, 1), (127, 4)])
    t.run("CREATE TABLE b (id BIGINT UNSIGNED PRIMARY KEY AUTO_INCREMENT)",
          "INSERT INTO b VALUES (18446744073709551614)")
    t.error("INSERT INTO b VALUES (NULL)", (1467, 167))


def _counter(client, table):
    client.execute("SET SESSION information_schema_stats_expiry = 0")
    return client.value("SELECT AUTO_INCREMENT FROM information_schema.tables WHERE table_schema = "
                        f"'test' AND table_name = '{table}'")


def test_auto_increment_after_a_kill(t):
    """The counter goes on where it was, as InnoDB's; no value that was committed comes again."""
    server = t.new_server()
    server.start()
    client = t.client(server, database="test")
    engines = (t.engine, "INNODB")
    steps = {
        "plain": "INSERT INTO {0} VALUES (NULL, 1), (NULL, 2), (NULL, 3)",
        "secondary": "INSERT INTO {0} (k) VALUES (NULL), (NULL)",
        "gone": "INSERT INTO {0} VALUES (NULL, 1), (NULL, 2), (NULL, 3);DELETE FROM {0}",
        "last": "INSERT INTO {0} VALUES (NULL, 1), (NULL, 2);DELETE FROM {0} WHERE v = 2;"
                "INSERT INTO {0} VALUES (NULL, 3);DELETE FROM {0} WHERE v = 3",
        "moved": "INSERT INTO {0} VALUES (NULL, 1), (77, 2);UPDATE {0} SET id = 3 WHERE id = 77",
        "given": "INSERT INTO {0} VALUES (500, 1);INSERT INTO {0} VALUES (NULL, 2);"
                 "DELETE FROM {0} WHERE id = 501",
        "stepped": "SET auto_increment_increment = 10;INSERT INTO {0} VALUES (NULL, 1), (NULL, 2);"
                   "SET auto_increment_increment = 1",
        "replaced": "INSERT INTO {0} VALUES (NULL, 1);REPLACE INTO {0} VALUES (1, 5);"
                    "INSERT INTO {0} VALUES (NULL, 2);DELETE FROM {0} WHERE v = 2",
        "failed": "INSERT INTO {0} VALUES (NULL, 1), (NULL, 2);"
                  "INSERT IGNORE INTO {0} VALUES (1, 1), (NULL, 3), (2, 2)",
        "selected": "INSERT INTO {0} VALUES (NULL, 1), (NULL, 2), (NULL, 3);"
                    "INSERT INTO {0} (v) SELECT v FROM plain_{1}",
        "end": "INSERT INTO {0} VALUES (126, 1), (NULL, 2)",
    }
    shapes = {"secondary": "k INT NOT NULL AUTO_INCREMENT, v INT, KEY (k DESC)",
              "end": "id TINYINT AUTO_INCREMENT PRIMARY KEY, v INT"}
    for name, statements in steps.items():
        for engine in engines:
            shape = shapes.get(name, "id INT AUTO_INCREMENT PRIMARY KEY, v INT")
            client.execute(f"CREATE TABLE {name}_{engine} ({shape}) ENGINE={engine}")
            for statement in statements.format(f"{name}_{engine}", engine).split(";"):
                client.execute(statement)
    counters = {name: [_counter(client, f"{name}_{engine}") for engine in engines]
                for name in steps}
    server.kill()
    server.start()
    client = t.client(server, database="test")
    for name in steps:
        column = "k" if name == "secondary" else "id"
        after = []
        for engine in engines:
            if name != "end":
                client.execute(f"INSERT INTO {name}_{engine} ({column}) VALUES (NULL)")
            after.append(client.value(f"SELECT MAX({column}) FROM {name}_{engine}"))
        t.equal(after[0], after[1], f"'{name}' after the kill; counters before: {counters[name]}")
        t.equal(counters[name][0], counters[name][1], f"counter of '{name}' before the kill")
    t.error(f"INSERT INTO end_{t.engine} VALUES (NULL, 3)", _ER_DUP_ENTRY, client)


def test_auto_increment_by_many_sessions(t):
    t.run("CREATE TABLE a (id INT PRIMARY KEY AUTO_INCREMENT, v INT)")

    def insert():
        client = t.client()
        for _ in range(100):
            client.execute("INSERT INTO a (v) VALUES (1), (2), (3)")
    t.threads([insert] * 4)
    t.rows("SELECT COUNT(*), COUNT(DISTINCT id) FROM a", [(1200, 1200)])


_TYPES = {
    "TINYINT": ("-128", "127"), "TINYINT UNSIGNED": ("0", "255"), "SMALLINT": ("-32768", "32767"),
    "MEDIUMINT": ("-8388608", "8388607"), "INT": ("-2147483648", "2147483647"),
    "BIGINT": ("-9223372036854775808", "9223372036854775807"),
    "BIGINT UNSIGNED": ("0", "18446744073709551615"), "DECIMAL(20,5)": ("-99.5", "12345.67890"),
    "FLOAT": ("-1.5", "2.25"), "DOUBLE": ("-1e300", "1e300"), "YEAR": ("1901", "2155"),
    "DATE": ("'1000-01-01'", "'9999-12-31'"), "TIME(3)": ("'-838:59:59'", "'12:34:56.789'"),
    "DATETIME(6)": ("'1000-01-01 00:00:00'", "'2026-11-20 12:34:56.123456'"),
    "TIMESTAMP": ("'1970-01-02 00:00:01'", "'2037-01-01 00:00:00'"),
    "CHAR(10)": ("''", "'abc'"), "VARCHAR(50)": ("''", "'Grüße'"),
    "BINARY(4)": ("0x00000000", "0xFF00FF00"), "VARBINARY(20)": ("''", "0x00FF00"),
    "CHAR(5) CHARACTER SET latin1": ("'a'", "'z'"),
    "VARCHAR(9) CHARACTER SET ascii": ("'A'", "'b'"),
    "ENUM('x','y')": ("'x'", "'y'"), "SET('p','q')": ("''", "'p,q'"), "BIT(9)": ("0", "511"),
}


def test_types_come_back_and_sort(t):
    for number, (kind, (low, high)) in enumerate(_TYPES.items()):
        t.run(f"CREATE TABLE a{number} (id INT PRIMARY KEY, v {kind} NULL, w {kind} NOT NULL, "
              f"KEY (v), KEY (w))",
              f"INSERT INTO a{number} VALUES (1, {low}, {low}), (2, {high}, {high}), "
              f"(3, NULL, {high})")
        table = f"a{number}"
        t.rows(f"SELECT id FROM {table} FORCE INDEX (v) ORDER BY v, id", [(3,), (1,), (2,)])
        t.rows(f"SELECT id FROM {table} FORCE INDEX (v) WHERE v = {high}", [(2,)])
        t.rows(f"SELECT id FROM {table} FORCE INDEX (w) WHERE w > {low} ORDER BY id",
               [(2,), (3,)])
        t.equal(t.run(f"SELECT v FROM {table} FORCE INDEX (v) WHERE v >= {low} ORDER BY v"),
                t.run(f"SELECT v FROM {table} IGNORE INDEX (v) WHERE id < 3 ORDER BY id"),
                f"covering {kind}")
        t.check_table(table)


def test_each_type_as_primary_key(t):
    for number, (kind, (low, high)) in enumerate(_TYPES.items()):
        t.run(f"CREATE TABLE p{number} (v {kind} NOT NULL PRIMARY KEY, n INT, KEY (n))",
              f"INSERT INTO p{number} VALUES ({high}, 2), ({low}, 1)",
              f"UPDATE p{number} SET n = n + 10 WHERE v = {high}")
        t.rows(f"SELECT n FROM p{number} ORDER BY v", [(1,), (12,)])
        t.error(f"INSERT INTO p{number} VALUES ({low}, 3)", _ER_DUP_ENTRY)
        t.run(f"DELETE FROM p{number} WHERE v = {low}")
        t.check_table(f"p{number}")


def test_collation_equal_values(t):
    t.run("CREATE TABLE a (id INT PRIMARY KEY, v VARCHAR(20), UNIQUE (v))",
          "INSERT INTO a VALUES (1, 'Straße'), (2, 'abc')")
    t.error("INSERT INTO a VALUES (3, 'ABC')", _ER_DUP_ENTRY)
    t.rows("SELECT v FROM a WHERE v = 'ABC'", [("abc",)])
    t.run("UPDATE a SET v = 'aBc' WHERE id = 2")
    t.rows("SELECT v FROM a FORCE INDEX (v) WHERE v > 'a' ORDER BY v", [("aBc",), ("Straße",)])
    t.rows("SELECT v FROM a WHERE id = 2", [("aBc",)])
    t.check_table("a")


def test_long_values(t):
    t.run("CREATE TABLE a (id INT PRIMARY KEY, v VARCHAR(15000) CHARACTER SET latin1, "
          "w VARCHAR(15000) CHARACTER SET latin1, n INT)")
    for i in range(1, 31):
        t.run(f"INSERT INTO a VALUES ({i}, REPEAT('{chr(96 + i % 26 + 1)}', {i * 450}), "
              f"REPEAT('w', {15000 - i * 450}), {i})")
    t.rows("SELECT SUM(LENGTH(v)), SUM(LENGTH(w)) FROM a", [("209250", "240750")])
    t.run("UPDATE a SET n = n + 100", "UPDATE a SET v = REPEAT('Z', 14000) WHERE id % 2 = 0",
          "DELETE FROM a WHERE id % 3 = 0", "BEGIN", "UPDATE a SET w = REPEAT('q', 13000)",
          "ROLLBACK")
    t.rows("SELECT COUNT(*), SUM(v LIKE 'ZZ%'), SUM(LENGTH(v)) FROM a WHERE id % 2 = 0",
           [(10, "10", "140000")])
    t.rows("SELECT LENGTH(w) FROM a WHERE id = 1", [(14550,)])
    t.check_table("a")


def test_duplicate_with_long_value_leaves_nothing_behind(t):
    t.run("CREATE TABLE a (id INT PRIMARY KEY, v VARCHAR(15000) CHARACTER SET latin1)",
          "INSERT INTO a VALUES (1, REPEAT('a', 15000))",
          "INSERT IGNORE INTO a VALUES (1, REPEAT('b', 15000))",
          "REPLACE INTO a VALUES (1, REPEAT('c', 15000))",
          "INSERT INTO a VALUES (1, 'x') ON DUPLICATE KEY UPDATE v = CONCAT('d', SUBSTR(v, 2))")
    t.error("INSERT INTO a VALUES (2, REPEAT('e', 15000)), (1, REPEAT('e', 15000))", _ER_DUP_ENTRY)
    t.rows("SELECT id, LEFT(v, 2), LENGTH(v) FROM a", [(1, "dc", 15000)])
    t.check_table("a")


def test_insert_select_and_multi_table_statements(t):
    t.run("CREATE TABLE a (id INT PRIMARY KEY, k INT, KEY (k))", "CREATE TABLE b LIKE a",
          "INSERT INTO a VALUES (1, 1), (2, 2), (3, 3)", "INSERT INTO b SELECT id, k * 10 FROM a",
          "INSERT INTO a SELECT id + 10, k FROM a",
          "UPDATE a JOIN b ON a.id = b.id SET a.k = b.k, b.k = 0 WHERE a.id < 3",
          "DELETE a, b FROM a JOIN b ON a.id = b.id WHERE a.id = 3")
    t.rows("SELECT * FROM a ORDER BY id", [(1, 10), (2, 20), (11, 1), (12, 2), (13, 3)])
    t.rows("SELECT * FROM b", [(1, 0), (2, 0)])
    t.check_table("a")
    t.check_table("b")


def test_triggers_and_generated_columns(t):
    t.run("CREATE TABLE log_table (n INT)",
          "CREATE TABLE a (id INT PRIMARY KEY, k INT, s INT AS (k * 2) STORED, KEY (s))",
          "CREATE TRIGGER tr AFTER UPDATE ON a FOR EACH ROW INSERT INTO log_table VALUES (NEW.k)",
          "INSERT INTO a (id, k) VALUES (1, 1), (2, 2)", "UPDATE a SET k = k + 5")
    t.rows("SELECT * FROM log_table ORDER BY n", [(6,), (7,)])
    t.rows("SELECT id FROM a WHERE s = 14", [(2,)])
    t.check_table("a")


def test_prefix_of_a_char_that_ends_with_a_space(t):
    """A row is found again by its reference: in a key image such a space looks like padding."""
    t.run("CREATE TABLE p (a INT, c CHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci, "
          "v INT, PRIMARY KEY (a, c(1)), UNIQUE KEY (c(2)))",
          "INSERT INTO p VALUES (1, 'b', 0), (2, ' x', 0), (3, 'y z', 0), (4, '', 0)")
    t.run("UPDATE p SET a = a + 10, v = 1")
    t.rows("SELECT a, c, v FROM p ORDER BY a", [(11, "b", 1), (12, " x", 1), (13, "y z", 1),
                                                (14, "", 1)])
    t.error("INSERT INTO p VALUES (5, 'y ', 0)", 1062)
    t.rows("SELECT a FROM p FORCE INDEX (c) WHERE c = 'y z'", [(13,)])
    t.check_table("p")


def test_char_values_of_every_length(t):
    """Padding is cut off whatever its length; spaces inside a value stay."""
    for charset in ("utf8mb4", "latin1", "utf16"):
        t.run("DROP TABLE IF EXISTS c",
              f"CREATE TABLE c (id INT PRIMARY KEY, v CHAR(40) CHARACTER SET {charset}, KEY (v))")
        values = [(length, ("ab  " * 10)[:length].rstrip() + "x" * (length % 2))
                  for length in range(40)]
        t.run("INSERT INTO c VALUES " + ", ".join(f"({i}, '{v}')" for i, v in values),
              "UPDATE c SET v = CONCAT(' ', LEFT(v, 39), '   ')")
        wanted = [(i, (" " + v).rstrip()) for i, v in values]
        t.rows("SELECT * FROM c FORCE INDEX (PRIMARY) ORDER BY id", wanted)
        t.rows("SELECT HEX(CONVERT(v USING latin1)) FROM c FORCE INDEX (PRIMARY) ORDER BY id",
               [(v.encode().hex().upper(),) for _, v in wanted])
        t.check_table("c")


def test_numbers_read_from_index_entries(t):
    """Four-byte numbers, ascending and descending, at the ends of their ranges."""
    t.run("CREATE TABLE n (id INT PRIMARY KEY, a INT NOT NULL, d INT UNSIGNED NOT NULL, "
          "KEY (a), KEY (a DESC), KEY (d), KEY (d DESC))",
          "INSERT INTO n VALUES (1, -2147483648, 0), (2, 2147483647, 4294967295), "
          "(3, -1, 2147483648), (4, 0, 16909060), (5, 16909060, 1)")
    numbers = {"a": [-2147483648, -1, 0, 16909060, 2147483647],
               "d": [0, 1, 16909060, 2147483648, 4294967295]}
    for column, wanted in numbers.items():
        for key in (column, column + "_2"):
            t.rows(f"SELECT {column} FROM n FORCE INDEX ({key}) WHERE {column} >= -2147483648 "
                   f"ORDER BY {column}", [(number,) for number in wanted])
