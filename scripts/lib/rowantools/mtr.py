# SPDX-License-Identifier: GPL-2.0-only
"""Runs mysql-test-run.pl, MySQL's own test driver, on one engine and reads what it prints.

The suites come with Debian's package mysql-testsuite (scripts/setup --with-testsuite). Their
expected results were recorded on InnoDB, so that a test that prints a table's engine differs in
that name: this is told apart from other differences."""
import os
import re
import shutil
import subprocess
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from . import mysql_tree
from .build import cores
from .paths import BUILD, SERVER_HOME, UserError, plugin_path

_PREFIX = SERVER_HOME / "testsuite"
_TREE = _PREFIX / "usr" / "lib"
TESTS = _TREE / "mysql-test"
_PLUGIN = "ha_rowan.so"
_HEAD = re.compile(r"^\[ *\d+%\] (\S+(?: '\w+')?) +(?:w\d+ +)?\[ (\w+) \] *(.*)")
_PROGRESS = re.compile(r"^\[ *(\d+)%\]")
_ENGINE_NAME = re.compile(r"\b(ROWAN|InnoDB)\b", re.IGNORECASE)
_END_OF_DIFF = "mysqltest: Result content mismatch"
# Lines of EXPLAIN in its three forms, of what it says about them, and of SHOW INDEX.
_PLAN_LINE = re.compile(
    r"(\d+|NULL|x)\t(SIMPLE|PRIMARY|UNION|DERIVED|SUBQUERY|DEPENDENT|MATERIALIZED|INSERT|UPDATE|"
    r"DELETE|REPLACE|LATERAL|x)\b|\s*\"\w+\"|\s*[\]\[{}]+,?$|\s*-?> |Note\t1003\t|(#\t){5}|"
    r"Handler_read|Last_query_cost|.*\t(BTREE|FULLTEXT|SPATIAL)\t.*\t(YES|NO)\t\S+$")
PLANS_DIFFER = "plans alone differ:"
CRASHED = "the server ended:"
_CRASH = re.compile(r"CR_SERVER_LOST|CR_SERVER_GONE|ERROR 20(06|13)\b|signal (6|11)\b")
_TEST_LIMIT_MINUTES = 6
_NOTE_CHARACTERS = 220

PASS, NAME, SKIP, FAIL = "pass", "name", "skip", "fail"


@dataclass
class TestResult:
    """`outcome`: PASS; NAME, differs from InnoDB's result in its name alone; SKIP; FAIL."""
    name: str
    outcome: str
    note: str = ""


def why_not():
    """Why the suites cannot run here; None if they can."""
    if not (_TREE / "mysql-test" / "mysql-test-run.pl").is_file():
        return "MySQL's test suites are missing; scripts/setup --with-testsuite fetches them"
    tree = mysql_tree.find_tree()
    theirs = mysql_tree.MysqlTree(_PREFIX, tree.source).server_version()
    if theirs != tree.server_version():
        return (f"the suites are of MySQL {mysql_tree.dotted(theirs)}, the server of "
                f"{mysql_tree.dotted(tree.server_version())}; remove .mysql and run scripts/setup "
                "--with-testsuite")
    return None


