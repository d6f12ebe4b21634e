# SPDX-License-Identifier: GPL-2.0-only
"""Workloads of the benchmark driver with a real server: a short run of each, its figures and the
page that shows them."""
import collections
import tempfile
import time
from pathlib import Path

import pytest
from driver_support import LIMIT_S, SMALL_SERVER, measured, run

from rowantools.bench import database, perf_stacks, result, scans, ssb, ssb_data, targets
from rowantools.bench import tpcc_conditions
from rowantools.bench.load import Load
from rowantools.bench.mariadb_server import rocksdb_options
from rowantools.bench.servers import Conditions, Servers
from rowantools.bench.ssb_queries import FLIGHTS
from rowantools.line_tests import Failure, require_equal


def test_rocksdb_gets_no_more_memory_than_the_others():
    options = dict(option.split("=") for option in rocksdb_options(
        Conditions(buffer_pool_mib=100, redo_mib=300, durable=False)))
    parts = [int(options[f"--rocksdb-{name}"].rstrip("M"))
             for name in ("block-cache-size", "db-write-buffer-size")]
    require_equal(sum(parts), 100)
    require_equal((options["--rocksdb-max-total-wal-size"],
                   options["--rocksdb-flush-log-at-trx-commit"]), ("300M", "2"))


def test_deletes_of_the_insert_benchmark_go_on_as_the_table_grows():
    with tempfile.TemporaryDirectory() as folder, Servers(
            Conditions(buffer_pool_mib=64, redo_mib=64, folder=Path(folder))) as servers:
        target = targets.parse("innodb")
        servers.attach(target)
        database.create_database(target)
        options = {"tables": 1, "threads": 1, "engine": "innodb", "rows": 10}
        Load(target, "insert.lua", dict(options, kind="insert"), "prepare").run()
        Load(target, "insert.lua", dict(options, kind="insert", events=10, time=0)).run()
        deletes = Load(target, "insert.lua", dict(options, kind="delete", keep=95, events=0,
                                                  time=LIMIT_S)).start()
        try:
            deadline = time.monotonic() + LIMIT_S
            with database.connect(target) as connection:
                while time.monotonic() < deadline and connection.value(
                        "SELECT MIN(transactionid) FROM purchases1") < 100:
                    Load(target, "insert.lua", dict(options, kind="insert", events=1,
                                                    time=0)).run()
                require_equal(connection.value("SELECT MIN(transactionid) FROM purchases1") >= 100,
                              True, "old rows are gone")
        finally:
            deletes.stop()


def test_tpcc_counts_new_orders_and_checks_its_tables():
    with tempfile.TemporaryDirectory() as folder:
        document = measured(folder, "tpcc", "--customers", "20", "--items", "100", "--threads",
                             "3", "--time", "1", "--isolation", "rc,ser",
                             wanted=("nopm", "p99", "cpu", "size_mib"))
        for one in document["runs"]:
            require_equal(one["facts"]["consistency"], "all 12 conditions hold")
            if "new_order" not in one["facts"]["transactions"]:
                raise Failure(one["facts"])


def test_commits_are_measured_in_each_folder():
    with tempfile.TemporaryDirectory() as folder:
        places, path = [f"{folder}/first", f"{folder}/second"], f"{folder}/commit.json"
        run(folder, "commit", "--rounds", "1", "--time", "1", "--threads", "2", "--binlogs", "on",
            "--methods", "fdatasync,uring", "--dir", places[0], "--dir", places[1], "--output",
            path, *SMALL_SERVER)
        document = result.read(path)
        require_equal([place in group["title"] for place, group in
                       zip(places, document["groups"])], [True, True], "groups")
        require_equal([list(Path(place).iterdir()) for place in places], [[], []], "left behind")
        for one in document["runs"]:
            if "not available" not in one.get("facts", {}) and not one["metrics"]["syncs"] > 0:
                raise Failure(one)


