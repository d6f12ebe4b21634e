# SPDX-License-Identifier: GPL-2.0-only
"""scripts/bench rww: reads as fast as they go beside writes at a fixed rate: what a write costs the
reads. The tables are those of micro; a rate that was not kept is told and the reads not ranked."""
from ..progress import Step
from . import database
from .load import Load
from .measuring import latency_metrics, observe, per_operation, run_of, stalls

COLUMNS = ("qps", "events_per_s", "p50", "p95", "p99", "p999", "max", "worst_second_ms", "cpu",
           "client_cpu", "cs", "r", "rkb", "wkb", "retries", "stalls")
_READS = (("point-query", "point", 1), ("range-covered-si", "range_covered_si", 100),
          ("range-notcovered-si", "range_notcovered_si", 100))
_KEPT_SHARE = 0.95
_WRITE = "update_index"
_SLACK = 3.0   # standard deviations of a Poisson process: starts are planned at random


class ReadsWhileWriting:
    """`options`: rows, threads, rates (of updates a second, all clients together), time."""

    def __init__(self, session, options):
        self._session, self._options = session, options

    def run(self):
        session, options = self._session, self._options
        for rate in options.rates:
            title = f"Reads beside {rate:,} updates a second" if rate else "Reads alone"
            session.result.add_group(f"rate {rate}", title)
            for name, _, _ in _READS:
                session.result.add_test(_name(name, rate), f"rate {rate}", name, "qps")
        session.result.set_columns(COLUMNS)
        session.open_targets()
        for target in session.targets:
            fill_table(target, options.rows)
        planned = options.time + 1
        session.plan("rww", planned * len(options.rates) * len(_READS) * session.request.rounds
                     * len(session.targets))
        for rate in options.rates:
            for name, kind, rows in _READS:
                session.take_turns(_name(name, rate), planned,
                                   lambda target, tell, kind=kind, rows=rows, rate=rate:
                                   self._one_run(target, kind, rows, rate, tell))

    def _one_run(self, target, kind, rows, rate, tell):
        options = self._options
        self._session.settle(target)
        common = {"rows": options.rows, "tables": 1, "threads": options.threads, "events": 0,
                  "time": options.time, "rand_type": "uniform"}
        writes = Load(target, "micro.lua", dict(common, kind=_WRITE, rate=rate)) if rate else None
        reads = Load(target, "micro.lua", dict(common, kind=kind, range=rows))
        report, written, sampler = run_beside(self._session, target, reads, writes, tell)
        metrics = dict(per_operation(sampler, report.queries), **latency_metrics(report),
                       qps=report.queries / report.seconds,
                       client_cpu=report.client_cpu_s * 1e6 / max(1, report.queries),
                       retries=sum(report.retries.values()),
                       stalls=stalls(report.queries_by_second))
        run = run_of(report, metrics)
        if written:
            metrics["events_per_s"] = written.events / written.seconds
            run.update(missed_rate(written.events, written.seconds, rate))
        return run


def fill_table(target, rows):
    """One table of the microbenchmarks."""
    with Step(f"loading {rows:,} rows into {target.name}"):
        engine = {"engine": target.engine} if target.protocol == "mysql" else {}
        Load(target, "micro.lua", dict(engine, rows=rows, tables=1), "prepare").run()
        with database.connect(target) as connection:
            connection.execute("VACUUM ANALYZE sbtest1" if target.protocol == "postgres"
                               else "ANALYZE TABLE sbtest1")


def run_beside(session, target, reads, writes, tell):
    """Two loads at the same time, of which `writes` may be None: both reports and the sampler."""
    with observe(target, session.data_folder(target)) as sampler:
        if writes:
            writes.start()
        try:
            report = reads.run(tell)
            written = writes.finish() if writes else None
        finally:
            if writes:
                writes.stop()
    return report, written, sampler


def missed_rate(events, seconds, rate):
    """{missed: sentence} where fewer events were done than planned, beyond what chance explains;
    else nothing."""
    planned = rate * seconds
    if events >= _KEPT_SHARE * planned - _SLACK * planned ** 0.5:
        return {}
    return {"missed": f"{events / seconds:,.0f} of {rate:,} updates a second were done: the rate "
                      "was not kept, the reads are not ranked"}


def _name(name, rate):
    return f"{name} beside {rate}/s" if rate else f"{name} alone"
