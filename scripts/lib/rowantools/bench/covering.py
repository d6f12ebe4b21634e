# SPDX-License-Identifier: GPL-2.0-only
"""scripts/bench covering: index-only scans of a secondary index while nobody writes, and beside
updates at a fixed rate of its column and of another one. An index that does not tell which of its
entries a snapshot sees makes a scan look at the rows after all: that is what the updates show."""
from .load import Load
from .measuring import latency_metrics, per_operation, run_of, stalls
from .rww import fill_table, missed_rate, run_beside

COLUMNS = ("qps", "rows_per_s", "events_per_s", "p50", "p95", "p99", "max", "worst_second_ms",
           "cpu", "client_cpu", "cs", "r", "rkb", "wkb", "retries", "stalls")
# name, title, kind of the updates in micro.lua
_CASES = (("alone", "Nobody writes", None),
          ("beside updates of its column", "Its column is updated", "update_index"),
          ("beside updates of another column", "Another column is updated", "update_nonindex"))
_WRITERS = 4   # clients: one that waits for each commit would not keep the rate


class Covering:
    """`options`: rows, ranges (entries of a scan, a list), rate (updates a second, all clients
    together), threads, time."""

    def __init__(self, session, options):
        self._session, self._options = session, options

    def run(self):
        session, options = self._session, self._options
        for name, title, kind in _CASES:
            beside = f", {options.rate:,} times a second" if kind else ""
            session.result.add_group(name, title + beside)
            for entries in options.ranges:
                session.result.add_test(_name(name, entries), name, f"{entries:,} entries",
                                        "rows_per_s")
        session.result.set_columns(COLUMNS)
        session.open_targets()
        for target in session.targets:
            fill_table(target, options.rows)
        planned = options.time + 1
        session.plan("covering", planned * len(_CASES) * len(options.ranges)
                     * session.request.rounds * len(session.targets))
        for name, _, kind in _CASES:
            for entries in options.ranges:
                session.take_turns(_name(name, entries), planned,
                                   lambda target, tell, kind=kind, entries=entries:
                                   self._one_run(target, kind, entries, tell))

    def _one_run(self, target, kind, entries, tell):
        options = self._options
        self._session.settle(target)
        common = {"rows": options.rows, "tables": 1, "threads": options.threads, "events": 0,
                  "time": options.time, "rand_type": "uniform"}
        writes = Load(target, "micro.lua", dict(common, kind=kind, rate=options.rate,
                                                threads=_WRITERS)) \
            if kind else None
        reads = Load(target, "micro.lua", dict(common, kind="sum_covered_si", range=entries))
        report, written, sampler = run_beside(self._session, target, reads, writes, tell)
        return self._run(report, written, entries, sampler)

    def _run(self, report, written, entries, sampler):
        rate = report.queries / report.seconds
        # k is random from 1 to the number of rows: one entry a value.
        metrics = dict(per_operation(sampler, report.queries), **latency_metrics(report),
                       qps=rate, rows_per_s=rate * entries,
                       client_cpu=report.client_cpu_s * 1e6 / max(1, report.queries),
                       retries=sum(report.retries.values()),
                       stalls=stalls(report.queries_by_second))
        run = run_of(report, metrics)
        if written:
            metrics["events_per_s"] = written.events / written.seconds
            run.update(missed_rate(written.events, written.seconds, self._options.rate))
        return run


def _name(case, entries):
    return f"{entries:,} entries {case}"
