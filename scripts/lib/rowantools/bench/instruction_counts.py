# SPDX-License-Identifier: GPL-2.0-only
"""scripts/bench instructions: instructions a query, counted by callgrind for a fixed number of
events of the microbenchmarks. Each figure is the difference of a long and a short run, so that
connecting and preparing do not count."""
from ..progress import Step
from . import callgrind, database
from .load import Load
from .micro_tests import GROUPS, SETS
from .queries import require_private

COLUMNS = ("instructions",)
_FIRST_EVENTS = 20    # of the short run: by then the session has seen all of its statements
_RUN_S = 3             # for the plan


class InstructionCounts:
    """`options`: rows, events, tests (names)."""

    def __init__(self, session, options):
        self._session, self._options = session, options
        self._tests = [test for test in SETS["42"] if test.name in options.tests]
        self._runs = {}       # (test, target): how many there were
        self._counter = None

    def run(self):
        session, options = self._session, self._options
        require_private(session.targets, "instructions")
        folder = session.folder / "counts"
        folder.mkdir()
        session.request.conditions.launcher = callgrind.launcher(folder)
        for name, title in GROUPS:
            session.result.add_group(name, title)
        for test in self._tests:
            session.result.add_test(test.name, test.group, test.name, "instructions")
        session.result.set_columns(COLUMNS)
        session.result.note(
            f"Instructions a query of {options.events:,} events, counted by callgrind in the "
            "server's sessions between receiving a statement and having answered it; what "
            "background threads do is not counted, and InnoDB's sessions do not spin for the log.")
        session.open_targets()
        for target in session.targets:
            with Step(f"loading {options.rows:,} rows into {target.name}"):
                Load(target, "micro.lua", {"rows": options.rows, "tables": 1,
                                           "engine": target.engine}, "prepare").run()
                with database.connect(target) as connection:
                    connection.execute("ANALYZE TABLE sbtest1")
        self._counter = callgrind.Counter(session.targets[0].pid, folder)
        self._counter.switch_on()
        session.plan("instructions", len(self._tests) * len(session.targets) * _RUN_S
                     * session.request.rounds)
        for test in self._tests:
            session.take_turns(test.name, _RUN_S, lambda target, tell, test=test:
                               self._one_run(test, target))

    def _one_run(self, test, target):
        # The same choices on all sides, new ones in each run.
        number = self._runs[test, target.name] = self._runs.get((test, target.name), 0) + 1
        if number == 1:   # pages split, memory is allocated: that comes once
            self._count(test, target, _FIRST_EVENTS + self._options.events, 1)
        first = self._count(test, target, _FIRST_EVENTS, 2 * number)
        second = self._count(test, target, _FIRST_EVENTS + self._options.events, 2 * number + 1)
        queries = second[0].queries - first[0].queries
        return {"metrics": {"instructions": (second[1] - first[1]) / queries}}

    def _count(self, test, target, events, seed):
        load = Load(target, "micro.lua", {
            "kind": test.kind, "range": test.rows, "rows": self._options.rows, "tables": 1,
            "threads": 1, "events": events, "time": 0, "rand_seed": seed, "rand_type": "uniform"})
        return self._counter.count(load.run)
