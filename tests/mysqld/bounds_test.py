# SPDX-License-Identifier: GPL-2.0-only
"""Every numeric rowan_* variable: its least and its greatest value open an instance that works.

The bounds are those that the server itself reports. They are tried together, a start for each
round, and together with the values of other variables that make them hardest to bear.
"""
from framework import IS_8_4
from rowantools.client import MysqlError

_ER_READ_ONLY = 1238

# Only what no machine has is left out; the reason is printed.
_LEFT_OUT = {("rowan_buffer_pool_size", "greatest"): "64 TiB of memory",
             ("rowan_force_recovery", "greatest"): "read-only: no new instance"}
_NUMBERS = ("variables_metadata WHERE data_type IN ('Integer', 'Numeric')" if not IS_8_4 else
            "variables_info JOIN performance_schema.global_variables USING (variable_name) "
            "WHERE variable_value REGEXP '^[0-9]'")


def _bounds(client):
    rows = client.query("SELECT variable_name, min_value, max_value FROM performance_schema."
                        f"{_NUMBERS} AND variable_name LIKE 'rowan\\_%'")
    return {row[0]: {"least": int(row[1]), "greatest": int(row[2])} for row in rows}


def _use(t, server, what):
    client = t.client(server)
    client.execute("CREATE TABLE b (id INT PRIMARY KEY, v VARCHAR(200), KEY (v))")
    for first in range(0, 1000, 250):
        rows = ", ".join(f"({n}, REPEAT('v', 100 + {n} % 50))" for n in range(first, first + 250))
        client.execute(f"INSERT INTO b VALUES {rows}")
    client.execute("DELETE FROM b WHERE id < 100")
    t.equal(client.value("SELECT COUNT(*) FROM b FORCE INDEX (v)"), 900, what)
    t.check_table("b", client)
    return client


def _round(t, bounds, what, wanted):
    """A new server with these {variable: "least" or "greatest"}; its client."""
    values = {}
    for name, which in wanted.items():
        if (name, which) in _LEFT_OUT:
            print(f"left out: the {which} {name}: {_LEFT_OUT[name, which]}", flush=True)
        else:
            values[name] = bounds[name][which]
    options = [f"--loose-{name.replace('_', '-')}={value}" for name, value in values.items()]
    server = t.new_server(options)
    try:
        server.start()
        return _use(t, server, what)
    except Exception as error:
        messages = [line for line in server.messages().splitlines() if "rowan" in line.lower()]
        raise AssertionError(f"{what} ({values}): {error}: {messages[-5:]}") from error


def _set(client, name, value):
    """SET GLOBAL, for a variable that may be set while the server runs."""
    try:
        client.execute(f"SET GLOBAL {name} = {value}")
    except MysqlError as error:
        if error.code != _ER_READ_ONLY:
            raise


def test_least_and_greatest_values(t):
    bounds = _bounds(t.client())
    t.true(len(bounds) >= 8, f"the server reports {sorted(bounds)}")
    client = _round(t, bounds, "all least", {name: "least" for name in bounds})
    for name in bounds:
        for which in ("greatest", "least"):
            if (name, which) not in _LEFT_OUT:
                _set(client, name, bounds[name][which])
    files = int(client.query("SHOW GLOBAL STATUS LIKE 'Rowan\\_log\\_files'")[0][1])
    t.true(2 <= files <= 160, f"{files} log files after the greatest and the least capacity")
    _round(t, bounds, "all greatest", {name: "greatest" for name in bounds})
    _round(t, bounds, "large pages in a small pool",
           {"rowan_buffer_pool_size": "least", "rowan_page_size": "greatest",
            "rowan_log_buffer_size": "greatest", "rowan_redo_log_capacity": "least"})
