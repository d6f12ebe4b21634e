# SPDX-License-Identifier: GPL-2.0-only
"""The 13 queries of the Star Schema benchmark: four flights, from one join to four."""

_LINES = "FROM ssb_lineorder JOIN ssb_date ON lo_orderdate = d_datekey"
_PARTS = "JOIN ssb_part ON lo_partkey = p_partkey"
_SUPPLIERS = "JOIN ssb_supplier ON lo_suppkey = s_suppkey"
_CUSTOMERS = "JOIN ssb_customer ON lo_custkey = c_custkey"
_DISCOUNTS = f"SELECT SUM(lo_extendedprice * lo_discount) AS revenue {_LINES} WHERE {{}}"
_BRANDS = (f"SELECT SUM(lo_revenue), d_year, p_brand1 {_LINES} {_PARTS} {_SUPPLIERS} WHERE {{}} "
           "GROUP BY d_year, p_brand1 ORDER BY d_year, p_brand1")


def _trade(level, where):
    return (f"SELECT c_{level}, s_{level}, d_year, SUM(lo_revenue) AS revenue {_LINES} {_CUSTOMERS}"
            f" {_SUPPLIERS} WHERE {where} GROUP BY c_{level}, s_{level}, d_year "
            "ORDER BY d_year, revenue DESC")


def _profit(columns, where):
    return (f"SELECT {columns}, SUM(lo_revenue - lo_supplycost) AS profit {_LINES} {_CUSTOMERS} "
            f"{_SUPPLIERS} {_PARTS} WHERE {where} GROUP BY {columns} ORDER BY {columns}")


_CITIES = "('UNITED KI1', 'UNITED KI5')"
_AMERICA = "c_region = 'AMERICA' AND s_region = 'AMERICA'"
FLIGHTS = (
    ("Flight 1: one join, a sum", {
        "1.1": _DISCOUNTS.format("d_year = 1993 AND lo_discount BETWEEN 1 AND 3 AND "
                                 "lo_quantity < 25"),
        "1.2": _DISCOUNTS.format("d_yearmonthnum = 199401 AND lo_discount BETWEEN 4 AND 6 AND "
                                 "lo_quantity BETWEEN 26 AND 35"),
        "1.3": _DISCOUNTS.format("d_weeknuminyear = 6 AND d_year = 1994 AND lo_discount BETWEEN 5 "
                                 "AND 7 AND lo_quantity BETWEEN 26 AND 35")}),
    ("Flight 2: revenue of brands", {
        "2.1": _BRANDS.format("p_category = 'MFGR#12' AND s_region = 'AMERICA'"),
        "2.2": _BRANDS.format("p_brand1 BETWEEN 'MFGR#2221' AND 'MFGR#2228' AND "
                              "s_region = 'ASIA'"),
        "2.3": _BRANDS.format("p_brand1 = 'MFGR#2239' AND s_region = 'EUROPE'")}),
    ("Flight 3: revenue between places", {
        "3.1": _trade("nation", "c_region = 'ASIA' AND s_region = 'ASIA' AND d_year BETWEEN 1992 "
                      "AND 1997"),
        "3.2": _trade("city", "c_nation = 'UNITED STATES' AND s_nation = 'UNITED STATES' AND "
                      "d_year BETWEEN 1992 AND 1997"),
        "3.3": _trade("city", f"c_city IN {_CITIES} AND s_city IN {_CITIES} AND d_year BETWEEN "
                      "1992 AND 1997"),
        "3.4": _trade("city", f"c_city IN {_CITIES} AND s_city IN {_CITIES} AND "
                      "d_yearmonth = 'Dec1997'")}),
    ("Flight 4: profit by year and place", {
        "4.1": _profit("d_year, c_nation", f"{_AMERICA} AND p_mfgr IN ('MFGR#1', 'MFGR#2')"),
        "4.2": _profit("d_year, s_nation, p_category", f"{_AMERICA} AND d_year IN (1997, 1998) AND "
                       "p_mfgr IN ('MFGR#1', 'MFGR#2')"),
        "4.3": _profit("d_year, s_city, p_brand1", "c_region = 'AMERICA' AND s_nation = "
                       "'UNITED STATES' AND d_year IN (1997, 1998) AND p_category = 'MFGR#14'")}),
)
