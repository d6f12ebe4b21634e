# SPDX-License-Identifier: GPL-2.0-only
"""Random column types and literals of them: some thirty types, and strings in many collations.

Every type of a round has a small pool of favourite values, so that equal values meet in joins,
unique keys and conditions. All literals are SQL text.
"""

# collation: (NO PAD, words that its character set holds and that the collation treats specially)
COLLATIONS = {
    "utf8mb4_0900_ai_ci": (True, ("ä", "a\u0308", "Ä", "ß", "ss", "日本", "😀", "æ", "ae")),
    "utf8mb4_0900_as_cs": (True, ("ä", "Ä", "ß", "ss", "é", "e")),
    "utf8mb4_0900_bin": (True, ("ä", "日本", "😀")),
    "utf8mb4_bin": (False, ("ä", "日本", "😀", "ß", "ss")),
    "utf8mb4_general_ci": (False, ("ä", "Ä", "ß", "s", "😀", "é", "e")),
    "utf8mb4_unicode_ci": (False, ("ä", "ß", "ss", "😀", "æ")),
    "latin1_swedish_ci": (False, ("ä", "Ä", "ü", "y", "ß")),
    "latin1_german2_ci": (False, ("ä", "ae", "ß", "ss", "Ö", "oe")),
    "latin1_bin": (False, ("ä", "Ä")),
    "ascii_general_ci": (False, ()),
    "utf16_general_ci": (False, ("ä", "日本", "😀", "ß")),
    "utf16_unicode_ci": (False, ("ä", "ß", "ss", "😀")),
    "sjis_japanese_ci": (False, ("日本", "ｱ", "日ab", "表")),
    "gbk_chinese_ci": (False, ("中文", "中a", "文")),
}
_WORDS = ("", "a", "A", "ab", "aB", "b ", "b", "abc", "abcd", "ABCDE", "abd", "zz", "0", "12",
          " x", "rowan", "Rowan ", "ROWANBERRY", "rowboat", "m" * 30, "n" * 90)
_BYTES = (0, 1, 32, 97, 127, 128, 255)
_POOL = 9


class Kind:
    """A type: its SQL text, its family, and how to make values of it."""

    def __init__(self, sql, family, make, collation="", prefix=False, long=False, fixed=False):
        self.sql, self.family, self.collation = sql, family, collation
        self.prefix, self.long = prefix, long  # key parts may, must have a length
        self.padded = bool(collation) and not COLLATIONS[collation][0]  # 'b' = 'b '
        # Equal values have equal prefixes. Where they have not ('ß' = 'ss'), InnoDB takes entries
        # of two rows for one if the primary key holds a prefix, and removes the wrong one.
        self.by_letter = not any(part in collation for part in ("0900_a", "unicode", "german2"))
        self.fixed = fixed
        self._make, self._pool = make, []

    def literal(self, random):
        if len(self._pool) < _POOL:
            self._pool.append(self._make(random))
            return self._pool[-1]
        return random.choice(self._pool) if random.random() < 0.8 else self._make(random)

    @property
    def numeric(self):
        return self.family in ("int", "decimal", "float", "bit", "year")

    @property
    def key_part(self):
        return self.family != "json"

    def shown(self, ref):
        """An expression in which values that compare equal look equal."""
        if self.family == "string":
            return f"HEX(WEIGHT_STRING({f'RTRIM({ref})' if self.padded else ref}))"
        if self.family == "binary":
            return f"HEX({ref})"
        if self.family == "json":
            return f"CAST({ref} AS CHAR)"
        return f"({ref} + 0)" if self.family in ("bit", "float") else ref

    def exact(self, ref):
        """An expression that tells apart whatever can be told apart, and sorts alike anywhere."""
        if self.family == "float":
            return f"CAST({ref} AS CHAR)"  # -0 is not 0
        return f"HEX({ref})" if self.family in ("string", "binary") else self.shown(ref)


def random_kind(random, pools):
    """A kind; `pools` (a dictionary per round) makes equal types share their favourite values."""
    maker = random.choices((_integer, _decimal, _float, _bit, _enum, _set, _temporal, _string,
                            _binary, _json), (20, 6, 6, 4, 4, 3, 16, 30, 9, 2))[0]
    kind = maker(random)
    return pools.setdefault(kind.sql, kind)


def _quoted(text):
    return "'" + text.replace("\\", "\\\\").replace("'", "''") + "'"


def _integer(random):
    name, bits = random.choice((("TINYINT", 8), ("SMALLINT", 16), ("MEDIUMINT", 24), ("INT", 32),
                                ("BIGINT", 64)))
    unsigned = random.random() < 0.4
    low, high = (0, 2 ** bits - 1) if unsigned else (-2 ** (bits - 1), 2 ** (bits - 1) - 1)

    def make(random):
        if random.random() < 0.12:
            return str(random.choice((low, high, high + 1 if random.random() < 0.1 else 0)))
        return str(max(low, min(high, random.randint(-5, 30))))
    return Kind(name + (" UNSIGNED" if unsigned else ""), "int", make)


