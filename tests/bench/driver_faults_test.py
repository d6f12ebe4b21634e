# SPDX-License-Identifier: GPL-2.0-only
"""The benchmark driver in the hands of users and on machines that do not do as they should: options
that make no sense, disks that are full, servers that end, interruptions."""
import copy
import json
import os
import signal
import tempfile
import time
from pathlib import Path

import pytest
from driver_support import LIMIT_S, SMALL_SERVER, run, start

from rowantools.bench import database, result, session, targets
from rowantools.bench.servers import Conditions, Servers
from rowantools.line_tests import Failure, require_equal
from rowantools.paths import UserError

_REFERENCE = json.loads(Path(__file__).with_name("gate_reference.json").read_text())


@pytest.mark.parametrize("words, part", [
    (["micro", "--threads", "0"], "'0' is not a number"),
    (["micro", "--rate", "-5"], "whole number from 0"),
    (["micro", "--sync-delay", "-1"], "whole number from 0"),
    (["micro", "--memory", "0M"], "not a size"),
    (["micro", "--tests", ""], "no microbenchmark ''"),
    (["micro", "--server-option", "oracle:--x=1"], "kinds are mysql, mariadb, postgres"),
    (["sync", "--time", "0"], "not a number of seconds"),
    (["sync", "--time", "nan"], "not a number of seconds"),
    (["tpcc", "--isolation", ""], "no isolation level ''"),
    (["json", "--sizes", "0"], "'0' is not a number"),
    (["micro", "--on", "x=mysql://h/d", "--dir", "/dev/null/x"], "no folder for servers"),
    (["micro", "--on", "x=mysql://h/d", "--output", "/dev/null/x.json"], "cannot be written"),
])
def test_what_makes_no_sense_is_refused_before_anything_starts(words, part):
    with tempfile.TemporaryDirectory() as folder:
        process = start(folder, *words)
        output = process.communicate(timeout=LIMIT_S)[0]
        if process.returncode not in (1, 2) or part not in output or "Traceback" in output:
            raise Failure(f"{words}: status {process.returncode}:\n{output}")


def test_a_full_disk_leaves_what_was_saved_before():
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kept.json"
        kept = result.Result(path, "micro", [], {})
        kept.save()
        result.partial_of(path).symlink_to("/dev/full")
        try:
            kept.close(result.COMPLETE)
        except UserError as error:
            require_equal("No space left" in str(error), True, str(error))
            require_equal((result.read(path)["state"], os.listdir(folder)),
                          ("running", ["kept.json"]))
            return
        raise Failure("a result is said to be written to a full disk")


def test_two_drivers_of_one_second_have_results_of_their_own():
    before = session.RESULTS
    with tempfile.TemporaryDirectory() as folder:
        try:
            session.RESULTS = Path(folder)
            names = {session.default_path("micro") for _ in range(5)}
        finally:
            session.RESULTS = before
    require_equal(len(names), 5)


def test_a_column_of_another_driver_is_refused_in_a_sentence():
    for change in (lambda document: document["columns"].append("furlongs"),
                   lambda document: document["tests"][0].update(main="furlongs")):
        document = copy.deepcopy(_REFERENCE)
        change(document)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "other.json"
            path.write_text(json.dumps(document))
            try:
                result.read(path)
            except UserError as error:
                require_equal("no column furlongs" in str(error), True, str(error))
                continue
        raise Failure("it was accepted")


def test_a_report_is_shown_where_its_page_cannot_be_written():
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "old.json"
        path.write_text(json.dumps(_REFERENCE))
        path.with_suffix(".html").mkdir()
        output = run(folder, "report", str(path))
        for part in ("point-query", "old.md", "old.html cannot be written"):
            if part not in output:
                raise Failure(f"{part!r} is not in\n{output}")


