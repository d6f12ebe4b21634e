# SPDX-License-Identifier: GPL-2.0-only
"""scripts/bench groupwise: the first rows of each group in every form of SQL, with pushdown to the
engine and, where an engine can, without it (docs/groupwise.md)."""
from ..progress import Step
from . import database
from .groupwise_queries import FORMS
from .queries import fill, handler_reads, has_variable, limit_time, timed

COLUMNS = ("ms", "rows_read")
_SWITCH = "rowan_pushdown_groupwise"
_PUSHED, _PLAIN = "pushed", "plain"
_PLANNED_S = 0.5


class Groupwise:
    """`options`: rows, groups, limit."""

    def __init__(self, session, options):
        self._session, self._options = session, options
        self._answers = {}   # form: the first side's answer

    def run(self):
        session, options = self._session, self._options
        size = f"{options.rows:,} rows in {options.groups:,} groups"
        session.result.add_group(_PUSHED, size)
        session.result.add_group(_PLAIN, f"{size}, {_SWITCH} = OFF")
        cases = [(_PUSHED, "", True)]
        if any(target.engine == "rowan" for target in session.targets):
            cases.append((_PLAIN, ", without pushdown", False))
        for form, _ in FORMS:
            for group, suffix, _ in cases:
                session.result.add_test(form + suffix, group, form, "ms")
        session.result.set_columns(COLUMNS)
        session.open_targets()
        for target in session.targets:
            with Step(f"filling {target.name}"):
                self._fill(target)
        session.plan("groupwise", len(cases) * len(FORMS) * len(session.targets) * _PLANNED_S
                     * session.request.rounds)
        for form, query in FORMS:
            for _, suffix, pushed in cases:
                session.take_turns(form + suffix, _PLANNED_S,
                                   lambda target, tell, form=form, query=query, pushed=pushed:
                                   self._one_run(target, form, query, pushed))

    def _fill(self, target):
        options = self._options
        is_mysql = target.protocol == "mysql"
        engine = f"ENGINE = {target.engine}" if is_mysql else ""
        with database.connect(target) as connection:
            connection.execute("DROP TABLE IF EXISTS first_rows")
            connection.execute("CREATE TABLE first_rows (pk INT PRIMARY KEY, j INT NOT NULL, k INT"
                               f") {engine}")
            fill(connection, "first_rows", ((number, number % options.groups, number * 7 % 1000)
                                            for number in range(1, options.rows + 1)))
            connection.execute("CREATE INDEX j ON first_rows (j, pk DESC)")
            connection.execute("ANALYZE TABLE first_rows" if is_mysql else "ANALYZE first_rows")

    def _one_run(self, target, form, query, pushed):
        with database.connect(target) as connection:
            can_switch = has_variable(connection, _SWITCH)
            if not pushed and not (can_switch and target.engine == "rowan"):
                return {"metrics": {}}
            if can_switch:
                connection.execute(f"SET {_SWITCH} = {'ON' if pushed else 'OFF'}")
            limit_time(connection, target, self._options.limit)
            before = handler_reads(connection)
            answer, milliseconds = timed(connection, query.format("first_rows"))
            after = handler_reads(connection)
        if answer is None:
            return {"metrics": {}, "facts": {form: f"more than {self._options.limit} s"}}
        answer = [str(value) for value in answer[0]]
        if answer != self._answers.setdefault(form, answer):
            return {"metrics": {}, "problem": f"the answers differ: {answer} is not "
                                              f"{self._answers[form]}"}
        return {"metrics": {"ms": milliseconds,
                            "rows_read": None if before is None else after - before}}
