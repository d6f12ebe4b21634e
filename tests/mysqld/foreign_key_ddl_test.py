# SPDX-License-Identifier: GPL-2.0-only
"""Foreign keys: definitions, types and dumps, beside InnoDB."""
import re
import subprocess

import pytest

from framework import needs_foreign_keys
from rowantools.mysql_tree import find_tree
from side_by_side import FAST, same_on_both

pytestmark = [pytest.mark.server(options=FAST), needs_foreign_keys]

_NOT_SUPPORTED = 1178
_ROW_IS_REFERENCED, _NO_REFERENCED_ROW = 1451, 1452


def test_key_types(t):
    same_on_both(t, """
        CREATE TABLE p (id INT PRIMARY KEY, s VARCHAR(20), t TEXT, KEY (s(5)), KEY (t(5)));
        CREATE TABLE c (a BIGINT, FOREIGN KEY (a) REFERENCES p (id));
        CREATE TABLE c (a INT UNSIGNED, FOREIGN KEY (a) REFERENCES p (id));
        CREATE TABLE c (a FLOAT, FOREIGN KEY (a) REFERENCES p (id));
        CREATE TABLE c (s VARCHAR(20), FOREIGN KEY (s) REFERENCES p (s));
        CREATE TABLE c (t TEXT, KEY (t(5)), FOREIGN KEY (t) REFERENCES p (t));
        ALTER TABLE p ADD KEY sk (s);
        CREATE TABLE c (s VARCHAR(20), FOREIGN KEY (s) REFERENCES p (s));
        SET restrict_fk_on_non_standard_key = 0;
        CREATE TABLE c (s VARCHAR(20), FOREIGN KEY (s) REFERENCES p (s));
        INSERT INTO p VALUES (1, 'a', ''), (2, 'a', ''), (3, 'b', '');
        INSERT INTO c VALUES ('a'), ('A');
        INSERT INTO c VALUES ('c');
        DELETE FROM p WHERE id = 1;
        DELETE FROM p WHERE id = 3;
        ALTER TABLE p DROP KEY sk;
        CREATE TABLE s1 (a VARCHAR(10) PRIMARY KEY);
        CREATE TABLE s2 (a VARCHAR(20), FOREIGN KEY (a) REFERENCES s1 (a) ON UPDATE CASCADE);
        CREATE TABLE s3 (a CHAR(10), FOREIGN KEY (a) REFERENCES s1 (a) ON DELETE CASCADE);
        CREATE TABLE s4 (a VARCHAR(10) COLLATE utf8mb4_bin, FOREIGN KEY (a) REFERENCES s1 (a));
        CREATE TABLE s4 (a VARCHAR(10) CHARACTER SET latin1, FOREIGN KEY (a) REFERENCES s1 (a));
        CREATE TABLE s4 (a VARBINARY(10), FOREIGN KEY (a) REFERENCES s1 (a));
        INSERT INTO s1 VALUES ('Abc'), ('def  '), ('ghi'), ('');
        INSERT INTO s2 VALUES ('aBC'), ('');
        INSERT INTO s2 VALUES ('def');
        INSERT INTO s3 VALUES ('abc');
        UPDATE s1 SET a = 'x' WHERE a = 'abc';
        SELECT * FROM s2;
        CREATE TABLE b1 (a VARCHAR(10) COLLATE utf8mb4_general_ci PRIMARY KEY);
        CREATE TABLE b2 (a CHAR(10) COLLATE utf8mb4_general_ci,
            FOREIGN KEY (a) REFERENCES b1 (a) ON UPDATE CASCADE ON DELETE CASCADE);
        CREATE TABLE b3 (a VARCHAR(5) COLLATE utf8mb4_general_ci,
            FOREIGN KEY (a) REFERENCES b1 (a) ON UPDATE CASCADE ON DELETE CASCADE);
        INSERT INTO b1 VALUES ('a  '), ('bb'), ('ccccc');
        INSERT INTO b2 VALUES ('a'), ('bb ');
        INSERT INTO b3 VALUES ('A '), ('bb ');
        UPDATE b1 SET a = 'c ' WHERE a = 'a';
        UPDATE b1 SET a = 'longer12' WHERE a = 'c';
        UPDATE b1 SET a = 'longer12' WHERE a = 'ccccc';
        DELETE FROM b1 WHERE a = 'BB';
        SELECT CONCAT(b2.a, '.'), CONCAT(b3.a, '.') FROM b2, b3;
        CREATE TABLE o1 (a DECIMAL(10,2) PRIMARY KEY, b DATETIME(3), UNIQUE (b), c DATE, UNIQUE (c),
            d TIME, UNIQUE (d), e YEAR, UNIQUE (e), f ENUM('x','y'), UNIQUE (f), g SET('p','q'),
            UNIQUE (g), h BIT(10), UNIQUE (h), i DOUBLE, UNIQUE (i), j BINARY(4), UNIQUE (j));
        CREATE TABLE o2 (a DECIMAL(10,2), b DATETIME(3), c DATE, d TIME, e YEAR, f ENUM('x','y'),
            g SET('p','q'), h BIT(10), i DOUBLE, j BINARY(4),
            FOREIGN KEY (a) REFERENCES o1 (a) ON UPDATE CASCADE,
            FOREIGN KEY (b) REFERENCES o1 (b) ON UPDATE CASCADE,
            FOREIGN KEY (c) REFERENCES o1 (c) ON UPDATE CASCADE,
            FOREIGN KEY (d) REFERENCES o1 (d) ON UPDATE CASCADE,
            FOREIGN KEY (e) REFERENCES o1 (e) ON UPDATE CASCADE,
            FOREIGN KEY (f) REFERENCES o1 (f) ON UPDATE CASCADE,
            FOREIGN KEY (g) REFERENCES o1 (g) ON UPDATE CASCADE,
            FOREIGN KEY (h) REFERENCES o1 (h) ON UPDATE CASCADE,
            FOREIGN KEY (i) REFERENCES o1 (i) ON UPDATE CASCADE,
            FOREIGN KEY (j) REFERENCES o1 (j) ON UPDATE CASCADE);
        INSERT INTO o1 VALUES (-7.25, '2020-01-01 00:00:00.123', '2020-01-02', '-10:11:12', 1999,
            'x', 'p,q', b'1100110011', -2.25, 'ab');
        INSERT INTO o2 SELECT * FROM o1;
        INSERT INTO o2 (a) VALUES (-7.26);
        INSERT INTO o2 (b) VALUES ('2020-01-01 00:00:00');
        INSERT INTO o2 (d) VALUES ('10:11:12');
        INSERT INTO o2 (f) VALUES ('y');
        INSERT INTO o2 (h) VALUES (b'1100110010');
        INSERT INTO o2 (j) VALUES ('ac');
        UPDATE o1 SET a = 1.5, b = '2021-01-01', c = '2021-01-01', d = '20:00:00', e = 2010,
            f = 'y', g = 'q', h = b'1', i = 7, j = 'zz';
        SELECT * FROM o2;
        DELETE FROM o1;
        CREATE TABLE e1 (a INT, PRIMARY KEY (a DESC));
        CREATE TABLE e2 (a INT, KEY (a DESC), FOREIGN KEY (a) REFERENCES e1 (a) ON UPDATE CASCADE);
        INSERT INTO e1 VALUES (1), (2), (3);
        INSERT INTO e2 VALUES (1), (2), (2), (3);
        UPDATE e1 SET a = a + 10 ORDER BY a DESC;
        SELECT * FROM e2 ORDER BY 1;
    """)


