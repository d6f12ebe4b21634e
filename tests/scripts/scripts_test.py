# SPDX-License-Identifier: GPL-2.0-only
"""What the scripts work out for themselves: archive addresses, versions, reports, counts."""
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from rowantools import client, mtr, mysql_tree, private_apt, sysbench
from rowantools.line_tests import Failure, require_equal
from rowantools.paths import ROOT, UserError
from rowantools.suite_lists import OF_8_4, Reasons, changes
from rowantools.test_pool import Pool
from rowantools.test_programs import Program


def _archive_of(files):
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            path = Path(folder) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return private_apt.debian_archive_uri(Path(folder))


def test_archive_from_a_one_line_source():
    require_equal(_archive_of({"sources.list": "# deb http://no/debian sid main\n"
                               "deb-src http://src/debian bookworm main\n"
                               "deb [arch=amd64] http://mirror.example/debian/ bookworm main\n"}),
                  "http://mirror.example/debian")


def test_archive_from_a_deb822_source():
    text = ("Types: deb\n# a comment\nURIs: http://other/repo\nSuites: nodistro\n"
            "Components: main\n\nTypes: deb deb-src\nURIs: http://mirror/debian\n"
            "Suites: trixie\n trixie-updates\nComponents: main\n")
    require_equal(_archive_of({"sources.list.d/a.sources": text}), "http://mirror/debian")


def test_disabled_and_security_sources_are_passed_over():
    text = ("Types: deb\nURIs: http://off/debian\nSuites: trixie\nComponents: main\n"
            "Enabled: no\n\nTypes: deb\nURIs: http://security/debian-security\n"
            "Suites: trixie-security\nComponents: main\n")
    require_equal(_archive_of({"sources.list.d/a.sources": text}), private_apt.STANDARD_ARCHIVE)


def test_ubuntu_falls_back_to_the_standard_archive():
    require_equal(_archive_of({"sources.list": "deb http://archive.ubuntu.com/ubuntu noble main"}),
                  private_apt.STANDARD_ARCHIVE)


def _fake_trees(folder, server, source):
    prefix, tree = Path(folder) / "prefix", Path(folder) / "source"
    (prefix / "bin").mkdir(parents=True)
    mysqld = prefix / "bin" / "mysqld"
    mysqld.write_text(f"#!/bin/sh\necho 'mysqld  Ver {server}-2 for Linux on x86_64'\n")
    mysqld.chmod(0o755)
    (tree / "builddir/include").mkdir(parents=True)
    (tree / "builddir/include/my_config.h").write_text("")
    numbers = source.split(".")
    (tree / "MYSQL_VERSION").write_text("".join(
        f"MYSQL_VERSION_{part}={number}\n"
        for part, number in zip(("MAJOR", "MINOR", "PATCH"), numbers)))
    return mysql_tree.MysqlTree(prefix, tree)


def test_equal_versions_are_accepted():
    with tempfile.TemporaryDirectory() as folder:
        require_equal(_fake_trees(folder, "9.7.4", "9.7.4").check(), (9, 7, 4))


def test_version_mismatch_is_one_sentence():
    with tempfile.TemporaryDirectory() as folder:
        try:
            _fake_trees(folder, "9.7.4", "9.7.5").check()
        except UserError as error:
            if "9.7.4" in str(error) and "9.7.5" in str(error) and "\n" not in str(error):
                return
            raise Failure(f"unclear message: {error}")
        raise Failure("a mismatch was accepted")


def test_sysbench_report_is_read():
    text = ("    transactions:   100 (50.00 per sec.)\n    queries:   2000   (1000.50 per sec.)\n"
            "    total time:    2.0000s\n    total number of events:   100\n")
    require_equal(sysbench._rate(text, "oltp_read_only"), 1000.0)
    require_equal(sysbench._rate(text, sysbench.BULK_INSERT), 50.0)


def test_client_decodes_results():
    require_equal(client._length_encoded(b"\xfc\x01\x02", 0), (0x0201, 3))
    require_equal(client._length_encoded(b"\xfb", 0), (None, 1))
    error = client._error_of(b"\xff\x26\x04#23000Duplicate")
    require_equal((error.code, error.state, error.message), (1062, "23000", "Duplicate"))
    columns = [("a", 3, 63), ("b", 253, 255), ("c", 252, 63), ("d", 5, 63), ("e", 246, 63)]
    row = client._row_of(b"\x0242\x02\xc3\xa4\x01\x00\xfb\x031.5", columns)
    require_equal(row, (42, "ä", b"\x00", None, "1.5"))


