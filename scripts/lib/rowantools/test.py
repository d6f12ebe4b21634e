# SPDX-License-Identifier: GPL-2.0-only
"""scripts/test: builds everything and runs every test; the last line is `N passed, N failed`."""
import argparse
import fnmatch
import os
import re
import shutil
import subprocess
import sys
import time

from . import mysql_tree, setup
from .build import build, cores
from .paths import BUILD, DEFAULT_LINE, LINE, ROOT, UserError, run_main
from .progress import format_duration, say
from .test_pool import Pool
from .test_programs import Program

# What has pages must also pass with small ones in a tiny pool.
SMALL_ENVIRONMENT = {"ROWAN_TEST_PAGE_SIZE": "4096", "ROWAN_TEST_POOL_PAGES": "64"}
_WITHOUT_PAGES = {"rowan_base_test", "rowan_wal_test", "rowan_codec_test"}
_SANITIZER_ENVIRONMENT = {
    "address": {"ASAN_OPTIONS": "detect_leaks=1:detect_stack_use_after_return=1",
                "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1"},
    "thread": {"TSAN_OPTIONS": "halt_on_error=0:exitcode=66:second_deadlock_stack=1"
               ":history_size=4"},
}
_SANITIZER_SLOWDOWN = {"address": 4, "thread": 8}
_DEBUG_SLOWDOWN = 4
# Half the compile time of the normal flags; the sanitizers slow things down more than -O1 does.
_LIGHT = "-O1 -g1 -DNDEBUG"
_UNIT_LIMIT_S = 600
_MYSQLD_LIMIT_S = 1200
_LONG_FACTOR = 12
_CHECK_LIMIT_S = 300
# Random tests do the same in each plain run, so that its verdict tells of the code alone; with
# --long they do new things.
_SEED = "20000000"
# Crash simulation: so many programs, each from its own seed, shared out to so many processes.
_CRASH_SEEDS, _CRASH_SHARDS = 1500, 4
_CRASH_LIMIT_S, _CRASH_LONG_S = 900, 4 * 3600
_CRASH_TESTS = "CrashSimulationTest.WhatWas*:CrashSimulationTest.NothingIsLost*"
_SUITES = ("checks", "unit", "unit-small", "crash", "mysqld", "suites", "package", "ecosystem",
           "lines", "debug", "address", "thread")
_ALL = ("all", "rowan_header_check")
# What is built for a line of servers that is not the default: the rest is the same for all.
_OF_THE_SERVER = ("ha_rowan", "rowan-bench", "rowan-backup", "rowan_codec_test",
                  "rowan_program_oracle")


