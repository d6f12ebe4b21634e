# SPDX-License-Identifier: GPL-2.0-only
"""The same random statements on tables of our engine and of InnoDB: equal outcomes always.

Outcome means error number, affected rows, warnings and result. After each program every table is
read by every index in both directions, and CHECK TABLE must be clean. Program number n of a run is
made of the first seed + n and nothing else, so the seed that a failure prints runs that program
first. The quick run has the same programs always, as many as it has time for, unless
ROWAN_TEST_SEED names others; the long run has new ones each time. A failing program is made small
and printed as SQL.
docs/random_comparison.md tells what is compared, and which differences are the server's own.
"""
import os
import random
import time

import pytest

from framework import Failure, LONG, SEED
from plan_variants import explained
from program_shrinker import Shrinker
from random_block_program import BlockProgram
from random_interleaving import Interleaving
from random_program import Program
from rowantools.client import ConnectionLost
from twin_sessions import Difference, script, Twins

_FIRST_SEED = SEED if LONG or "ROWAN_TEST_SEED" in os.environ else 20_000_000
_SECONDS, _SECONDS_BLOCKS, _SECONDS_LONG = 35, 15, 3600
_PROGRAMS = 100  # of a quick run at most
_BLOCKS, _ROWS = 300, (150, 150, 300, 1200, 4800)  # of a program on one table
_SHRINK_S, _SHRINK_LONG_S = 60, 300
_FAILURES, _FAILURES_LONG = 1, 10  # then a run ends
# InnoDB's own: see the end of docs/random_comparison.md.
_SERVER_CRASHES = ("[InnoDB] Assertion failure: row0ins.cc:270:update->n_fields == 0",)
# Only the server is killed, not the machine.
_OPTIONS = ("--innodb-flush-log-at-trx-commit=2",)
pytestmark = pytest.mark.server(options=_OPTIONS)


class Run:
    """Programs one after the other; what they found."""

    def __init__(self, t, run_program):
        """run_program(seed, twins)"""
        self._t, self._run_program = t, run_program
        self._twins = Twins(t.server, t.engine)
        self.programs = self.statements = self.by_plan = self.server_crashes = 0
        self.interrupted = 0
        self.failures = []

    def program(self, number):
        seed, twins = _FIRST_SEED + number, self._twins
        try:
            twins.reset()
            twins.compared = twins.interrupted = 0
            self._run_program(seed, twins)
        except Difference as difference:
            self._judge(seed, difference)
        except ConnectionLost as lost:
            self._judge_crash(seed, lost)
        self.programs += 1
        self.statements += twins.compared
        self.interrupted += twins.interrupted

    def close(self):
        self._twins.close()

    def report(self):
        return (f"{self.statements} statements compared in {self.programs} programs, "
                f"{self.interrupted} interrupted; {self.by_plan} differed by the server's plan, "
                f"{self.server_crashes} ended in an assertion of InnoDB")

    def _judge(self, seed, difference):
        twins, history, compared = self._twins, list(self._twins.history), self._twins.compared
        plan = explained(twins, difference, random.Random(seed))
        if plan:
            self.by_plan += 1
            print(f"seed {seed}: no failure: {difference}\n"
                  f"-- because: {plan}", flush=True)
        else:
            self._fail(seed, history, str(difference), lambda smaller: _alike(
                smaller, difference) and not explained(twins, smaller, random.Random(seed)))
        twins.compared = compared

    def _judge_crash(self, seed, lost):
        history, server = list(self._twins.history), self._t.server
        if not server.has_died():
            raise lost
        log = server.messages()
        self._twins.close()
        server.start()
        if any(text in log for text in _SERVER_CRASHES):
            self.server_crashes += 1
            print(f"seed {seed}: an assertion of InnoDB: {lost}", flush=True)
        else:
            self._fail(seed, history, f"{lost}\n{log[-3000:]}", lambda smaller: smaller is None)

    def _fail(self, seed, history, text, counts):
        limit = _SHRINK_LONG_S if self._t.long else _SHRINK_S
        smaller = Shrinker(self._twins, counts, limit).shrink(history)
        self.failures.append(seed)
        print(f"ROWAN_TEST_SEED={seed}: {text}\n-- made small:\n{script(smaller)}", flush=True)


def _alike(smaller, difference):
    """The same kind of statement went wrong in the same way."""
    if smaller is None:
        return False
    return all(one(smaller) == one(difference) for one in (
        lambda found: found.statement.sql.split()[0], lambda found: found.ours.error,
        lambda found: found.theirs.error))


def _pushed_count(t):
    return int(t.run("SHOW GLOBAL STATUS LIKE 'Rowan_blocks_pushed'")[0][1])


def _pushed(t):
    """How many blocks the engine has evaluated itself, of those on one table that it looked at."""
    with t.server.client() as client:  # programs restart the server
        counts = {name.removeprefix("Rowan_blocks_"): int(value)
                  for name, value in client.query("SHOW GLOBAL STATUS LIKE 'Rowan_blocks_%'")}
    left = ", ".join(f"{counts[name]} {name.removeprefix('left_by_')}"
                     for name in sorted(counts) if name != "pushed")
    pushed = counts.get("pushed", 0)
    return f"{pushed} query blocks pushed since the server's start; left by: {left}"


def _run_programs(t, run_program, seconds):
    run = Run(t, run_program)
    deadline = time.monotonic() + (_SECONDS_LONG if t.long else seconds)
    most = _FAILURES_LONG if t.long else _FAILURES
    number = 0
    while (time.monotonic() < deadline and len(run.failures) < most
           and (t.long or number < _PROGRAMS)):
        run.program(number)
        number += 1
        if t.long and number % 20 == 0:
            print(run.report(), _pushed(t), sep="\n", flush=True)
    print(run.report(), _pushed(t), sep="\n", flush=True)
    run.close()
    if run.failures:
        raise Failure(f"programs differ: ROWAN_TEST_SEED={run.failures}")
    return run


def test_random_programs(t):
    def run_program(seed, twins):
        length = 600 if seed % 10 == 7 else 120
        Program(random.Random(f"program {seed}"), twins).run(length, crash=seed % 12 == 4)
    _run_programs(t, run_program, _SECONDS)


def test_random_blocks_of_one_table(t):
    compared, before = 0, _pushed_count(t)

    def run_program(seed, twins):
        nonlocal compared
        made = random.Random(f"blocks {seed}")
        program = BlockProgram(made, twins)
        try:
            program.run(_BLOCKS, made.choice(_ROWS))
        finally:
            compared += program.compared
            pushed = _pushed_count(t) - before
            if t.long:
                print(f"{seed}: {compared} blocks compared, {pushed} pushed", flush=True)
    _run_programs(t, run_program, _SECONDS_BLOCKS)
    pushed = _pushed_count(t) - before
    print(f"{compared} blocks compared, {pushed} pushed", flush=True)
    t.true(pushed * 5 > compared * 2, f"{pushed} of {compared} pushed")


def test_two_sessions_interleaved(t):
    for _ in range(300 if t.long else 12):
        pair = Interleaving(t)
        for _ in range(80):
            pair.step(t.random.randrange(2))
        for who in (0, 1):
            pair.run(who, "COMMIT")
        pair.run(0, "SELECT * FROM {table}")
        pair.run(1, "SELECT k, id FROM {table} FORCE INDEX (k)")
        pair.close()
