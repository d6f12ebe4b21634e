# SPDX-License-Identifier: GPL-2.0-only
"""gh-ost, built from the Go module proxy, changes a table under load. Its list of engines decides
whether rows are copied with a share lock: see docs/ecosystem.md."""
from changed_online import Writers, check_altered, fill
from framework import free_port
from tools import gh_ost, run


def test_online_schema_change_under_load(t, engine):
    program = gh_ost()
    server = t.new_server(binlog=True, options=("--performance-schema=ON",))
    server.port = free_port()
    server.start()
    t.server = server
    t.run("CREATE USER gh@'%' IDENTIFIED BY 'gh'", "GRANT ALL ON *.* TO gh@'%'")
    fill(t, engine)
    with Writers(t, "items") as writers:
        t.wait_for(lambda: writers.count > 10, "writes")
        run([str(program), "--host=127.0.0.1", f"--port={server.port}", "--user=gh",
             "--password=gh", f"--database={t.database}", "--table=items", "--allow-on-master",
             "--alter=ADD COLUMN extra INT NOT NULL DEFAULT 5, DROP KEY k", "--chunk-size=100",
             "--execute", "--ssl", "--ssl-allow-insecure", "--initially-drop-ghost-table",
             f"--serve-socket-file={server.folder / 'gh.sock'}"])
        count = writers.count
        t.wait_for(lambda: writers.count > count + 10, "writes afterwards")
    check_altered(t, writers, engine)
