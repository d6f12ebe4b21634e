# SPDX-License-Identifier: GPL-2.0-only
"""Tells a difference that the server makes from one that an engine makes.

Some statements return what the plan decides: see docs/random_comparison.md for the kinds known. The
two engines may rightly choose different plans for them. So upon a difference InnoDB alone runs the
statement again under many plans: other index hints, other optimizer switches, other join orders.
Only if one of these runs returns exactly what our engine returned is the difference the server's.
No list of patterns excuses anything. A read is run again in the same session, whose snapshot
is still the same; for a change the program so far is run again for each plan.
"""
import re

from framework import OPTIMIZERS
from random_query import Statement
from random_switches import SWITCHES
from twin_sessions import Difference, OURS, THEIRS

_REFERENCE = re.compile(r"\b(t\d+) AS (a\d+)(?: (?:FORCE|USE|IGNORE) INDEX[ A-Z]*\([^)]*\))?")
_HINT = re.compile(r"/\*\+.*?\*/ ")
_SETTINGS = (
    "DEFAULT", "'" + ",".join(f"{name}=off" for name in SWITCHES) + "'",
    "'" + ",".join(f"{name}=on" for name in SWITCHES) + ",mrr_cost_based=off'",
    "'semijoin=off,materialization=off'", "'semijoin=on,materialization=on'",
    "'hash_join=off,block_nested_loop=off'", "'derived_merge=off'", "'subquery_to_derived=on'",
    *(f"'hypergraph_optimizer={setting}'" for setting in OPTIMIZERS),
    "'index_condition_pushdown=off'", "'index_merge=off'", "'skip_scan=off'", "'firstmatch=off'")
_DUPLICATE, _TABLE_CHANGED = 1062, 1412
_READ_LIMIT, _CHANGE_LIMIT = 150, 25


def explained(twins, difference, random):
    """Why the difference is no failure, as how InnoDB itself returns what ours did; or ""."""
    statement = difference.statement
    is_read = statement.sql.startswith(("SELECT", "WITH", "(SELECT"))
    is_change = statement.sql.startswith(("INSERT", "REPLACE", "UPDATE", "DELETE"))
    if statement.sql.startswith("ALTER TABLE"):
        return _later_duplicate(difference)
    if not is_read and not is_change or statement.settled:
        return ""
    newer = _newer_table(twins, difference)
    if newer:
        return newer
    wanted = difference.ours.key(statement)
    session = twins.session(THEIRS, difference.who)
    keys = _keys_of_tables(session, statement.sql)
    history = list(twins.history[:-1])
    for number in range(_READ_LIMIT if is_read else _CHANGE_LIMIT):
        text, setting = _variant(statement.sql, keys, random, number)
        variant = Statement(text, statement.ordered, statement.typed, statement.affected)
        setting = Statement(f"SET SESSION optimizer_switch = {setting}", typed=False)
        if is_change:
            _again(twins, history)
        twins.run_on(THEIRS, difference.who, setting)
        outcome = twins.run_on(THEIRS, difference.who, variant)
        if outcome.key(statement) == wanted:
            return f"InnoDB returns the same with {setting.sql}; {text}"
    return ""


def _later_duplicate(difference):
    """Our copy of a table builds its indexes when all rows are there: a duplicate that InnoDB meets
    first comes behind whatever is wrong with a later row."""
    if difference.theirs.error == _DUPLICATE and difference.ours.error:
        return "both refuse the copy, ours looks for duplicates last"
    return ""


def _newer_table(twins, difference):
    """A table newer than the snapshot is refused when it is opened for reading, in InnoDB, and
    when it is read, in ours; whether a statement comes to either is the plan's choice. Counts only
    where both engines refuse a table that the statement names."""
    if _TABLE_CHANGED not in (difference.ours.error, difference.theirs.error):
        return ""
    for table in sorted(set(re.findall(r"\bt\d+\b", difference.statement.sql))):
        probe = Statement(f"SELECT * FROM {table}")
        if all(twins.run_on(side, difference.who, probe).error == _TABLE_CHANGED
               for side in (OURS, THEIRS)):
            return f"{probe.sql}: refused by both, the table is newer than the snapshot"
    return ""


def _again(twins, history):
    """The program so far; both sides, as it had no difference then."""
    twins.reset()
    for who, statement in history:
        try:
            twins.run(who, statement)
        except Difference:
            return


def _keys_of_tables(session, sql):
    """Table name -> index names, from the server: the table may have been altered."""
    keys = {}
    for table in set(re.findall(r"\bt\d+\b", sql)):
        try:
            rows = session.query(f"SHOW INDEX FROM {table}")
        except Exception:  # noqa: B902 - the statement names what was renamed: no keys
            rows = []
        keys[table] = sorted({row[2] for row in rows if row[13] == "YES"})
    return keys


def _variant(sql, keys, random, number):
    """(text, optimizer switches). The first ones are the plainest."""
    if number < len(_SETTINGS):
        return sql, _SETTINGS[number]
    if number < 2 * len(_SETTINGS):
        return _HINT.sub("", _REFERENCE.sub(r"\1 AS \2", sql)), _SETTINGS[number - len(_SETTINGS)]
    references = [match.group(2) for match in _REFERENCE.finditer(sql)]

    def hinted(match):
        table, alias = match.group(1), match.group(2)
        names = keys.get(table) or []
        choice = random.random()
        if not names or choice < 0.2:
            return f"{table} AS {alias}"
        if choice < 0.45:
            return f"{table} AS {alias} IGNORE INDEX ({', '.join(names)})"
        return f"{table} AS {alias} FORCE INDEX ({random.choice(names)})"
    text = _HINT.sub("", _REFERENCE.sub(hinted, sql)) if random.random() < 0.9 else sql
    if len(references) > 1 and random.random() < 0.5:
        random.shuffle(references)
        order = f"SELECT /*+ JOIN_ORDER({', '.join(references)}) */ "
        text = text.replace("SELECT ", order, 1)
    return text, random.choice(_SETTINGS)
