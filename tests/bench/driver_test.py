# SPDX-License-Identifier: GPL-2.0-only
"""What the benchmark driver works out without a server: targets, statistics, histograms, results,
reports."""
import copy
import json
import os
import re
import tempfile
from pathlib import Path

from rowantools.bench import environment

environment.enter()

from rowantools.bench import callgrind, columns, compare, gate, insert_pattern, instructions
from rowantools.bench import ledger, load, measuring, micro_tests, queries, result, settings
from rowantools.bench import perf_stacks, stats, sync, targets
from rowantools.bench.histogram import Latencies, merged, of_sysbench
from rowantools.bench.report.flame import flame_graph
from rowantools.bench.report.markdown import figures, markdown
from rowantools.bench.report.page import page
from rowantools.bench.report.text import terminal_text
from rowantools.bench.summary import Summary
from rowantools.line_tests import Failure, require_equal
from rowantools.paths import UserError


def _refused(text, part):
    try:
        targets.parse_all(text)
    except UserError as error:
        if part in str(error) and "\n" not in str(error):
            return
        raise Failure(f"{text}: {error} does not say {part!r}")
    raise Failure(f"{text} was accepted")


def test_targets_of_all_kinds_are_read():
    found = targets.parse_all(["rowan", "mariadb", "pg=postgres",
                               "a=mysql://me:p%40ss@db.example:3307/shop?engine=RocksDB",
                               "b=mysql://root@/bench?socket=/run/x.sock",
                               "c=postgres://db.example"])
    require_equal([(one.name, one.kind, one.engine, one.own) for one in found], [
        ("rowan", "mysql", "rowan", True), ("mariadb", "mariadb", "innodb", True),
        ("pg", "postgres", "heap", True), ("a", "mysql", "RocksDB", False),
        ("b", "mysql", "innodb", False), ("c", "postgres", "heap", False)])
    remote, local, other = found[3:]
    require_equal((remote.host, remote.port, remote.user, remote.password, remote.database),
                  ("db.example", 3307, "me", "p@ss", "shop"))
    require_equal((local.socket, local.host, other.port, other.database, other.user),
                  ("/run/x.sock", "", 5432, "bench", "postgres"))
    require_equal([one.pid for one in found], [0] * 6, "a process is never guessed")
    require_equal([one.name for one in targets.parse_all([])], ["innodb", "rowan"], "default")


def test_bad_targets_are_refused_in_one_sentence():
    _refused(["nothing"], "neither one of")
    _refused(["x=http://host/"], "begins with")
    _refused(["x=mysql://"], "neither a host nor")
    _refused(["x=mysql://host/?engin=y"], "engin")
    _refused(["x=mysql://host:port/"], "port")
    _refused(["rowan", "rowan"], "given twice")


def test_passwords_are_neither_shown_nor_recorded():
    target = targets.parse("x=mysql://me:secret@host/db")
    recorded = targets.without_passwords(["--on", "x=mysql://me:secret@host/db"])
    require_equal(recorded, ["--on", "x=mysql://me@host/db"])
    if "secret" in target.address() + str(recorded):
        raise Failure("the password is shown")


def test_statistics_of_known_samples():
    # Mann and Whitney's exact law: complete separation of n and m has p = 2 / C(n + m, n).
    for size, p in ((3, 0.1), (4, 2 / 70), (5, 2 / 252)):
        first, second = range(size), range(10, 10 + size)
        require_equal(round(stats.difference_p(list(first), list(second)), 6), round(p, 6))
    require_equal(stats.differs([1, 2, 3], [11, 12, 13]), False, "three runs show nothing")
    require_equal(stats.differs([1, 2, 3, 4], [11, 12, 13, 14]), True)
    require_equal(stats.difference_p([5, 5, 5, 5], [5, 5, 5, 5]), 1.0)
    require_equal(stats.difference_p([], [1]), None)


def test_the_interval_of_a_median():
    # Binomial law: of ten samples the second and ninth enclose the median with 97.85 %.
    middle = stats.median_of([10, 9, 8, 7, 6, 5, 4, 3, 2, 1])
    require_equal((middle.value, middle.low, middle.high, round(middle.confidence, 4)),
                  (5.5, 2, 9, 0.9785))
    require_equal(round(stats.median_of([1, 2, 3]).confidence, 4), 0.75)
    require_equal(stats.median_of([7]).confidence, 0.0)


