# SPDX-License-Identifier: GPL-2.0-only
"""What all workloads have in common: the order of their steps, and a run of a load with its usual
figures. A workload says what its groups and cases are and how tables are filled."""
import contextlib
from dataclasses import dataclass, field
from typing import Callable

from ..progress import Step, format_duration
from .measuring import latency_metrics, observe, per_operation, run_of, stalls
from .session import uninterrupted


@dataclass(frozen=True)
class Case:
    """One test: `measure(target, each_second)` makes a run of it, which takes about `planned_s`;
    `main` names the metric that it is judged by, `more` is recorded with it."""
    name: str
    group: str
    title: str
    main: str
    planned_s: float
    measure: Callable
    more: dict = field(default_factory=dict)


class Workload:
    """`columns` are the metrics of its tables, in their order; `tools` is what is built for it."""
    columns = ()
    tools = ("ha_rowan",)
    whole_rounds = False   # a round is of all tests, as each leaves what the next one finds

    def __init__(self, session, options):
        self.session, self.options = session, options
        self._answers = {}   # test: the first side's answer
        self._filling = None

    @staticmethod
    def prepare(options):
        """Completes and checks the options of the command line, before anything is started; true
        where there is nothing to measure."""

    @staticmethod
    def make_targets(options):
        """The sides, where they are not those of --on."""

    def check(self):
        """UserError where these sides cannot run it."""

    def groups(self):
        """[(name, title)]"""
        raise NotImplementedError

    def cases(self):
        """The Cases in the order in which they are run."""
        raise NotImplementedError

    def notes(self):
        return ()

    def fill(self, target):
        """Makes the tables."""

    def tell_filled(self, done, rows):
        """How far `fill` is: the rate and, until the end, the time that is left."""
        rate = done / self._filling.elapsed()
        left = f", {format_duration((rows - done) / rate)} left" if done < rows else ""
        self._filling.update(detail=f"{100 * done // rows} %, {rate:,.0f} rows/s{left}")

    def open_targets(self):
        """Starts or reaches the sides and records them."""
        self.session.open_targets()

    def start(self):
        """What comes once between filling and measuring."""

    def before(self, case):
        """What comes between two cases."""

    def finish(self):
        """What is told when all has been measured."""

    def close(self):
        """Gives back what it has started, whatever ended it."""

    def run(self):
        self.check()
        cases = self.cases()
        self.declare(cases)
        self.open_targets()
        for target in self.session.targets if type(self).fill != Workload.fill else ():
            with Step(f"filling {target.name}") as self._filling:
                self.fill(target)
        rounds = self.session.request.rounds
        self.session.plan(self.session.request.command, sum(case.planned_s for case in cases)
                          * rounds * len(self.session.targets))
        try:
            self.start()
            for number in range(rounds) if self.whole_rounds else (None,):
                for case in cases:
                    self.before(case)
                    self.session.take_turns(case.name, case.planned_s, case.measure,
                                            only_round=number)
            self.finish()
        finally:
            with uninterrupted():
                self.close()

    def declare(self, cases):
        """Groups, tests, columns and notes of the result."""
        result = self.session.result
        for name, title in self.groups():
            result.add_group(name, title)
        for case in cases:
            result.add_test(case.name, case.group, case.title, case.main, **case.more)
        result.set_columns(self.columns)
        for note in self.notes():
            result.note(note)

    def run_load(self, target, load, tell, unit="queries", beside=None, watch=None):
        """A run of the Load with the metrics that follow from its report, its report, and that of
        the Load `beside` it. `unit` is what operations are: queries or events; `watch` is a
        context for as long as the load runs."""
        self.session.settle(target)
        with observe(target, self.session.data_folder(target)) as sampler, \
                watch or contextlib.nullcontext():
            if beside:
                beside.start()
            try:
                report = load.run(tell)
                other = beside.finish() if beside else None
            finally:
                if beside:
                    beside.stop()
        count, by_second = getattr(report, unit), getattr(report, f"{unit}_by_second")
        rate = count / report.seconds if report.seconds else None
        metrics = dict(per_operation(sampler, count), **latency_metrics(report),
                       client_cpu=report.client_cpu_s * 1e6 / max(1, count), o=rate,
                       retries=sum(report.retries.values()), stalls=stalls(by_second))
        metrics["qps" if unit == "queries" else "events_per_s"] = rate
        return run_of(report, metrics, by_second), report, other

    def compared(self, test, answer, run):
        """The run, or one that has failed, where another side had another answer."""
        first = self._answers.setdefault(test, answer)
        if answer == first:
            return run
        return {"metrics": {}, "problem": f"the answers differ: {str(answer)[:150]} is not "
                                          f"{str(first)[:150]}"}
