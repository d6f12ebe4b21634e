# SPDX-License-Identifier: GPL-2.0-only
"""The benchmark driver with a real server: a short run, one that is interrupted, one repeated."""
import signal
import tempfile
import time
from pathlib import Path

from driver_support import LIMIT_S, SMALL_SERVER, run, start

from rowantools.bench import result
from rowantools.line_tests import Failure, require_equal
from rowantools.paths import UserError

_SMALL = ["--shape", "1x500", *SMALL_SERVER]


def test_a_short_run_has_every_column_and_can_be_repeated():
    with tempfile.TemporaryDirectory() as folder:
        path, again = Path(folder) / "first.json", Path(folder) / "again.json"
        run(folder, "micro", "--tests", "point-query,update-index", "--time", "1", "--rounds", "1",
             "--dir", folder, "--output", str(path), *_SMALL)
        document = result.read(path)
        require_equal((document["state"], [target["name"] for target in document["targets"]]),
                      ("complete", ["innodb", "rowan"]))
        require_equal([(one["test"], one["target"]) for one in document["runs"]],
                      [("update-index", "innodb"), ("update-index", "rowan"),
                       ("point-query", "innodb"), ("point-query", "rowan")])
        for one in document["runs"]:
            missing = [name for name in ("qps", "cpu", "cs", "client_cpu", "p50", "max")
                       if not one["metrics"].get(name)]
            require_equal(missing, [], f"figures of {one['test']} on {one['target']}")
        require_equal(document["targets"][1]["settings"]["mysqlx_cache_cleaner"], "off")
        run(folder, "repeat", str(path), "--output", str(again))
        require_equal(result.read(again)["options"], document["options"])
        text = run(folder, "diff", str(path), str(again))
        if "point-query" not in text or "first" not in text:
            raise Failure(f"diff says\n{text}")


def test_an_injected_delay_reaches_the_commits_of_both_engines():
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "delayed.json"
        run(folder, "micro", "--tests", "update-nonindex", "--time", "1", "--rounds", "1",
             "--sync-delay", "3000", "--dir", folder, "--output", str(path), *_SMALL)
        fastest = {one["target"]: one["metrics"]["p50"] for one in result.read(path)["runs"]}
        if min(fastest.values()) < 3000:
            raise Failure(f"medians in microseconds: {fastest}")


def test_an_interrupted_run_leaves_a_usable_result():
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "partial.json"
        process = start(folder, "micro", "--tests", "point-query", "--time", "1", "--rounds",
                         "500", "--dir", folder, "--output", str(path), *_SMALL)
        deadline = time.monotonic() + LIMIT_S
        while not _runs_in(path) and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        output = process.communicate(timeout=LIMIT_S)[0]
        require_equal(process.returncode, 130, output[-1500:])
        document = result.read(path)
        require_equal(document["state"], "interrupted")
        if not document["runs"]:
            raise Failure("no run is left")
        if "partial" not in run(folder, "report", str(path)):
            raise Failure("the report does not say that the result is partial")
        left = sorted(one.name for one in Path(folder).iterdir())
        require_equal(left, ["partial.html", "partial.json", "partial.md"], "files left")


def _runs_in(path):
    try:
        return result.read(path)["runs"]
    except UserError:
        return []