def test_covering_scans_beside_updates():
    with tempfile.TemporaryDirectory() as folder:
        document = measured(folder, "covering", "--rows", "2000", "--ranges", "100", "--rate",
                             "50", "--time", "1", wanted=("rows_per_s", "p99"))
        require_equal([bool(one["metrics"].get("events_per_s")) for one in document["runs"]],
                      [False, False, True, True, True, True], "updates beside the scans")


def test_pages_of_a_list_are_the_same_on_both_sides():
    with tempfile.TemporaryDirectory() as folder:
        document = measured(folder, "offset", "--rows", "3000", "--offsets", "0,2500",
                             wanted=("ms",))
        require_equal(len(document["tests"]), 10)


def test_the_ledger_explains_what_the_process_writes():
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "ledger.json"
        run(folder, "ledger", "--rows", "5000", "--tests", "update-index", "--time", "2",
            "--rounds", "1", "--binlog", "on", "--dir", folder, "--output", str(path), "--memory",
            "16M", "--redo", "16M")
        for one in result.read(path)["runs"]:
            figures = one["metrics"]
            if not 98 <= figures["explained"] <= 102:
                raise Failure(one)
            missing = [name for name in ("redo_kb", "padding_kb", "binlog_kb")
                       if not figures[name] > 0]
            require_equal(missing, [], f"{one}")


def test_throughput_by_clients_has_a_chart():
    with tempfile.TemporaryDirectory() as folder:
        measured(folder, "scale", "--rows", "500", "--tests", "point-query", "--threads", "2,1",
                  "--time", "1", wanted=("qps", "per_core", "busy_cores", "speedup", "p99"))
        page = (Path(folder) / "scale.html").read_text()
        require_equal([page.count(f"point-query, by number of clients: {what}. 1: ")
                       for what in ("QPS", "QPS/core")], [1, 1], "charts")


def test_answers_of_the_star_schema_are_compared():
    with tempfile.TemporaryDirectory() as folder:
        document = measured(folder, "ssb", "--rows", "2000", wanted=("ms", "rows_read"))
        require_equal(len(document["tests"]), 13)


def test_answers_of_whole_tables_are_compared():
    with tempfile.TemporaryDirectory() as folder:
        document = measured(folder, "scans", "--rows", "1500", wanted=("ms",))
        require_equal(len(document["tests"]), 11)
        found = {one["test"]: one["facts"]["rows of the answer"] for one in document["runs"]}
        require_equal({test: found[test] for test in ("groups-7", "tpch-q1", "first-10")},
                      {"groups-7": 7, "tpch-q1": 3, "first-10": 10})


def test_rows_that_are_copied_have_keys_of_their_own(monkeypatch):
    (target,) = targets.parse_all(["rowan"])
    monkeypatch.setattr(scans, "_GENERATED", 30)
    with Servers(Conditions(buffer_pool_mib=64, redo_mib=64), [target]) as servers:
        servers.attach(target)
        database.create_database(target)
        with database.connect(target) as connection:
            scans.fill(connection, target, 100, lambda done, rows: None)
            require_equal([int(value) for value in connection.execute(
                "SELECT COUNT(*), MIN(id), MAX(id) FROM order_line")[0]], [100, 1, 100])


def test_the_star_schema_queries_find_what_its_rows_hold():
    (target,) = targets.parse_all(["rowan"])
    lines = 3000
    with Servers(Conditions(buffer_pool_mib=64, redo_mib=64), [target]) as servers:
        servers.attach(target)
        database.create_database(target)
        ssb.fill(target, lines)
        dates, suppliers, customers, parts = [
            {row[0]: row for row in ssb_data.rows(f"ssb_{table}", lines)}
            for table in ("date", "supplier", "customer", "part")]
        discounts, profit = 0, collections.Counter()
        for line in ssb_data.rows("ssb_lineorder", lines):
            year = dates[line[5]][3]
            if year == 1993 and 1 <= line[9] <= 3 and line[7] < 25:
                discounts += line[8] * line[9]
            customer, supplier, part = customers[line[2]], suppliers[line[4]], parts[line[3]]
            if customer[4] == supplier[4] == "AMERICA" and part[2] in ("MFGR#1", "MFGR#2"):
                profit[year, customer[3]] += line[10] - line[11]
        queries = {name: query for _, flight in FLIGHTS for name, query in flight.items()}
        with database.connect(target) as connection:
            require_equal(int(connection.value(queries["1.1"])), discounts)
            require_equal({tuple(row[:2]): int(row[2]) for row in
                           connection.execute(queries["4.1"])}, dict(profit))
    if not discounts or len(profit) < 20:
        raise Failure(f"too few rows are found: {discounts}, {profit}")


