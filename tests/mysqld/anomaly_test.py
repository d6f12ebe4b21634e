# SPDX-License-Identifier: GPL-2.0-only
"""Which anomalies each isolation level lets through, on Rowan and on InnoDB, by fixed schedules.

The names are Adya's; the schedules are those of the Hermitage tests. A step is (session, SQL);
while one waits for a lock, the next step of another session goes on."""
import queue
import threading
import time

from framework import HUNG_S, Failure
from rowantools.client import MysqlError

_LOOK_S, _BLOCKED_S = 0.02, 0.4
_AT_A_TIME = 12
SNAPSHOT_ISOLATION, OPTIMISTIC = "snapshot isolation", "optimistic"
# What Rowan alone has: the server's level, and the setting.
OURS = {SNAPSHOT_ISOLATION: ("REPEATABLE READ", "rowan_snapshot_isolation = ON"),
        OPTIMISTIC: ("SERIALIZABLE", "rowan_serializable = optimistic")}
LEVELS = ("READ UNCOMMITTED", "READ COMMITTED", "REPEATABLE READ", SNAPSHOT_ISOLATION,
          "SERIALIZABLE", OPTIMISTIC)
_WAITS = ("SELECT COUNT(*) FROM information_schema.rowan_locks WHERE lock_status = 'WAITING' AND "
          "lock_thread_id = {}")


class Actor:
    """One session with a thread that runs its statements in order. Without an observer, who sees
    on which statements it waits, those are they that do not end soon."""

    def __init__(self, client, observer=None):
        self._client, self._steps, self.failed, self.results = client, queue.Queue(), None, []
        self._observer = observer
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self):
        while True:
            statement, done = self._steps.get()
            if statement is None:
                return
            self.results.append(self._execute(statement))
            done.set()

    def _execute(self, statement):
        if self.failed:  # the server has rolled the transaction back
            return None
        try:
            result = self._client.execute(statement)
            return result.rows if statement.startswith("SELECT") else result.affected
        except MysqlError as error:
            self.failed = error.code
            return None

    def start(self, statement):
        done = threading.Event()
        self._steps.put((statement, done))
        if self._observer is None:
            done.wait(_BLOCKED_S)
            return done
        deadline = time.monotonic() + 4 * HUNG_S
        while not done.wait(_LOOK_S) and not self._observer.value(
                _WAITS.format(self._client.connection_id)):
            if time.monotonic() > deadline:
                raise Failure(f"neither done nor waiting: {statement}")
        return done

    def stop(self):
        self._steps.put((None, None))
        self._thread.join(30)
        self._client.close()


class Outcome:
    def __init__(self, actors, final):
        self.committed = [actor.failed is None for actor in actors]
        self.errors = sorted({actor.failed for actor in actors if actor.failed})
        self.results = [actor.results for actor in actors]
        self.final = final

    def read(self, actor, step):
        return self.results[actor][step] or []


def _all_committed(outcome, count=2):
    return all(outcome.committed[:count])


ALL, ONE, TWO = "SELECT * FROM {t} ORDER BY id", "SELECT v FROM {t} WHERE id = 1", \
    "SELECT v FROM {t} WHERE id = 2"
BEGIN = [(0, "BEGIN"), (1, "BEGIN")]


def _set(who, row, value):
    return who, f"UPDATE {{t}} SET v = {value} WHERE id = {row}"


