# SPDX-License-Identifier: GPL-2.0-only
"""scripts/mysql-suites: MySQL's own test suites with Rowan as the default engine."""
import argparse
import re
import sys

from . import setup
from .mtr import FAIL, TESTS, Mtr, TestResult
from .one_engine import copy_tests, listed
from .paths import BUILD, UserError, run_main
from .progress import Step, say
from .suite_lists import ALSO_INNODB, Reasons, changes, read_list, summary, update_list

# What mysql-test-run.pl is asked for.
GROUPS = {
    "engines_funcs": ["--suite=engines/funcs"],
    "engines_iuds": ["--suite=engines/iuds"],
    "main": ["--suite=main"],
    "parts": ["--suite=parts"],
    "gcol": ["--suite=gcol"],
    "json": ["--suite=json"],
    "gis": ["--suite=gis"],
    "binlog": ["--suite=binlog,binlog_nogtid,binlog_gtid"],
    "rpl": ["--suite=rpl,rpl_gtid,rpl_nogtid"],
}
# A minute of each kind. The warnings that type_bit_iuds counts depend on the order of a join, and
# that on when the statistics of its tables were last refreshed.
QUICK = {"engines_iuds": ["--suite=engines/iuds", "--skip-test=type_bit_iuds"],
         "engines_funcs": ["--suite=engines/funcs", "--do-test=^(ai_|de_|in_|rpl_row|up_|sf_)"]}


class Run:
    def __init__(self, options):
        self._options = options
        self._reasons = Reasons()
        self._worse = self._better = 0

    def run(self):
        setup.prepare(with_testsuite=True)
        if self._options.quick:
            chosen = QUICK
        else:
            names = self._options.groups or list(GROUPS)
            chosen = {name: GROUPS[name] for name in names}
        for name, arguments in chosen.items():
            self._group(name, arguments)
        print(f"{self._worse} worse than recorded, {self._better} better", flush=True)
        return 1 if self._worse else 0

    def _group(self, name, arguments):
        extra = [f"--do-test={self._options.tests}"] if self._options.tests else []
        copied = listed(arguments) if self._options.engine == "rowan" else []
        if self._options.failing:
            failures = recorded_failures(name)
            if not failures:
                say(f"{name}: no test is recorded as failing")
                return
            copied = [test for test in copied if test in failures]
            arguments = [test for test in failures if test not in copied]
        with Step(f"{name} with {self._options.engine}") as step:
            results = self._outcomes(name, arguments, copied, extra, step)
        results = [self._reasons.explain(result) for result in results]
        say(f"{name}: {summary(results)}")
        if self._options.engine != "rowan":
            for result in results:
                if result.outcome == FAIL:
                    say(f"    {result.name}: {result.note}")
            return
        if self._options.record:
            results = self._beside_innodb(name, results)
            update_list(name, results, whole=not (self._options.tests or self._options.failing))
        worse, better = changes(name, results)
        for line in worse:
            say(f"    worse: {line}")
        for line in better:
            say(f"    better: {line}")
        self._worse += len(worse)
        self._better += len(better)

    def _outcomes(self, name, arguments, copied, extra, step):
        mtr = Mtr(self._options.engine, name, self._options.server_option)
        results = mtr.run([*arguments, *extra], step) if arguments else []
        wanted = re.compile(self._options.tests or "")
        copied = [test for test in copied if wanted.match(test.split(".")[1])]
        if not copied:
            return results
        folders = copy_tests(copied, TESTS, BUILD / "mysql-suites" / f"{name}-one-engine")
        copies = mtr.run([folders], step)
        found = {result.name: result for result in [*results, *copies]}
        return [found[test] for test in sorted(found)]

    def _beside_innodb(self, name, results):
        """Failures that InnoDB has here, too, are not ours."""
        failed = [result.name for result in results if result.outcome == FAIL]
        if not failed:
            return results
        names = names_of(failed)
        with Step(f"{name}: what failed, with innodb") as step:
            other = Mtr("innodb", f"{name}-innodb").run(names, step)
        theirs = {result.name for result in other if result.outcome == FAIL}
        return [TestResult(result.name, FAIL, ALSO_INNODB) if result.name in theirs else result
                for result in results]


def names_of(tests):
    """As mysql-test-run.pl takes them: without the kind of binary log that a test was run with."""
    return sorted({test.split(" ")[0] for test in tests})


def recorded_failures(group):
    return names_of(name for name, (outcome, _) in read_list(group).items() if outcome == FAIL)


def main():
    parser = argparse.ArgumentParser(
        prog="scripts/mysql-suites",
        description="Runs MySQL's own test suites (fetched into .mysql/testsuite, 340 MB) with "
                    "Rowan as the default engine and compares the outcomes with the lists in "
                    "tests/suites. Needs a built plugin.")
    parser.add_argument("groups", nargs="*", metavar="GROUP",
                        help=f"some of: {', '.join(GROUPS)} (default: all, hours)")
    parser.add_argument("--quick", action="store_true", help="the part that scripts/test runs")
    parser.add_argument("--tests", help="only tests whose names begin with this expression")
    parser.add_argument("--failing", action="store_true",
                        help="only tests that are recorded as failing")
    parser.add_argument("--engine", choices=("rowan", "innodb"), default="rowan")
    parser.add_argument("--server-option", metavar="OPTION", action="append", default=[],
                        help="of Rowan's servers, as --server-option=--sync-binlog=0; repeatable")
    parser.add_argument("--record", action="store_true",
                        help="write the results into the lists; what fails is run with InnoDB, "
                             "too")
    options = parser.parse_args()
    unknown = set(options.groups) - set(GROUPS)
    if unknown:
        raise UserError(f"unknown group {', '.join(sorted(unknown))}")
    if options.quick and (options.record or options.failing):
        raise UserError("--quick is for comparing only")
    return Run(options).run()


if __name__ == "__main__":
    sys.exit(run_main(main, "mysql-suites"))