def test_types_that_cannot_be_compared_are_refused(t):
    if t.engine != "ROWAN":
        t.skip("InnoDB accepts them, and no row ever finds its parent")
    t.run("CREATE TABLE p (a DECIMAL(10,2) PRIMARY KEY, b DATETIME, UNIQUE (b), c BIT(8), "
          "UNIQUE (c))")
    for column in ("x DECIMAL(5,0)|a", "x BINARY(5)|a", "x TIMESTAMP|b", "x DATETIME(6)|b",
                   "x BIT(16)|c"):
        definition, referenced = column.split("|")
        t.error(f"CREATE TABLE c ({definition}, FOREIGN KEY (x) REFERENCES p ({referenced}))", 3780)


def test_definitions(t):
    same_on_both(t, """
        CREATE TABLE p (id INT PRIMARY KEY, k INT, UNIQUE (k));
        CREATE TABLE c (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES p (id));
        CREATE TABLE x (a INT REFERENCES p (id));
        SHOW CREATE TABLE x;
        CREATE TABLE z (a INT, FOREIGN KEY (a) REFERENCES nosuch (id));
        CREATE TABLE z (a INT, FOREIGN KEY (a) REFERENCES p (nosuch));
        CREATE TABLE z (a INT, FOREIGN KEY (b) REFERENCES p (id));
        CREATE TABLE z (a INT, b INT, FOREIGN KEY (a, b) REFERENCES p (id, k));
        CREATE TABLE z (a INT, CONSTRAINT c_ibfk_1 FOREIGN KEY (a) REFERENCES p (id));
        ALTER TABLE c DROP INDEX p;
        ALTER TABLE p DROP PRIMARY KEY;
        ALTER TABLE p MODIFY id BIGINT;
        ALTER TABLE c MODIFY p BIGINT;
        ALTER TABLE c DROP COLUMN p;
        RENAME TABLE p TO q;
        ALTER TABLE q RENAME COLUMN id TO ident;
        ALTER TABLE c RENAME COLUMN p TO parent;
        ALTER TABLE c ADD COLUMN v INT, ADD KEY (v);
        ALTER TABLE q ENGINE=MyISAM;
        ALTER TABLE c ENGINE=MyISAM;
        RENAME TABLE c TO d;
        SHOW CREATE TABLE d;
        SELECT CONSTRAINT_NAME, UNIQUE_CONSTRAINT_NAME, MATCH_OPTION, UPDATE_RULE, DELETE_RULE,
            TABLE_NAME, REFERENCED_TABLE_NAME FROM INFORMATION_SCHEMA.REFERENTIAL_CONSTRAINTS
            WHERE CONSTRAINT_SCHEMA = DATABASE() ORDER BY 1;
        SELECT CONSTRAINT_NAME, TABLE_NAME, COLUMN_NAME, ORDINAL_POSITION, REFERENCED_TABLE_NAME,
            REFERENCED_COLUMN_NAME FROM INFORMATION_SCHEMA.KEY_COLUMN_USAGE
            WHERE TABLE_SCHEMA = DATABASE() ORDER BY 1, 2, 3;
        CREATE TABLE l LIKE d;
        SHOW CREATE TABLE l;
        INSERT INTO q VALUES (1, 1), (2, 2);
        INSERT INTO l VALUES (1, 1, 1), (2, 3, 1);
        ALTER TABLE l ADD CONSTRAINT lf FOREIGN KEY (parent) REFERENCES q (ident);
        SHOW TABLES;
        DELETE FROM l WHERE id = 2;
        ALTER TABLE l ADD CONSTRAINT lf FOREIGN KEY (parent) REFERENCES q (ident) ON DELETE CASCADE;
        ALTER TABLE l DROP FOREIGN KEY nosuch;
        ALTER TABLE l ADD FOREIGN KEY (v) REFERENCES q (k), DROP FOREIGN KEY lf;
        ALTER TABLE l ADD FOREIGN KEY (v) REFERENCES l (id);
        SHOW CREATE TABLE l;
        ALTER TABLE l DROP FOREIGN KEY l_ibfk_1, ALGORITHM=INPLACE;
        ALTER TABLE l DROP CONSTRAINT l_ibfk_2;
        SET foreign_key_checks = 0;
        ALTER TABLE l ADD FOREIGN KEY (v) REFERENCES q (k), ALGORITHM=INPLACE;
        SET foreign_key_checks = 1;
        SHOW CREATE TABLE l;
        INSERT INTO l VALUES (9, 9, 9);
        CREATE TABLE s (id INT PRIMARY KEY, FOREIGN KEY (id) REFERENCES q (ident)) AS
            SELECT ident AS id FROM q;
        CREATE TABLE s2 (id INT PRIMARY KEY, FOREIGN KEY (id) REFERENCES q (ident)) AS
            SELECT ident + 1 AS id FROM q;
        SHOW TABLES;
        CREATE TABLE my (id INT PRIMARY KEY) ENGINE=MyISAM;
        CREATE TABLE z (id INT PRIMARY KEY, FOREIGN KEY (id) REFERENCES my (id));
    """)