def test_figures_of_a_group():
    group = stats.group_of({"a": 1.0, "b": 4.0, "none": None})
    require_equal((group.count, group.lowest, group.highest, group.median,
                   round(group.geometric_mean, 9)), (2, 1.0, 4.0, 2.5, 2.0))
    ratios = {f"t{number}": 1.0 + number / 100 for number in range(10)}
    require_equal(stats.group_of(dict(ratios, odd=9.0)).outliers, ["odd"])
    require_equal(stats.group_of({"x": None}), None)


def test_histograms_merge_as_if_recorded_together():
    first, second, both = Latencies(), Latencies(), Latencies()
    for number in range(1, 1001):
        (first if number % 3 else second).record(number * 10)
        both.record(number * 10)
    together = merged([first.encode(), second.encode(), ""])
    require_equal(together.figures(), both.figures())
    require_equal(together.count(), 1000)
    p99 = together.percentile(99.0)
    if not 9890 <= p99 <= 9910:
        raise Failure(f"p99 is {p99}")
    require_equal(Latencies().figures()["p99"], None, "nothing recorded")


_SYSBENCH = """[ 1s ] thds: 2 tps: 120.50 qps: 241.00 (r/w/o: 241.00/0.00/0.00) lat (ms,99%): 3.25 \
err/s: 0.00 reconn/s: 0.00
[ 2s ] thds: 2 tps: 80.00 qps: 160.00 (r/w/o: 160.00/0.00/0.00) lat (ms,99%): 41.85 err/s: 0.00 \
reconn/s: 0.00
Latency histogram (values are in milliseconds)
       value  ------------- distribution ------------- count
       0.500 |****************************************  300
      10.000 |*                                         1
SQL statistics:
    transactions:                        301    (150.00 per sec.)
    queries:                             602    (300.00 per sec.)
    ignored errors:                      3      (1.50 per sec.)
    total time:                          2.0051s
    total number of events:              301
Latency (ms):
         min:                                    0.40
         max:                                   10.31
retried 1213 2
retried 1205 1
retried 1213 4
"""


def test_a_report_of_sysbench_is_read():
    report = load.parse(_SYSBENCH)
    require_equal((report.events, report.queries, report.seconds, report.longest_us),
                  (301, 602, 2.0051, 10310.0))
    require_equal((report.queries_by_second, report.p99_ms_by_second), ([241.0, 160.0],
                                                                        [3.25, 41.85]))
    require_equal(report.retries, {"1213": 6, "1205": 1})
    require_equal((report.latencies.count(), report.latencies.percentile(50)), (301, 500))
    require_equal(of_sysbench("").count(), 0)


def test_of_messages_of_sysbench_the_reason_is_told():
    text = "FATAL: cannot connect\nFATAL: error 1040: Too many\n" * 2 + "FATAL: more"
    require_equal(load.reason(text), "FATAL: cannot connect FATAL: error 1040: Too many")
    require_equal(len(load.reason("FATAL: 1114 for query " + "x" * 100_000)), 300)
    require_equal(load.reason("counted x 1\nkilled\n"), "killed")


def test_the_microbenchmarks_are_the_known_ones():
    require_equal({name: len(tests) for name, tests in micro_tests.SETS.items()},
                  {"quick": 12, "counted": 10, "32": 32, "42": 42})
    names = [test.name for test in micro_tests.ALL]
    require_equal(len(set(names)), 42, "names")
    order = ["before" if test.before_writes else "write" if test.is_write else "after"
             for test in micro_tests.ALL]
    require_equal([kind for number, kind in enumerate(order)
                   if number == 0 or order[number - 1] != kind],
                  ["before", "write", "after", "write", "after"], "order of the steps")


