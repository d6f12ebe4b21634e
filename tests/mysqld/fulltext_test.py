# SPDX-License-Identifier: GPL-2.0-only
"""MATCH ... AGAINST: which rows are found and how relevant they are, beside InnoDB; indexes that
come and go; what transactions see."""
import pytest

from side_by_side import FAST, Pair, same_on_both

pytestmark = pytest.mark.server(options=FAST)

_TABLE = """
CREATE TABLE a (id INT PRIMARY KEY, t VARCHAR(200), b TEXT, FULLTEXT KEY tb (t, b),
 FULLTEXT KEY ob (b)) DEFAULT CHARSET utf8mb4;
INSERT INTO a VALUES
 (1, 'MySQL Tutorial', 'DBMS stands for DataBase ... and so on'),
 (2, 'How To Use MySQL Well', 'After you went through a MySQL tutorial, use it'),
 (3, 'Optimizing MySQL', 'In this database tutorial we show optimizing databases'),
 (4, '1001 MySQL Tricks', '1. Never run mysqld as root. 2. database optimizing never ends'),
 (5, 'MySQL vs. YourSQL', 'In the following database comparison we compare databases'),
 (6, 'MySQL Security', 'When configured properly, MySQL is secure'),
 (7, NULL, 'only a body, it''s a well-known under_score body'), (8, 'title without', NULL),
 (9, '', ''), (10, NULL, NULL),
 (11, 'caf\u00e9 \u00c9clair stra\u00dfe', 'na\u00efve Stra\u00dfe caf\u00e9 cafe\u0301 RESUME'),
 (12, 'apple banana', 'cherry apple apple banana'), (13, 'apple', 'apple cherry banana date'),
 (14, 'banana apple cherry', 'apple the banana of cherry date'), (15, 'date', 'elder fig grape');
"""
# InnoDB weighs with its number of rows as of the last statistics.
_CREATE = _TABLE.strip().removesuffix(";").split(";\n") + ["ANALYZE TABLE a"]
_NATURAL = """database|mysql|tutorial database|MySQL|optimizing|apple|the|of|well-known|under_score
it's|cafe|\u00c9CLAIR|stra\u00dfe|strasse|nothing here||  |a|apple apple|apple banana cherry date
"apple banana"|"never run"|1001|body*|* apple|apple % banana|(apple)|+apple -banana
""".replace("\n", "|").split("|")
_BOOLEAN = """+apple +banana|+apple -banana|apple banana|+apple banana|+apple ~banana
+apple >banana <cherry|data*|+data* -tutorial|+(apple banana) +cherry|+apple +(>banana <cherry)
"apple banana"|"apple banana" @2|"apple cherry" @3|"apple cherry"@2|"date apple" @4
"apple the banana"|"banana of cherry"|"the apple"|"apple the"|"mysql tutorial"
+"mysql tutorial" +use|-"mysql tutorial" mysql|+mysql +the|-apple|-apple banana|~apple banana
~apple|>apple <banana|+ap* +ban*|apple* banana*|a* -apple|+apple +cherry -date
(apple banana) cherry|((apple))|+(apple -banana)|+well-known|-well-known body|+1001|""
+mysql -(tutorial database)|apple* apple|<apple|+date +apple +banana +cherry|under_*
"cherry apple apple"|"apple apple"|mysql\ttutorial|"apple|()|+()
""".replace("\n", "|").split("|") + ["tutorial\ndatabase"]
_WRONG = """+;-;(;);+ +apple;apple (;++apple;"apple banana" @;@;apple @ 3;apple);+-apple;*;<>apple
~""".replace("\n", ";").split(";")


def _queries(mode, texts, table="a", columns="t, b"):
    script = []
    for text in texts:
        quoted = text.replace("'", "''")
        match = f"MATCH ({columns}) AGAINST ('{quoted}'{mode})"
        script.append(f"SELECT id FROM {table} WHERE {match} ORDER BY id")
        script.append(f"SELECT id, ROUND({match}, 3) r FROM {table} WHERE {match}"
                      " ORDER BY r DESC, id")
        script.append(f"SELECT id, ROUND({match}, 3) FROM {table} ORDER BY id")
        script.append(f"SELECT COUNT(*) FROM {table} WHERE {match}")
    return script


