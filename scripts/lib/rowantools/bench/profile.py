# SPDX-License-Identifier: GPL-2.0-only
"""scripts/bench profile: flame graphs of engine and server: where threads compute, and where
sessions wait within a statement, which for writes is where commits wait. By samples of perf, or by
callgrind as the exact call tree of one statement."""
from functools import partial

from ..paths import UserError
from . import callgrind, micro_tables, perf_stacks
from .instruction_counts import FIRST_EVENTS
from .micro_tests import GROUPS, SETS
from .queries import require_private
from .workload import Case, Workload


class Profile(Workload):
    columns = ("qps", "waited_us", "instructions", "cpu", "client_cpu", "cs", "wkb", "p50", "p99",
               "retries")

    def __init__(self, session, options):
        super().__init__(session, options)
        self._counter = None

    @staticmethod
    def prepare(options):
        if options.exact:
            callgrind.prepare(options)
        elif perf_stacks.why_not():
            raise UserError(f"{perf_stacks.why_not()} scripts/bench profile --exact draws the "
                            "instructions of one statement, which valgrind counts; where commits "
                            "wait only perf tells.")

    def check(self):
        if self.options.exact:
            require_private(self.session.targets, "profile --exact")
            self._counter = callgrind.Counter(self.session, with_callers=True)
        for target in self.session.targets:
            if not target.own and not target.pid:
                raise UserError(f"{target.name}: pid=N in its address names the process to look at")

    def groups(self):
        return GROUPS

    def notes(self):
        if self._counter:
            yield ("Flame graphs are of the instructions of one statement, counted by callgrind in "
                   "its session; waiting is not seen.")
        else:
            yield ("Flame graphs are of perf's samples of the processor's clock in all threads, "
                   "and of the time that sessions waited within statements, for a processor, too "
                   "(exit_to_user_mode_loop). Both slow the server down; the rates are those with "
                   "perf.")

    def cases(self):
        return [Case(test.name, test.group, test.name, "instructions" if self._counter else "qps",
                     self.options.time + 1, partial(self._counted_run if self._counter else
                                                    self._sampled_run, test))
                for test in SETS["42"] if test.name in self.options.tests]

    def fill(self, target):
        micro_tables.fill(target, self.options.rows)

    def start(self):
        if self._counter:
            self._counter.switch_on()

    def _sampled_run(self, test, target, tell):
        options = self.options
        load = micro_tables.load(target, test.kind, options.rows, range=test.rows,
                                 threads=options.threads, time=options.time)
        watch = perf_stacks.Stacks(target.pid, self.session.folder)
        run, report, _ = self.run_load(target, load, tell, watch=watch)
        run["stacks"] = watch.folded
        run["metrics"]["waited_us"] = sum(watch.folded["waiting"].values()) / max(1, report.queries)
        return run

    def _counted_run(self, test, target, tell):
        """The last statement of a session that has seen the others."""
        def count(events):
            load = micro_tables.load(target, test.kind, self.options.rows, range=test.rows,
                                     events=events, time=0, rand_seed=1)
            return self._counter.count(load.run)
        count(FIRST_EVENTS)
        (first, _), before = count(FIRST_EVENTS), self._counter.stacks
        (second, _), after = count(FIRST_EVENTS + 20), self._counter.stacks
        queries = second.queries - first.queries
        each = {stack: round((total - before.get(stack, 0)) / queries)
                for stack, total in after.items() if total > before.get(stack, 0)}
        return {"metrics": {"instructions": sum(each.values())},
                "stacks": {"instructions": perf_stacks.kept(each)}}
