# SPDX-License-Identifier: GPL-2.0-only
"""scripts/bench ssb: the 13 queries of the Star Schema benchmark on tables that grow with the order
lines asked for. All sides have the same rows and must give the same answers."""
from . import database, queries, ssb_data
from .ssb_queries import FLIGHTS
from .timed_queries import TimedQueries


class StarSchema(TimedQueries):
    flights = [(title, {f"Q{name}": query for name, query in flight.items()})
               for title, flight in FLIGHTS]
    rows_default = (300_000, 20_000)
    rows_per_s = 500_000

    def notes(self):
        counts = ssb_data.counts(self.options.rows)
        yield ("Star Schema-like: " + ", ".join(
            f"{count:,} rows in {table}" for table, count in counts.items())
            + ", from a generator of our own. Each answer is the same on all sides, or the run has "
              "failed.")
        yield from super().notes()

    def fill(self, target):
        fill(target, self.options.rows)


def fill(target, lines):
    """The five tables with so many order lines."""
    with database.connect(target) as connection:
        for table, columns in ssb_data.TABLES.items():
            queries.create(connection, target, table, columns)
            queries.fill(connection, table, ssb_data.rows(table, lines))
        for column in ssb_data.INDEXED:
            connection.execute(f"CREATE INDEX {column} ON ssb_lineorder ({column})")
        queries.analyze(connection, *ssb_data.TABLES)