def _same(t, statements):
    # InnoDB's rank counts the rows of its statistics, which while they are counted anew may be off.
    t.client().execute("SET GLOBAL innodb_stats_auto_recalc = OFF")
    same_on_both(t, ";\n".join(statements))


def test_natural_language(t):
    _same(t, _CREATE + _queries("", _NATURAL)
          + _queries(" IN NATURAL LANGUAGE MODE", ["apple banana"], columns="b"))


def test_boolean_mode(t):
    _same(t, _CREATE + _queries(" IN BOOLEAN MODE", _NATURAL + _BOOLEAN))


def test_columns_end_phrases(t):
    find = "SELECT id FROM a WHERE MATCH (t, b) AGAINST ('{}' IN BOOLEAN MODE) ORDER BY id"
    _same(t, _CREATE + [find.format(text) for text in (
        '"banana cherry"', '"without only"', '"apple apple"', '"tutorial dbms" @3',
        '"well after" @4', '"tricks run" @5', '"date elder" @1')])


def test_query_expansion(t):
    mode = " WITH QUERY EXPANSION"
    _same(t, _CREATE + _queries(mode, ["database", "apple", "cherry tutorial", "nothing"])
          + _queries(mode, ["elder"], columns="b"))


def test_wrong_queries(t):
    _same(t, _CREATE
          + [f"SELECT id FROM a WHERE MATCH (t, b) AGAINST ('{text}' IN BOOLEAN MODE)"
             for text in _WRONG] + ["SELECT id FROM a WHERE MATCH (t) AGAINST ('apple')"])


def test_plans(t):
    """Each way in which the server asks for rows and relevance."""
    match = "MATCH (t, b) AGAINST ('apple banana')"
    _same(t, _CREATE + [
        f"SELECT id FROM a ORDER BY {match} DESC, id LIMIT 3",
        f"SELECT id FROM a ORDER BY {match} DESC LIMIT 1",
        f"SELECT id, {match} > 0 FROM a WHERE id IN (1, 12, 13)",
        f"SELECT x.id, y.id FROM a x JOIN a y ON x.id + 1 = y.id"
        " WHERE MATCH (x.t, x.b) AGAINST ('cherry') AND MATCH (y.t, y.b) AGAINST ('date')"
        " ORDER BY x.id",
        f"SELECT id FROM a WHERE {match} AND id > 12 ORDER BY id",
        f"SELECT id FROM a WHERE {match} OR id = 1 ORDER BY id",
        f"SELECT id FROM a WHERE NOT {match} ORDER BY id",
        f"SELECT id FROM a WHERE {match} > 0.3 ORDER BY id",
        "SELECT id FROM a WHERE MATCH (t, b) AGAINST ('apple') AND MATCH (b) AGAINST ('elder date')"
        " ORDER BY id",
        f"SELECT COUNT(*) FROM a WHERE {match}",
        f"SELECT MAX({match}) > 0 FROM a",
        f"SELECT a.id FROM a LEFT JOIN a c ON c.id = a.id AND MATCH (c.b) AGAINST ('date')"
        " WHERE c.id IS NULL ORDER BY 1",
        "SELECT id FROM a WHERE EXISTS (SELECT 1 FROM a c WHERE c.id = a.id + 1"
        " AND MATCH (c.t, c.b) AGAINST ('apple')) ORDER BY id",
        f"SELECT id FROM a WHERE {match} UNION SELECT id FROM a WHERE MATCH (b) AGAINST ('grape')"
        " ORDER BY 1",
        f"UPDATE a SET t = 'changed apple' WHERE {match}",
        f"DELETE FROM a WHERE {match} AND id > 13",
        f"SELECT id FROM a WHERE {match} ORDER BY id",
        "SELECT id, t FROM a WHERE MATCH (t, b) AGAINST ('changed') ORDER BY id FOR UPDATE",
        "CHECK TABLE a"])