def test_parents_that_come_later(t):
    same_on_both(t, """
        SET foreign_key_checks = 0;
        CREATE TABLE c (id INT PRIMARY KEY, a INT, CONSTRAINT adopted
            FOREIGN KEY (a) REFERENCES later (id) ON DELETE CASCADE ON UPDATE CASCADE);
        INSERT INTO c VALUES (1, 5), (2, 6), (3, NULL);
        SET foreign_key_checks = 1;
        INSERT INTO c VALUES (4, 7);
        INSERT INTO c VALUES (4, NULL);
        CREATE TABLE later (id INT PRIMARY KEY);
        INSERT INTO later VALUES (5), (7);
        INSERT INTO c VALUES (5, 7), (6, 6);
        INSERT INTO c VALUES (5, 7);
        UPDATE c SET a = 6 WHERE id = 2;
        UPDATE c SET a = 5 WHERE id = 2;
        DELETE FROM later WHERE id = 5;
        UPDATE later SET id = 70;
        SELECT * FROM c ORDER BY id;
        DROP TABLE later;
        SET foreign_key_checks = 0;
        TRUNCATE TABLE later;
        DROP TABLE later;
        SET foreign_key_checks = 1;
        INSERT INTO c VALUES (50, 6);
        CREATE TABLE named (id INT PRIMARY KEY);
        RENAME TABLE named TO later;
        INSERT INTO c VALUES (50, 6);
        INSERT INTO later VALUES (6);
        INSERT INTO c VALUES (50, 6);
        DROP TABLE c, later;
    """)


