# SPDX-License-Identifier: GPL-2.0-only
"""The committed lists of MySQL's own tests: tests/suites/<group>.txt has a line per test,

    main.alter_table    fail    SPATIAL indexes

name, outcome (mtr.py) and, where it is not a pass, why. `reasons.txt` gives the reasons: lines of
`reason <- regular expression` over what the test said, tried in order."""
import re

from .mtr import CRASHED, FAIL, NAME, PASS, SKIP, TestResult
from .paths import ROOT, UserError

FOLDER = ROOT / "tests" / "suites"
ALSO_INNODB = "also with InnoDB"
UNEXPLAINED = "?"
OF_8_4 = "foreign keys are refused in MySQL 8.4"  # the lists are of 9.7


def read_list(group):
    """{name: (outcome, reason)}; empty where nothing was recorded."""
    path = FOLDER / f"{group}.txt"
    entries = {}
    for number, line in enumerate(path.read_text().splitlines() if path.exists() else [], 1):
        if not line or line.startswith("#"):
            continue
        fields = re.split(r"\s{2,}", line.strip(), maxsplit=2)
        if len(fields) < 2 or fields[1] not in (PASS, NAME, SKIP, FAIL):
            raise UserError(f"{path}:{number}: not a line of the form: name  outcome  [reason]")
        entries[fields[0]] = (fields[1], fields[2] if len(fields) > 2 else "")
    return entries


def update_list(group, results, whole):
    """Writes the list anew; unless the group was run as a `whole`, what was not run stays."""
    found = {result.name: result for result in results}
    if not whole:
        for name, (outcome, reason) in read_list(group).items():
            found.setdefault(name, TestResult(name, outcome, reason))
    _write_list(group, [found[name] for name in sorted(found)])


def _write_list(group, results):
    FOLDER.mkdir(parents=True, exist_ok=True)
    width = max(len(result.name) for result in results) + 2
    lines = ["# MySQL's own tests with Rowan as the default engine "
             f"(scripts/mysql-suites --record {group})", f"# {summary(results)}"]
    for result in results:
        lines.append(f"{result.name:<{width}}{result.outcome}  {result.note}".rstrip())
    (FOLDER / f"{group}.txt").write_text("\n".join(lines) + "\n")


def summary(results):
    counts = {outcome: sum(1 for result in results if result.outcome == outcome)
              for outcome in (PASS, NAME, SKIP, FAIL)}
    unexplained = sum(1 for result in results
                      if result.outcome == FAIL and result.note.startswith(UNEXPLAINED))
    return (f"{counts[PASS]} pass, {counts[NAME]} differ in the engine's name alone, "
            f"{counts[SKIP]} skipped, {counts[FAIL]} fail ({unexplained} unexplained)")


class Reasons:
    def __init__(self):
        self._rules = []
        path = FOLDER / "reasons.txt"
        for line in path.read_text().splitlines() if path.exists() else []:
            if line and not line.startswith("#"):
                reason, pattern = line.split(" <- ", 1)
                self._rules.append((reason.strip(), re.compile(pattern.strip(), re.IGNORECASE)))

    def explain(self, result):
        """The result with a reason in place of what the test said."""
        if result.outcome != FAIL:
            return result
        text = f"{result.name} {result.note}"
        for reason, pattern in self._rules:
            if pattern.search(text) and not result.note.startswith(CRASHED):
                return TestResult(result.name, FAIL, reason)
        return TestResult(result.name, FAIL, f"{UNEXPLAINED} {result.note}")


def changes(group, results):
    """(worse, better): lines about tests whose outcome is not the recorded one."""
    known, worse, better = read_list(group), [], []
    for result in results:
        outcome = known.get(result.name, (None, ""))[0]
        good = result.outcome in (PASS, NAME)
        if result.outcome == FAIL and outcome != FAIL and result.note != OF_8_4:
            worse.append(f"{result.name}: {result.note}")
        elif good and outcome == FAIL:
            better.append(result.name)
    return worse, better