def test_definitions(t):
    find = "SELECT id FROM {} WHERE MATCH ({}) AGAINST ('{}') ORDER BY id"
    _same(t, _CREATE + [
        "HANDLER a OPEN", "HANDLER a READ tb = ('apple')", "HANDLER a READ tb FIRST",
        "HANDLER a CLOSE", "ALTER TABLE a DROP INDEX ob", find.format("a", "b", "apple"),
        "ALTER TABLE a ADD FULLTEXT INDEX ob (b)", find.format("a", "b", "apple"),
        "CREATE FULLTEXT INDEX ot ON a (t)", find.format("a", "t", "apple"),
        "CREATE TABLE l LIKE a", "INSERT INTO l SELECT * FROM a", find.format("l", "t", "apple"),
        "ALTER TABLE a RENAME COLUMN b TO body", find.format("a", "t, body", "date"),
        "ALTER TABLE a RENAME INDEX ot TO just_title", find.format("a", "t", "title"),
        "ALTER TABLE a ADD COLUMN c INT", "ALTER TABLE a DROP COLUMN t",
        find.format("a", "body", "date"), "ALTER TABLE a FORCE", find.format("a", "body", "date"),
        "TRUNCATE TABLE l", find.format("l", "t", "apple"), "CHECK TABLE a, l",
        "CREATE TABLE n (b TEXT, FULLTEXT (b))",
        "INSERT INTO n VALUES ('one two'), ('two three'), (NULL), ('three three')",
        "SELECT b, ROUND(MATCH (b) AGAINST ('three two'), 3) r FROM n ORDER BY r DESC, b",
        "DELETE FROM n WHERE MATCH (b) AGAINST ('one')", "UPDATE n SET b = CONCAT(b, ' four')",
        "SELECT b FROM n WHERE MATCH (b) AGAINST ('+two +four' IN BOOLEAN MODE)", "CHECK TABLE n",
        "CREATE TABLE v (id INT PRIMARY KEY, b TEXT, u TEXT AS (CONCAT(b, 'x')) STORED,"
        " FULLTEXT (u))",
        "INSERT INTO v (id, b) VALUES (1, 'one two')", find.format("v", "u", "twox"),
        "CREATE TABLE f (FTS_DOC_ID BIGINT UNSIGNED NOT NULL PRIMARY KEY, b TEXT, FULLTEXT (b))",
        "INSERT INTO f VALUES (1, 'one two'), (2, 'two three')",
        "SELECT FTS_DOC_ID FROM f WHERE MATCH (b) AGAINST ('two') ORDER BY 1 FOR UPDATE",
        "SELECT FTS_DOC_ID, MATCH (b) AGAINST ('one') > 0 FROM f ORDER BY 1",
        "CREATE TABLE j (j JSON, FULLTEXT (j))"])


def test_stopwords(t):
    script = []
    for switch in ("OFF", "ON"):
        script += [f"SET innodb_ft_enable_stopword = {switch}",
                   "CREATE TABLE s (id INT PRIMARY KEY, b TEXT, FULLTEXT (b))",
                   "INSERT INTO s VALUES (1, 'this one that'), (2, 'this is the other')"]
        script += _queries("", ["this", "that one", "the"], "s", "b")
        script += _queries(" IN BOOLEAN MODE", ["+this +one", '"this one"', "the"], "s", "b")
        script += ["SET innodb_ft_enable_stopword = ON", "UPDATE s SET b = CONCAT(b, ' that')"]
        script += _queries("", ["that"], "s", "b")[:1] + ["CHECK TABLE s", "DROP TABLE s"]
    _same(t, script)


def _found(table, column, texts, mode=""):
    return [f"SELECT id FROM {table} WHERE MATCH ({column}) AGAINST ('{text}'{mode}) ORDER BY id"
            for text in texts]