@pytest.mark.parametrize("change, words, part", [
    ({"arguments": ["--gone", "3"]}, ["repeat", "other"], "does not take its command line"),
    ({"version": 0}, ["repeat", "other"], "has version 0"),
    ({"runs": []}, ["diff", "this", "other"], "no test in common"),
    ({"tests": []}, ["diff", "other", "this"], "no test in common"),
    ({"targets": []}, ["diff", "this", "other"], "no target in common"),
    ({"runs": []}, ["gate", "this", "--with", "other"], "no figure in the later"),
    ({"runs": []}, ["gate", "other", "--with", "this"], "nothing could be judged"),
])
def test_results_that_do_not_fit_are_told(change, words, part):
    with tempfile.TemporaryDirectory() as folder:
        for name, document in (("this", _REFERENCE), ("other", dict(_REFERENCE, **change))):
            Path(folder, name).write_text(json.dumps(document))
        output = run(folder, *words, status=1)
        if part not in output or "Traceback" in output:
            raise Failure(f"{part!r} is not in\n{output}")


def test_a_second_interruption_does_not_disturb_the_cleaning_up():
    seen = []
    before = {number: signal.signal(number, lambda number, _: seen.append(number))
              for number in session.END_SIGNALS}
    try:
        with session.uninterrupted():
            for number in session.END_SIGNALS:
                os.kill(os.getpid(), number)
        require_equal(seen, [], "signals that reached the driver")
        os.kill(os.getpid(), signal.SIGINT)
        require_equal(seen, [signal.SIGINT], "afterwards")
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def test_a_server_of_the_user_is_told_from_another_and_its_refusals_are_shown():
    with tempfile.TemporaryDirectory() as folder, Servers(
            Conditions(buffer_pool_mib=64, redo_mib=64, folder=Path(folder))) as servers:
        own = targets.parse("innodb")
        servers.attach(own)
        with database.connect(own, database="") as connection:
            for statement in ("CREATE DATABASE one", "CREATE USER reader",
                              "GRANT SELECT ON one.* TO reader"):
                connection.execute(statement)
        address = f"mysql://{{}}@/one?socket={own.socket}&engine={{}}"
        options = ["--tests", "point-query", "--shape", "1x100", "--time", "1", "--rounds", "1",
                   "--output", str(Path(folder) / "never.json")]
        for words, part in (
                (["a=" + address.format("root", "innodb"), "b=" + address.format("root", "rowan")],
                 "a and b are the same database"),
                (["a=" + address.format("root", "innodb") + "&pid=4194305"], "no process 4194305"),
                (["a=" + address.format("reader", "innodb")], "denied to user 'reader'"),
                (["a=" + address.format("root", "nothing")], "Unknown storage engine 'nothing'")):
            text = run(folder, "micro", *[word for one in words for word in ("--on", one)],
                       *options, status=1)
            if part not in text or "Traceback" in text:
                raise Failure(f"{part!r} is not in\n{text}")
        text = run(folder, "hotrow", "--on", "a=" + address.format("reader", "innodb"), "--threads",
                   "1", "--output", str(Path(folder) / "never.json"), status=1)
        require_equal(("denied to user 'reader'" in text, "Traceback" in text), (True, False), text)
        require_equal(list(Path(folder).glob("never.*")), [], "results without a figure")


def test_a_server_that_ends_in_the_midst_is_a_failure_that_is_told():
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "killed.json"
        process = start(folder, "micro", "--tests", "update-index,point-query", "--time", "1",
                        "--rounds", "500", "--shape", "1x500", "--dir", folder, "--output",
                        str(path), *SMALL_SERVER)
        deadline = time.monotonic() + LIMIT_S
        while not path.exists() and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.1)
        os.kill(_server_below(folder), signal.SIGKILL)
        output = process.communicate(timeout=LIMIT_S)[0]
        if process.returncode != 1 or "Traceback" in output:
            raise Failure(f"status {process.returncode}:\n{output[-1500:]}")
        document = result.read(path)
        problems = {(one["test"], one["target"]) for one in document["runs"] if one.get("problem")}
        require_equal(len(problems), 4, f"tests and sides that failed: {problems}")
        require_equal([one.suffix for one in sorted(Path(folder).iterdir())],
                      [".html", ".json", ".md"])


def _server_below(folder):
    """The process of the driver's mysqld."""
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().split(b"\0")
        except OSError:
            continue
        if any(word.startswith(f"--datadir={folder}".encode()) for word in words):
            return int(path.parent.name)
    raise Failure("no server runs there")