class TestRun:
    def __init__(self, options):
        self._options = options
        self._programs, self._not_run = [], []
        self._logs = BUILD / "test-logs"
        self._common = ({"ROWAN_TEST_LONG": "1"} if options.long else
                        {"ROWAN_TEST_SEED": os.environ.get("ROWAN_TEST_SEED", _SEED)})
        self._factor = _LONG_FACTOR if options.long else 1

    def run(self):
        start = time.monotonic()
        tree = setup.prepare(with_testsuite=not mysql_tree.user_prefix())
        build(BUILD, ["-DROWAN_SANITIZE="], name="building everything", tree=tree,
              targets=_ALL if LINE == DEFAULT_LINE else _OF_THE_SERVER)
        sanitizers = [kind for kind in ("address", "thread") if self._sanitizer_wanted(kind)]
        folders = {kind: self._build_sanitized(kind) for kind in sanitizers}
        debug = self._build_debug() if self._debug_wanted() else None
        if self._options.build_only:
            say(f"test: built everything in {format_duration(time.monotonic() - start)}")
            return 0
        self._units("unit", BUILD, {})
        if LINE == DEFAULT_LINE:
            self._checks()
            self._units("unit-small", BUILD, SMALL_ENVIRONMENT, without=_WITHOUT_PAGES)
            self._crash()
            self._python_programs("package", "package", self._server_environment(tree),
                                  _CHECK_LIMIT_S)
            self._ecosystem(tree)
            self._lines(tree)
        else:
            self._not_run.append("what does not depend on the server: scripts/test")
        self._mysqld(tree)
        self._suites(tree)
        if debug:
            self._units("debug", debug, {}, _DEBUG_SLOWDOWN)
        for kind, folder in folders.items():
            self._sanitized(kind, folder)
        pool = Pool(self._programs, self._logs, self._options.last_failed)
        total = pool.run()
        self._note_seeds()
        if self._options.durations:
            pool.report_durations(self._options.durations)
        return self._close(start, total)

    # --- the suites ---

    def _checks(self):
        for folder in ("tidy", "arch", "scripts", "bench", "examples"):
            self._python_programs("checks", folder, self._common, _CHECK_LIMIT_S)

    def _units(self, name, folder, environment, slowdown=1, wrapper=(), without=()):
        self._add(Program(name, path.name, [*wrapper, str(path)], "gtest",
                          dict(self._common, **environment),
                          _UNIT_LIMIT_S * slowdown * self._factor)
                  for path in sorted((folder / "tests").glob("rowan_*_test"))
                  if path.name not in without)

    def _crash(self):
        """Half of the shards run with small pages. With --long the time is the limit."""
        drawn = str(time.time_ns() // 1000 % 10**9) if self._options.long else _SEED
        first = int(os.environ.get("ROWAN_TEST_SEED") or drawn)
        seeds = 10**9 if self._options.long else _CRASH_SEEDS // _CRASH_SHARDS
        shutil.rmtree(self._logs / "crash", ignore_errors=True)
        # All shards together must meet every kind of fault.
        tally = self._logs / "fault-tally"
        tally.parent.mkdir(parents=True, exist_ok=True)
        tally.unlink(missing_ok=True)
        for shard in range(_CRASH_SHARDS):
            environment = dict(self._common, ROWAN_TEST_SEED=str(first + shard * seeds),
                               ROWAN_TEST_CRASH_SEEDS=str(seeds),
                               ROWAN_TEST_FAULT_TALLY=str(tally))
            if shard % 2:
                environment.update(SMALL_ENVIRONMENT)
            if self._options.long:
                environment["ROWAN_TEST_CRASH_SECONDS"] = str(_CRASH_LONG_S // _CRASH_SHARDS)
            self._add([Program("crash", f"crash-{shard}-{'4k' if shard % 2 else '16k'}",
                               [str(BUILD / "tests" / "rowan_simulation_test"),
                                f"--gtest_filter={_CRASH_TESTS}"],
                               "gtest", environment,
                               _CRASH_LONG_S if self._options.long else _CRASH_LIMIT_S)])

    def _note_seeds(self):
        done = 0
        for log in (self._logs / "crash").glob("crash-*.log"):
            text = log.read_text(errors="replace")
            # The newest count of each test, told apart by how many it aims at.
            newest = {aim: int(count)
                      for count, aim in re.findall(r"crash programs: (\d+) of (\d+)", text)}
            done += sum(newest.values())
        if done:
            say(f"crash: {done} simulated programs, each crashed and recovered")

    def _mysqld(self, tree):
        self._python_programs("mysqld", "mysqld", self._server_environment(tree),
                              _MYSQLD_LIMIT_S, slots=1)

    def _suites(self, tree):
        """MySQL's own; the test driver starts a server for each core."""
        self._add(Program("suites", path.stem, [sys.executable, str(path)], "lines",
                          self._server_environment(tree), _MYSQLD_LIMIT_S * self._factor, cores())
                  for path in sorted((ROOT / "tests" / "suites").glob("*_test.py")))

    def _ecosystem(self, tree):
        """Others' tools have to be fetched."""
        if not self._options.long:
            self._not_run.append("ecosystem: tools of others, ask for them with --long")
            return
        self._python_programs("ecosystem", "ecosystem", self._server_environment(tree),
                              _MYSQLD_LIMIT_S, slots=1)

    def _lines(self, tree):
        """Builds the plugin for the other line of servers, with all cores."""
        self._python_programs("lines", "lines", self._server_environment(tree), _MYSQLD_LIMIT_S,
                              slots=cores())

    def _python_programs(self, suite, folder, environment, limit_s, slots=2):
        self._add(Program(suite, path.stem, [str(path)], "pytest", environment,
                          limit_s * self._factor, slots)
                  for path in sorted((ROOT / "tests" / folder).glob("*_test.py")))

    def _server_environment(self, tree):
        return dict(self._common, ROWAN_MYSQL_PREFIX=str(tree.prefix),
                    ROWAN_MYSQL_SOURCE=str(tree.source))

    def _sanitized(self, kind, folder):
        wrapper = _thread_sanitizer_wrapper(folder) if kind == "thread" else ()
        if wrapper is None:
            self._not_run.append("thread: this machine does not let ThreadSanitizer start "
                                 "(address randomisation cannot be switched off)")
            return
        environment = dict(_SANITIZER_ENVIRONMENT[kind])
        suppressions = ROOT / "tests" / "support" / f"{kind}_sanitizer.supp"
        if suppressions.exists():
            variable = next(iter(environment))
            environment[variable] += f":suppressions={suppressions}"
        self._units(kind, folder, environment, _SANITIZER_SLOWDOWN[kind], wrapper)

    def _build_sanitized(self, kind):
        return self._build_units(f"sanitize-{kind}", f"building with the {kind} sanitizer",
                                 [f"-DROWAN_SANITIZE={kind}",
                                  f"-DCMAKE_CXX_FLAGS_RELWITHDEBINFO={_LIGHT}"])

    def _build_debug(self):
        """With assertions (ROWAN_DCHECK), as the sanitizers have them, and all unit tests, those
        too that no sanitizer can run."""
        return self._build_units("debug", "building with assertions",
                                 ["-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_CXX_FLAGS_DEBUG=-O0 -g1"])

    @staticmethod
    def _build_units(folder, name, options):
        build(BUILD / folder, ["-DROWAN_BUILD_PLUGIN=OFF", "-DROWAN_BUILD_BENCH=OFF", *options],
              name=name)
        return BUILD / folder

    # --- choosing, counting ---

    def _debug_wanted(self):
        if LINE != DEFAULT_LINE:
            return False
        pattern = self._options.filter
        if self._options.long and (not pattern or pattern.startswith("debug")):
            return True
        self._not_run.append("debug: unit tests with assertions, ask for them with --long")
        return False

    def _sanitizer_wanted(self, kind):
        if LINE != DEFAULT_LINE:
            return False
        # Building everything twice more would not fit the half hour that a plain run may take.
        wanted = self._options.sanitize or ("all" if self._options.long else "none")
        if wanted not in ("all", kind):
            self._not_run.append(f"{kind} sanitizer: ask for it with --sanitize {kind} or --long")
            return False
        pattern = self._options.filter
        return (not pattern or pattern.startswith(kind)
                or "/" not in pattern and pattern not in _SUITES)

    def _add(self, programs):
        """Those that the --filter lets through."""
        pattern = self._options.filter or "*"
        if not any(mark in pattern for mark in "*?["):
            pattern = f"*{pattern}*"
        self._programs += [program for program in programs
                           if fnmatch.fnmatch(program.key, pattern)]

    def _close(self, start, total):
        for text in total.skipped:
            say(f"skipped: {text}")
        for text in self._not_run:
            say(f"not run: {text}")
        if not self._options.long:
            say("not run: soak, fuzz and big-data runs (scripts/test --long)")
        say(f"test: {format_duration(time.monotonic() - start)}, logs in {self._logs}")
        if not total.passed and not total.failed:
            raise UserError("no test failed when it last ran" if self._options.last_failed
                            else "no test matches the filter")
        print(f"{total.passed} passed, {total.failed} failed", flush=True)
        return 1 if total.failed else 0


def _thread_sanitizer_wrapper(folder):
    """ThreadSanitizer of older compilers needs a fixed address layout on newer kernels: () when it
    starts as is, a setarch command where that helps, None where neither works."""
    programs = sorted((folder / "tests").glob("rowan_*_test"))
    if not programs:
        return ()
    for wrapper in ((), ("setarch", "-R")):
        try:
            probe = [subprocess.run([*wrapper, str(programs[0]), "--gtest_list_tests"],
                                    capture_output=True, timeout=60).returncode for _ in range(3)]
        except (OSError, subprocess.TimeoutExpired):
            continue
        if not any(probe):
            return wrapper
    return None


def _parse():
    parser = argparse.ArgumentParser(
        prog="scripts/test",
        description="Set-up, build, then every test: structure checks, unit tests (also with 4 KiB "
                    "pages and a 64-page pool, and under sanitizers) and tests through mysqld. "
                    "--mysql 8.4 runs what depends on the server with that line of MySQL.")
    parser.add_argument("--long", action="store_true",
                        help="also soak, fuzz and big-data runs; takes hours")
    parser.add_argument("--clang", action="store_true",
                        help="install clang where it is missing (as --long does), for the "
                        "thread-safety analysis in checks/thread_safety_test")
    parser.add_argument("--build-only", action="store_true", help="stop after building everything")
    parser.add_argument("--filter", metavar="PATTERN",
                        help="only programs whose suite/name matches, e.g. btree, unit/*; "
                        "suites: " + ", ".join(_SUITES))
    parser.add_argument("--last-failed", action="store_true",
                        help="only the tests that failed when they last ran")
    parser.add_argument("--durations", metavar="N", type=int, nargs="?", const=20,
                        help="list the N longest programs and tests at the end (20)")
    parser.add_argument("--sanitize", choices=["all", "address", "thread", "none"], default=None,
                        help="which sanitizer runs to include (default none; all with --long)")
    return parser.parse_args()


def main():
    options = _parse()
    try:
        return TestRun(options).run()
    except UserError as error:
        say(f"test: {error}")
        print("0 passed, 1 failed", flush=True)
        return 1


if __name__ == "__main__":
    sys.exit(run_main(main, "test"))
