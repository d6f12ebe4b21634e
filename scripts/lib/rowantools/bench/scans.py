# SPDX-License-Identifier: GPL-2.0-only
"""scripts/bench scans: queries that read one whole table: sums, groups, patterns, the first rows of
an order, and the two of TPC-H that join nothing. Its rows are like TPC-H's order lines, from a
generator of our own."""
import datetime
import random
import re

from . import database, queries
from .timed_queries import TimedQueries

_TABLE = "order_line"
_COLUMNS = ("id INT PRIMARY KEY, part INT NOT NULL, quantity DECIMAL(12,2) NOT NULL, price "
            "DECIMAL(12,2) NOT NULL, discount DECIMAL(12,2) NOT NULL, tax DECIMAL(12,2) NOT NULL, "
            "return_flag CHAR(1) NOT NULL, line_status CHAR(1) NOT NULL, ship_date DATE NOT NULL, "
            "clerk CHAR(10) NOT NULL, ship_mode VARCHAR(10) NOT NULL, note VARCHAR(44) NOT NULL")
_MODES = ("AIR", "FOB", "MAIL", "RAIL", "REG AIR", "SHIP", "TRUCK")
_WORDS = ("above", "blithely", "bold", "deposits", "even", "express", "final", "foxes", "ideas",
          "packages", "pending", "quickly", "requests", "silent", "sleep", "special", "theodolites")
_FIRST_DAY, _DAYS, _LAST_SHIPPED = datetime.date(1992, 1, 2), 2526, datetime.date(1995, 6, 17)
_GENERATED = 100_000   # rows that are sent; the others are copies of them with another id and price
_NUMBER = re.compile(r"-?\d+\.\d+")


class Scans(TimedQueries):
    rows_default = (1_000_000, 20_000)
    rows_per_s = 2_000_000
    flights = (
        ("Aggregates", {
            "count": f"SELECT COUNT(*) FROM {_TABLE}",
            "sum": f"SELECT SUM(part) FROM {_TABLE}",
            "sum-filtered": f"SELECT SUM(price) FROM {_TABLE} WHERE quantity < 24 AND discount "
                            "BETWEEN 0.02 AND 0.05",
            "count-like": f"SELECT COUNT(*) FROM {_TABLE} WHERE note LIKE '%special%requests%'",
            "count-distinct": f"SELECT COUNT(DISTINCT clerk) FROM {_TABLE}",
            "tpch-q6": f"SELECT SUM(price * discount) FROM {_TABLE} WHERE ship_date >= "
                       "'1994-01-01' AND ship_date < '1995-01-01' AND discount BETWEEN 0.05 AND "
                       "0.07 AND quantity < 24"}),
        ("Groups", {
            "groups-7": f"SELECT ship_mode, COUNT(*), SUM(price), AVG(discount) FROM {_TABLE} "
                        "GROUP BY ship_mode",
            "groups-1000": f"SELECT clerk, COUNT(*) FROM {_TABLE} GROUP BY clerk",
            "tpch-q1": "SELECT return_flag, line_status, SUM(quantity), SUM(price), SUM(price * "
                       "(1 - discount)), SUM(price * (1 - discount) * (1 + tax)), AVG(quantity), "
                       f"AVG(price), AVG(discount), COUNT(*) FROM {_TABLE} WHERE ship_date <= "
                       "'1998-09-02' GROUP BY return_flag, line_status "
                       "ORDER BY return_flag, line_status"}),
        ("First rows of an order", {
            "first-10": f"SELECT id, price FROM {_TABLE} ORDER BY price DESC, id LIMIT 10",
            "first-10-text": f"SELECT id, note FROM {_TABLE} ORDER BY note, id LIMIT 10"}))

    def notes(self):
        yield (f"{self.options.rows:,} order lines of {_TABLE}. Each answer is the same on all "
               "sides, or the run has failed.")
        yield from super().notes()

    def fill(self, target):
        with database.connect(target) as connection:
            fill(connection, target, self.options.rows, self.tell_filled)

    @staticmethod
    def plain(row):
        """Averages have more digits on some servers."""
        return tuple(_NUMBER.sub(lambda number: f"{float(number.group()):.4f}",
                                 str(value).rstrip()) for value in row)


def fill(connection, target, rows, tell):
    """A new table; `tell(done, rows)`."""
    queries.create(connection, target, _TABLE, _COLUMNS)
    made = min(rows, _GENERATED)
    queries.fill(connection, _TABLE, _rows(made))
    while made < rows:
        connection.execute(
            f"INSERT INTO {_TABLE} SELECT id + {made}, part, quantity, price + 0.01, discount, "
            "tax, return_flag, line_status, ship_date, clerk, ship_mode, note "
            f"FROM {_TABLE} WHERE id <= {rows - made}")
        made = min(rows, 2 * made)
        tell(made, rows)
    queries.analyze(connection, _TABLE)


def _rows(count):
    chosen = random.Random(_TABLE)
    for number in range(1, count + 1):
        day = _FIRST_DAY + datetime.timedelta(chosen.randrange(_DAYS))
        quantity = chosen.randint(1, 50)
        shipped = day <= _LAST_SHIPPED
        yield (number, chosen.randint(1, 200_000), f"{quantity}.00",
               f"{quantity * chosen.randint(90_000, 200_000) / 100:.2f}",
               f"0.{chosen.randint(0, 10):02}", f"0.{chosen.randint(0, 8):02}",
               chosen.choice("AR") if shipped else "N", "F" if shipped else "O", str(day),
               f"C{chosen.randint(1, 1000):09}", chosen.choice(_MODES),
               " ".join(chosen.choices(_WORDS, k=6))[:44])