@pytest.mark.skipif(bool(perf_stacks.why_not()), reason="perf does not record here")
def test_a_profile_shows_where_commits_compute_and_wait():
    with tempfile.TemporaryDirectory() as folder:
        document = measured(folder, "profile", "--tests", "update-nonindex", "--rows", "500",
                             "--time", "1", wanted=("qps", "waited_us"))
        for one in document["runs"]:
            for kind, stacks in one["stacks"].items():
                if not any("ha_commit_trans" in stack for stack in stacks):
                    raise Failure(f"no commit is {kind} on {one['target']}: {list(stacks)[:9]}")
        page = (Path(folder) / "profile.html").read_text()
        require_equal(page.count("class='flame' aria-label"), 4, "pictures")


# What breaks a condition, and a word or two of those that it breaks.
_BREAKAGES = (
    ("UPDATE tpcc_district SET d_ytd = d_ytd + 1 WHERE d_id = 3",
     ("sum of its districts'", "a district's year-to-date")),
    ("UPDATE tpcc_district SET d_next_o_id = d_next_o_id + 1 WHERE d_id = 3", ("next order",)),
    ("DELETE FROM tpcc_new_order WHERE no_d_id = 3 AND no_o_id = 18",
     ("no gap", "without a carrier", "its new, its delivered")),
    ("UPDATE tpcc_orders SET o_ol_cnt = o_ol_cnt + 1 WHERE o_d_id = 3 AND o_id = 1",
     ("as many lines as it has", "as many lines as it counts")),
    ("UPDATE tpcc_orders SET o_carrier_id = NULL WHERE o_d_id = 3 AND o_id = 1",
     ("without a carrier", "with a carrier")),
    ("UPDATE tpcc_order_line SET ol_delivery_d = NULL WHERE ol_d_id = 3 AND ol_o_id = 1 AND "
     "ol_number = 2", ("with a carrier",)),
    ("UPDATE tpcc_warehouse SET w_ytd = w_ytd - 1",
     ("sum of its districts'", "a warehouse's year-to-date is the sum of its payments")),
    ("UPDATE tpcc_customer SET c_balance = c_balance + 1 WHERE c_d_id = 3 AND c_id = 7",
     ("less what was paid", "balance and payments")),
    ("UPDATE tpcc_customer SET c_delivery_cnt = 1 WHERE c_d_id = 3 AND c_id = 7",
     ("its new, its delivered",)),
    ("UPDATE tpcc_customer SET c_ytd_payment = 9.99 WHERE c_d_id = 3 AND c_id = 7",
     ("balance and payments",)),
)


def test_what_breaks_a_condition_of_tpcc_is_noticed():
    (target,) = targets.parse_all(["rowan"])
    customers = 20
    small = {"engine": "rowan", "warehouses": 1, "customers": customers, "items": 50}
    with Servers(Conditions(buffer_pool_mib=64, redo_mib=64), [target]) as servers:
        servers.attach(target)
        database.create_database(target)
        for command in ("prepare", "fill"):
            Load(target, "tpcc.lua", small, command).run()
        with database.connect(target) as connection:
            require_equal(tpcc_conditions.broken(connection, customers), [])
            for statement, parts in _BREAKAGES:
                connection.execute("BEGIN")
                connection.execute(statement)
                found = [sentence for sentence, _ in tpcc_conditions.broken(connection, customers)]
                connection.execute("ROLLBACK")
                if len(found) != len(parts) or not all(
                        any(part in sentence for sentence in found) for part in parts):
                    raise Failure(f"{statement}: {found}")