def _counted(folder, kind, *command, only=(), limit_s=60):
    outcome = Program("suite", "sample", list(command), kind, {}, limit_s).run(folder, only)
    return outcome.passed, outcome.failed_names, outcome.skipped


@pytest.mark.parametrize("script, counts", [
    ("echo PASS a; echo PASS b; echo SKIP c: why", (2, [], ["sample: c: why"])),
    ("echo PASS a; echo FAIL b: reason; exit 1", (1, [""], [])),
    ("echo PASS a; kill -9 $$", (1, [""], [])),
    ("exit 0", (0, [""], [])),
    ("exit 3", (0, [""], []))])
def test_crashes_and_silence_count_as_failures(tmp_path, script, counts):
    require_equal(_counted(tmp_path, "lines", "/bin/sh", "-c", script), counts, script)


def test_a_hang_counts_as_a_failure(tmp_path):
    hang = ("/bin/sh", "-c", "exec sleep 1000")
    require_equal(_counted(tmp_path, "lines", *hang, limit_s=0.2), (0, [""], []))


def test_pytest_is_counted(tmp_path):
    sample = tmp_path / "sample_test.py"
    sample.write_text("import pytest\ndef test_a(): pass\ndef test_b(): assert 1 == 2\n"
                      "def test_c(): pytest.skip('why')\n")
    require_equal(_counted(tmp_path, "pytest", str(sample)),
                  (1, ["test_b"], ["sample: test_c: why"]))
    require_equal(_counted(tmp_path, "pytest", str(sample), only=["test_b"]), (0, ["test_b"], []))


def test_googletest_is_counted(tmp_path):
    report = ('<testsuites><testsuite><testcase classname="S" name="A" status="run" time="0.1"/>'
              '<testcase classname="S" name="B" status="run"><failure>no</failure></testcase>'
              '<testcase classname="S" name="C" status="notrun"/>'
              '<testcase classname="S" name="D" status="run"><skipped message="why&#x0A;"/>'
              '</testcase></testsuite></testsuites>')
    script = f"echo '{report}' > ${{1#*=xml:}}"
    require_equal(_counted(tmp_path, "gtest", "/bin/sh", "-c", script, "sample"),
                  (1, ["S.B"], ["sample: S.D: why"]))


def test_the_longest_start_first_and_what_failed_is_remembered(tmp_path):
    order = tmp_path / "order"

    def pool(**options):
        return Pool([Program("suite", name, ["/bin/sh", "-c", f"echo {name} >> {order}; {script}"],
                             "lines", slots=99)
                     for name, script in (("short", "echo PASS a"), ("long", "exit 1"))],
                    tmp_path, **options)
    (tmp_path / "history.json").write_text(json.dumps(
        {"seconds": {"suite/short": 1, "suite/long": 9}, "failed": {}}))
    require_equal((pool().run().failed, order.read_text()), (1, "long\nshort\n"))
    require_equal((pool(only_failed=True).run().passed, order.read_text()),
                  (0, "long\nshort\nlong\n"))


def test_every_script_explains_itself():
    for name in ("setup", "test", "demo", "bench", "server", "optimize",
                 "package", "style-figures"):
        result = subprocess.run([str(ROOT / "scripts" / name), "--help"], capture_output=True,
                                text=True, env=dict(os.environ, PYTHON=sys.executable))
        if result.returncode != 0 or "usage:" not in result.stdout:
            raise Failure(f"scripts/{name} --help: status {result.returncode}, {result.stderr}")


