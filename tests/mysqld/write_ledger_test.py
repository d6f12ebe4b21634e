# SPDX-License-Identifier: GPL-2.0-only
"""The ledger of bytes written, by cause, next to what the kernel counts for the process."""
from pathlib import Path

# The kernel counts no bytes that go to it asynchronously.
_OPTIONS = ("--performance-schema=ON", "--performance-schema-consumer-thread-instrumentation=OFF",
            "--innodb-use-native-aio=OFF", "--loose-rowan-io-backend=threads",
            "--loose-rowan-log-sync-method=fdatasync")
_CAUSES = ("SELECT name, count FROM information_schema.rowan_metrics WHERE name LIKE "
           "'written\\_%'")
_OTHERS = ("SELECT SUM(sum_number_of_bytes_write) FROM performance_schema."
           "file_summary_by_event_name WHERE event_name NOT LIKE 'wait/io/file/rowan/%'")
_ROWS = ("INSERT INTO {0} WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n "
         "WHERE i < {1}) SELECT i, i * 7919 % 10007, REPEAT('x', 900) FROM n")


class _Looks:
    """What was written since this was made."""

    def __init__(self, t, server, client):
        self._t, self._client = t, client
        self._io = Path(f"/proc/{server.pid()}/io")
        self._before = self._look()

    def _process(self):
        fields = dict(line.split(": ") for line in self._io.read_text().splitlines())
        return int(fields["wchar"])

    def _look(self):
        """Everything at one moment: nothing was written while it was looked at."""
        looked = []

        def quiet():
            begin = self._process()
            causes = {name: int(count) for name, count in self._client.query(_CAUSES)}
            others = int(self._client.value(_OTHERS))
            looked[:] = [causes, others, begin]
            return self._process() == begin
        self._t.wait_for(quiet, "a moment in which nothing is written")
        return looked

    def since(self):
        """{cause: bytes}, bytes to files of the server, bytes that the kernel counts."""
        (causes, others, process), before = self._look(), self._before
        return ({name: count - before[0][name] for name, count in causes.items()},
                others - before[1], process - before[2])


def test_its_sum_is_what_the_process_writes(t):
    if t.engine != "ROWAN":
        t.skip("about Rowan's counters")
    server = t.new_server(_OPTIONS, binlog=True, buffer_pool="16M")
    server.start()
    client = t.client(server)
    looks = _Looks(t, server, client)
    client.execute("SET SESSION cte_max_recursion_depth = 100000")
    client.execute("CREATE TABLE a (id INT PRIMARY KEY, k INT, pad VARCHAR(1000))")
    client.execute(_ROWS.format("a", 20000))
    client.execute("UPDATE a SET k = k + 1, pad = REPEAT('y', 900) WHERE id % 2 = 0")
    client.execute("CREATE INDEX k ON a (k, pad(200)) ALGORITHM=INPLACE")
    client.execute("BEGIN")
    client.execute("DELETE FROM a WHERE id % 3 = 0")
    client.execute("ROLLBACK")
    client.execute("CREATE TEMPORARY TABLE b LIKE a")
    client.execute(_ROWS.format("b", 20000))
    causes, others, process = looks.since()
    t.true(others > 1 << 20, f"the binary log: {others}")
    t.true(abs(sum(causes.values()) + others - process) <= process // 50,
           f"{sum(causes.values())} and {others} of others, {process} of the process: {causes}")
    # All that does not depend on when a checkpoint comes.
    missing = [name for name in ("redo", "redo_padding", "doublewrite", "temporary_pages")
               if not causes[f"written_{name}"] > 0]
    t.equal(missing, [])
    t.true(sum(count for name, count in causes.items()
               if name.startswith("written_data_")) > 0, causes)
