# SPDX-License-Identifier: GPL-2.0-only
"""The microbenchmarks in the order in which performance reports of MySQL run them: reads before
the writes (.pre in their names), writes, the same reads after them, delete, insert; four groups."""
from dataclasses import dataclass

from .options import listed

POINTS, RANGES, AGGREGATES, WRITES = "points", "ranges", "aggregates", "writes"
GROUPS = ((POINTS, "Point queries"), (RANGES, "Range queries without aggregation"),
          (AGGREGATES, "Range queries with aggregation"), (WRITES, "Writes"))


@dataclass(frozen=True)
class MicroTest:
    """`kind` and `rows` (of a range or a list) as bench/sysbench/micro.lua has them."""
    name: str
    group: str
    kind: str
    rows: int = 100

    @property
    def is_write(self):
        return self.group == WRITES

    @property
    def before_writes(self):
        return ".pre" in self.name


def _points():
    return [MicroTest(f"points-{covered}-{index}", POINTS, f"points_{covered}_{index}")
            for covered in ("covered", "notcovered") for index in ("pk", "si")]


def _ranges():
    return [MicroTest(f"range-{covered}-{index}", RANGES, f"range_{covered}_{index}")
            for covered in ("covered", "notcovered") for index in ("pk", "si")]


def _random_points(rows):
    return MicroTest(f"random-points_range={rows}", POINTS, "random_points", rows)


def _read_only(rows):
    return MicroTest(f"read-only_range={rows}", AGGREGATES, "read_only", rows)


def _reads_before():
    tests = [MicroTest("point-query", POINTS, "point"), _random_points(1000), *_points(),
             *_ranges()]
    return [MicroTest(test.name.replace("_range", ".pre_range") if "_range" in test.name
                      else test.name + ".pre", test.group, test.kind, test.rows) for test in tests]


def _writes():
    return [MicroTest("update-inlist", WRITES, "update_inlist"),
            MicroTest("update-index", WRITES, "update_index"),
            MicroTest("update-nonindex", WRITES, "update_nonindex"),
            MicroTest("update-one", WRITES, "update_one"),
            MicroTest("update-zipf", WRITES, "update_zipf"),
            MicroTest("write-only", WRITES, "write_only"),
            MicroTest("read-write_range=100", WRITES, "read_write", 100),
            MicroTest("read-write_range=10", WRITES, "read_write", 10)]


def _reads_after():
    tests = [_read_only(rows) for rows in (10, 100, 10000)]
    tests += [MicroTest(f"read-only-{kind}_range=1000", AGGREGATES, kind, 1000)
              for kind in ("count", "simple", "sum", "order", "distinct")]
    tests += [MicroTest("point-query", POINTS, "point")]
    tests += [_random_points(rows) for rows in (10, 100, 1000)]
    tests += [MicroTest("hot-points", POINTS, "hot_points"), *_points(), *_ranges()]
    return tests


ALL = (*_reads_before(), *_writes(), *_reads_after(), MicroTest("delete", WRITES, "delete"),
       MicroTest("insert", WRITES, "insert"), MicroTest("scan", RANGES, "scan"))
_QUICK = ("update-index", "update-nonindex", "read-write_range=100", "read-only_range=100",
          "read-only-sum_range=1000", "read-only-order_range=1000", "point-query",
          "random-points_range=100", "points-notcovered-si", "range-covered-pk",
          "range-notcovered-si", "insert")
# Single statements of few rows: what a slow server below valgrind does in a second.
_COUNTED = ("point-query", "random-points_range=10", "points-covered-si", "points-notcovered-si",
            "range-covered-pk", "range-covered-si", "range-notcovered-si", "update-index",
            "update-nonindex", "insert")
SETS = {"quick": tuple(test for test in ALL if test.name in _QUICK),
        "counted": tuple(test for test in ALL if test.name in _COUNTED),
        "32": tuple(test for test in ALL if not test.before_writes), "42": ALL}


def test_names(text):
    """[names] of a list such as "point-query,insert"; UserError for a name that there is not."""
    return listed(text, [test.name for test in ALL], "microbenchmark")


def chosen(names, otherwise):
    """The tests that a list such as "point-query,insert" names, or the set `otherwise`, in the
    order of their steps; UserError for a name that there is not."""
    wanted = test_names(names) or [test.name for test in SETS[otherwise]]
    return [test for test in ALL if test.name in wanted]