def _decimal(random):
    digits, scale = random.choice(((7, 2), (20, 0), (30, 10), (1, 1), (65, 30)))

    def make(random):
        whole = random.choice((0, 1, 9, -1, -9, random.randint(-999, 999)))
        if digits == scale:
            return f"{random.choice(('', '-'))}0.{random.randint(0, 9)}"
        if random.random() < 0.1:
            whole = int("9" * (digits - scale)) * random.choice((1, -1))
        return str(whole) + (f".{random.randint(0, 99):02d}"[:scale + 1] if scale else "")
    return Kind(f"DECIMAL({digits},{scale})", "decimal", make)


def _float(random):
    """Values that binary fractions hold exactly, so that sums do not depend on an order."""
    return Kind(random.choice(("FLOAT", "DOUBLE")), "float", lambda random: random.choice(
        ("0", "-0e0", "-1.5", "0.25", "1024", "-65536.5", str(random.randint(-50, 50)))))


def _bit(random):
    bits = random.choice((1, 8, 13, 64))
    return Kind(f"BIT({bits})", "bit", lambda random: str(random.choice(
        (0, 1, 2 ** bits - 1, random.randrange(2 ** min(bits, 5))))))


def _members(random, name, count, family, make):
    members = ("red", "Green", "blue", "a", "b", "", "zz", "é")[:count]
    text = ",".join(_quoted(word) for word in members)
    return Kind(f"{name}({text}) CHARACTER SET utf8mb4", family, lambda random: make(
        random, members))


def _enum(random):
    return _members(random, "ENUM", random.choice((3, 8)), "enum",
                    lambda random, members: _quoted(random.choice(members))
                    if random.random() < 0.97 else "'none of them'")


def _set(random):
    return _members(random, "SET", 5, "set", lambda random, members: _quoted(
        ",".join(word for word in members if random.random() < 0.4)))


def _temporal(random):
    digits = random.choice((0, 0, 2, 3, 6))
    name = random.choice(("YEAR", "DATE", "TIME", "DATETIME", "TIMESTAMP"))
    make = {"YEAR": _year, "DATE": _date, "TIME": _time, "DATETIME": _datetime,
            "TIMESTAMP": _datetime}[name]
    if name in ("YEAR", "DATE"):
        return Kind(name, name.lower(), make)
    family = "time" if name == "TIME" else "datetime"
    return Kind(f"{name}({digits})" if digits else name, family, make)


def _year(random):
    return str(random.choice((0, 1901, 2155, random.randint(1990, 2030))))


def _date(random):
    if random.random() < 0.1:
        return random.choice(("'1000-01-01'", "'9999-12-31'", "'2020-02-29'"))
    return f"'20{random.randint(18, 26):02d}-{random.randint(1, 12):02d}-{random.randint(1, 28)}'"


def _time(random):
    if random.random() < 0.1:
        return random.choice(("'838:59:59'", "'-838:59:59'", "'00:00:00'", "'-00:00:00.5'"))
    return (f"'{random.choice(('', '-'))}{random.randint(0, 99):02d}:{random.randint(0, 59):02d}:"
            f"{random.randint(0, 59):02d}.{random.choice((0, 500000, 123456)):06d}'")


def _datetime(random):
    return (f"'{random.randint(1971, 2037)}-{random.randint(1, 12):02d}-"
            f"{random.randint(1, 28):02d} {random.randint(0, 23):02d}:{random.randint(0, 59):02d}:"
            f"{random.choice((0, 30, 59)):02d}.{random.choice((0, 500000, 999999)):06d}'")


def _string(random):
    collation = random.choice(tuple(COLLATIONS))
    words = _WORDS + COLLATIONS[collation][1] * 2
    shape, length = random.choice((("CHAR", 5), ("CHAR", 20), ("VARCHAR", 8), ("VARCHAR", 40),
                                   ("VARCHAR", 100), ("VARCHAR", 300), ("TEXT", 2000),
                                   ("TINYTEXT", 63), ("MEDIUMTEXT", 9000)))

    def make(random):
        word = random.choice(words) + random.choice(("", "", random.choice(words)))
        if length > 1000 and random.random() < 0.03:
            word = (word or "q") * random.choice((200, 3000))
        return _quoted(word[:length + (1 if random.random() < 0.01 else 0)])
    long = shape.endswith("TEXT")
    name = shape if long else f"{shape}({length})"
    return Kind(f"{name} CHARACTER SET {collation.split('_')[0]} COLLATE {collation}", "string",
                make, collation, prefix=True, long=long, fixed=shape == "CHAR")


def _binary(random):
    name, length = random.choice((("BINARY", 4), ("BINARY", 16), ("VARBINARY", 8),
                                  ("VARBINARY", 40), ("BLOB", 60), ("TINYBLOB", 60)))

    def make(random):
        size = random.randint(0, min(length, 6))
        data = bytes(random.choice(_BYTES) for _ in range(size))
        if name == "BLOB" and random.random() < 0.03:
            data = (data or b"x") * 2000
        return f"x'{data.hex()}'"
    long = name.endswith("BLOB")
    return Kind(name if long else f"{name}({length})", "binary", make, prefix=True, long=long,
                fixed=name == "BINARY")


def _json(random):
    return Kind("JSON", "json", lambda random: random.choice(
        ("'{}'", "'[]'", "'null'", "'1'", "'\"text\"'", f"'[1, {random.randint(0, 9)}]'",
         f"'{{\"a\": {random.randint(0, 9)}, \"b\": [1, 2]}}'",
         "'{\"a\": \"" + "long " * random.choice((1, 900)) + "\"}'")))