def test_stopword_tables(t):
    """The table is read when an index is made; what it leaves out stays with the index."""
    t.run("CREATE TABLE own (value VARCHAR(30)) ENGINE=InnoDB DEFAULT CHARSET utf8mb4",
          "INSERT INTO own VALUES ('Apple'), ('\u00c9T\u00c9'), (NULL), ('two words'), ('apple')",
          "CREATE TABLE general (value VARCHAR(30)) ENGINE=InnoDB CHARSET latin1",
          "INSERT INTO general VALUES ('banana'), ('the')",
          "CREATE TABLE bare (value VARCHAR(30) COLLATE utf8mb4_bin) ENGINE=InnoDB",
          "CREATE TABLE cased (value VARCHAR(30) COLLATE utf8mb4_0900_as_cs) ENGINE=InnoDB",
          "INSERT INTO cased VALUES ('Apple'), ('banana')")
    words = ["apple", "banana", "the", "ete", "words", "that", "apple that banana"]
    script = []
    for number, (name, collation) in enumerate((
            ("own", "utf8mb4_0900_ai_ci"), ("own", "utf8mb4_bin"), ("general", "latin1_bin"),
            ("cased", "utf8mb4_0900_ai_ci"), ("cased", "utf8mb4_0900_as_cs"),
            ("bare", "utf8mb4_0900_ai_ci"))):
        table = f"s{number}"
        script += [
            f"SET innodb_ft_user_stopword_table = '{t.database}/{name}'",
            f"CREATE TABLE {table} (id INT PRIMARY KEY, b TEXT COLLATE {collation}, FULLTEXT (b))",
            f"INSERT INTO {table} VALUES (1, 'an apple that day'), (2, 'the banana'),"
            " (3, 'Apple Banana \u00e9t\u00e9 ete'), (4, 'two words of that'), (5, 'ETE')",
            "SET innodb_ft_user_stopword_table = NULL"]
        script += _found(table, "b", words)
        script += _found(table, "b", ["+the +banana", "app*", '"apple banana"'], " IN BOOLEAN MODE")
        script += [f"UPDATE {table} SET b = CONCAT(b, ' apple the') WHERE id > 3",
                   f"DELETE FROM {table} WHERE id = 2",
                   f"INSERT INTO {table} VALUES (6, 'the apple banana ete that')"]
        script += _found(table, "b", words) + [f"CHECK TABLE {table}"]
    # A table made anew, or another index, takes the words of today.
    script += ["ALTER TABLE s0 FORCE", *_found("s0", "b", words), "CHECK TABLE s0",
               f"SET innodb_ft_user_stopword_table = '{t.database}/own'",
               "ALTER TABLE s5 DROP INDEX b", "ALTER TABLE s5 ADD FULLTEXT INDEX e (b)",
               *_found("s5", "b", words), "TRUNCATE TABLE s1", "DROP TABLE s2"]
    _same(t, script)


def test_stopword_tables_outlive_their_table(t):
    server = t.new_server()
    server.start()
    client = t.client(server)
    client.execute("CREATE TABLE words (value VARCHAR(30)) ENGINE=InnoDB")
    client.execute("INSERT INTO words VALUES ('apple')")
    client.execute(f"SET GLOBAL innodb_ft_server_stopword_table = '{t.database}/words'")
    client.execute("CREATE TABLE s (id INT PRIMARY KEY, b TEXT, FULLTEXT (b))")
    client.execute("INSERT INTO s VALUES (1, 'the apple'), (2, 'the banana')")
    client.execute("DROP TABLE words")
    t.error("ALTER TABLE s ADD FULLTEXT INDEX e (b)", 1178, client)
    t.error("ALTER TABLE s FORCE", 1178, client)
    t.error("CREATE TABLE n (b TEXT, FULLTEXT (b))", 1178, client)
    client.execute("CREATE VIEW words AS SELECT 'the' AS value")
    t.error("CREATE TABLE n (b TEXT, FULLTEXT (b))", 1178, client)

    def check(number):
        client.execute(f"INSERT INTO s (id, b) VALUES ({number}, 'the apple again')")
        for word, found in (("apple", []), ("the", [number]), ("again", [number])):
            rows = client.query(f"{_found('s', 'b', [word])[0]} DESC LIMIT 1")
            t.equal([row[0] for row in rows], found, word)
        t.check_table("s", client)

    for change in ("ADD COLUMN c INT, ALGORITHM=INSTANT", "COMMENT 'x', ALGORITHM=INSTANT",
                   "ADD INDEX (c)", "DROP COLUMN c", "RENAME INDEX b TO d, ALGORITHM=INSTANT"):
        client.execute(f"ALTER TABLE s {change}")
    check(3)
    client.execute("TRUNCATE TABLE s")
    check(4)
    client.execute("CREATE TABLE n (i INT)")
    client.execute("ALTER TABLE n COMMENT 'no words', ADD COLUMN j INT")
    server.kill()
    server.start()  # without the variable
    client = t.client(server)
    check(5)


