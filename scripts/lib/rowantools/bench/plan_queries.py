# SPDX-License-Identifier: GPL-2.0-only
"""The tables and the 50 joins of scripts/bench plans: a small trading company, skewed where trade
is."""

_NUMBERS = "WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < {}) "
# A number that looks random and is the same in both engines.
_MIXED = "(({} * 2654435761) % 4294967296)"

TABLES = {
    "region": "id INT PRIMARY KEY, name VARCHAR(30) NOT NULL, UNIQUE (name)",
    "customer": "id INT PRIMARY KEY, region INT NOT NULL, segment CHAR(1) NOT NULL,"
                " name VARCHAR(40) NOT NULL, balance INT NOT NULL, KEY (region, balance),"
                " KEY (name)",
    "supplier": "id INT PRIMARY KEY, region INT NOT NULL, name VARCHAR(40) NOT NULL, KEY (region)",
    "product": "id INT PRIMARY KEY, supplier INT NOT NULL, class INT NOT NULL, price INT NOT NULL,"
               " name VARCHAR(40) NOT NULL, KEY (supplier), KEY (class, price)",
    "orders": "id INT PRIMARY KEY, customer INT NOT NULL, day INT NOT NULL,"
              " status CHAR(1) NOT NULL, total INT NOT NULL, remark VARCHAR(80),"
              " KEY (customer, day), KEY (day), KEY (status)",
    "line": "orders INT NOT NULL, number INT NOT NULL, product INT NOT NULL, quantity INT NOT NULL,"
            " price INT NOT NULL, shipped INT, PRIMARY KEY (orders, number),"
            " KEY (product, quantity), KEY (shipped)",
}

_ROWS = {
    "region": (25, "n, CONCAT('region ', n)"),
    "customer": (4000, f"n, {_MIXED.format('n')} % 25 + 1, SUBSTR('ABCDE', {_MIXED.format('n')} % 5"
                       f" + 1, 1), CONCAT('customer ', n), {_MIXED.format('n + 7')} % 10000"),
    "supplier": (400, "n, n % 25 + 1, CONCAT('supplier ', n)"),
    "product": (2000, f"n, n % 400 + 1, {_MIXED.format('n')} % 40, {_MIXED.format('n + 3')} % 900 +"
                      " 100, CONCAT('product ', n)"),
    # A tenth of the customers place half of the orders; one order in a hundred is open.
    "orders": (40000, f"n, IF(n % 2, {_MIXED.format('n')} % 400, {_MIXED.format('n')} % 4000) + 1,"
                      " n DIV 40, IF(n % 100, 'C', 'O'),"
                      f" {_MIXED.format('n + 5')} % 5000, REPEAT('r', n % 60)"),
}
LINES = ("INSERT INTO line SELECT id, l.n, (id * 7 + l.n * 131) % 2000 + 1, (id + l.n) % 50 + 1,"
         " total % 900 + 100, IF(status = 'O', NULL, day + l.n) FROM orders JOIN (SELECT 1 n UNION"
         " SELECT 2 UNION SELECT 3 UNION SELECT 4) l ON l.n <= id % 4 + 1")


def fill_statements():
    """The statements that fill the tables, in order."""
    for table, (rows, columns) in _ROWS.items():
        yield f"INSERT INTO {table} {_NUMBERS.format(rows)} SELECT {columns} FROM n"
    yield LINES


_C_O = "customer c JOIN orders o ON o.customer = c.id"
_O_L = "orders o JOIN line l ON l.orders = o.id"
_L_P = "line l JOIN product p ON p.id = l.product"

