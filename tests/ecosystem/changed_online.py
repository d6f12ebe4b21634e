# SPDX-License-Identifier: GPL-2.0-only
"""A table that others write to while a tool changes it, and what must be in it afterwards."""
from beside import Beside

ROWS = 3000


def fill(t, engine, name="items", client=None):
    client = client or t.client()
    client.execute(f"CREATE TABLE {name} (id INT PRIMARY KEY AUTO_INCREMENT, k INT, v VARCHAR(40), "
                   f"KEY (k)) ENGINE={engine}")
    client.execute("SET SESSION cte_max_recursion_depth = 100000")
    client.execute(f"INSERT INTO {name} (k, v) WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT "
                   f"i + 1 FROM n WHERE i < {ROWS}) SELECT i % 100, CONCAT('row ', i) FROM n")


class Writers(Beside):
    """Inserts, changes and deletes rows of a table while entered, and remembers what it left."""

    def __init__(self, t, table):
        super().__init__(t)
        self._table, self.left = table, {}

    def step(self):
        key = 1_000_000 + self.count
        self.client.execute(f"INSERT INTO {self._table} (id, k, v) VALUES ({key}, 7, 'new')")
        self.left[key] = "new"
        if self.count % 3 == 1:
            self.client.execute(f"UPDATE {self._table} SET v = 'changed' WHERE id = {key - 1}")
            self.left[key - 1] = "changed"
        if self.count % 3 == 2:
            self.client.execute(f"DELETE FROM {self._table} WHERE id = {key}")
            del self.left[key]


def check_altered(t, writers, engine):
    """The column is there, and each row, that of the writers too."""
    t.rows("SELECT COUNT(*), MIN(extra), MAX(extra) FROM items WHERE id < 1000000", [(ROWS, 5, 5)])
    t.equal(dict(t.run("SELECT id, v FROM items WHERE id >= 1000000")), writers.left)
    t.check_table("items")
    t.equal(t.value("SELECT engine FROM information_schema.tables WHERE table_name = 'items' AND "
                    f"table_schema = '{t.database}'").upper(), engine.upper())