def test_some_figures_need_a_server_of_the_driver():
    queries.require_private(targets.parse_all(["rowan", "innodb"]), "ledger")
    for other in ("mariadb", "far=mysql://me@db.example/shop?engine=rowan"):
        try:
            queries.require_private(targets.parse_all(["rowan", other]), "ledger")
        except UserError as error:
            require_equal(other.partition("=")[0] in str(error), True, str(error))
            continue
        raise Failure(f"{other} was accepted")


def test_it_is_said_what_hinders_perf():
    path = os.environ["PATH"]
    try:
        os.environ["PATH"] = ""
        require_equal("apt-get install linux-perf" in instructions.why_not(), True)
    finally:
        os.environ["PATH"] = path


def test_bytes_written_have_causes():
    innodb = "wait/io/file/innodb/innodb_"
    files = {innodb + "log_file": 4096 + 7, innodb + "dblwr_file": 450, innodb + "data_file": 600,
             "wait/io/file/rowan/log_file": 64, "wait/io/file/sql/binlog": 5}
    found = ledger.causes(ledger.Written({innodb + "log_file": 7, innodb + "data_file": 100}, {},
                                         undo=40, appended=1000),
                          ledger.Written(files, {}, undo=240, appended=1096))
    require_equal({name: count for name, count in found.items() if count}, {
        "redo": 96, "padding": 4000, "doublewrite": 450, "data": 300, "undo": 200, "binlog": 5})
    require_equal(found["checkpoint"], None)
    counters = {"redo": 96, "redo_padding": 4000, "data_checkpoint": 300, "data_eviction": 20,
                "undo_checkpoint": 200, "undo_shutdown": 8, "sort": 7, "backup": 3, "probe": 1}
    found = ledger.causes(ledger.Written({}, {"redo": 6}), ledger.Written(files, counters))
    require_equal({name: count for name, count in found.items() if count}, {
        "redo": 90, "padding": 4000, "data": 320, "undo": 208, "temporary": 7, "copies": 3,
        "binlog": 5, "others": 4103 + 450 + 600 + 1,
        "checkpoint": 500, "eviction": 20, "other_reason": 8})
    require_equal(sum(found[cause] for cause in ledger.CAUSES),
                  sum(counters.values()) - 6 + sum(files.values()) - 64, "each byte once")


def test_a_journal_that_is_not_told_is_not_guessed():
    require_equal(ledger.fs_journal_bytes(None), None)
    with tempfile.TemporaryDirectory() as folder:
        require_equal(ledger.fs_journal_bytes(folder, Path(folder)), None)


_PERF = """rowan-purge-0   20  1.000100: PERF_RECORD_SWITCH IN
mysqld   21  1.000200: context-switches:
        ffffffff821fb643 schedule+0x10
                 12b86d7 fdatasync
                 116463a dispatch_command
                   94db8 [unknown]

mysqld   22  1.000250: context-switches:
        ffffffff821fb643 schedule
                 116678e do_command

mysqld   21  1.000300: PERF_RECORD_SWITCH OUT
mysqld   22  1.000900: PERF_RECORD_SWITCH IN
mysqld   21  1.001700: PERF_RECORD_SWITCH IN
"""


def test_stacks_of_perf_are_folded():
    stack = "mysqld;dispatch_command;fdatasync;schedule_[k]"
    require_equal(perf_stacks.waiting(_PERF), {stack: 1500}, "a session within a statement")
    require_equal(perf_stacks.computing(_PERF), {stack: 1, "mysqld;do_command;schedule_[k]": 1})
    require_equal(perf_stacks.kept({"a": 9999, "b": 1, "c": 0}), {"a": 9999, "(rest)": 1})


def test_a_dump_of_callgrind_is_folded():
    text = ("events: Ir\nfn=(1) outer\n1 10\ncfn=(2) inner'outer\ncalls=1 5\n2 900\n+3 4\n\n"
            "fn=(2)\n7 600\n* 300\ntotals: 914\n")
    require_equal(callgrind.folded(text), {"outer": 14, "outer;inner": 900})