def test_stopword_tables_at_changes(t):
    """An index that is replaced under its name; a table that is InnoDB's no more."""
    t.run("CREATE TABLE words (value VARCHAR(30)) ENGINE=InnoDB",
          "INSERT INTO words VALUES ('apple')",
          f"SET innodb_ft_user_stopword_table = '{t.database}/words'",
          "CREATE TABLE s (id INT PRIMARY KEY, b TEXT, c TEXT, FULLTEXT INDEX b (b))",
          "INSERT INTO s VALUES (1, 'the apple', 'pear')",
          "SET innodb_ft_user_stopword_table = NULL",
          "ALTER TABLE s DROP INDEX b, ADD FULLTEXT INDEX b (b, c)")
    t.rows(_found("s", "b, c", ["apple"])[0], [(1,)])
    t.rows(_found("s", "b, c", ["the"])[0], [])
    t.run(f"SET innodb_ft_user_stopword_table = '{t.database}/words'",
          "ALTER TABLE words ENGINE=ROWAN, ADD FULLTEXT INDEX (value)")
    t.error("CREATE TABLE n (b TEXT, FULLTEXT (b))", 1178)
    t.error("ALTER TABLE words FORCE", 1178)
    t.run("TRUNCATE TABLE words", "INSERT INTO words VALUES ('apple pear')")
    t.rows("SELECT * FROM words WHERE MATCH (value) AGAINST ('apple')", [])
    t.rows("SELECT * FROM words WHERE MATCH (value) AGAINST ('pear')", [("apple pear",)])
    t.check_table("words, s")


def test_stopword_tables_are_waited_for(t):
    """As for any table: not beyond lock_wait_timeout, a KILL, or a deadlock."""
    t.run("CREATE TABLE words (value VARCHAR(30)) ENGINE=InnoDB", "CREATE TABLE x (b TEXT)",
          "CREATE TABLE s (b TEXT, FULLTEXT (b))")
    client, owner = t.client(), t.client()
    connection = client.query("SELECT CONNECTION_ID()")[0][0]
    waits = ("SELECT COUNT(*) FROM information_schema.processlist"
             " WHERE state = 'Waiting for table metadata lock' AND id = {}")

    def strike(session, statement):
        t.wait_for(lambda: t.value(waits.format(session)) == 1, "nobody waits")
        t.run(statement)

    client.execute(f"SET innodb_ft_user_stopword_table = '{t.database}/words',"
                   " lock_wait_timeout = 1")
    owner.execute("LOCK TABLES words WRITE")
    create = "CREATE TABLE n (b TEXT, FULLTEXT (b))"
    t.error(create, 1205, client)
    t.error("ALTER TABLE s ADD COLUMN c TEXT, ADD FULLTEXT INDEX (c)", 1205, client)
    client.execute("ALTER TABLE s ADD COLUMN c TEXT")
    client.execute("SET lock_wait_timeout = 3600")
    t.threads([lambda: t.error(create, 1317, client),
               lambda: strike(connection, f"KILL QUERY {connection}")])
    owner.execute("UNLOCK TABLES")
    # The owner has the words and waits for x, in the order of the names.
    client.execute("LOCK TABLES x WRITE")
    other = owner.query("SELECT CONNECTION_ID()")[0][0]

    def deadlock():
        strike(other, "DO 0")
        t.error("ALTER TABLE x ADD FULLTEXT INDEX (b)", 1213, client)
        client.execute("UNLOCK TABLES")

    t.threads([lambda: owner.execute("RENAME TABLE words TO gone, x TO y"), deadlock])
    t.rows("SELECT COUNT(*) FROM y", [(0,)])
    t.error(create, 1178, client)