# name -> (steps, the anomaly happened). Rows at the start: (1, 10), (2, 20). Results are counted
# from BEGIN = 0.
SCENARIOS = {
    "G0": (BEGIN + [_set(0, 1, 11), _set(1, 1, 12), _set(0, 2, 21), (0, "COMMIT"),
                    _set(1, 2, 22), (1, "COMMIT")],
           lambda o: o.final not in ([(1, 12), (2, 22)], [(1, 11), (2, 21)])),
    "G1a": (BEGIN + [_set(0, 1, 101), (1, ALL), (0, "ROLLBACK"), (1, ALL), (1, "COMMIT")],
            lambda o: any((1, 101) in o.read(1, step) for step in (1, 2))),
    "G1b": (BEGIN + [_set(0, 1, 101), (1, ALL), _set(0, 1, 11), (0, "COMMIT"), (1, ALL),
                     (1, "COMMIT")],
            lambda o: (1, 101) in o.read(1, 1)),
    "G1c": (BEGIN + [_set(0, 1, 11), _set(1, 2, 22), (0, TWO), (1, ONE), (0, "COMMIT"),
                     (1, "COMMIT")],
            lambda o: _all_committed(o) and o.read(0, 2) == [(22,)] and o.read(1, 2) == [(11,)]),
    "OTV": (BEGIN + [(2, "BEGIN"), _set(0, 1, 11), _set(0, 2, 19), _set(1, 1, 12), (0, "COMMIT"),
                     (2, ALL), _set(1, 2, 18), (2, ALL), (1, "COMMIT"), (2, ALL), (2, "COMMIT")],
            lambda o: any(o.read(2, step) == [(1, 12), (2, 19)] for step in (1, 2, 3))),
    "PMP": (BEGIN + [(0, "SELECT * FROM {t} WHERE v = 30"), (1, "INSERT INTO {t} VALUES (3, 30)"),
                     (1, "COMMIT"), (0, "SELECT * FROM {t} WHERE v % 3 = 0"), (0, "COMMIT")],
            lambda o: o.committed[0] and o.read(0, 2) == [(3, 30)]),
    "PMP-write": (BEGIN + [(1, "SELECT * FROM {t} WHERE v = 20"),
                           (0, "UPDATE {t} SET v = v + 10 ORDER BY id"),
                           (1, "DELETE FROM {t} WHERE v = 20"), (0, "COMMIT"), (1, "COMMIT")],
                  lambda o: _all_committed(o) and o.read(1, 1) == [(2, 20)] and
                  (2, 30) in o.final),
    "P4": (BEGIN + [(0, ONE), (1, ONE), _set(0, 1, 11), _set(1, 1, 11), (0, "COMMIT"),
                    (1, "COMMIT")],
           _all_committed),
    "G-single": (BEGIN + [(0, ONE), (1, ONE), (1, TWO), _set(1, 1, 12), _set(1, 2, 18),
                          (1, "COMMIT"), (0, TWO), (0, "COMMIT")],
                 lambda o: _all_committed(o) and o.read(0, 2) == [(18,)]),
    "G-single-write": (BEGIN + [(0, ONE), (1, ALL), _set(1, 1, 12), _set(1, 2, 18), (1, "COMMIT"),
                                (0, "DELETE FROM {t} WHERE v = 20"), (0, TWO), (0, "COMMIT")],
                       lambda o: _all_committed(o) and (2, 18) in o.final),
    "G2-item": (BEGIN + [(0, ALL), (1, ALL), _set(0, 1, 11), _set(1, 2, 21), (0, "COMMIT"),
                         (1, "COMMIT")],
                _all_committed),
    "G2": (BEGIN + [(0, "SELECT * FROM {t} WHERE v % 3 = 0"),
                    (1, "SELECT * FROM {t} WHERE v % 3 = 0"), (0, "INSERT INTO {t} VALUES (3, 30)"),
                    (1, "INSERT INTO {t} VALUES (4, 42)"), (0, "COMMIT"), (1, "COMMIT")],
           _all_committed),
    # Fekete's: the two changes alone have a serial order, and what the third saw has none.
    "read-only": (BEGIN + [(0, ALL), (1, ONE), _set(1, 2, 25), (1, "COMMIT"), (2, ALL),
                           _set(0, 1, 0), (0, "COMMIT")],
                  lambda o: _all_committed(o) and o.read(2, 0) == [(1, 10), (2, 25)]),
}
_COMMITTED_ONLY = ["G0", "G1a", "G1b", "G1c", "OTV"]
_ONE_SNAPSHOT = _COMMITTED_ONLY + ["PMP", "G-single"]
PREVENTED = {"READ UNCOMMITTED": ["G0"], "READ COMMITTED": _COMMITTED_ONLY,
             "REPEATABLE READ": _ONE_SNAPSHOT,
             SNAPSHOT_ISOLATION: _ONE_SNAPSHOT + ["P4", "PMP-write", "G-single-write"],
             "SERIALIZABLE": list(SCENARIOS), OPTIMISTIC: list(SCENARIOS)}


def _session(t, engine, level):
    client = t.client()
    name, setting = OURS.get(level, (level, ""))
    client.execute(f"SET SESSION TRANSACTION ISOLATION LEVEL {name}")
    client.execute("SET SESSION innodb_lock_wait_timeout = 20")
    if setting:
        client.execute(f"SET SESSION {setting}")
    return client


def _play(t, engine, level, name):
    """True if the anomaly happened; and the errors."""
    steps, happened = SCENARIOS[name]
    table = f"{engine}_{name}_{level}".replace(" ", "_").replace("-", "_").lower()
    setup = t.client()
    setup.execute(f"CREATE TABLE {table} (id INT PRIMARY KEY, v INT) ENGINE={engine}")
    setup.execute(f"INSERT INTO {table} VALUES (1, 10), (2, 20)")
    actors = [Actor(_session(t, engine, level), setup if engine == "ROWAN" else None)
              for _ in range(1 + max(who for who, _ in steps))]
    waiting = [actors[who].start(statement.format(t=table)) for who, statement in steps]
    for done in waiting:
        if not done.wait(4 * HUNG_S):
            raise Failure(f"{table}: a step does not end")
    for actor in actors:
        actor.stop()
    final = setup.query(ALL.format(t=table))
    setup.close()
    return happened(Outcome(actors, final)), actors


def _play_all(t, engine, levels):
    found, todo, guard = {}, [(level, name) for level in levels for name in SCENARIOS], \
        threading.Lock()

    def work():
        while True:
            with guard:
                if not todo:
                    return
                level, name = todo.pop()
            happened, actors = _play(t, engine, level, name)
            with guard:
                found[level, name] = happened, sorted({a.failed for a in actors if a.failed})
    t.threads([work] * _AT_A_TIME)
    return found


def _print(engine, levels, found):
    print(f"| {engine} | " + " | ".join(SCENARIOS) + " |")
    for level in levels:
        marks = ["happens" if found[level, name][0] else "-" for name in SCENARIOS]
        print(f"| {level} | " + " | ".join(marks) + " |")


def test_anomalies(t):
    levels = [level for level in LEVELS if t.engine == "ROWAN" or level not in OURS]
    found = _play_all(t, t.engine, levels)
    _print(t.engine, levels, found)
    if t.engine == "ROWAN":
        theirs = [level for level in LEVELS if level not in OURS]
        _print("InnoDB", theirs, _play_all(t, "InnoDB", theirs))
    wrong = [(level, name) for level in levels for name in PREVENTED[level]
             if found[level, name][0]]
    t.equal(wrong, [], "anomalies that the level forbids")
    errors = {code for _, codes in found.values() for code in codes}
    t.true(errors <= {1213}, f"errors other than 1213: {errors}")