def test_frames_of_a_flame_graph_are_as_wide_as_their_counts():
    picture = flame_graph("a <b>", {"main;rowan::Read": 3, "main;f<int>;io_[k]": 1}, "samples")
    widths = dict(re.findall(r"<title>(\S+): [^<]*</title><rect [^>]*width='([\d.]+)'", picture))
    require_equal(widths, {"main": "1100.0", "rowan::Read": "825.0", "f&lt;int&gt;": "275.0",
                           "io": "275.0"})
    require_equal((picture.count("class='s1'"), picture.count("class='s5'")), (1, 1), "colours")
    require_equal("most of them in rowan::Read" in picture, True)
    require_equal(flame_graph("nothing", {}, "samples"), "")


# --- results and reports ---

def _document():
    def target(name, commits="synced at each commit"):
        return {"name": name, "kind": "mysql", "engine": name, "address": "started by the driver",
                "own": True, "observed": True, "version": "9.7.4", "variables": {"a_b": "<1>"},
                "settings": {"commits": commits, "torn pages": "protected", "binlog": "off"}}

    def one(side, number, rate):
        latencies = Latencies()
        latencies.record(100 + number, 50)
        return {"test": "point-query", "target": side, "round": number, "seconds": 1.0,
                "metrics": {"qps": rate, "cpu": 10.0, "r": None}, "latencies": latencies.encode(),
                "retries": {"1213": 1}, "by_second": {"rate": [rate, rate / 2]}}
    runs = [one("base", number, 100.0 + number) for number in range(1, 5)]
    runs += [one("other", number, 200.0 + number) for number in range(1, 5)]
    return {"format": "rowan-bench-result", "version": 1, "command": "micro",
            "arguments": ["--quick"], "options": {}, "state": "complete",
            "started": "2026-01-01T00:00:00+00:00", "finished": None,
            "machine": {"cores": 2, "cpu": "a <cpu>", "memory_mib": 1, "kernel": "6", "load": 0.0,
                        "commit": ""},
            "targets": [target("base"), target("other")],
            "groups": [{"id": "points", "title": "Point queries"}],
            "tests": [{"id": "point-query", "group": "points", "title": "point-query",
                       "main": "qps"}],
            "runs": runs, "columns": ["qps", "cpu", "r"], "notes": []}


def test_the_schema_tells_good_from_bad():
    require_equal(result.problem_in(_document()), "")
    for change, part in ((lambda d: d.pop("runs"), "runs"),
                         (lambda d: d.update(state="done"), "state"),
                         (lambda d: d["runs"][0]["metrics"].update(qps="many"), "qps"),
                         (lambda d: d["targets"][0].update(kind="oracle"), "oracle"),
                         (lambda d: d["runs"][0].update(extra=1), "extra")):
        document = copy.deepcopy(_document())
        change(document)
        if part not in result.problem_in(document):
            raise Failure(f"{part}: {result.problem_in(document)!r}")


def test_files_that_are_no_results_are_refused():
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.json"
        for text, part in (("{", "not JSON"), ("[]", "not a result"), ("{}", "not a result"),
                           (json.dumps(dict(_document(), version=2)), "version 2")):
            path.write_text(text)
            try:
                result.read(path)
            except UserError as error:
                if part in str(error):
                    continue
                raise Failure(f"{error} does not say {part!r}")
            raise Failure(f"{text[:30]} was accepted")


def test_a_result_is_kept_after_each_run():
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kept.json"
        kept = result.Result(path, "micro", [], {})
        document = _document()
        for field in ("targets", "groups", "tests", "columns"):
            kept.document[field] = document[field]
        kept.add_run(document["runs"][0])
        require_equal(result.read(path)["state"], "running")
        kept.close(result.INTERRUPTED)
        require_equal((result.read(path)["state"], os.listdir(folder)),
                      ("interrupted", ["kept.json"]))


def test_a_summary_compares_with_the_base():
    test = Summary(_document()).tests[0]
    side = test.side("other")
    require_equal((test.side("base").median.value, side.median.value, side.ratio_text()),
                  (102.5, 202.5, "1.98"))
    require_equal((side.metrics["r"], side.retries, side.latencies["p50"]),
                  (None, {"1213": 4}, 102))
    document = _document()
    document["runs"] = [one for one in document["runs"] if one["round"] < 4]
    require_equal(Summary(document).tests[0].side("other").ratio_text(), "~1.98", "three rounds")


