# SPDX-License-Identifier: GPL-2.0-only
"""Applications on object-relational mappers: the tables they make and migrate, and their rows."""
import json
from pathlib import Path

from application import Application
from tools import java_libraries, node_modules, run

_SCRIPTS = Path(__file__).with_name("applications")


def _node(app, script):
    environment = {**app.environment, "NODE_PATH": str(node_modules())}
    return json.loads(run(["node", str(_SCRIPTS / script)], environment=environment))


def test_sequelize(t, engine):
    app = Application(t, engine)
    t.equal(_node(app, "sequelize.js"), {
        "refused": "SequelizeUniqueConstraintError", "orphan": "SequelizeForeignKeyConstraintError",
        "rolledBack": "rolled back", "stale": "SequelizeOptimisticLockError", "users": 1,
        "balance": "99.95", "titles": ["Note 3", "Note 2", "Note 1"],
        "found": [{"title": "Engines"}], "kept": [3, 4], "left": 0,
        "columns": ["body", "createdAt", "deletedAt", "id", "points", "title", "updatedAt",
                    "userId"]})
    app.check(2)


def test_typeorm(t, engine):
    app = Application(t, engine)
    t.equal(_node(app, "typeorm.js"), {
        "differences": [], "ran": ["AddShelf1700000000001"], "shelf": 1, "twice": "ER_DUP_ENTRY",
        "undone": "undone", "lengths": [20, 20, 20], "left": 0,
        "found": [[f"Volume {n} of monsters", f"{n * 1.5:.2f}", n, ["old", f"v{n}"]]
                  for n in (2, 3)]})
    app.check(5)


def test_flyway_liquibase_and_hibernate(t, engine, tmp_path):
    app = Application(t, engine)
    classes = f"{tmp_path}:{java_libraries()}/*"
    run(["javac", "-cp", classes, "-d", str(tmp_path), str(_SCRIPTS / "java/App.java")])
    said = run(["java", "-cp", classes, "App", str(_SCRIPTS / "java")],
               environment=app.environment)
    found = [line[5:] for line in said.splitlines() if line.startswith("app: ")]
    t.equal(found, [
        "flyway: 2, then 0", "liquibase left: 0", "stale: OptimisticLockException",
        "twice: ConstraintViolationException", "totals: [225.00, 150.00, 75.00]",
        "events: [[120, 20000]]", "big: 2", "stock: [bolt 5 hall]", "left: 0"])
    app.check(8)