_LETTERS = ("utf8mb4_0900_ai_ci", "utf8mb4_general_ci", "utf8mb4_bin", "utf8mb4_0900_as_cs",
            "utf8mb4_unicode_ci", "latin1_swedish_ci", "latin1_general_cs", "utf8mb3_general_ci",
            "utf8mb4_de_pb_0900_ai_ci", "cp1251_general_ci", "ucs2_general_ci", "utf32_unicode_ci",
            "binary")


def test_collations(t):
    script = []
    for number, collation in enumerate(_LETTERS):
        charset = collation.split("_", maxsplit=1)[0]
        words = "Lorem IPSUM dolor" if charset == "cp1251" else "Lorem \u00c9T\u00c9 dolor"
        table = f"c{number}"
        script += [
            f"CREATE TABLE {table} (id INT PRIMARY KEY, b VARCHAR(100) CHARACTER SET {charset}"
            f" COLLATE {collation}, FULLTEXT (b))",
            f"INSERT INTO {table} VALUES (1, '{words}'), (2, '{words.lower()} lorem'),"
            " (3, 'the LOREMS of'), (4, 'nothing')"]
        script += _queries("", ["lorem", "LOREM", "the"], table, "b")
        script += _queries(" IN BOOLEAN MODE", ["lor*", "+lorem* -dolor", '"dolor lorem"'], table,
                           "b")
        if charset not in ("cp1251", "binary"):
            script += _queries("", ["\u00e9t\u00e9", "ETE", "\u00c9T\u00c9"], table, "b")
    _same(t, script)


_CHINESE = "\u4e2d\u56fd\u4eba\u6c11\u5f88\u597d"


def test_ngrams(t):
    grams = [_CHINESE[0:2], _CHINESE[1:4], _CHINESE[0:4], _CHINESE[4:], "abc", "bcd ab", "da", "th",
             f"{_CHINESE[0:2]}{_CHINESE[3:5]}"]
    _same(t, [
        "CREATE TABLE g (id INT PRIMARY KEY, b TEXT, FULLTEXT (b) WITH PARSER ngram)"
        " DEFAULT CHARSET utf8mb4",
        f"INSERT INTO g VALUES (1, '{_CHINESE}'), (2, '{_CHINESE[2:]}{_CHINESE[:2]} abcd'),"
        " (3, 'abcd ab the data'), (4, 'bcd'), (5, ''), (6, NULL)"]
        + _queries("", grams, "g", "b")
        + _queries(" IN BOOLEAN MODE", grams + ["+abc -bcd", "ab*", f'"{_CHINESE[1:3]} x"',
                                                f"+{_CHINESE[0]}*", '"cd ab"'], "g", "b")
        + ["CHECK TABLE g", "SHOW CREATE TABLE g"])


