# SPDX-License-Identifier: GPL-2.0-only
"""scripts/bench rww: reads as fast as they go beside writes at a fixed rate: what a write costs the
reads. The tables are those of micro; a rate that was not kept is told and the reads not ranked."""
from functools import partial

from . import micro_tables
from .measuring import missed_rate
from .workload import Case, Workload

_READS = (("point-query", "point", 1), ("range-covered-si", "range_covered_si", 100),
          ("range-notcovered-si", "range_notcovered_si", 100))
_WRITE = "update_index"


class ReadsBeside(Workload):
    """Reads of a table of the microbenchmarks, beside updates of it."""
    columns = ("qps", "rows_per_s", "events_per_s", "p50", "p95", "p99", "p999", "max",
               "worst_second_ms", "cpu", "client_cpu", "cs", "r", "rkb", "wkb", "retries", "stalls")

    def fill(self, target):
        micro_tables.fill(target, self.options.rows)

    def reads_beside(self, reads, updates, target, tell):
        """A run of `reads`, (kind, rows of a range), and of `updates`, (kind, rate a second of all
        clients, clients) or None, whose events a second are in it."""
        options = self.options
        load = micro_tables.load(target, reads[0], options.rows, range=reads[1], time=options.time,
                                 threads=options.threads)
        kind, rate, clients = updates or (None, 0, 0)
        writes = micro_tables.load(target, kind, options.rows, rate=rate, time=options.time,
                                   threads=clients) if updates else None
        run, _, written = self.run_load(target, load, tell, beside=writes)
        if written:
            run["metrics"]["events_per_s"] = written.events / written.seconds
            run.update(missed_rate(written.events, written.seconds, rate))
        return run


class ReadsWhileWriting(ReadsBeside):
    def groups(self):
        return [(f"rate {rate}", f"Reads beside {rate:,} updates a second" if rate else
                 "Reads alone") for rate in self.options.rates]

    def cases(self):
        options = self.options
        return [Case(f"{name} beside {rate}/s" if rate else f"{name} alone", f"rate {rate}", name,
                     "qps", options.time + 1,
                     partial(self.reads_beside, (kind, rows),
                             (_WRITE, rate, options.threads) if rate else None))
                for rate in options.rates for name, kind, rows in _READS]
