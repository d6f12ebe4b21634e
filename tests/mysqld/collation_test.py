# SPDX-License-Identifier: GPL-2.0-only
"""Indexes on texts of every collation the server has: the same order and look-ups as InnoDB.

Both engines order equal texts by the primary key, so an index scan must give the same ids in the
same order. Texts have characters below and above the space, trailing spaces, and everything the
character set can say.
"""
from framework import ENGINE, Failure

_CHECKED_SHORT = 48
# Whose keys are not simply their weights: always checked.
_SPECIAL = {"cp1250_czech_cs", "latin2_czech_cs", "tis620_thai_ci", "gb18030_chinese_ci",
            "big5_chinese_ci"}
_TEXTS = 160
_RANGES = [range(0xA1, 0x17F), range(0x370, 0x3FF), range(0x400, 0x460), range(0x5D0, 0x5EB),
           range(0xE01, 0xE3A), range(0x2010, 0x2030), range(0x2500, 0x2570), range(0x3041, 0x30F6),
           range(0x4E00, 0x9FA5), range(0xAC00, 0xD7A3), range(0xFF01, 0xFFE5)]


def _collations(t):
    rows = t.run("SELECT character_set_name, collation_name FROM information_schema.collations "
                 "ORDER BY collation_name")
    if t.long:
        return rows
    # A sample that has every character set and, over time, every collation.
    chosen = {}
    for charset, collation in t.random.sample(rows, len(rows)):
        chosen.setdefault(charset, (charset, collation))
    chosen = {*chosen.values(), *(row for row in rows if row[1] in _SPECIAL)}
    rest = [row for row in rows if row not in chosen]
    count = max(0, _CHECKED_SHORT - len(chosen))
    return sorted([*chosen, *t.random.sample(rest, count)])


def _texts(random):
    """Texts as hexadecimal UTF-8; the server converts them and drops what does not fit."""
    alphabet = list("aAbBzZ09sS ") + [" ", "\t", "\x01", "!", "-", "_", "~"]
    wide = list("äÄßéèøæœłÞžğıİçñ¡ÿ") + list("жЖяαΩאبกขไ日本語あア한글€") + ["ch", "ss", "ll", "ij"]
    wide += [chr(random.choice(random.choice(_RANGES))) for _ in range(60)]
    texts = ["", " ", "a", "a ", "A", "a\t", "a \t", "a b", "ab", "ss", "ß", "a\x01", " a"]
    while len(texts) < _TEXTS:
        letters = alphabet if random.random() < 0.5 else alphabet + wide
        text = "".join(random.choice(letters) for _ in range(random.randint(1, 7)))
        texts.append(text + random.choice(("", "", " ", "  ")))
    return texts


def _fits(client, text, charset):
    """The literal's bytes in the character set, or None if it cannot say the text."""
    literal = f"CONVERT(_utf8mb4 0x{text.encode().hex() or ''} USING {charset})" if text else "''"
    back = client.value(f"SELECT HEX(CONVERT({literal} USING utf8mb4))") if text else ""
    return literal if (back or "").lower() == text.encode().hex() else None


def _outcomes(client, table, probes):
    """Everything that must be the same on both engines."""
    outcomes = [client.query(f"SELECT id FROM {table} FORCE INDEX (a) ORDER BY a"),
                client.query(f"SELECT id FROM {table} FORCE INDEX (a) ORDER BY a DESC, id DESC"),
                client.query(f"SELECT COUNT(*) FROM (SELECT DISTINCT a FROM {table}) d")]
    for probe in probes:
        for condition in (f"a = {probe}", f"a >= {probe}", f"a < {probe}"):
            outcomes.append((condition, sorted(client.query(
                f"SELECT id FROM {table} FORCE INDEX (a) WHERE {condition}"))))
    return outcomes


def _one_collation(t, client, charset, collation, texts):
    column = f"VARCHAR(40) CHARACTER SET {charset} COLLATE {collation}"
    if charset == "binary":
        column = "VARBINARY(40)"
    create = f"CREATE TABLE {{}} (id INT PRIMARY KEY, a {column}, p {column}, KEY (a), KEY (p(3)))"
    client.execute("DROP TABLE IF EXISTS ours, theirs")
    client.execute(create.format("theirs") + " ENGINE=InnoDB")
    client.execute(create.format("ours") + f" ENGINE={ENGINE}")
    literals = [_fits(client, text, charset) for text in texts]
    literals = [literal for literal in literals if literal is not None]
    rows = ", ".join(f"({n}, {text}, {text})" for n, text in enumerate(literals))
    for table in ("ours", "theirs"):
        client.execute(f"INSERT INTO {table} VALUES {rows}")
    probes = [f"({text} COLLATE {collation})" if charset != "binary" and "CONVERT" in text
              else text for text in t.random.sample(literals, min(8, len(literals)))]
    ours, theirs = (_outcomes(client, table, probes) for table in ("ours", "theirs"))
    for mine, other in zip(ours, theirs):
        t.equal(mine, other, collation)
    for probe in probes:
        t.equal(*(sorted(client.query(f"SELECT id FROM {table} WHERE p = {probe}"))
                  for table in ("ours", "theirs")), f"{collation}, prefix")
    t.check_table("ours", client)


def test_every_collation(t):
    client, texts = t.client(), _texts(t.random)
    client.execute("SET SESSION sql_mode = ''")
    failures = []
    collations = _collations(t)
    for charset, collation in collations:
        try:
            _one_collation(t, client, charset, collation, texts)
        except Failure as error:
            failures.append(f"{collation}: {error}")
    if failures:
        raise Failure(f"{len(failures)} collations differ: " + "; ".join(failures)[:2000])
    print(f"{len(collations)} collations indexed", flush=True)
