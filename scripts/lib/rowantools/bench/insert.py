# SPDX-License-Identifier: GPL-2.0-only
"""scripts/bench insert: the insert benchmark. Tables grow without and with secondary indexes, rows
are deleted at the other end as fast as new ones come, and reads run beside inserts at fixed rates.

    l.i0            inserts in the order of the primary key, no other index
    l.x             three secondary indexes are made
    l.i1, l.i2      inserts with deletes beside them, 50 and 5 rows a transaction
    qr100 qp100     range and point queries, beside 100 rows a second inserted for each client
    qr500 ... qp1000  the same beside 500 and 1000
"""
import time
from dataclasses import dataclass
from functools import partial

from .insert_pattern import check, describe
from .load import Load
from .measuring import KIB, MIB, latency_metrics, observe, ratio, run_of, stalls
from .options import listed
from .queries import size_mib
from .workload import Case, Workload

_KEPT_SHARE = 0.95          # of a fixed rate, or it counts as missed
_RATED_ROWS = 10            # of a transaction beside reads
_LOAD_ROWS_PER_S = 40_000   # for the plan


@dataclass(frozen=True)
class Step:
    """`rate`: rows a second a client that are inserted beside the reads; 0 where inserts are what
    is measured."""
    name: str
    kind: str
    rows: int = 50
    rate: int = 0
    deletes: bool = True


STEPS = (Step("l.i0", "insert", deletes=False), Step("l.x", "index"), Step("l.i1", "insert"),
         Step("l.i2", "insert", rows=5),
         *[Step(f"{name}{rate}", kind, _RATED_ROWS, rate) for rate in (100, 500, 1000)
           for name, kind in (("qr", "range"), ("qp", "point"))])


class Insert(Workload):
    columns = ("ips", "qps", "dps", "rps", "rmbps", "wps", "wmbps", "rpq", "rkbpq", "wpi", "wkbpi",
               "csps", "cpups", "cspq", "cpupq", "size_mib", "rss_mib", "maxop_ms", "p50", "p99",
               "stalls", "retries")
    whole_rounds = True

    @staticmethod
    def prepare(options):
        options.clients, options.rows = options.rows or (
            (1, 20_000) if options.quick else (1, 1_000_000))
        options.time = options.time or (2 if options.quick else 60)
        check(options.pattern)
        options.steps = listed(options.steps, [step.name for step in STEPS], "step")

    def groups(self):
        return ("loads", "Loads"), ("reads", "Reads beside inserts")

    def notes(self):
        return ["Insert pattern " + describe(self.options.pattern)]

    def cases(self):
        wanted = self.options.steps
        return [Case(step.name, "reads" if step.rate else "loads", step.name,
                     "qps" if step.rate else "ips", self._planned_s(step),
                     partial(self._step, step))
                for step in STEPS if not wanted or step.name in wanted or step.name == "l.i0"]

    def _planned_s(self, step):
        if step.name in ("l.i0", "l.x"):
            return self.options.clients * self.options.rows / _LOAD_ROWS_PER_S + 1
        return self.options.time + 1

    def _step(self, step, target, tell):
        if step.name == "l.i0":
            self._load(target, "insert", {}, "prepare").run()
        self.session.settle(target)
        start = time.monotonic()
        with observe(target, self.session.data_folder(target)) as sampler:
            main, inserted, deleted = self._loads(step, target, tell)
        seconds = main.seconds or time.monotonic() - start
        count = inserted if step.name == "l.x" or not step.rate else main.queries
        metrics = dict(_rates(sampler, seconds), **_per_query(sampler, count, step),
                       ips=inserted / seconds, dps=deleted / seconds,
                       qps=main.queries / seconds if step.rate else None,
                       size_mib=size_mib(target),
                       rss_mib=ratio(sampler.rss_bytes, MIB))
        metrics.update(_latency(main), retries=sum(main.retries.values()),
                       stalls=stalls(main.events_by_second))
        run = run_of(main, metrics, [rate * (1 if step.rate else step.rows)
                                     for rate in main.events_by_second])
        run["seconds"] = seconds
        wanted = step.rate * self.options.clients
        if wanted and inserted / seconds < _KEPT_SHARE * wanted:
            run["missed"] = (f"{inserted / seconds:,.0f} of {wanted:,} rows a second were inserted:"
                             " the rate was not kept, the reads are not ranked")
        return run

    def _loads(self, step, target, tell):
        """The report of what is measured, and how many rows were inserted and deleted."""
        options = self.options
        if step.kind == "index":
            return (self._load(target, "insert", {}, "index").run(tell),
                    options.clients * options.rows, 0)
        beside = []
        if step.deletes:
            beside.append(self._load(target, "delete", {"rows": step.rows, "keep": options.rows}))
        if step.rate:
            beside.append(self._load(target, "insert", {"rows": step.rows, "pace": step.rate}))
        for load in beside:
            load.start()
        try:
            main = self._load(target, step.kind, _amount(step, options)).run(tell)
            reports = [load.finish() for load in beside]
        finally:
            for load in beside:
                load.stop()
        deleted = reports[0].deleted if step.deletes else 0
        inserted = reports[-1].events * step.rows if step.rate else main.events * step.rows
        return main, inserted, deleted

    def _load(self, target, kind, more, command="run"):
        options = self.options
        arguments = {"kind": kind, "tables": options.clients, "threads": options.clients,
                     "pattern": options.pattern, "events": 0, "time": options.time}
        if target.protocol == "mysql":
            arguments["engine"] = target.engine
        return Load(target, "insert.lua", dict(arguments, **more), command)


def _amount(step, options):
    """l.i0 loads so many rows, the others run for a time."""
    if step.name != "l.i0":
        return {"rows": step.rows}
    return {"rows": step.rows, "time": 0,
            "events": max(1, options.clients * options.rows // step.rows)}


def _rates(sampler, seconds):
    usage = sampler.usage
    if usage is None:
        return dict.fromkeys(("rps", "rmbps", "wps", "wmbps", "csps", "cpups"))
    return {"rps": ratio(usage.disk_reads, seconds),
            "rmbps": ratio(usage.disk_read_bytes, seconds * MIB),
            "wps": ratio(usage.disk_writes, seconds),
            "wmbps": ratio(usage.disk_written_bytes, seconds * MIB),
            "csps": sampler.switches / seconds, "cpups": 100 * usage.cpu_s / seconds}


def _per_query(sampler, count, step):
    """Reads count for a query, writes for an inserted row; the others for what is measured."""
    usage = sampler.usage
    if usage is None or not count:
        return dict.fromkeys(("rpq", "rkbpq", "wpi", "wkbpi", "cspq", "cpupq"))
    found = {"cspq": sampler.switches / count, "cpupq": usage.cpu_s * 1e6 / count}
    if step.rate:
        return dict(found, rpq=ratio(usage.disk_reads, count),
                    rkbpq=ratio(usage.disk_read_bytes, count * KIB), wpi=None, wkbpi=None)
    return dict(found, wpi=ratio(usage.disk_writes, count),
                wkbpi=ratio(usage.disk_written_bytes, count * KIB), rpq=None, rkbpq=None)


def _latency(report):
    figures = latency_metrics(report)
    longest = figures["max"]
    return {"p50": figures["p50"], "p99": figures["p99"],
            "maxop_ms": None if longest is None else longest / 1000}
