#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""What performance_schema shows of the engine."""
from framework import main

_NUMBERS = ("WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {0}) "
            "SELECT i, i * 7 % 1000 FROM n")


def _server(t):
    server = t.new_server(("--performance-schema=ON",
                           "--performance-schema-instrument=wait/%/rowan/%=ON",
                           "--performance-schema-instrument=memory/rowan/%=ON",
                           "--performance-schema-consumer-events-stages-current=ON",
                           "--performance-schema-consumer-events-stages-history-long=ON",
                           "--performance-schema-consumer-events-waits-current=ON"))
    server.start()
    return server


def test_threads_and_stages(t):
    if t.engine != "ROWAN":
        t.skip("about Rowan's instruments")
    server = _server(t)
    client = t.client(server)
    threads = {row[0]: row[1:] for row in client.query(
        "SELECT name, COUNT(*), COUNT(thread_os_id) FROM performance_schema.threads "
        "WHERE name LIKE 'thread/rowan/%' GROUP BY name")}
    for name in ("purge", "page_cleaner", "checkpoint", "evictor", "log_flusher", "housekeeping"):
        count, with_id = threads[f"thread/rowan/{name}"]
        t.true(count == with_id and count > 0, threads)
    client.execute("SET SESSION cte_max_recursion_depth = 10000")
    client.execute("CREATE TABLE a (id INT PRIMARY KEY, k INT)")
    client.execute("INSERT INTO a " + _NUMBERS.format(5000))
    client.execute("ALTER TABLE a ADD KEY k (k), ADD KEY both_of_them (k, id), ALGORITHM=INPLACE")
    client.execute("ALTER TABLE a FORCE, ALGORITHM=INPLACE")
    stages = client.query(
        "SELECT event_name, work_completed, work_estimated >= work_completed FROM "
        "performance_schema.events_stages_history_long WHERE event_name LIKE 'stage/rowan/%' "
        "ORDER BY timer_start")
    read, build, catch_up = (f"stage/rowan/alter table ({name})"
                             for name in ("read rows", "build index", "catch up"))
    t.equal([row for row in stages if row[0] != catch_up],
            [(read, 5000, 1), (build, 5000, 1), (build, 5000, 1)] * 2)
    # The stage is over with the statement's part that has it.
    t.equal(client.value("SELECT COUNT(*) FROM performance_schema.events_stages_history_long "
                         "WHERE event_name LIKE 'stage/rowan/%' AND timer_end IS NULL"), 0)
    client.execute("DROP TABLE a")


if __name__ == "__main__":
    main(globals())