def test_engines_are_not_mixed(t):
    if t.engine != "ROWAN":
        t.skip("about two engines")
    t.run("CREATE TABLE theirs (id INT PRIMARY KEY) ENGINE=InnoDB",
          "CREATE TABLE ours (id INT PRIMARY KEY, v INT)",
          "CREATE TABLE child (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES ours (id))",
          "INSERT INTO ours VALUES (1, 1)")
    t.error("CREATE TABLE c (id INT, FOREIGN KEY (id) REFERENCES theirs (id))", 1824)
    t.error("CREATE TABLE c (id INT, FOREIGN KEY (id) REFERENCES ours (id)) ENGINE=InnoDB", 1824)
    t.error("ALTER TABLE child ENGINE=InnoDB", 3776)
    t.error("ALTER TABLE ours ENGINE=InnoDB", 3776)
    t.error("INSERT INTO child VALUES (1, 2)", _NO_REFERENCED_ROW)


def test_engines_mixed_without_checks(t):
    """What docs/foreign_keys.md says that the server leaves undone."""
    if t.engine != "ROWAN":
        t.skip("about two engines")
    for number, (child, parent) in enumerate((("InnoDB", "ROWAN"), ("ROWAN", "InnoDB"))):
        t.run("SET foreign_key_checks = 0",
              f"CREATE TABLE p{number} (id INT PRIMARY KEY) ENGINE={parent}",
              f"CREATE TABLE c{number} (id INT PRIMARY KEY, FOREIGN KEY (id) REFERENCES "
              f"p{number} (id) ON DELETE CASCADE) ENGINE={child}",
              "SET foreign_key_checks = 1", f"INSERT INTO p{number} VALUES (1)",
              f"INSERT INTO c{number} VALUES (1)")
        t.error(f"INSERT INTO c{number} VALUES (2)", _NO_REFERENCED_ROW)
        t.run(f"DELETE FROM p{number}")
        t.rows(f"SELECT * FROM c{number}", [(1,)])  # an orphan
        t.rows("SELECT unique_constraint_name FROM information_schema.referential_constraints "
               f"WHERE constraint_schema = DATABASE() AND table_name = 'c{number}'", [(None,)])
        t.run(f"DROP TABLE p{number}")


