# SPDX-License-Identifier: GPL-2.0-only
"""Applications in PHP: WordPress and MediaWiki, installed and used."""
import json
from pathlib import Path

from application import SCHEMA, Application
from mediawiki import Wiki
from php import Php

_SCRIPTS = Path(__file__).with_name("applications")


def test_wordpress(t, engine, tmp_path):
    app = Application(t, engine)
    php = Php(tmp_path, app.environment)

    def ask(action):
        return json.loads(php.run(_SCRIPTS / "wordpress.php", php.wordpress, action))
    t.equal(ask("install"), {"user": 1, "again": []})
    t.equal(ask("write"), {"revisions": 2})
    t.equal(ask("read"), {
        "first": ["Note 1", "Note 10", "Note 11", "Note 12"], "tagged": 14, "remarks": 3,
        "gears": ["Note 30", "Note 27", "Note 24"], "page": "third",
        "meta": {"sizes": [1, 2.5], "name": "Bäbbage"}, "statuses": {"publish": "29", "trash": "1"},
        "months": [29], "found": 28, "login": True, "errors": ""})
    app.check(12)


def _edit(wiki):
    """Pages made, changed at one place, moved, deleted and put back."""
    for n in range(1, 7):
        wiki.do("edit", title=f"Engine {n}", summary="made", text=(
            f"== Parts ==\nwheel number{n} of [[Engine {n % 6 + 1}]]\n\n"
            f"== Use ==\n{'weaving' if n % 2 else 'spinning'} [[Category:Engines]]"))
    wiki.do("edit", title="Engine 1", section=2, text="== Use ==\ncalculating with zahnräder")
    wiki.do("move", **{"from": "Engine 6", "to": "Loom"}, reason="a better name")
    wiki.do("delete", title="Engine 5", reason="no more")
    wiki.do("delete", title="Engine 4", reason="by mistake")
    wiki.do("undelete", title="Engine 4", reason="back")


def _seen(wiki):
    first = wiki.query(titles="Engine 1", prop="revisions|links", rvlimit=9,
                       rvprop="comment|size|user", pllimit=9)["pages"][0]
    return {
        "history": [(revision["user"], revision["size"]) for revision in first["revisions"]],
        "links": [link["title"] for link in first["links"]],
        "members": [page["title"] for page in wiki.query(
            list="categorymembers", cmtitle="Category:Engines", cmlimit=20)["categorymembers"]],
        "backlinks": [page["title"] for page in wiki.query(
            list="backlinks", bltitle="Engine 1", bllimit=20)["backlinks"]],
        "found": {words: wiki.found(words) for words in (
            "wheel", "zahnräder", "weaving", "wheel spinning", "number4", "weav*")},
        "log": [entry["action"] for entry in wiki.query(
            list="logevents", lelimit=20, leprop="type")["logevents"]],
        "statistics": {name: wiki.query(meta="siteinfo", siprop="statistics")["statistics"][name]
                       for name in ("pages", "edits", "users")}}


def test_mediawiki(t, engine, tmp_path):
    app = Application(t, engine)
    php = Php(tmp_path, app.environment)
    settings = tmp_path / "LocalSettings.php"
    environment = {"MW_CONFIG_FILE": str(settings)}
    tool = php.mediawiki / "maintenance/run.php"
    with php.serving(php.mediawiki, environment) as (address, log):
        php.run(tool, "install", "--dbtype=mysql", f"--dbserver=127.0.0.1:{app.server.port}",
                f"--dbname={SCHEMA}", "--dbuser=app", "--dbpass=secret", "--scriptpath=",
                f"--server={address}", f"--confpath={tmp_path}", "--pass=a long secret", "Notes",
                "Ada")
        with open(settings, "a") as stream:
            stream.write("$wgJobRunRate = 0;\n")
        wiki = Wiki(address)
        t.equal(wiki.do("login", lgname="Ada", lgpassword="a long secret")["result"], "Success")
        # Its installer names MyISAM for the words that are searched.
        app.client.execute(f"ALTER TABLE searchindex ENGINE={engine}")
        _edit(wiki)
        php.run(tool, "runJobs", environment=environment)
        t.equal(_seen(wiki), {
            "history": [("Ada", 80), ("Ada", 81)], "links": ["Engine 2"],
            "members": ["Engine 2", "Engine 3", "Engine 4", "Loom"], "backlinks": ["Loom"],
            "found": {"wheel": ["Engine 1", "Engine 2", "Engine 3", "Engine 4", "Loom"],
                      "zahnräder": ["Engine 1"], "weaving": ["Engine 3"], "number4": ["Engine 4"],
                      "wheel spinning": ["Engine 2", "Engine 4", "Loom"], "weav*": ["Engine 3"]},
            "log": ["restore", "delete", "delete", "move"] + ["create"] * 7,
            "statistics": {"pages": 7, "edits": 13, "users": 1}}, log.read_text()[-500:])
    php.run(tool, "rebuildtextindex", environment=environment)
    php.run(tool, "update", "--quick", environment=environment)
    app.check(50)