class Mtr:
    """One engine's runs, in a folder of their own under the build folder."""

    def __init__(self, engine, folder_name, options=()):
        reason = why_not()
        if reason:
            raise UserError(reason)
        self._engine, self._options = engine, options
        self._vardir = BUILD / "mysql-suites" / folder_name

    def run(self, arguments, step):
        """Runs the tests that `arguments` choose; yields nothing before all have ended."""
        command = ["perl", "mysql-test-run.pl", f"--vardir={self._vardir}",
                   f"--client-bindir={_TREE / 'mysql-test' / 'bin'}", "--force", "--retry=0",
                   "--max-test-fail=0", "--nowarnings", f"--parallel={cores()}",
                   f"--testcase-timeout={_TEST_LIMIT_MINUTES}", "--suite-timeout=1000"]
        if self._engine == "rowan":
            self._put_plugin_in_place()
            command += [f"--mysqld={option}" for option in (
                f"--plugin-load-add=rowan={_PLUGIN}", "--default-storage-engine=rowan",
                "--default-tmp-storage-engine=rowan", *self._options)]
        self._vardir.parent.mkdir(parents=True, exist_ok=True)
        log = self._vardir.with_suffix(".log")
        with open(log, "wb") as output:
            process = subprocess.Popen(command + list(arguments), cwd=_TREE / "mysql-test",
                                       env=dict(os.environ, LC_ALL="C"), stdin=subprocess.DEVNULL,
                                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            for line in process.stdout:
                output.write(line)
                match = _PROGRESS.match(line.decode(errors="replace"))
                if match:
                    step.update(int(match.group(1)), total=100)
            process.wait()
        results = parse_output(log.read_text(errors="replace"))
        shutil.rmtree(self._vardir, ignore_errors=True)
        if not results:
            raise UserError(f"mysql-test-run.pl ran no test; what it said is in {log}")
        return results

    @staticmethod
    def _put_plugin_in_place():
        source = plugin_path()
        if not source.is_file():
            raise UserError(f"the plugin {source} is missing; build it first (scripts/test)")
        target = _TREE / "mysql" / "plugin" / _PLUGIN
        temporary = Path(f"{target}.{os.getpid()}")
        shutil.copy(source, temporary)
        temporary.replace(target)


def parse_output(text):
    """The results in what mysql-test-run.pl printed, one per test, in the order of their names."""
    results, block = {}, []
    for line in [*text.splitlines(), "[100%] end [ pass ]"]:
        if not _PROGRESS.match(line):
            block.append(line)
            continue
        _take(block, results)
        block = [line]
    return sorted(results.values(), key=lambda result: result.name)


def _take(block, results):
    match = _HEAD.match(block[0]) if block else None
    if not match or match.group(1) in ("shutdown_report", "end"):
        return
    name, word, rest = match.groups()
    name = name.rsplit("/", 1)[-1]  # of a suite that was given as a folder
    if word in ("skipped", "disabled"):
        results[name] = TestResult(name, SKIP, rest.strip())
    elif word == "pass":
        results.setdefault(name, TestResult(name, PASS))
    else:
        results[name] = _failure(name, block[1:])


def _shortened(note):
    """Of a long statement the beginning, and the error that it met (as MySQL 8.4 prints it)."""
    start, rest = note[:_NOTE_CHARACTERS], note[_NOTE_CHARACTERS:]
    error = re.search(r"failed\. ERROR .*", rest)
    return f"{start} ... {error.group()[:_NOTE_CHARACTERS]}" if error else start


def _failure(name, lines):
    """mysqltest stops at an error; else it compares what was printed with the recorded result."""
    text = "\n".join(lines)
    stop = re.search(r"mysqltest: (At line .*?)(?:\n\n|\Z)", text, re.DOTALL)
    if stop:
        note = " ".join(stop.group(1).split())
        if _CRASH.search(note):
            note = f"{CRASHED} {note}"
        return TestResult(name, FAIL, _shortened(note))
    compared = lines[:lines.index(_END_OF_DIFF)] if _END_OF_DIFF in lines else lines
    changed = [line for line in compared if re.match(r"[-+](?![-+]{2} )", line)]
    if changed:
        gone, come = (Counter(_ENGINE_NAME.sub("ENGINE", line[1:]) for line in changed
                              if line[0] == sign) for sign in "-+")
        if gone == come:
            return TestResult(name, NAME)
        differing = (gone - come) + (come - gone)
        first = next(line for line in changed if _ENGINE_NAME.sub("ENGINE", line[1:]) in differing)
        kind = PLANS_DIFFER if all(map(_PLAN_LINE.match, differing)) else "differs:"
        return TestResult(name, FAIL, f"{kind} {first}"[:_NOTE_CHARACTERS])
    errors = [line.split("[ERROR]", 1)[1].strip() for line in lines if "[ERROR]" in line]
    said = errors or [line.strip() for line in lines if line.strip()]
    return TestResult(name, FAIL, " ".join(said)[:_NOTE_CHARACTERS])
