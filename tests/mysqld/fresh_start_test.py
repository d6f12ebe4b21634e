# SPDX-License-Identifier: GPL-2.0-only
"""First statements after INSTALL PLUGIN in new instances: where memory errors of start-up show.

Every round takes an empty data directory, installs the plugin, creates, fills, reads and drops a
table, restarts and does it again; the server must survive all of it and end in good order.
"""

_ROUNDS, _ROUNDS_LONG = 2, 30


def _use_a_table(t, client, round_number):
    client.execute("CREATE TABLE first (id INT AUTO_INCREMENT PRIMARY KEY, k INT, v VARCHAR(200), "
                   "b TEXT, KEY (k), UNIQUE KEY (v))")
    rows = ", ".join(f"({n % 7}, 'value {n}', REPEAT('b', {n * 311 % 20000}))" for n in range(50))
    client.execute(f"INSERT INTO first (k, v, b) VALUES {rows}")
    client.execute("UPDATE first SET k = k + 1 WHERE id < 20")
    client.execute("DELETE FROM first WHERE id = 30")
    t.equal(client.query("SELECT COUNT(*), SUM(k), SUM(LENGTH(b)) FROM first"),
            client.query("SELECT COUNT(*), SUM(k), SUM(LENGTH(b)) FROM first FORCE INDEX (v)"),
            f"round {round_number}")
    t.equal(client.value("SELECT COUNT(*) FROM first"), 49, f"round {round_number}")
    t.check_table("first", client)
    client.execute("DROP TABLE first")


def test_first_statements(t):
    for number in range(_ROUNDS_LONG if t.long else _ROUNDS):
        server = t.new_server(binlog=number % 2 == 1)
        server.start()
        for _ in range(2):
            _use_a_table(t, t.client(server), number)
            pid = server.pid()
            t.true(server.stop(), f"round {number}: no orderly shutdown")
            t.true("got signal" not in server.messages(), f"round {number}: {server.messages()}")
            server.start()
            t.true(pid != server.pid(), "the server was not restarted")
        server.destroy()
