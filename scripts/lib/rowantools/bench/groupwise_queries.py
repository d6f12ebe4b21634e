# SPDX-License-Identifier: GPL-2.0-only
"""Queries for the first rows of each group, written in every way that SQL has. {0} is the table:
(pk INT PRIMARY KEY, j INT NOT NULL, k INT, KEY (j, pk DESC))."""

_WINDOW = ("SELECT COUNT(*) FROM (SELECT pk, j, {} OVER (PARTITION BY j ORDER BY pk DESC) AS r "
           "FROM {{0}}) d WHERE r {}")
FORMS = (
    ("join with GROUP BY", "SELECT COUNT(*), SUM(t.k) FROM {0} t JOIN (SELECT MAX(pk) AS m, j "
     "FROM {0} GROUP BY j) x ON t.pk = x.m"),
    ("RANK() = 1", _WINDOW.format("RANK()", "= 1")),
    ("ROW_NUMBER() <= 3", _WINDOW.format("ROW_NUMBER()", "<= 3")),
    ("DENSE_RANK() = 1", _WINDOW.format("DENSE_RANK()", "= 1")),
    ("LEFT JOIN ... IS NULL", "SELECT COUNT(*), SUM(b.k) FROM {0} b LEFT JOIN {0} c "
     "ON c.j = b.j AND c.pk > b.pk WHERE c.pk IS NULL"),
    ("NOT EXISTS", "SELECT COUNT(*), SUM(b.k) FROM {0} b WHERE NOT EXISTS (SELECT 1 FROM {0} c "
     "WHERE c.j = b.j AND c.pk > b.pk)"),
    ("= (SELECT MAX)", "SELECT COUNT(*), SUM(k) FROM {0} b WHERE pk = (SELECT MAX(pk) FROM {0} c "
     "WHERE c.j = b.j)"),
    ("IN (... GROUP BY)", "SELECT COUNT(*), SUM(k) FROM {0} WHERE (j, pk) IN (SELECT j, MAX(pk) "
     "FROM {0} GROUP BY j)"),
    ("LATERAL ... LIMIT 3", "SELECT COUNT(*), SUM(l.k) FROM (SELECT DISTINCT j FROM {0}) g, "
     "LATERAL (SELECT k FROM {0} t WHERE t.j = g.j ORDER BY pk DESC LIMIT 3) l"),
)
