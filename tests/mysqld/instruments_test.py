# SPDX-License-Identifier: GPL-2.0-only
"""What performance_schema shows of the engine."""
import shutil


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

    def threads():
        """With the system's number of each: a thread begins with its name."""
        return {row[0].removeprefix("thread/rowan/") for row in client.query(
            "SELECT name, COUNT(*), COUNT(thread_os_id) FROM performance_schema.threads "
            "WHERE name LIKE 'thread/rowan/%' GROUP BY name") if row[1] == row[2]}
    t.wait_for(lambda: threads() >= {"purge", "page_cleaner", "checkpoint", "evictor",
                                     "log_flusher", "housekeeping"}, "all threads are known")
    client.execute("SET SESSION cte_max_recursion_depth = 10000")
    client.execute("CREATE TABLE a (id INT PRIMARY KEY, k INT)")
    client.execute("INSERT INTO a " + _NUMBERS.format(5000))
    client.execute("ALTER TABLE a ADD KEY k (k), ADD KEY both_of_them (k, id), ALGORITHM=INPLACE")
    client.execute("ALTER TABLE a FORCE, ALGORITHM=INPLACE")
    client.execute("ALTER TABLE a DROP PRIMARY KEY, ADD PRIMARY KEY (id DESC), ALGORITHM=INPLACE")
    client.execute("FLUSH TABLES a FOR EXPORT")
    file = server.data / t.database / "a.rwx"
    shutil.copy(file, server.folder / "kept")
    client.execute("UNLOCK TABLES")
    client.execute("ALTER TABLE a DISCARD TABLESPACE")
    shutil.copy(server.folder / "kept", file)
    client.execute("ALTER TABLE a IMPORT TABLESPACE")
    file.unlink()
    stages = client.query(
        "SELECT event_name, work_completed, work_estimated >= work_completed FROM "
        "performance_schema.events_stages_history_long WHERE event_name LIKE 'stage/rowan/%' "
        "ORDER BY timer_start")
    read, build, catch_up = (f"stage/rowan/alter table ({name})"
                             for name in ("read rows", "build index", "catch up"))
    t.equal([row for row in stages if row[0] != catch_up],
            [(read, 5000, 1), (build, 10000, 1)] * 2 +  # entries of both indexes
            # Rows of another order are sorted, too.
            [(read, 5000, 1), (build, 5000, 1), (build, 10000, 1)] +
            [(read, 5000, 1), (build, 10000, 1)])
    # The stage is over with the statement's part that has it.
    t.equal(client.value("SELECT COUNT(*) FROM performance_schema.events_stages_history_long "
                         "WHERE event_name LIKE 'stage/rowan/%' AND timer_end IS NULL"), 0)
    client.execute("DROP TABLE a")


def test_waits_and_memory(t):
    if t.engine != "ROWAN":
        t.skip("about Rowan's instruments")
    server = _server(t)
    client = t.client(server)
    client.execute("CREATE TABLE a (id INT PRIMARY KEY, k INT)")
    client.execute("INSERT INTO a VALUES (1, 1)")

    def waits():
        return {row[0].removeprefix("wait/io/file/rowan/"): row[1:] for row in client.query(
            "SELECT event_name, count_star, count_read + count_write + count_misc = count_star, "
            "sum_number_of_bytes_write FROM performance_schema.file_summary_by_event_name "
            "WHERE event_name LIKE 'wait/io/file/rowan/%'")}

    before = waits()
    for name in ("data_file", "log_file", "doublewrite_file", "control_file"):
        t.true(before[name][0] > 0 and before[name][1], before)
    for k in range(20):
        client.execute(f"UPDATE a SET k = {k} + 100")
    after = waits()
    t.true(after["log_file"][0] >= before["log_file"][0] + 20, (before, after))
    t.true(client.value("SELECT COUNT(*) FROM performance_schema.file_summary_by_instance WHERE "
                        "file_name LIKE '%/space_%.rws' AND count_star > 0") > 0, "files by path")
    t.equal(client.query("SELECT event_name, current_number_of_bytes_used FROM performance_schema"
                         ".memory_summary_global_by_event_name WHERE event_name LIKE "
                         "'memory/rowan/%' ORDER BY 1"),
            [("memory/rowan/buffer_pool", client.value("SELECT @@rowan_buffer_pool_size")),
             ("memory/rowan/log_buffer", client.value("SELECT @@rowan_log_buffer_size"))])
    client.execute("BEGIN")
    client.execute("UPDATE a SET k = 1")
    other = t.client(server)
    other.execute("SET SESSION innodb_lock_wait_timeout = 1")
    other.error_code("UPDATE a SET k = 2")
    client.execute("COMMIT")
    t.equal(client.value("SELECT count_star FROM performance_schema"
                         ".events_waits_summary_global_by_event_name WHERE event_name = "
                         "'wait/synch/cond/rowan/row_lock'"), 1)
    for session in (client, other):
        session.close()
    client = server.client()
    client.execute("FLUSH TABLES")
    t.uninstall(client)
    t.equal(client.value("SELECT COUNT(*) FROM performance_schema"
                         ".memory_summary_global_by_event_name WHERE event_name LIKE "
                         "'memory/rowan/%' AND current_number_of_bytes_used <> 0"), 0)


def test_pages_written_are_counted_with_each_way_of_writing(t):
    if t.engine != "ROWAN":
        t.skip("about Rowan's instruments")
    for backend in ("auto", "threads"):
        server = t.new_server(("--performance-schema=ON", "--loose-rowan-buffer-pool-size=16M",
                               f"--loose-rowan-io-backend={backend}"))
        server.start()
        client = t.client(server)

        def written():
            return int(client.value(
                "SELECT SUM(sum_number_of_bytes_write) FROM performance_schema."
                "file_summary_by_event_name WHERE event_name = 'wait/io/file/rowan/data_file'"))
        before = written()
        client.execute("SET SESSION cte_max_recursion_depth = 10000")
        client.execute("CREATE TABLE a (id INT PRIMARY KEY, pad VARCHAR(2500) NOT NULL)")
        # More than the pool holds.
        client.execute("INSERT INTO a WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 "
                       "FROM n WHERE i < 10000) SELECT i, REPEAT('x', 2500) FROM n")
        t.wait_for(lambda: written() - before >= 4 << 20, f"{backend}: pages are counted")
