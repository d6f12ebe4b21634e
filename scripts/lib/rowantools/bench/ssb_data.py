# SPDX-License-Identifier: GPL-2.0-only
"""Tables and rows of the Star Schema benchmark, from a generator of our own: its columns, value
ranges and proportions, but not its values. The same rows for every side, from a seed."""
import datetime
import math
import random

LINES_OF_SCALE_1 = 6_000_000
_REGIONS = {
    "AFRICA": ("ALGERIA", "ETHIOPIA", "KENYA", "MOROCCO", "MOZAMBIQUE"),
    "AMERICA": ("ARGENTINA", "BRAZIL", "CANADA", "PERU", "UNITED STATES"),
    "ASIA": ("CHINA", "INDIA", "INDONESIA", "JAPAN", "VIETNAM"),
    "EUROPE": ("FRANCE", "GERMANY", "ROMANIA", "RUSSIA", "UNITED KINGDOM"),
    "MIDDLE EAST": ("EGYPT", "IRAN", "IRAQ", "JORDAN", "SAUDI ARABIA")}
_PLACES = [(f"{nation[:9]:9}{city}", nation, region) for region, nations in _REGIONS.items()
           for nation in nations for city in range(10)]
_SEGMENTS = ("AUTOMOBILE", "BUILDING", "FURNITURE", "HOUSEHOLD", "MACHINERY")
_COLOURS = ("almond", "azure", "blue", "coral", "cream", "forest", "ivory", "navy", "plum", "sky")
_PRIORITIES = ("1-URGENT", "2-HIGH", "3-MEDIUM", "4-NOT SPECIFIED", "5-LOW")
_MODES = ("AIR", "FOB", "MAIL", "RAIL", "REG AIR", "SHIP", "TRUCK")
_SEASONS = ("Winter", "Spring", "Summer", "Fall", "Christmas")
_FIRST_DAY, _DAYS = datetime.date(1992, 1, 1), 2557   # seven years

_PLACE = "city CHAR(10) NOT NULL, {0}_nation VARCHAR(15) NOT NULL, {0}_region VARCHAR(12) NOT NULL"
TABLES = {
    "ssb_date": "d_datekey INT PRIMARY KEY, d_dayofweek VARCHAR(9) NOT NULL, d_month VARCHAR(9) "
                "NOT NULL, d_year INT NOT NULL, d_yearmonthnum INT NOT NULL, d_yearmonth CHAR(7) "
                "NOT NULL, d_daynuminyear INT NOT NULL, d_weeknuminyear INT NOT NULL, "
                "d_sellingseason VARCHAR(12) NOT NULL",
    "ssb_customer": "c_custkey INT PRIMARY KEY, c_name VARCHAR(25) NOT NULL, c_"
                    + _PLACE.format("c") + ", c_mktsegment VARCHAR(10) NOT NULL",
    "ssb_supplier": "s_suppkey INT PRIMARY KEY, s_name VARCHAR(25) NOT NULL, s_"
                    + _PLACE.format("s"),
    "ssb_part": "p_partkey INT PRIMARY KEY, p_name VARCHAR(22) NOT NULL, p_mfgr CHAR(6) NOT NULL, "
                "p_category CHAR(7) NOT NULL, p_brand1 VARCHAR(9) NOT NULL, p_size INT NOT NULL",
    "ssb_lineorder": "lo_orderkey INT NOT NULL, lo_linenumber INT NOT NULL, lo_custkey INT NOT "
                     "NULL, lo_partkey INT NOT NULL, lo_suppkey INT NOT NULL, lo_orderdate INT NOT "
                     "NULL, lo_orderpriority VARCHAR(15) NOT NULL, lo_quantity INT NOT NULL, "
                     "lo_extendedprice INT NOT NULL, lo_discount INT NOT NULL, lo_revenue INT NOT "
                     "NULL, lo_supplycost INT NOT NULL, lo_tax INT NOT NULL, lo_commitdate INT NOT "
                     "NULL, lo_shipmode VARCHAR(10) NOT NULL, PRIMARY KEY (lo_orderkey, "
                     "lo_linenumber)"}
INDEXED = ("lo_custkey", "lo_partkey", "lo_suppkey", "lo_orderdate")


def counts(lines):
    """{table: rows} for so many order lines; at least one supplier and four customers a city."""
    scale = lines / LINES_OF_SCALE_1
    parts = 200_000 * (1 + math.log2(scale)) if scale > 1 else 200_000 * scale
    return {"ssb_date": _DAYS, "ssb_customer": max(4 * len(_PLACES), int(30_000 * scale)),
            "ssb_supplier": max(len(_PLACES), int(2_000 * scale)),
            "ssb_part": max(1000, int(parts)), "ssb_lineorder": lines}


def rows(table, lines):
    """Yields the rows of a table."""
    count, chosen = counts(lines), random.Random(table)
    if table == "ssb_lineorder":
        return _lines(count, chosen)
    make = {"ssb_date": _date, "ssb_customer": _customer, "ssb_supplier": _supplier,
            "ssb_part": _part}[table]
    return (make(number, chosen) for number in range(1, count[table] + 1))


def _key(day):
    return day.year * 10000 + day.month * 100 + day.day


def _date(number, _):
    day = _FIRST_DAY + datetime.timedelta(number - 1)
    in_year = day.timetuple().tm_yday
    season = "Christmas" if day.month == 12 else _SEASONS[(day.month % 12) // 3]
    return (_key(day), day.strftime("%A"), day.strftime("%B"), day.year,
            day.year * 100 + day.month, day.strftime("%b%Y"), in_year, (in_year - 1) // 7 + 1,
            season)


def _customer(number, chosen):
    return (number, f"Customer#{number:09}", *_PLACES[number % len(_PLACES)],
            chosen.choice(_SEGMENTS))


def _supplier(number, _):
    return (number, f"Supplier#{number:09}", *_PLACES[number % len(_PLACES)])


def _part(number, chosen):
    category = f"MFGR#{chosen.randint(1, 5)}{chosen.randint(1, 5)}"
    return (number, f"{chosen.choice(_COLOURS)} {chosen.choice(_COLOURS)}", category[:6], category,
            f"{category}{chosen.randint(1, 40):02}", chosen.randint(1, 50))


def _lines(count, chosen):
    """Orders of one to seven lines, which share customer, day and priority."""
    days = [_key(_FIRST_DAY + datetime.timedelta(number)) for number in range(_DAYS)]
    draw, made, order = chosen.random, 0, 0
    while made < count["ssb_lineorder"]:
        order += 1
        customer, day = 1 + int(draw() * count["ssb_customer"]), int(draw() * (_DAYS - 91))
        priority = _PRIORITIES[int(draw() * 5)]
        for line in range(1, 1 + min(1 + int(draw() * 7), count["ssb_lineorder"] - made)):
            quantity, discount, part = 1 + int(draw() * 50), int(draw() * 11), draw()
            price = quantity * (900 + int(part * 1100))
            yield (order, line, customer, 1 + int(part * count["ssb_part"]),
                   1 + int(draw() * count["ssb_supplier"]), days[day], priority, quantity, price,
                   discount, price * (100 - discount) // 100, price * 6 // 10 // quantity,
                   int(draw() * 9), days[day + 30 + int(draw() * 61)], _MODES[int(draw() * 7)])
            made += 1
