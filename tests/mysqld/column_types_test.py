# SPDX-License-Identifier: GPL-2.0-only
"""Columns of GEOMETRY types and VECTOR, beside InnoDB: stored, read back, changed, altered."""
import pytest

from framework import IS_8_4
from side_by_side import FAST, same_on_both

pytestmark = pytest.mark.server(options=FAST)

_GEOMETRY = """
CREATE TABLE g (id INT PRIMARY KEY, g GEOMETRY, p POINT NOT NULL SRID 4326);
INSERT INTO g VALUES (1, ST_GeomFromText('LINESTRING(0 0,1 1)'),
 ST_GeomFromText('POINT(1 2)', 4326));
INSERT INTO g VALUES (2, NULL, ST_GeomFromText('POINT(1 2)', 0));
INSERT INTO g VALUES (2, NULL, ST_GeomFromText('POINT(3 4)', 4326));
SELECT id, ST_AsText(g), ST_AsText(p), ST_SRID(p), HEX(g) FROM g ORDER BY id;
UPDATE g SET g = p WHERE ST_X(p) < 3;
SELECT id, ST_AsText(g), HEX(g) FROM g WHERE ST_Equals(g, p) ORDER BY id;
CREATE INDEX i ON g (g(10));
CREATE TABLE x (g GEOMETRY, KEY (g(10)));
CREATE INDEX i ON g (g);
CHECKSUM TABLE g;
CHECK TABLE g;
CREATE TABLE h (id INT PRIMARY KEY, p POINT, m MULTIPOINT, l LINESTRING, c GEOMETRYCOLLECTION,
 pl POLYGON, ml MULTILINESTRING, mp MULTIPOLYGON NOT NULL, x DOUBLE AS (ST_X(p)), KEY (x));
INSERT INTO h VALUES (1, ST_GeomFromText('POINT(1 1)'), ST_GeomFromText('MULTIPOINT(1 1,2 2)'),
 ST_GeomFromText('LINESTRING(1 1,2 2)'), ST_GeomFromText('GEOMETRYCOLLECTION(POINT(1 1))'),
 ST_GeomFromText('POLYGON((0 0,1 0,1 1,0 0))'), ST_GeomFromText('MULTILINESTRING((0 0,1 1))'),
 ST_GeomFromText('MULTIPOLYGON(((0 0,1 0,1 1,0 0)))'), DEFAULT);
INSERT INTO h (id, p, mp) VALUES (2, ST_GeomFromText('LINESTRING(1 1,2 2)'), NULL);
INSERT INTO h (id) VALUES (3);
INSERT INTO h (id, l, mp) VALUES (4, ST_GeomFromText(CONCAT('LINESTRING(0 0',
 REPEAT(',1 2', 5000), ')')), ST_GeomFromText('MULTIPOLYGON(((0 0,1 0,1 1,0 0)))'));
SELECT id, ST_AsText(p), ST_AsText(m), ST_AsText(c), ST_AsText(pl), ST_AsText(ml), ST_AsText(mp),
 x, ST_NumPoints(l), LENGTH(l) FROM h ORDER BY id;
ALTER TABLE h ADD COLUMN q POINT, ADD COLUMN y INT;
UPDATE h SET q = p, y = 5 WHERE x = 1;
SELECT id, ST_AsText(q), y FROM h ORDER BY id;
ALTER TABLE h MODIFY q GEOMETRY;
ALTER TABLE h MODIFY q POINT SRID 0;
ALTER TABLE h DROP COLUMN m, MODIFY c BLOB;
SHOW CREATE TABLE h;
SELECT * FROM h ORDER BY id;
CHECKSUM TABLE h;
CHECK TABLE h;
"""

_VECTOR = """
CREATE TABLE v (id INT PRIMARY KEY, v VECTOR(3), w VECTOR NOT NULL, n INT AS (VECTOR_DIM(v)));
INSERT INTO v (id, v, w) VALUES (1, TO_VECTOR('[1,2,3]'), TO_VECTOR('[4]')),
 (2, NULL, TO_VECTOR(CONCAT('[', REPEAT('1,', 2047), '2]')));
INSERT INTO v (id, v, w) VALUES (3, TO_VECTOR('[1,2,3,4]'), TO_VECTOR('[4]'));
INSERT INTO v (id, v, w) VALUES (3, 'abc', TO_VECTOR('[4]'));
INSERT INTO v (id, v) VALUES (3, TO_VECTOR('[1]'));
SELECT id, FROM_VECTOR(v), HEX(v), VECTOR_DIM(w), n, CRC32(w) FROM v ORDER BY id;
UPDATE v SET w = TO_VECTOR('[7,8]'), v = TO_VECTOR('[1.5]') WHERE n IS NULL;
UPDATE v SET v = w WHERE id = 1;
CREATE INDEX i ON v (v);
ALTER TABLE v MODIFY w VECTOR(4000) NOT NULL, ADD COLUMN x VECTOR(5);
ALTER TABLE v MODIFY w VECTOR(1) NOT NULL;
UPDATE v SET x = TO_VECTOR('[1,2,3,4,5]') WHERE id = 1;
SELECT id, FROM_VECTOR(v), FROM_VECTOR(w), FROM_VECTOR(x), n FROM v ORDER BY id;
SHOW CREATE TABLE v;
BEGIN;
DELETE FROM v WHERE id = 1;
UPDATE v SET v = TO_VECTOR(CONCAT('[', REPEAT('1,', 2), '2]'));
ROLLBACK;
SELECT id, HEX(v), HEX(w) FROM v ORDER BY id;
CHECKSUM TABLE v;
CHECK TABLE v;
"""


def test_geometry(t):
    same_on_both(t, _GEOMETRY)


@pytest.mark.skipif(IS_8_4, reason="MySQL 8.4 has no VECTOR")
def test_vector(t):
    same_on_both(t, _VECTOR)