def test_a_missed_rate_is_not_ranked():
    document = _document()
    document["runs"][-1]["missed"] = "90 of 100 rows a second"
    summary = Summary(document)
    require_equal(summary.tests[0].side("other").ratio, None)
    if "not ranked" not in terminal_text(summary) or "90 of 100" not in page(summary):
        raise Failure("the reports do not tell")


def test_a_rate_is_missed_only_beyond_chance():
    # Starts are planned at random: of 100 in a second, 70 are no wonder and 60 are.
    require_equal(measuring.missed_rate(100, 1.0, 100), {})
    require_equal(measuring.missed_rate(70, 1.0, 100), {})
    require_equal("60 of 100" in measuring.missed_rate(60, 1.0, 100)["missed"], True)
    require_equal("900 of 1,000" in measuring.missed_rate(90_000, 100.0, 1000)["missed"], True)


def test_insert_patterns_are_codes():
    require_equal(insert_pattern.check("A-RRR"), "A-RRR")
    require_equal("register (cashregisterid, price, customerid) skewed"
                  in insert_pattern.describe("R-AZA"), True)
    for code in ("Z-RRR", "A-RR", "A-RRX", "A-RAZ", ""):
        try:
            insert_pattern.check(code)
        except UserError:
            continue
        raise Failure(f"{code!r} was accepted")


def test_rowan_bench_is_read():
    text = ("recycled file: full\n" + " " * 14 + "1 x 8 KiB\nmethod  p10 us\n"
            "fsync   1 2 3 4   5 6 7 8   9 10 11 12   13 14 15 16\nuring   no io_uring here\n")
    rows = list(sync.parse_bare(text))
    require_equal([(kind, method) for kind, method, _ in rows],
                  [("recycled", "fsync"), ("recycled", "uring")])
    require_equal(rows[0][2][1], {"p10": 5.0, "p50": 6.0, "p99": 7.0, "commits_per_s": 8.0})
    require_equal(rows[1][2][0], "no io_uring here")
    (row,) = sync.parse_commits("method threads\nfsync  4  100 1.0 2.0 3.0 4.0 2.50 0.400\n")
    require_equal((row[0], row[1], row[2]["commits_per_s"], row[2]["syncs"]),
                  ("fsync", 4, 100.0, 0.4))


def test_unequal_durability_is_told_in_every_report():
    document = _document()
    document["targets"][1]["settings"]["commits"] = "written at each commit"
    require_equal(len(settings.unequal(document["targets"])), 1)
    summary = Summary(document)
    for report in (terminal_text(summary), markdown(summary), page(summary)):
        if "written at each commit" not in report or "unequal" not in report.lower():
            raise Failure("a report does not tell")
    if "class='red'>written at each commit" not in page(summary):
        raise Failure("the setting is not red")


def test_figures_are_the_main_tables_and_what_went_wrong():
    document = _document()
    document["runs"][-1]["problem"] = "a | went wrong"
    text = figures(Summary(document))
    for wanted in ("## micro", "scripts/bench micro --quick", "| point-query | 102 | 202 | 1.98 |",
                   "| other | 202 | 10.0 | n/a |", "- point-query on other failed: a \\| went"):
        if wanted not in text:
            raise Failure(f"{wanted} is not in\n{text}")
    document["tests"] += [dict(document["tests"][0], id=str(number)) for number in range(3)]
    document["runs"] += [dict(document["runs"][0], test=str(number)) for number in range(3)]
    require_equal("cpu/o" in figures(Summary(document)), False, "all columns of many tests")
    document["tests"] += [dict(document["tests"][0], id=f"more {number}",
                               title=f"more {number}") for number in range(20)]
    document["runs"] += [dict(one, test=f"more {number}") for number in range(20)
                         for one in _document()["runs"]]
    text = figures(Summary(document))
    require_equal(("| point-query | 102" in text, "| Point queries | 20 | 1.98" in text),
                  (False, True), "a group of many tests")