def test_random_documents(t):
    """Random changes with rollbacks, then random queries; a kill and a restart between."""
    random = t.random
    vocabulary = [a + b for a in ("al", "be", "ga", "del", "ep") for b in ("pha", "ta", "mma", "x")]
    vocabulary += ["the", "of", "a"]

    def text():
        return " ".join(random.choices(vocabulary, k=random.randrange(14)))

    server = t.new_server(FAST[1:])  # commits survive a kill
    server.start()

    pair = Pair(t, server)
    both = pair.both

    def change():
        number = random.randrange(60)
        both(random.choice([
            f"REPLACE INTO r VALUES ({number}, '{text()}', '{text()}')",
            f"UPDATE r SET b = '{text()}' WHERE id BETWEEN {number} AND {number + 2}",
            f"UPDATE r SET id = id + 100 WHERE id = {number}",
            f"DELETE FROM r WHERE id = {number}"]))

    def query():
        words = random.choices(vocabulary, k=random.randrange(1, 5))
        signs = random.choices(["", "", "+", "-", "~", ">", "<"], k=len(words))
        # By itself: beside a phrase InnoDB takes no * for what it has not written to its index yet,
        # and leaves out rows that another word found where the phrase's words are far apart.
        phrase = random.random() < 0.3
        terms = [sign + (word[:2] + "*" if random.random() < 0.2 else word)
                 for sign, word in zip(signs, words)]
        if phrase:
            distance = random.choice(["", " @3", " @6"])
            terms = [f'"{words[0]} {random.choice(vocabulary)}"{distance}']
        mode, against = random.choice([("", " ".join(words)),
                                       (" IN BOOLEAN MODE", " ".join(terms))])
        # Only which rows: what InnoDB deleted still counts for its relevance.
        # Phrases in one column; test_columns_end_phrases is about several.
        columns = "b" if phrase else "t, b"
        both(f"SELECT id FROM r WHERE MATCH ({columns}) AGAINST ('{against}'{mode}) ORDER BY id")

    both("CREATE TABLE r (id INT PRIMARY KEY, t VARCHAR(300), b TEXT, FULLTEXT (t, b),"
         " FULLTEXT one (b))")
    for turn in range(160):
        change()
        if turn % 20 == 5:
            both("BEGIN")
        if turn % 20 == 15:
            both(random.choice(["ROLLBACK", "COMMIT"]))
        if turn % 20 == 19:
            for _ in range(8):
                query()
        if turn in (79, 119):
            pair.ours.outcome("BEGIN")
            pair.ours.outcome("UPDATE r SET b = 'lost'")
            server.kill() if turn == 79 else server.stop()
            server.start()
            pair.open()
            both("CHECK TABLE r")
    both("ALTER TABLE r DROP INDEX one, ADD FULLTEXT (b)")
    both("CHECK TABLE r")


def test_transactions(t):
    """A search sees what a read of the same statement sees, the own changes included."""
    t.run(f"CREATE TABLE x (id INT PRIMARY KEY, b TEXT, FULLTEXT (b)) ENGINE={t.engine}",
          "INSERT INTO x VALUES (1, 'first text'), (2, 'second text')")
    if t.engine != "ROWAN":
        t.skip("InnoDB does not find what the transaction itself has changed")
    find = "SELECT id FROM x WHERE MATCH (b) AGAINST ('{}') ORDER BY id"
    old, writer = t.client(), t.client()
    old.execute("START TRANSACTION WITH CONSISTENT SNAPSHOT")
    writer.execute("BEGIN")
    writer.execute("UPDATE x SET b = 'changed text' WHERE id = 1")
    writer.execute("INSERT INTO x VALUES (3, 'third text')")
    t.equal(writer.query(find.format("changed")), [(1,)], "own change")
    t.equal(writer.query(find.format("text")), [(1,), (2,), (3,)], "own changes")
    t.equal(old.query(find.format("first")), [(1,)], "not of another")
    writer.execute("COMMIT")
    t.equal(old.query(find.format("first")), [(1,)], "old snapshot")
    t.equal(old.query(find.format("changed")), [], "old snapshot")
    t.equal(old.query(find.format("changed") + " FOR UPDATE"), [(1,)], "locking read")
    t.equal(old.query(find.format("first") + " FOR UPDATE"), [], "locking read")
    t.equal(old.query(find.format("first")), [(1,)], "old snapshot again")
    old.execute("COMMIT")
    writer.execute("BEGIN")
    writer.execute("UPDATE x SET b = 'uncommitted' WHERE id = 2")
    old.execute("SET SESSION TRANSACTION ISOLATION LEVEL READ UNCOMMITTED")
    t.equal(old.query(find.format("uncommitted")), [(2,)], "read uncommitted")
    writer.execute("ROLLBACK")
    t.equal(old.query(find.format("uncommitted")), [], "rolled back")
    t.check_table("x")
