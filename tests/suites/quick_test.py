#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""A minute of MySQL's own test suites with Rowan as the default engine; prints a line per test.

All of them: scripts/mysql-suites. The lists beside this file say how each test ends and why.
"""
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts" / "lib"))

from rowantools.mtr import FAIL, SKIP, Mtr, why_not  # noqa: E402
from rowantools.mysql_suites import QUICK  # noqa: E402
from rowantools.progress import Step  # noqa: E402
from rowantools.suite_lists import Reasons, changes  # noqa: E402


def main():
    reason = why_not()
    if reason:
        print(f"SKIP mysql_suites: {reason}", flush=True)
        return 0
    reasons, failed = Reasons(), 0
    for group, arguments in QUICK.items():
        with Step(group, quiet=True) as step:
            results = Mtr("rowan", f"{group}-quick").run(arguments, step)
        results = [reasons.explain(result) for result in results]
        worse, _ = changes(group, results)
        for result in results:
            if result.outcome == SKIP:
                continue
            if result.outcome != FAIL:
                print(f"PASS {result.name}")
            elif not any(line.startswith(result.name + ":") for line in worse):
                print(f"SKIP {result.name}: fails as recorded: {result.note}")
            else:
                failed += 1
                print(f"FAIL {result.name}: {result.note}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
