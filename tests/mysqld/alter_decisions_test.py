# SPDX-License-Identifier: GPL-2.0-only
"""What each ALTER TABLE takes, as alter_decisions.txt has it: the dictionary alone, a build in
place beside writers, or a copy, and why that."""
import pathlib

import pytest

from framework import ENGINE, IS_8_4, MysqlError

_FILE = pathlib.Path(__file__).with_name("alter_decisions.txt")
_UNSUPPORTED = (1845, 1846)


def _cases():
    """(setting, tables of the section, clauses, decision), one for each line."""
    section, tables = "", []
    for line in _FILE.read_text().splitlines():
        if line.startswith("CREATE "):
            tables = [*tables, line] if section == "tables" else [line]
            section = "tables"
        elif "=>" in line and not line.startswith("#"):
            section = "lines"
            clauses, decision = (part.strip() for part in line.split("=>"))
            setting, _, clauses = clauses.rpartition(" | ")
            yield setting.strip(), tuple(tables), clauses, decision


_CASES = [case for case in _cases() if not IS_8_4 or "FOREIGN KEY" not in case[2]]


def _tables_anew(t, tables):
    t.run("SET SESSION sql_mode = DEFAULT, foreign_key_checks = 0", "DROP TABLE IF EXISTS t, other",
          "SET SESSION foreign_key_checks = 1", *tables)


def _decision(t, clauses):
    try:
        t.run(f"ALTER TABLE t ALGORITHM=INSTANT, {clauses}")
        return "INSTANT"
    except MysqlError as error:
        assert error.code in _UNSUPPORTED, f"{clauses}: {error}"
    try:
        t.run(f"ALTER TABLE t ALGORITHM=INPLACE, LOCK=NONE, {clauses}")
        return "INPLACE"
    except MysqlError as error:
        assert error.code in _UNSUPPORTED, f"{clauses}: {error}"
        reason = str(error).partition("Reason: ")[2].partition(". Try")[0]
    t.run(f"ALTER TABLE t ALGORITHM=COPY, {clauses}")
    return f"COPY: {reason}" if reason else "COPY"


@pytest.mark.skipif(ENGINE != "ROWAN", reason="the decisions are this engine's")
def test_each_alter_takes_what_the_file_says(t):
    wrong = []
    for setting, tables, clauses, expected in _CASES:
        _tables_anew(t, tables)
        if setting:
            t.run(f"SET SESSION {setting}")
        decision = _decision(t, clauses)
        if decision != expected:
            wrong.append(f"{setting + ' | ' if setting else ''}{clauses} => {decision}")
    assert len(_CASES) > 40
    assert not wrong, "\n".join(wrong)
