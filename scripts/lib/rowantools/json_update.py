# SPDX-License-Identifier: GPL-2.0-only
"""scripts/json-update: UPDATEs with JSON_SET of ten bytes in documents of several sizes, Rowan
beside InnoDB in one server, the engines in turn.

For each engine and size: the time of an update, the redo it appends, and the pages that were
written or are still to be written behind it, the latter two divided by the number of updates."""
import argparse
import random
import statistics
import sys
import time
from dataclasses import dataclass

from .paths import run_main
from .scratch_folder import add_folder_option, scratch_folder
from .server import Server

_DATABASE = "json_update"
_MEMBERS_BYTES = 1000
_OPTIONS = ["--performance-schema=OFF", "--innodb-redo-log-capacity=512M",
            "--loose-rowan-redo-log-capacity=512M", "--innodb-flush-log-at-trx-commit=0",
            "--loose-rowan-flush-log-at-trx-commit=0", "--max-allowed-packet=64M"]


@dataclass
class Figures:
    """Of one update, in one run."""
    milliseconds: float
    redo_bytes: float
    pages: float


class JsonUpdate:
    """The measurement on one server."""

    def __init__(self, folder, options):
        self._options = options
        self._server = Server(folder / "server", buffer_pool="512M", options=_OPTIONS)
        self._random = random.Random(1)

    def run(self):
        """{(engine, kilobytes): [Figures]}."""
        figures = {}
        try:
            self._server.start()
            with self._server.client(timeout_s=600) as client:
                client.execute(f"CREATE DATABASE {_DATABASE}")
                client.execute(f"USE {_DATABASE}")
                for _ in range(self._options.rounds):
                    for kilobytes in self._options.sizes:
                        for engine in ("ROWAN", "InnoDB"):
                            one = self._round(client, engine, kilobytes)
                            figures.setdefault((engine, kilobytes), []).append(one)
                            print(f"{kilobytes} KB {engine}: {one}", file=sys.stderr, flush=True)
        finally:
            self._server.destroy()
        return figures

    def _round(self, client, engine, kilobytes):
        client.execute(f"CREATE TABLE t (id INT PRIMARY KEY, d JSON) ENGINE={engine}")
        members = max(1, kilobytes * 1000 // _MEMBERS_BYTES)
        # Each member has ten bytes that are changed, beside others.
        client.execute("SET SESSION cte_max_recursion_depth = 1000000")
        client.execute(
            "INSERT INTO t WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n"
            f" WHERE i + 1 < {members}) SELECT 1, JSON_OBJECTAGG(CONCAT('m', i),"
            f" JSON_OBJECT('v', '0123456789', 'p', REPEAT('p', {_MEMBERS_BYTES - 40}))) FROM n")
        redo, pages = self._redo(client, engine), self._pages(client, engine)
        times = []
        for _ in range(self._options.updates):
            member, value = self._random.randrange(members), self._random.randrange(10 ** 10)
            begin = time.monotonic()
            client.execute(f"UPDATE t SET d = JSON_SET(d, '$.m{member}.v', '{value:010d}')")
            times.append(time.monotonic() - begin)
        redo = self._redo(client, engine) - redo
        pages = self._pages(client, engine) - pages
        client.execute("DROP TABLE t")
        updates = self._options.updates
        return Figures(statistics.median(times) * 1000, redo / updates, pages / updates)

    @staticmethod
    def _status(client, name):
        return int(client.query(f"SHOW GLOBAL STATUS LIKE '{name}'")[0][1])

    def _redo(self, client, engine):
        name = "Rowan_log_lsn" if engine == "ROWAN" else "Innodb_redo_log_current_lsn"
        return self._status(client, name)

    def _pages(self, client, engine):
        return sum(self._status(client, f"{engine}_buffer_pool_pages_{state}")
                   for state in ("flushed", "dirty"))


def _table(figures):
    lines = ["| document | engine | ms | redo bytes | pages written |", "|---|---|---|---|---|"]
    for (engine, kilobytes), runs in sorted(figures.items(), key=lambda item: item[0][1]):
        middle = [statistics.median(getattr(run, name) for run in runs)
                  for name in ("milliseconds", "redo_bytes", "pages")]
        lines.append(f"| {kilobytes:,} KB | {engine.replace('ROWAN', 'Rowan')} | {middle[0]:.2f} |"
                     f" {middle[1]:,.0f} | {middle[2]:.2f} |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(
        prog="scripts/json-update",
        description="JSON_SET of ten bytes in large documents: time, redo and pages written of an "
                    "update, Rowan and InnoDB.")
    add_folder_option(parser)
    parser.add_argument("--sizes", type=int, nargs="+", default=[100, 1000, 10000],
                        help="kilobytes of a document (default 100 1000 10000)")
    parser.add_argument("--updates", type=int, default=200, help="of a round (default 200)")
    parser.add_argument("--rounds", type=int, default=3, help="rounds (default 3)")
    options = parser.parse_args()
    with scratch_folder(parser, options) as folder:
        print(_table(JsonUpdate(folder, options).run()))
    return 0


if __name__ == "__main__":
    sys.exit(run_main(main, "json-update"))