def test_the_page_stands_alone():
    text = page(Summary(_document()))
    outside = re.findall(r"(?:src|href|action)\s*=\s*['\"](?!#)[^'\"]*|@import|url\(|https?://"
                         r"|<script|<link|<iframe", text)
    require_equal(outside, [], "references")
    for wanted in ("prefers-color-scheme: dark", "lang='en'", "scope='col'", "aria-label",
                   "How to read this", "a &lt;cpu&gt;", "&lt;1&gt;", "<title>"):
        if wanted not in text:
            raise Failure(f"the page lacks {wanted}")
    require_equal(text.count("<svg"), text.count("role='img'") + text.count("aria-hidden"),
                  "charts that say what they show")
    headings = re.findall(r"<h2 id='([^']*)'", text)
    require_equal(re.findall(r"<a href='#([^']*)'", text), headings, "sections and links")


# --- diff and gate ---

def _measured(ratio, rounds=6, base=100.0):
    """A result in which `other` has `ratio` times the base's rate, give or take 2 %."""
    document = _document()
    runs = []
    for number in range(1, rounds + 1):
        for side, factor in (("base", 1.0), ("other", ratio * (1 + 0.005 * (number % 5 - 2)))):
            runs.append({"test": "point-query", "target": side, "round": number, "seconds": 1.0,
                         "metrics": {"qps": base * number * factor}})
    return dict(document, runs=runs, options={"rounds": rounds})


def _refused_rounds(document):
    try:
        gate.require_rounds(document, "it")
    except UserError as error:
        return "fewer than" in str(error)
    return False


def test_the_gate_fails_for_a_slowdown_and_not_for_noise():
    before = _measured(1.5)
    for after, failed in ((_measured(1.5 * 0.85), True), (_measured(1.5 * 0.95), False),
                          (_measured(1.5), False), (_measured(1.5 * 1.3), False),
                          # A machine that is half as fast today is the same for both sides.
                          (_measured(1.5, base=50.0), False), (_measured(1.5 * 0.85, 3), False)):
        (verdict,) = gate.judge(before, after)
        require_equal(verdict.failed, failed, gate.report([verdict])[0])
    slower = _measured(1.5 * 0.85)
    for document, instructions in ((before, 1000), (slower, 1010)):
        for one in document["runs"]:
            one["metrics"]["instructions"] = instructions + one["round"]
    (verdict,) = gate.judge(before, slower)
    require_equal((verdict.metric, verdict.failed), ("instructions", False))
    (verdict,) = gate.judge(before, dict(slower, runs=slower["runs"][:1]))
    require_equal((verdict.failed, "no figure in the later" in gate.report([verdict])[0]),
                  (True, True), "a side that has failed")
    require_equal(_refused_rounds(_measured(1.0, 3)), True, "three rounds")
    before["runs"] = before["runs"][:1]
    require_equal(gate.judge(before, slower)[0].change, None, "nothing to judge")


def test_a_diff_has_the_older_result_as_its_base():
    before, after = _measured(1.0), _measured(2.0)
    document = compare.compare(before, after, "old", "new")
    require_equal(result.problem_in(document), "")
    summary = Summary(document)
    require_equal([(test.name, test.side("new").ratio_text()) for test in summary.tests],
                  [("base: point-query", "~1.00"), ("other: point-query", "~2.00")])
    require_equal(summary.targets, ["old", "new"])
    after["command"] = "insert"
    try:
        compare.compare(before, after, "old", "new")
    except UserError as error:
        require_equal("nothing to compare" in str(error), True, str(error))
        return
    raise Failure("results of different commands are compared")


def test_a_plugin_from_elsewhere_is_named():
    before, after = _measured(1.0), _measured(2.0)
    after["machine"] = dict(after["machine"], plugin="ha_rowan_old.so, SHA-256 0123")
    text = markdown(Summary(compare.compare(before, after, "old", "new")))
    if "| plugin | of the checkout | ha_rowan_old.so, SHA-256 0123 |" not in text:
        raise Failure(text)


def test_every_column_has_a_meaning():
    for column in columns.COLUMNS.values():
        if not column.meaning or column.better not in ("higher", "lower", ""):
            raise Failure(column.name)
    require_equal((columns.shown("qps", 1234.5), columns.shown("qps", None),
                   columns.shown("r", 0.0001)), ("1,234", "n/a", "0.0001"))
