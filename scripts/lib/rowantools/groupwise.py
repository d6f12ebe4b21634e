# SPDX-License-Identifier: GPL-2.0-only
"""scripts/groupwise: queries for the first rows of each group, written in every way that SQL has,
with pushdown and without it and on InnoDB (docs/groupwise.md). Prints milliseconds and how many
rows the server asked the handlers for."""
import argparse
import statistics
import sys
import time

from .client import MysqlError
from .paths import run_main
from .scratch_folder import add_folder_option, scratch_folder
from .server import Server

_WINDOW = ("SELECT COUNT(*) FROM (SELECT pk, j, {} OVER (PARTITION BY j ORDER BY pk DESC) AS r "
           "FROM {{0}}) d WHERE r {}")
FORMS = (
    ("join with GROUP BY", "SELECT COUNT(*), SUM(t.k) FROM {0} t JOIN (SELECT MAX(pk) AS m, j "
     "FROM {0} GROUP BY j) x ON t.pk = x.m"),
    ("RANK() = 1", _WINDOW.format("RANK()", "= 1")),
    ("ROW_NUMBER() <= 3", _WINDOW.format("ROW_NUMBER()", "<= 3")),
    ("DENSE_RANK() = 1", _WINDOW.format("DENSE_RANK()", "= 1")),
    ("LEFT JOIN ... IS NULL", "SELECT COUNT(*), SUM(b.k) FROM {0} b LEFT JOIN {0} c "
     "ON c.j = b.j AND c.pk > b.pk WHERE c.pk IS NULL"),
    ("NOT EXISTS", "SELECT COUNT(*), SUM(b.k) FROM {0} b WHERE NOT EXISTS (SELECT 1 FROM {0} c "
     "WHERE c.j = b.j AND c.pk > b.pk)"),
    ("= (SELECT MAX)", "SELECT COUNT(*), SUM(k) FROM {0} b WHERE pk = (SELECT MAX(pk) FROM {0} c "
     "WHERE c.j = b.j)"),
    ("IN (... GROUP BY)", "SELECT COUNT(*), SUM(k) FROM {0} WHERE (j, pk) IN (SELECT j, MAX(pk) "
     "FROM {0} GROUP BY j)"),
    ("LATERAL ... LIMIT 3", "SELECT COUNT(*), SUM(l.k) FROM (SELECT DISTINCT j FROM {0}) g, "
     "LATERAL (SELECT k FROM {0} t WHERE t.j = g.j ORDER BY pk DESC LIMIT 3) l"),
)
_VARIANTS = (("Rowan", "rowan", "ON"), ("without pushdown", "rowan", "OFF"),
             ("InnoDB", "innodb", "ON"))


def _fill(client, engine, rows, groups):
    client.execute(f"DROP TABLE IF EXISTS {engine}")
    client.execute(f"CREATE TABLE {engine} (pk INT PRIMARY KEY, j INT NOT NULL, k INT, "
                   f"KEY j (j, pk DESC)) ENGINE = {engine}")
    step = 100_000
    for first in range(0, rows, step):
        client.execute(f"INSERT INTO {engine} WITH RECURSIVE s (i) AS (SELECT {first + 1} UNION "
                       f"ALL SELECT i + 1 FROM s WHERE i < {min(rows, first + step)}) "
                       f"SELECT i, i % {groups}, i * 7 % 1000 FROM s")
    client.execute(f"ANALYZE TABLE {engine}")


class Measurement:
    """One size of table on one server."""

    def __init__(self, client, options):
        self._client, self._options = client, options

    def run(self, rows, groups):
        """Markdown lines."""
        for engine in ("rowan", "innodb"):
            _fill(self._client, engine, rows, groups)
        titles = [f"{rows:,} rows in {groups:,} groups, ms (rows read)"]
        lines = ["| " + " | ".join(titles + [name for name, _, _ in _VARIANTS]) + " |",
                 "|" + "---|" * (len(_VARIANTS) + 1)]
        for name, query in FORMS:
            answers, cells = set(), []
            for _, table, pushdown in _VARIANTS:
                self._client.execute(f"SET rowan_pushdown_groupwise = {pushdown}")
                answer, cell = self._measure(query.format(table))
                answers.add(answer)
                cells.append(cell)
            if len(answers - {None}) > 1:
                raise AssertionError(f"{name}: the answers differ: {answers}")
            lines.append("| " + " | ".join([name] + cells) + " |")
            print(lines[-1], file=sys.stderr, flush=True)
        return lines

    def _measure(self, query):
        """The answer and the cell; no answer where it takes too long."""
        limit_ms = self._options.limit * 1000
        query = query.replace("SELECT", f"SELECT /*+ MAX_EXECUTION_TIME({limit_ms}) */", 1)
        samples, answer = [], None
        for _ in range(self._options.runs):
            self._client.execute("FLUSH STATUS")
            start = time.perf_counter()
            try:
                answer = tuple(self._client.query(query)[0])
            except MysqlError as error:
                if error.code != 3024:
                    raise
                return None, f"> {limit_ms:,}"
            samples.append((time.perf_counter() - start) * 1000)
            if samples[-1] > 2000:
                break
        counts = self._client.query("SHOW SESSION STATUS LIKE 'Handler_read%'")
        read = sum(int(value) for _, value in counts)
        return answer, f"{statistics.median(samples):,.2f} ({read:,})"


def _measure(folder, options):
    server = Server(folder / "server", buffer_pool="512M",
                    options=["--innodb-buffer-pool-size=512M", "--cte-max-recursion-depth=200000"])
    try:
        server.start()
        with server.client(timeout_s=600) as client:
            client.execute("CREATE DATABASE groupwise")
            client.execute("USE groupwise")
            for rows, groups in options.size or [(100_000, 10)]:
                print("\n".join(Measurement(client, options).run(rows, groups)), flush=True)
    finally:
        server.destroy()


def main():
    parser = argparse.ArgumentParser(
        prog="scripts/groupwise", description="The first rows of each group in every form of SQL.")
    add_folder_option(parser)
    parser.add_argument("--size", nargs=2, type=int, action="append", metavar=("ROWS", "GROUPS"),
                        help="size of the table, may be repeated (default 100000 10)")
    parser.add_argument("--runs", type=int, default=5, help="runs of each query (default 5)")
    parser.add_argument("--limit", type=int, default=20, help="seconds of a query (default 20)")
    parser.add_argument("--print", metavar="TABLE", dest="printed",
                        help="only print the queries on a table of that name, for another server")
    options = parser.parse_args()
    if options.printed:
        print("\n".join(f"{query.format(options.printed)};" for _, query in FORMS))
        return 0
    with scratch_folder(parser, options) as folder:
        _measure(folder, options)
    return 0


if __name__ == "__main__":
    sys.exit(run_main(main, "groupwise"))
