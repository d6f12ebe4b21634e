# SPDX-License-Identifier: GPL-2.0-only
"""scripts/bench plans: whether the optimizer chooses the same plans over all engines of one server,
and what they take: 50 joins with either optimizer. A plan is the order in which tables are read,
each with its access and index."""
import re
from functools import partial

from . import database, queries
from .plan_queries import JOINS, TABLES, fill_statements
from .workload import Case, Workload

_OPTIMIZERS = (("join", "off", "Join optimizer"), ("hypergraph", "on", "Hypergraph optimizer"))
_PLANNED_S = 0.02


class Plans(Workload):
    columns = ("ms",)

    def __init__(self, session, options):
        super().__init__(session, options)
        self._plans = {}

    def check(self):
        queries.require_mysql(self.session.targets, "plans", "mysql")

    def groups(self):
        return [(name, title) for name, _, title in _OPTIMIZERS]

    def cases(self):
        return [Case(_name(name, number), name, f"join {number}", "ms", _PLANNED_S,
                     partial(self._one_run, _name(name, number), query, switch), {"query": query})
                for name, switch, _ in _OPTIMIZERS for number, query in enumerate(JOINS, 1)]

    def fill(self, target):
        with database.connect(target) as connection:
            connection.execute("SET cte_max_recursion_depth = 1000000")
            for table, columns in TABLES.items():
                queries.create(connection, target, table, columns)
            for statement in fill_statements():
                connection.execute(statement)
            queries.analyze(connection, *TABLES)

    def finish(self):
        for name, _, title in _OPTIMIZERS:
            self._tell(name, title)

    def _one_run(self, test, query, switch, target, tell):
        with database.connect(target) as connection:
            try:
                connection.execute(f"SET optimizer_switch = 'hypergraph_optimizer={switch}'")
            except database.error_types() as error:
                return {"metrics": {}, "facts": {"not available": str(error.args[-1])}}
            plan = self._plans.get((test, target.name)) or _plan(connection, query)
            self._plans[test, target.name] = plan
            answer, milliseconds = queries.timed(connection, query)
        run = {"metrics": {"ms": milliseconds}, "facts": {"plan": "\n".join(plan)}}
        # Without an order of its own, which rows are within a LIMIT is the engine's choice.
        return run if " LIMIT " in query else self.compared(test, sorted(map(repr, answer)), run)

    def _tell(self, optimizer, title):
        """How many plans are the same for all sides."""
        names = [target.name for target in self.session.targets]
        planned = [number for number in range(1, len(JOINS) + 1)
                   if all((_name(optimizer, number), name) in self._plans for name in names)]
        other = [str(number) for number in planned if len(
            {self._plans[_name(optimizer, number), name] for name in names}) > 1]
        if planned:
            self.session.result.note(
                f"{title}: {len(planned) - len(other)} of {len(planned)} plans are the same for "
                "all sides" + (f"; others: joins {', '.join(other)}." if other else "."))


def _name(optimizer, number):
    return f"{optimizer} {number}"


def _plan(connection, query):
    """The lines of EXPLAIN that read a table, without costs and estimates."""
    (tree,), = connection.execute(f"EXPLAIN FORMAT=TREE {query}")
    lines = [re.sub(r"\s*\((?:cost|rows|actual)[^)]*\)", "", line) for line in tree.splitlines()]
    return tuple(line.strip() for line in lines
                 if re.search(r"scan on|lookup on|search on|Rows fetched before", line))
