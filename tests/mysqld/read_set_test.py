# SPDX-License-Identifier: GPL-2.0-only
"""Some of many columns of a row, as InnoDB reads them: of each kind, in wide tables, with NULLs,
empty and longest values, in rows of earlier forms of the table, under keys of several kinds."""
import pytest

from side_by_side import FAST, Pair

pytestmark = pytest.mark.server(options=FAST)

_COLUMNS = 71    # more than two words of a bitmap
_TYPES = ("INT", "VARCHAR(20)", "VARCHAR(300)", "CHAR(30)", "CHAR(3) CHARACTER SET latin1",
          "CHAR(5) CHARACTER SET utf16", "BINARY(13)", "TEXT", "DECIMAL(20,5)", "DATETIME(6)",
          "BIGINT NOT NULL DEFAULT 9", "VARBINARY(70) NOT NULL DEFAULT 'n'", "TINYINT", "BIT(11)",
          "CHAR(200) NOT NULL DEFAULT ''", "VARCHAR(2000) CHARACTER SET latin1", "DOUBLE", "TIME",
          "JSON", "MEDIUMINT", "ENUM('x','yy')", "YEAR")
_KEYS = ("id INT PRIMARY KEY", "id INT UNSIGNED PRIMARY KEY", "id BIGINT PRIMARY KEY",
         "id SMALLINT PRIMARY KEY", "id VARCHAR(9) PRIMARY KEY", "id INT NOT NULL",
         "id BINARY(3) PRIMARY KEY", "id INT, PRIMARY KEY (id DESC)")
_ROWS = 60


def _value(random, kind):
    """A literal for a column of this type; None: its default."""
    if random.random() < 0.15:
        return "DEFAULT" if "NOT NULL" in kind else "NULL"
    base = kind.split("(")[0].split()[0]
    if base in ("VARCHAR", "CHAR", "BINARY", "VARBINARY"):
        most = int(kind.split("(")[1].split(")")[0])
        return "'%s'" % ("ab" * most)[:random.choice((0, 1, most // 2, most))]
    if base == "TEXT":
        return "REPEAT('t', %d)" % random.choice((0, 1, 300, 9000, 40000))
    return {"INT": lambda: str(random.randrange(-2**31, 2**31)),
            "BIGINT": lambda: str(random.randrange(-2**63, 2**63)),
            "MEDIUMINT": lambda: str(random.randrange(-2**23, 2**23)),
            "TINYINT": lambda: str(random.randrange(-128, 128)),
            "DECIMAL": lambda: "%.5f" % random.uniform(-1e9, 1e9),
            "DATETIME": lambda: "'20%02d-03-04 05:06:07.%06d'" % (random.randrange(100),
                                                                 random.randrange(10**6)),
            "TIME": lambda: "'%d:11:12'" % random.randrange(-800, 800),
            "BIT": lambda: str(random.randrange(2**11)),
            "DOUBLE": lambda: repr(random.uniform(-1e99, 1e99)),
            "JSON": lambda: "'[%s]'" % ", ".join("7" * random.randrange(40)),
            "ENUM": lambda: random.choice(("'x'", "'yy'")),
            "YEAR": lambda: str(random.randrange(1901, 2156))}[base]()


class _Table:
    def __init__(self, random, both, key):
        self._random, self._both = random, both
        self._types = [random.choice(_TYPES) for _ in range(_COLUMNS)]
        columns = ", ".join(f"c{i} {kind}" for i, kind in enumerate(self._types))
        both(f"CREATE TABLE w ({columns}, k INT, KEY (k), {key})")
        self._ids = 0

    def fill(self, rows):
        for _ in range(rows):
            self._ids += 1
            values = ", ".join(_value(self._random, kind) for kind in self._types)
            names = ", ".join(f"c{i}" for i in range(len(self._types)))
            self._both(f"INSERT INTO w (id, k, {names}) VALUES ({self._ids}, {self._ids % 7}, "
                       f"{values})")

    def add_column(self):
        self._both(f"ALTER TABLE w ADD COLUMN c{len(self._types)} VARCHAR(40) DEFAULT 'added', "
                   "ALGORITHM=INSTANT")
        self._types.append("VARCHAR(40)")

    def read(self):
        """All of it, and some columns by each way to read."""
        some = sorted(self._random.sample(range(len(self._types)), self._random.randrange(1, 6)))
        names = ", ".join(f"c{i}" for i in some)
        some_id = self._random.randrange(1, self._ids + 1)
        self._both(f"SELECT {names} FROM w ORDER BY id")
        self._both(f"SELECT id, {names} FROM w WHERE id BETWEEN {some_id} AND {some_id + 20} "
                   "ORDER BY id DESC")
        self._both(f"SELECT {names} FROM w FORCE INDEX (k) WHERE k = 3 ORDER BY id")
        self._both(f"SELECT {names} FROM w WHERE id = {some_id}")
        self._both(f"SELECT k FROM w WHERE c{some[0]} IS NULL ORDER BY id")
        self._both(f"SELECT COUNT(DISTINCT {names}) FROM w")


@pytest.mark.parametrize("key", _KEYS)
def test_some_of_many_columns(t, key):
    pair = Pair(t)
    table = _Table(t.random, pair.both, key)
    table.fill(_ROWS)
    for _ in range(8):
        table.read()
    table.add_column()
    table.fill(10)
    for _ in range(4):
        table.read()
    pair.both("SELECT * FROM w ORDER BY id")
    pair.drop()
