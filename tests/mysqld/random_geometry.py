# SPDX-License-Identifier: GPL-2.0-only
"""Random geometries as SQL expressions: clustered, huge, tiny, degenerate, touching axes and each
other; on the sphere also across the line where longitudes begin anew and at the poles."""

PLANE, SPHERE = 0, 4326

_PREDICATES = ("MBRContains", "MBRCoveredBy", "MBRCovers", "MBRDisjoint", "MBREquals",
               "MBRIntersects", "MBROverlaps", "MBRTouches", "MBRWithin", "ST_Contains",
               "ST_Crosses", "ST_Disjoint", "ST_Equals", "ST_Intersects", "ST_Overlaps",
               "ST_Touches", "ST_Within")


class RandomGeometry:
    def __init__(self, rng, srid):
        self._rng, self._srid = rng, srid
        self._given = []

    def expression(self):
        """One geometry; now and then one that was given before."""
        rng = self._rng
        if self._given and rng.random() < 0.1:
            return rng.choice(self._given)
        x, y, size = self._place()
        options = ", 4326, 'axis-order=long-lat'" if self._srid == SPHERE else ""
        text = f"ST_GeomFromText('{self._text(x, y, size)}'{options})"
        self._given.append(text)
        return text

    def condition(self, column):
        """A predicate of the column and another geometry."""
        arguments = [column, self.expression()]
        if self._rng.random() < 0.5:
            arguments.reverse()
        return f"{self._rng.choice(_PREDICATES)}({', '.join(arguments)})"

    def _place(self):
        """A corner and an extent."""
        rng = self._rng
        if self._srid == SPHERE:
            kind = rng.randrange(5)
            if kind == 0:
                return rng.uniform(-180, 180), rng.uniform(-90, 90), 10 ** rng.uniform(-3, 1.5)
            if kind == 1:
                return rng.choice([180, -180, 179.5, -179.5]), rng.randint(-5, 5), rng.randint(1, 2)
            if kind == 2:
                return rng.randint(-180, 180), rng.choice([90, 89, -90, -89]), 1
            return rng.randint(-3, 3), rng.randint(-3, 3), rng.choice([0, 1, 2, 0.5])
        kind = rng.randrange(7)
        if kind == 0:
            return rng.uniform(-1000, 1000), rng.uniform(-1000, 1000), 10 ** rng.uniform(-3, 3)
        if kind == 1:
            far = 10 ** rng.uniform(5, 18)
            return far * rng.choice([1, -1]), far * rng.uniform(-1, 1), far * rng.random()
        if kind == 2:
            return rng.uniform(-1e-9, 1e-9), rng.uniform(-1e-12, 1e-9), 10 ** rng.uniform(-14, -8)
        if kind == 3:
            return 431000 + rng.randint(0, 9), 5401000 + rng.randint(0, 9), rng.choice([0.5, 1, 2])
        return rng.randint(-5, 5), rng.randint(-5, 5), rng.choice([0, 1, 2, 3, 10])

    def _text(self, x, y, size):
        rng = self._rng
        kind = rng.randrange(10)
        if kind < 4:
            return f"POINT({self._at(x, y)})"
        if kind < 6:
            return f"LINESTRING({self._path(x, y, size, rng.randint(2, 4))})"
        if kind < 8:
            return f"POLYGON(({self._ring(x, y, size or 1)}))"
        if kind < 9:
            return f"MULTIPOINT({self._path(x, y, size, rng.randint(1, 4))})"
        if rng.random() < 0.15:
            return "GEOMETRYCOLLECTION EMPTY"
        return (f"GEOMETRYCOLLECTION(POINT({self._at(x, y)}),"
                f"LINESTRING({self._path(x, y, size, 2)}))")

    def _path(self, x, y, size, count):
        rng = self._rng
        steps = [(0, 0), (1, 1), (1, 0), (0, 1), (0.5, 0.5), (rng.random(), rng.random())]
        return ",".join(self._at(x + size * a, y + size * b)
                        for a, b in (rng.choice(steps) for _ in range(count)))

    def _ring(self, x, y, size):
        corners = [(0, 0), (1, 0), (1, 1), (0, 1)]
        if self._rng.random() < 0.3:
            del corners[self._rng.randrange(4)]
        points = [self._at(x + size * a, y + size * b) for a, b in corners]
        return ",".join(points + points[:1])

    def _at(self, x, y):
        if self._srid == SPHERE:
            x = x - 360 if x > 180 else x + 360 if x < -180 else x
            y = max(-90, min(90, y))
        return f"{x!r} {y!r}"
