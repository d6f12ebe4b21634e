-- SPDX-License-Identifier: GPL-2.0-only
-- sysbench: single-row updates by primary key, each a transaction; every client has rows of its
-- own, so that nothing but the commit is waited for.
local common = require("common")

sysbench.cmdline.options = {
  rows = { "rows of each client", 100 },
  clients = { "prepare: clients that there will be at most", 1 },
  engine = { "storage engine, for MySQL", "" },
}

local update

local function prepare()
  local options = sysbench.opt
  local driver = sysbench.sql.driver()
  local to = driver:connect()
  to:query("DROP TABLE IF EXISTS commits")
  local engine = driver:name() == "mysql" and options.engine ~= "" and
    "ENGINE = " .. options.engine or ""
  to:query("CREATE TABLE commits (id INT NOT NULL PRIMARY KEY, k INT NOT NULL, " ..
           "pad CHAR(60) NOT NULL) " .. engine)
  to:bulk_insert_init("INSERT INTO commits VALUES")
  for id = 1, options.rows * options.clients do
    to:bulk_insert_next(string.format("(%d, 0, 'x')", id))
  end
  to:bulk_insert_done()
  to:disconnect()
end

sysbench.cmdline.commands = { prepare = { prepare } }

function thread_init()
  local connection = common.connect()
  update = common.prepare(connection, "UPDATE commits SET k = k + 1 WHERE id = ?", { "int" })
end

function event()
  local first = sysbench.tid % sysbench.opt.threads * sysbench.opt.rows
  update.values[1]:set(first + sysbench.rand.uniform(1, sysbench.opt.rows))
  update.prepared:execute()
end
