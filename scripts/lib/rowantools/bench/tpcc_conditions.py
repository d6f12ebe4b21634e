# SPDX-License-Identifier: GPL-2.0-only
"""What must hold of tpcc's tables whenever no transaction runs, whatever the isolation level: each
condition is a query that counts what breaks it. They are SQL that MySQL and PostgreSQL both know.
"""
from ..paths import UserError
from . import database

_LINES = ("(SELECT ol_w_id AS w, ol_d_id AS d, ol_o_id AS o, COUNT(*) AS line_count, "
          "SUM(ol_amount) AS amount FROM tpcc_order_line GROUP BY ol_w_id, ol_d_id, ol_o_id) l")
_DELIVERED = ("(SELECT o_w_id AS w, o_d_id AS d, o_c_id AS c, SUM(amount) AS amount FROM "
              f"tpcc_orders JOIN {_LINES} ON w = o_w_id AND d = o_d_id AND o = o_id WHERE "
              "o_carrier_id IS NOT NULL GROUP BY o_w_id, o_d_id, o_c_id) delivered")
_PAID = ("(SELECT h_c_w_id AS pw, h_c_d_id AS pd, h_c_id AS pc, SUM(h_amount) AS paid FROM "
         "tpcc_history GROUP BY h_c_w_id, h_c_d_id, h_c_id) payments")
_COUNT = "SELECT COUNT(*) FROM "
_CUSTOMERS = (f"{_COUNT} tpcc_customer LEFT JOIN {_DELIVERED} ON w = c_w_id AND d = c_d_id AND "
              "c = c_id ")

# What must hold: how many places break it. {delivered}: of a district's first orders.
CONDITIONS = {
    "a warehouse's year-to-date is the sum of its districts'":
        f"{_COUNT} tpcc_warehouse WHERE w_ytd <> (SELECT SUM(d_ytd) FROM tpcc_district "
        "WHERE d_w_id = w_id)",
    "a district's next order follows its newest order and new order":
        f"{_COUNT} tpcc_district JOIN (SELECT o_w_id, o_d_id, MAX(o_id) AS newest FROM "
        "tpcc_orders GROUP BY o_w_id, o_d_id) o ON o_w_id = d_w_id AND o_d_id = d_id LEFT JOIN "
        "(SELECT no_w_id, no_d_id, MAX(no_o_id) AS newest_new FROM tpcc_new_order "
        "GROUP BY no_w_id, no_d_id) n ON no_w_id = d_w_id AND no_d_id = d_id "
        "WHERE newest <> d_next_o_id - 1 OR newest_new <> d_next_o_id - 1",
    "new orders of a district have no gap":
        f"{_COUNT} (SELECT MAX(no_o_id) - MIN(no_o_id) + 1 - COUNT(*) AS gap FROM tpcc_new_order "
        "GROUP BY no_w_id, no_d_id) g WHERE gap <> 0",
    "orders of a district count as many lines as it has":
        f"{_COUNT} tpcc_district WHERE (SELECT SUM(o_ol_cnt) FROM tpcc_orders WHERE "
        "o_w_id = d_w_id AND o_d_id = d_id) <> (SELECT COUNT(*) FROM tpcc_order_line WHERE "
        "ol_w_id = d_w_id AND ol_d_id = d_id)",
    "an order without a carrier is a new order, and no other":
        f"{_COUNT} tpcc_orders LEFT JOIN tpcc_new_order ON no_w_id = o_w_id AND "
        "no_d_id = o_d_id AND no_o_id = o_id "
        "WHERE (o_carrier_id IS NULL) <> (no_o_id IS NOT NULL)",
    "an order has as many lines as it counts":
        f"{_COUNT} tpcc_orders LEFT JOIN {_LINES} ON w = o_w_id AND d = o_d_id AND o = o_id "
        "WHERE o_ol_cnt <> COALESCE(line_count, 0)",
    "the lines of orders with a carrier are delivered, and no others":
        f"{_COUNT} tpcc_order_line LEFT JOIN tpcc_orders ON o_w_id = ol_w_id AND "
        "o_d_id = ol_d_id AND o_id = ol_o_id WHERE o_id IS NULL OR "
        "(ol_delivery_d IS NULL) <> (o_carrier_id IS NULL)",
    "a warehouse's year-to-date is the sum of its payments":
        f"{_COUNT} tpcc_warehouse WHERE w_ytd <> (SELECT SUM(h_amount) FROM tpcc_history "
        "WHERE h_w_id = w_id)",
    "a district's year-to-date is the sum of its payments":
        f"{_COUNT} tpcc_district WHERE d_ytd <> (SELECT SUM(h_amount) FROM tpcc_history "
        "WHERE h_w_id = d_w_id AND h_d_id = d_id)",
    "a customer's balance is what was delivered less what was paid":
        f"{_CUSTOMERS} LEFT JOIN {_PAID} ON pw = c_w_id AND pd = c_d_id AND pc = c_id "
        "WHERE c_balance <> COALESCE(amount, 0) - COALESCE(paid, 0)",
    "a district's orders are its new, its delivered and its first ones":
        f"{_COUNT} tpcc_district WHERE (SELECT COUNT(*) FROM tpcc_orders WHERE o_w_id = d_w_id "
        "AND o_d_id = d_id) - (SELECT COUNT(*) FROM tpcc_new_order WHERE no_w_id = d_w_id AND "
        "no_d_id = d_id) - (SELECT SUM(c_delivery_cnt) FROM tpcc_customer WHERE c_w_id = d_w_id "
        "AND c_d_id = d_id) <> {delivered}",
    "a customer's balance and payments are what was delivered":
        f"{_CUSTOMERS} WHERE c_balance + c_ytd_payment <> COALESCE(amount, 0)",
}


def broken(connection, customers):
    """[(condition, places that break it)]. `customers` of a district."""
    counts = [(sentence, connection.value(query.format(delivered=customers * 7 // 10)))
              for sentence, query in CONDITIONS.items()]
    return [(sentence, count) for sentence, count in counts if count]


def require_consistent(target, customers):
    """UserError that names the conditions that do not hold."""
    with database.connect(target) as connection:
        found = broken(connection, customers)
    if found:
        raise UserError(f"{target.name} is not consistent: " + "; ".join(
            f"{sentence}, but not in {count:,} places" for sentence, count in found))