_MTR_OUTPUT = """Collecting tests
[  9%] main.passes                              w1  [ pass ]    140
[ 18%] main.twice 'row'                         [ pass ]   17
[ 18%] main.wants                               [ skipped ]  Need debug
[ 27%] main.name                                w2  [ fail ]
        Test ended at 2026-11-22 10:25:48

--- /suite/r/name.result 2026-09-30
+++ /var/name.reject 2026-11-22
@@ -1,3 +1,3 @@
 CREATE TABLE `t`
-) ENGINE=InnoDB DEFAULT CHARSET=latin1
+) ENGINE=ROWAN DEFAULT CHARSET=latin1
[ 36%] main.differs                             w1  [ fail ]

--- /suite/r/differs.result 2026-09-30
+++ /var/differs.reject 2026-11-22
-) ENGINE=InnoDB
-1
+) ENGINE=ROWAN
+2

mysqltest: Result content mismatch

The result from queries just before the failure was:
-3
[ 45%] main.stops                               w1  [ fail ]
mysqltest: At line 27: Query failed.
Query: 'CREATE TABLE t (a INT)'
Returned error: ER_X(1178) (42000): No

The result from queries just before the failure was:
[ 54%] main.plan                                w1  [ fail ]
--- /suite/r/plan.result 2026-09-30
+++ /var/plan.reject 2026-11-22
-1\tSIMPLE\tt1\tNULL\tALL\tNULL\t5\t100.00\tNULL
+1\tSIMPLE\tt1\tNULL\tALL\tNULL\t6\t100.00\tNULL
-    -> Table scan on t1  (rows=5)
+    -> Table scan on t1  (rows=6)

mysqltest: Result content mismatch
[ 63%] main.plan_and_row                        w1  [ fail ]
--- /suite/r/plan_and_row.result 2026-09-30
+++ /var/plan_and_row.reject 2026-11-22
-1\tSIMPLE\tt1\tNULL\tALL\tNULL\t5\t100.00\tNULL
+1\tSIMPLE\tt1\tNULL\tALL\tNULL\t6\t100.00\tNULL
-1\ta
+1\tb

mysqltest: Result content mismatch
[ 72%] main.range_ends                          w1  [ fail ]
mysqltest: At line 9: Query failed.
Returned error: CR_SERVER_LOST(2013) (HY000): Lost connection to MySQL server during query

[100%] shutdown_report                          w0  [ pass ]
"""


def test_what_the_test_driver_prints_is_understood():
    outcomes = {result.name: (result.outcome, result.note)
                for result in mtr.parse_output(_MTR_OUTPUT)}
    require_equal(outcomes, {
        "main.passes": (mtr.PASS, ""), "main.twice 'row'": (mtr.PASS, ""),
        "main.wants": (mtr.SKIP, "Need debug"), "main.name": (mtr.NAME, ""),
        "main.differs": (mtr.FAIL, "differs: -1"),
        "main.stops": (mtr.FAIL, "At line 27: Query failed. Query: 'CREATE TABLE t (a INT)' "
                                 "Returned error: ER_X(1178) (42000): No"),
        "main.plan": (mtr.FAIL, "plans alone differ: -1\tSIMPLE\tt1\tNULL\tALL\tNULL\t5\t100.00"
                                "\tNULL"),
        "main.plan_and_row": (mtr.FAIL, "differs: -1\tSIMPLE\tt1\tNULL\tALL\tNULL\t5\t100.00"
                                        "\tNULL"),
        "main.range_ends": (mtr.FAIL, "the server ended: At line 9: Query failed. Returned error: "
                                      "CR_SERVER_LOST(2013) (HY000): Lost connection to MySQL "
                                      "server during query")})


def test_an_error_is_kept_behind_a_long_statement_and_explained():
    """As the driver of MySQL 8.4 prints it."""
    columns = ", ".join(f"c{i} INT" for i in range(60))
    text = ("[ 50%] iuds.keys                               w1  [ fail ]\n"
            f"mysqltest: At line 5: Query 'CREATE TABLE t ({columns})' failed.\n"
            "ERROR 1178 (42000): Rowan does not support foreign keys in MySQL 8.4\n\n")
    (result,) = mtr.parse_output(text)
    require_equal(Reasons().explain(result).note, OF_8_4)
    require_equal(changes("engines_iuds", [Reasons().explain(result)]), ([], []))
    (lost,) = mtr.parse_output(text.replace("ERROR 1178 (42000): Rowan", "ERROR 2013 (HY000): It"))
    require_equal(lost.note.startswith(mtr.CRASHED), True, lost.note)


def test_a_server_that_ends_is_never_explained():
    crash = mtr.TestResult("main.lost", mtr.FAIL, f"{mtr.CRASHED} SELECT 1 FROM innodb_tables")
    require_equal(Reasons().explain(crash).note, f"? {crash.note}")
