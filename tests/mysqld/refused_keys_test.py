# SPDX-License-Identifier: GPL-2.0-only
"""Foreign keys where the server leaves them to the engines, as MySQL 8.4 does."""
import pytest

from framework import ENGINE, IS_8_4

pytestmark = pytest.mark.skipif(not IS_8_4 or ENGINE != "ROWAN",
                                reason="about Rowan in MySQL 8.4; foreign_key_ddl_test.py has "
                                "innodb_native_foreign_keys=ON of later servers")

_NOT_SUPPORTED = 1178
_NO_REFERENCED_ROW, _NO_PARENT, _NOT_IN_PLACE, _IN_A_KEY = 1452, 1824, 1846, 3776

_ADD_KEY = "ADD FOREIGN KEY (p) REFERENCES p (id)"


def _refused(t, statement):
    message = t.error(statement, _NOT_SUPPORTED)
    t.true("foreign keys" in message and "MySQL 8.4" in message, message)


def test_they_are_not_created(t):
    t.run("CREATE TABLE p (id INT PRIMARY KEY)", "CREATE TABLE c (id INT PRIMARY KEY, p INT)")
    for checks in (1, 0):
        t.run(f"SET foreign_key_checks = {checks}")
        _refused(t, "CREATE TABLE d (id INT, FOREIGN KEY (id) REFERENCES p (id))")
        for algorithm in ("COPY", "DEFAULT"):
            _refused(t, f"ALTER TABLE c ALGORITHM={algorithm}, {_ADD_KEY}")
        t.error(f"ALTER TABLE c ALGORITHM=INSTANT, {_ADD_KEY}", (_NOT_IN_PLACE, _NOT_SUPPORTED))
    _refused(t, "CREATE TABLE d (id INT, FOREIGN KEY (id) REFERENCES nowhere (id))")
    t.rows("SHOW TABLES", [("c",), ("p",)])
    t.rows("SELECT COUNT(*) FROM information_schema.referential_constraints "
           "WHERE constraint_schema = DATABASE()", [(0,)])
    t.run("INSERT INTO c VALUES (1, 7)")


def test_tables_of_innodb_do_not_bring_them(t):
    t.run("CREATE TABLE p (id INT PRIMARY KEY) ENGINE = InnoDB",
          "CREATE TABLE c (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES p (id)) "
          "ENGINE = InnoDB")
    for checks in (1, 0):
        t.run(f"SET foreign_key_checks = {checks}")
        for table in ("p", "c"):
            t.error(f"ALTER TABLE {table} ENGINE = ROWAN", _IN_A_KEY)


def test_tables_of_innodb_do_not_refer_to_ours(t):
    t.run("CREATE TABLE p (id INT PRIMARY KEY)", "INSERT INTO p VALUES (1)")
    child = "CREATE TABLE c (id INT PRIMARY KEY, FOREIGN KEY (id) REFERENCES p (id)) ENGINE=InnoDB"
    t.error(child, _NO_PARENT)
    # Unchecked, it is created, and finds no parent.
    t.run("SET foreign_key_checks = 0", child, "SET foreign_key_checks = 1")
    t.error("INSERT INTO c VALUES (1)", _NO_REFERENCED_ROW)