JOINS = [
    f"SELECT COUNT(*), SUM(o.total) FROM {_C_O} WHERE c.id = 17",
    f"SELECT COUNT(*), SUM(o.total) FROM {_C_O} WHERE c.name = 'customer 1234'",
    f"SELECT COUNT(*), SUM(o.total) FROM {_C_O} WHERE c.region = 3",
    f"SELECT COUNT(*), SUM(o.total) FROM {_C_O} WHERE c.region = 3 AND o.day BETWEEN 10 AND 20",
    f"SELECT COUNT(*), SUM(c.balance) FROM {_C_O} WHERE o.status = 'O'",
    f"SELECT COUNT(*), SUM(c.balance) FROM {_C_O} WHERE o.status = 'C'",
    f"SELECT COUNT(*) FROM {_C_O} WHERE o.day = 500",
    f"SELECT COUNT(*) FROM {_C_O} WHERE c.segment = 'B' AND o.day > 990",
    f"SELECT o.id, c.name FROM {_C_O} WHERE o.day < 5 ORDER BY o.total DESC LIMIT 10",
    f"SELECT o.id, c.name FROM {_C_O} ORDER BY o.id DESC LIMIT 10",
    f"SELECT c.id, MAX(o.day) FROM {_C_O} WHERE c.region = 7 GROUP BY c.id",
    f"SELECT c.region, SUM(o.total) FROM {_C_O} GROUP BY c.region",
    f"SELECT SUM(l.quantity) FROM {_O_L} WHERE o.id = 777",
    f"SELECT SUM(l.quantity) FROM {_O_L} WHERE o.day = 321",
    f"SELECT SUM(l.quantity) FROM {_O_L} WHERE o.status = 'O'",
    f"SELECT COUNT(*), SUM(o.total) FROM {_O_L} WHERE l.product = 55",
    f"SELECT COUNT(*), SUM(o.total) FROM {_O_L} WHERE l.product = 55 AND l.quantity > 45",
    f"SELECT COUNT(*), SUM(o.total) FROM {_O_L} WHERE l.shipped = 400",
    f"SELECT COUNT(*), SUM(o.total) FROM {_O_L} WHERE l.shipped IS NULL",
    f"SELECT COUNT(*) FROM {_O_L} WHERE o.total < 100 AND l.quantity = 3",
    f"SELECT SUM(l.quantity * l.price) FROM {_L_P} WHERE p.id = 9",
    f"SELECT SUM(l.quantity * l.price) FROM {_L_P} WHERE p.class = 4",
    f"SELECT SUM(l.quantity * l.price) FROM {_L_P} WHERE p.class = 4 AND p.price > 950",
    f"SELECT SUM(l.quantity) FROM {_L_P} WHERE p.supplier = 31",
    f"SELECT p.class, SUM(l.quantity) FROM {_L_P} GROUP BY p.class",
    f"SELECT COUNT(*) FROM {_L_P} WHERE l.orders BETWEEN 100 AND 200",
    f"SELECT COUNT(*) FROM {_C_O} JOIN line l ON l.orders = o.id WHERE c.id = 12",
    f"SELECT COUNT(*) FROM {_C_O} JOIN line l ON l.orders = o.id WHERE c.region = 12",
    f"SELECT COUNT(*) FROM {_C_O} JOIN line l ON l.orders = o.id WHERE l.product = 12",
    f"SELECT SUM(l.price) FROM {_C_O} JOIN line l ON l.orders = o.id JOIN product p ON"
    " p.id = l.product WHERE c.id = 5 AND p.class = 3",
    f"SELECT SUM(l.price) FROM {_C_O} JOIN line l ON l.orders = o.id JOIN product p ON"
    " p.id = l.product JOIN supplier s ON s.id = p.supplier WHERE c.region = 4 AND s.region = 9",
    f"SELECT SUM(l.price) FROM {_C_O} JOIN line l ON l.orders = o.id JOIN product p ON"
    " p.id = l.product JOIN supplier s ON s.id = p.supplier JOIN region r ON r.id = s.region"
    " WHERE r.name = 'region 11' AND o.day BETWEEN 100 AND 110",
    "SELECT r.name, COUNT(*) FROM region r JOIN customer c ON c.region = r.id GROUP BY r.name",
    "SELECT COUNT(*) FROM region r JOIN customer c ON c.region = r.id WHERE c.balance > 9900",
    "SELECT COUNT(*) FROM region r JOIN customer c ON c.region = r.id WHERE r.name = 'region 2'"
    " AND c.balance < 500",
    "SELECT COUNT(*) FROM customer a JOIN customer b ON b.region = a.region WHERE a.id < 20",
    "SELECT COUNT(*) FROM product a JOIN product b ON b.class = a.class AND b.price > a.price"
    " WHERE a.supplier = 17",
    "SELECT COUNT(*) FROM customer c LEFT JOIN orders o ON o.customer = c.id AND o.status = 'O'"
    " WHERE c.region = 5",
    "SELECT COUNT(*) FROM customer c LEFT JOIN orders o ON o.customer = c.id WHERE o.id IS NULL",
    "SELECT COUNT(*) FROM customer c WHERE c.id IN (SELECT customer FROM orders WHERE day = 77)",
    "SELECT COUNT(*) FROM customer c WHERE EXISTS (SELECT * FROM orders o WHERE o.customer = c.id"
    " AND o.status = 'O')",
    "SELECT COUNT(*) FROM customer c WHERE NOT EXISTS (SELECT * FROM orders o WHERE o.customer ="
    " c.id AND o.day > 900) AND c.region = 6",
    "SELECT COUNT(*) FROM product p WHERE p.id NOT IN"
    " (SELECT product FROM line WHERE quantity = 7)",
    "SELECT c.name, x.spent FROM customer c JOIN (SELECT customer, SUM(total) spent FROM orders"
    " GROUP BY customer) x ON x.customer = c.id WHERE c.region = 8 ORDER BY x.spent DESC LIMIT 5",
    "SELECT COUNT(*) FROM orders o JOIN (SELECT product, orders FROM line WHERE quantity > 48) l"
    " ON l.orders = o.id WHERE o.day < 50",
    "SELECT o.id, (SELECT COUNT(*) FROM line l WHERE l.orders = o.id) FROM orders o WHERE"
    " o.customer = 3 ORDER BY o.day LIMIT 20",
    f"SELECT COUNT(*) FROM {_C_O} WHERE c.region IN (1, 2) AND o.day IN (5, 6, 7)",
    f"SELECT COUNT(*) FROM {_C_O} WHERE (c.id = 4 OR c.id = 44) AND o.day > 500",
    f"SELECT DISTINCT c.segment FROM {_C_O} WHERE o.day = 99",
    f"SELECT o.day, COUNT(*) FROM {_O_L} WHERE o.day BETWEEN 200 AND 220 GROUP BY o.day"
    " ORDER BY o.day",
]