def test_dump_and_reload(t):
    dump = find_tree().program("mysqldump")
    t.run("CREATE TABLE a (id INT PRIMARY KEY, z INT)",
          "CREATE TABLE z (id INT PRIMARY KEY, a INT, CONSTRAINT za FOREIGN KEY (a) REFERENCES "
          "a (id) ON DELETE CASCADE)", "ALTER TABLE a ADD FOREIGN KEY (z) REFERENCES z (id)",
          "INSERT INTO a VALUES (1, NULL), (2, NULL)", "INSERT INTO z VALUES (1, 1), (2, 2)",
          "UPDATE a SET z = id WHERE id = 2")
    before = t.run("SHOW CREATE TABLE a") + t.run("SHOW CREATE TABLE z")
    text = subprocess.run([dump, "--no-defaults", f"--socket={t.server.socket}", "-uroot",
                           "--set-gtid-purged=OFF", t.database], check=True, capture_output=True,
                          text=True).stdout
    t.run("DROP TABLE a, z")
    for statement in re.sub("^--.*$", "", text, flags=re.M).split(";\n"):
        if statement.strip():
            t.run(statement.strip())
    t.equal(t.run("SHOW CREATE TABLE a") + t.run("SHOW CREATE TABLE z"), before, "definitions")
    t.error("INSERT INTO z VALUES (3, 3)", _NO_REFERENCED_ROW)
    t.error("DELETE FROM a WHERE id = 2", _ROW_IS_REFERENCED)
    t.run("DELETE FROM a WHERE id = 1")
    t.rows("SELECT * FROM z", [(2, 2)])


def test_a_server_that_leaves_them_to_its_engines(t):
    """innodb_native_foreign_keys=ON: the server checks nothing, so Rowan changes nothing."""
    if t.engine != "ROWAN":
        t.skip("about Rowan")
    t.run("CREATE TABLE p (id INT PRIMARY KEY)",
          "CREATE TABLE c (id INT PRIMARY KEY, p INT, "
          "FOREIGN KEY (p) REFERENCES p (id) ON DELETE CASCADE)",
          "CREATE TABLE plain (id INT PRIMARY KEY)",
          "INSERT INTO p VALUES (1), (2)", "INSERT INTO c VALUES (1, 1)")
    t.server.restart(("--innodb-native-foreign-keys=ON",))
    client = t.client()
    message = t.error("CREATE TABLE d (id INT, FOREIGN KEY (id) REFERENCES p (id))",
                      _NOT_SUPPORTED, client)
    t.true("innodb_native_foreign_keys" in message, message)
    for statement in ("INSERT INTO c VALUES (2, 7)", "UPDATE p SET id = 7", "DELETE FROM p",
                      "REPLACE INTO p VALUES (1)", "DELETE FROM c"):
        message = t.error(statement, _NOT_SUPPORTED, client)
        t.true("innodb_native_foreign_keys" in message, message)
    client.execute("INSERT INTO plain VALUES (1)")
    client.execute("ALTER TABLE p ADD COLUMN v INT")
    t.equal(client.query("SELECT * FROM p JOIN c ON p.id = c.p FOR UPDATE"), [(1, None, 1, 1)])
    client.execute("SET foreign_key_checks = 0")
    client.execute("INSERT INTO c VALUES (2, 2)")
    client.execute("SET foreign_key_checks = 1")
    client.execute("ALTER TABLE c DROP FOREIGN KEY c_ibfk_1")
    client.execute("INSERT INTO c VALUES (3, 3)")
    client.execute("DELETE FROM p")
    t.server.restart()
