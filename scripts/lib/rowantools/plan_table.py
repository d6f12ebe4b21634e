# SPDX-License-Identifier: GPL-2.0-only
"""scripts/plans: the plans and times of 50 joins over Rowan's tables beside the same over InnoDB's,
in one server, with the join optimizer by itself and with the hypergraph one.

A plan is the tables in the order in which they are read, each with its access and index. Times are
the best of rounds in which the engines take turns; the answers must agree."""
import argparse
import re
import shutil
import statistics
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from .client import MysqlError
from .paths import UserError, run_main
from .plan_queries import JOINS, TABLES, fill_statements
from .progress import Step
from .server import Server

_ENGINES = ("ROWAN", "InnoDB")
_SLOWER_THAN_NOISE = 1.15


@dataclass
class Join:
    """One query with one optimizer: what each engine, in the order of _ENGINES, did."""
    number: int
    plans: list = field(default_factory=list)
    times_ms: list = field(default_factory=list)

    def same_plan(self):
        return self.plans[0] == self.plans[1]

    def ratio(self):
        return self.times_ms[1] / self.times_ms[0]


def _fill(client):
    for engine in _ENGINES:
        client.execute(f"CREATE DATABASE {engine}")
        client.execute(f"USE {engine}")
        client.execute("SET cte_max_recursion_depth = 1000000")
        for table, columns in TABLES.items():
            client.execute(f"CREATE TABLE {table} ({columns}) ENGINE = {engine}")
        for statement in fill_statements():
            client.execute(statement)
        client.execute(f"ANALYZE TABLE {', '.join(TABLES)}")


def _plan(client, query):
    """The lines of EXPLAIN that read a table, without costs and estimates, indented as there."""
    (tree,), = client.query(f"EXPLAIN FORMAT=TREE {query}")
    lines = [re.sub(r"\s*\((?:cost|rows|actual)[^)]*\)", "", line) for line in tree.splitlines()]
    return tuple(line.strip() for line in lines
                 if re.search(r"scan on|lookup on|search on|Rows fetched before", line))


def _time_ms(client, query):
    start = time.perf_counter()
    client.query(query)
    return (time.perf_counter() - start) * 1e3


def _measure(clients, number, query, rounds):
    answers = [sorted(client.query(query), key=repr) for client in clients]
    if " LIMIT " not in query and answers[0] != answers[1]:
        raise UserError(f"join {number}: the engines' answers differ: {answers}")
    join = Join(number, plans=[_plan(client, query) for client in clients])
    times = [[], []]
    for turn in range(rounds):
        for which in ((0, 1), (1, 0))[turn % 2]:
            times[which].append(_time_ms(clients[which], query))
    join.times_ms = [min(series) for series in times]
    return join


def _run(server, hypergraph, rounds):
    clients = [server.client(database=engine) for engine in _ENGINES]
    try:
        for client in clients:
            client.execute("SET optimizer_switch = 'hypergraph_optimizer="
                           f"{'on' if hypergraph else 'off'}'")
        with Step("hypergraph optimizer" if hypergraph else "join optimizer",
                  total=len(JOINS)) as step:
            joins = []
            for number, query in enumerate(JOINS, 1):
                step.update(number - 1)
                joins.append(_measure(clients, number, query, rounds))
            return joins
    finally:
        for client in clients:
            client.close()


def _table(title, joins):
    same = [join for join in joins if join.same_plan()]
    mean = statistics.geometric_mean([join.ratio() for join in joins])
    lines = [f"{title}: {len(same)} of {len(joins)} plans are the same; Rowan is {mean:.2f} times"
             " as fast in geometric mean", "",
             "| join | plan | Rowan ms | InnoDB ms | InnoDB / Rowan |", "|---:|---|---:|---:|---:|"]
    for join in joins:
        lines.append(f"| {join.number} | {'same' if join.same_plan() else 'other'} | "
                     f"{join.times_ms[0]:.2f} | {join.times_ms[1]:.2f} | {join.ratio():.2f} |")
    for join in joins:
        if not join.same_plan():
            lines += ["", f"{join.number}: {JOINS[join.number - 1]}"]
            for engine, plan in zip(_ENGINES, join.plans):
                lines += [f"    {engine:6}  {line}" for line in plan]
    slower = [str(join.number) for join in joins
              if not join.same_plan() and join.ratio() * _SLOWER_THAN_NOISE < 1]
    lines += ["", f"other plan and slower than InnoDB: {', '.join(slower) or 'none'}"]
    return "\n".join(lines)


def _parse():
    parser = argparse.ArgumentParser(
        prog="scripts/plans",
        description="Plans and times of 50 joins, Rowan beside InnoDB, with both optimizers.")
    parser.add_argument("--dir", type=Path, default=Path("build/plans"),
                        help="folder of the server meanwhile (default build/plans)")
    parser.add_argument("--rounds", type=int, default=15,
                        help="times each join runs (default 15)")
    return parser.parse_args()


def main():
    options = _parse()
    if options.rounds < 1:
        raise UserError("--rounds is at least 1")
    server = Server(options.dir, buffer_pool="256M")
    tables = []
    try:
        with Step("filling the tables of both engines"):
            server.start()
            with server.client() as client:
                _fill(client)
        for hypergraph in (False, True):
            try:
                joins = _run(server, hypergraph, options.rounds)
                tables.append(_table("hypergraph optimizer" if hypergraph else "join optimizer",
                                     joins))
            except MysqlError as error:
                if not hypergraph:
                    raise
                tables.append(f"hypergraph optimizer: refused by this server ({error.message})")
    finally:
        server.destroy()
        shutil.rmtree(options.dir, ignore_errors=True)
    print("\n\n".join(tables))
    return 0


if __name__ == "__main__":
    sys.exit(run_main(main, "plans"))
