# SPDX-License-Identifier: GPL-2.0-only
"""scripts/bench groupwise: the first rows of each group in every form of SQL, with pushdown to the
engine and, where an engine can, without it (docs/groupwise.md)."""
from functools import partial

from . import database, queries
from .groupwise_queries import FORMS
from .workload import Case, Workload

_SWITCH = "rowan_pushdown_groupwise"
_PUSHED, _PLAIN = "pushed", "plain"
_PLANNED_S = 0.5
_SYNTAX_ERROR = 1064


class Groupwise(Workload):
    columns = ("ms", "rows_read")

    @staticmethod
    def prepare(options):
        if options.printed:
            print("\n".join(f"{query.format(options.printed)};" for _, query in FORMS))
        return options.printed

    def groups(self):
        size = f"{self.options.rows:,} rows in {self.options.groups:,} groups"
        return (_PUSHED, size), (_PLAIN, f"{size}, {_SWITCH} = OFF")

    def cases(self):
        kinds = [(_PUSHED, "", True)]
        if any(target.engine == "rowan" for target in self.session.targets):
            kinds.append((_PLAIN, ", without pushdown", False))
        return [Case(form + suffix, group, form, "ms", _PLANNED_S,
                     partial(self._one_run, form, query, pushed))
                for form, query in FORMS for group, suffix, pushed in kinds]

    def fill(self, target):
        options = self.options
        with database.connect(target) as connection:
            queries.create(connection, target, "first_rows",
                           "pk INT PRIMARY KEY, j INT NOT NULL, k INT")
            queries.fill(connection, "first_rows", (
                (number, number % options.groups, number * 7 % 1000)
                for number in range(1, options.rows + 1)))
            # RocksDB has no descending keys.
            order = "" if target.engine.lower() == "rocksdb" else " DESC"
            connection.execute(f"CREATE INDEX j ON first_rows (j, pk{order})")
            queries.analyze(connection, "first_rows")

    def _one_run(self, form, query, pushed, target, tell):
        with database.connect(target) as connection:
            can_switch = queries.has_variable(connection, _SWITCH)
            if not pushed and not (can_switch and target.engine == "rowan"):
                return {"metrics": {}}
            if can_switch:
                connection.execute(f"SET {_SWITCH} = {'ON' if pushed else 'OFF'}")
            queries.limit_time(connection, target, self.options.limit)
            try:
                answer, milliseconds, rows_read = queries.timed_with_reads(
                    connection, query.format("first_rows"))
            except database.error_types() as error:
                if error.args[0] != _SYNTAX_ERROR:
                    raise
                return {"metrics": {}, "facts": {"not available": f"the server has no {form}"}}
        if answer is None:
            return {"metrics": {}, "facts": {form: f"more than {self.options.limit} s"}}
        return self.compared(form, [str(value) for value in answer[0]],
                             {"metrics": {"ms": milliseconds, "rows_read": rows_read}})
