# SPDX-License-Identifier: GPL-2.0-only
"""scripts/bench covering: index-only scans of a secondary index while nobody writes, and beside
updates at a fixed rate of its column and of another one. An index that does not tell which of its
entries a snapshot sees makes a scan look at the rows after all: that is what the updates show."""
from functools import partial

from .rww import ReadsBeside
from .workload import Case

# name, title, kind of the updates in micro.lua
_CASES = (("alone", "Nobody writes", None),
          ("beside updates of its column", "Its column is updated", "update_index"),
          ("beside updates of another column", "Another column is updated", "update_nonindex"))
_WRITERS = 4   # clients: one that waits for each commit would not keep the rate


class Covering(ReadsBeside):
    def groups(self):
        return [(name, title + (f", {self.options.rate:,} times a second" if kind else ""))
                for name, title, kind in _CASES]

    def cases(self):
        return [Case(f"{entries:,} entries {name}", name, f"{entries:,} entries", "rows_per_s",
                     self.options.time + 1, partial(self._one_run, kind, entries))
                for name, _, kind in _CASES for entries in self.options.ranges]

    def _one_run(self, kind, entries, target, tell):
        run = self.reads_beside(("sum_covered_si", entries),
                                (kind, self.options.rate, _WRITERS) if kind else None, target, tell)
        # k is random from 1 to the number of rows: one entry a value.
        run["metrics"]["rows_per_s"] = run["metrics"]["qps"] * entries
        return run
