# SPDX-License-Identifier: GPL-2.0-only
"""scripts/bench plans: whether the optimizer chooses the same plans over all engines of one server,
and what they take: 50 joins with either optimizer. A plan is the order in which tables are read,
each with its access and index."""
import re

from ..progress import Step
from . import database
from .plan_queries import JOINS, TABLES, fill_statements
from .queries import require_mysql, timed

COLUMNS = ("ms",)
_OPTIMIZERS = (("join", "off", "Join optimizer"), ("hypergraph", "on", "Hypergraph optimizer"))
_PLANNED_S = 0.02


class Plans:
    def __init__(self, session):
        self._session = session
        self._plans, self._answers = {}, {}

    def run(self):
        session = self._session
        require_mysql(session.targets, "plans", "mysql")
        for name, _, title in _OPTIMIZERS:
            session.result.add_group(name, title)
            for number, query in enumerate(JOINS, 1):
                session.result.add_test(_name(name, number), name, f"join {number}", "ms",
                                        query=query)
        session.result.set_columns(COLUMNS)
        session.open_targets()
        for target in session.targets:
            with Step(f"filling {target.name}"):
                _fill(target)
        session.plan("plans", 2 * len(JOINS) * session.request.rounds * len(session.targets)
                     * _PLANNED_S)
        for name, switch, title in _OPTIMIZERS:
            for number, query in enumerate(JOINS, 1):
                test = _name(name, number)
                session.take_turns(test, _PLANNED_S,
                                   lambda target, tell, test=test, query=query, switch=switch:
                                   self._one_run(target, test, query, switch))
            self._tell(name, title)

    def _one_run(self, target, test, query, switch):
        with database.connect(target) as connection:
            try:
                connection.execute(f"SET optimizer_switch = 'hypergraph_optimizer={switch}'")
            except database.error_types() as error:
                return {"metrics": {}, "facts": {"not available": str(error.args[-1])}}
            plan = self._plans.get((test, target.name)) or _plan(connection, query)
            self._plans[test, target.name] = plan
            answer, milliseconds = timed(connection, query)
        run = {"metrics": {"ms": milliseconds}, "facts": {"plan": "\n".join(plan)}}
        answer = sorted(map(repr, answer))
        if " LIMIT " not in query and answer != self._answers.setdefault(test, answer):
            run["problem"] = "the answers differ"
        return run

    def _tell(self, optimizer, title):
        """How many plans are the same for all sides."""
        names = [target.name for target in self._session.targets]
        planned = [number for number in range(1, len(JOINS) + 1)
                   if all((_name(optimizer, number), name) in self._plans for name in names)]
        other = [str(number) for number in planned if len(
            {self._plans[_name(optimizer, number), name] for name in names}) > 1]
        if planned:
            self._session.result.note(
                f"{title}: {len(planned) - len(other)} of {len(planned)} plans are the same for "
                "all sides" + (f"; others: joins {', '.join(other)}." if other else "."))


def _name(optimizer, number):
    return f"{optimizer} {number}"


def _fill(target):
    with database.connect(target) as connection:
        connection.execute("SET cte_max_recursion_depth = 1000000")
        for table, columns in TABLES.items():
            connection.execute(f"DROP TABLE IF EXISTS {table}")
            connection.execute(f"CREATE TABLE {table} ({columns}) ENGINE = {target.engine}")
        for statement in fill_statements():
            connection.execute(statement)
        connection.execute(f"ANALYZE TABLE {', '.join(TABLES)}")


def _plan(connection, query):
    """The lines of EXPLAIN that read a table, without costs and estimates."""
    (tree,), = connection.execute(f"EXPLAIN FORMAT=TREE {query}")
    lines = [re.sub(r"\s*\((?:cost|rows|actual)[^)]*\)", "", line) for line in tree.splitlines()]
    return tuple(line.strip() for line in lines
                 if re.search(r"scan on|lookup on|search on|Rows fetched before", line))
