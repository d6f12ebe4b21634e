# SPDX-License-Identifier: GPL-2.0-only
"""What reads look at beside what they return, by session and in total."""

_PREFIX = "rowan_session_"


def _meter(client):
    return {row[0].lower().removeprefix(_PREFIX): int(row[1]) for row in client.query(
        "SHOW SESSION STATUS LIKE 'Rowan\\_session\\_%'")}


def _difference(client, statement):
    before = _meter(client)
    client.query(statement)
    return {name: value - before[name] for name, value in _meter(client).items()
            if value != before[name]}


def _fill(t):
    t.run("CREATE TABLE m (id INT PRIMARY KEY, a INT, b INT, v CHAR(40), KEY ab (a, b))",
          "INSERT INTO m WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n "
          "WHERE i < 1000) SELECT i, i % 100, i, 'v' FROM n", "ANALYZE TABLE m")
    return t.client()


def test_each_kind_of_statement_has_its_own(t):
    if t.engine != "ROWAN":
        t.skip("about Rowan's status variables")
    client = _fill(t)
    point = _difference(client, "SELECT v FROM m WHERE id = 7")
    t.equal((point["examined_single_table_entries"], point["returned_single_table_entries"]),
            (1, 1))
    t.true(point["examined_single_table_bytes"] == point["returned_single_table_bytes"] > 10, point)
    # Entry and row of each.
    rows = _difference(client, "SELECT v FROM m FORCE INDEX (ab) WHERE a = 7")
    t.equal((rows["examined_single_table_entries"], rows["returned_single_table_entries"]),
            (20, 10))
    join = _difference(client, "SELECT x.v FROM m x STRAIGHT_JOIN m y ON y.id = x.b "
                               "WHERE x.id BETWEEN 1 AND 50")
    t.equal({name for name in join if "single" in name or "aggregation" in name}, set(), str(join))
    t.equal(join["returned_join_entries"], 100)
    t.true(join["examined_join_entries"] >= 100, join)
    groups = _difference(client, "SELECT a, MAX(b) FROM m GROUP BY a")
    t.true(200 <= groups["returned_aggregation_entries"]
           <= groups["examined_aggregation_entries"] < 250, groups)
    # Entries that the condition refuses are looked at and not returned.
    refused = _difference(client, "SELECT v FROM m FORCE INDEX (ab) WHERE a BETWEEN 1 AND 50 "
                                  "AND b % 100 = 7")
    t.equal(refused["returned_single_table_entries"], 10)
    t.true(refused["examined_single_table_entries"] >= 510, refused)


def test_what_is_read_for_nothing_is_told(t):
    if t.engine != "ROWAN":
        t.skip("about Rowan's status variables")
    client = _fill(t)
    limited = _difference(client, "SELECT v FROM m LIMIT 30")
    t.equal(limited["returned_single_table_entries"], 30)
    t.equal(limited["examined_single_table_entries"],
            30 + limited["examined_co_located_entries"], str(limited))
    t.true(limited["examined_co_located_bytes"] > 0, limited)
    t.equal(_meter(t.client())["examined_single_table_entries"], 0, "another session's")
    names = {row[0].lower() for row in client.query("SHOW GLOBAL STATUS LIKE 'Rowan\\_%'")}
    t.true("rowan_examined_join_entries" in names, "totals")
    t.true(not any(name.startswith(_PREFIX) for name in names), "sessions in the totals")
    total = client.value("SELECT variable_value FROM performance_schema.global_status "
                         "WHERE variable_name = 'Rowan_examined_single_table_entries'")
    t.true(int(total) >= limited["examined_single_table_entries"], total)
    t.true("examined_join_entries" in client.query("SHOW ENGINE ROWAN STATUS")[0][2], "the report")
