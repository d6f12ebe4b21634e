# SPDX-License-Identifier: GPL-2.0-only
"""scripts/bench instructions: instructions a query, counted by callgrind for a fixed number of
events of the microbenchmarks; with --caches misses of simulated caches, too. Each figure is the
difference of a long and a short run, so that connecting and preparing do not count."""
from functools import partial

from . import callgrind, micro_tables
from .micro_tests import GROUPS, SETS
from .queries import require_private
from .workload import Case, Workload

FIRST_EVENTS = 20    # of the short run: by then the session has seen all of its statements
_RUN_S = 3             # for the plan


class InstructionCounts(Workload):
    """`options`: rows, events, tests (names), caches."""
    columns = ("instructions", "i1_misses", "d1_misses", "l2_misses")

    def __init__(self, session, options):
        super().__init__(session, options)
        self._runs = {}       # (test, target): how many there were
        self._counter = None

    @staticmethod
    def prepare(options):
        callgrind.prepare(options)
        options.tests = options.tests or [test.name for test in SETS["counted"]]

    def check(self):
        require_private(self.session.targets, "instructions")
        self._counter = callgrind.Counter(self.session, with_caches=self.options.caches)

    def groups(self):
        return GROUPS

    def notes(self):
        return [f"Instructions a query of {self.options.events:,} events, counted by callgrind in "
                "the server's sessions between receiving a statement and having answered it; what "
                "background threads do is not counted, and InnoDB's sessions do not spin for the "
                "log."]

    def cases(self):
        return [Case(test.name, test.group, test.name, "instructions", _RUN_S,
                     partial(self._one_run, test))
                for test in SETS["42"] if test.name in self.options.tests]

    def fill(self, target):
        micro_tables.fill(target, self.options.rows)

    def start(self):
        self._counter.switch_on()

    def _one_run(self, test, target, tell):
        # The same choices on all sides, new ones in each run.
        number = self._runs[test, target.name] = self._runs.get((test, target.name), 0) + 1
        if number == 1:   # pages split, memory is allocated: that comes once
            self._count(test, target, FIRST_EVENTS + self.options.events, 1)
        first = self._count(test, target, FIRST_EVENTS, 2 * number)
        second = self._count(test, target, FIRST_EVENTS + self.options.events, 2 * number + 1)
        queries = second[0].queries - first[0].queries
        return {"metrics": {metric: (count - first[1][metric]) / queries
                            for metric, count in second[1].items()}}

    def _count(self, test, target, events, seed):
        load = micro_tables.load(target, test.kind, self.options.rows, range=test.rows,
                                 events=events, time=0, rand_seed=seed)
        report, instructions = self._counter.count(load.run)
        return report, {"instructions": instructions, **self._counter.misses}
