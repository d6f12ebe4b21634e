-- SPDX-License-Identifier: GPL-2.0-only
-- sysbench: a table used as a queue. Each event puts one row at the end and takes the one at the
-- front, so that the queue stays as long as it was. scripts/bench queue makes the table and runs
-- this.
local common = require("common")

sysbench.cmdline.options = { table = { "the queue", "queue" } }

local connection
local body = string.rep("x", 60)

function thread_init()
  connection = common.connect()
end

function event()
  local queue = sysbench.opt.table
  connection:query("INSERT INTO " .. queue .. " (topic, body) VALUES (" ..
                   sysbench.rand.uniform(1, 1000) .. ", '" .. body .. "')")
  connection:query("BEGIN")
  local front = connection:query_row("SELECT id FROM " .. queue ..
                                     " ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED")
  if front ~= nil then
    connection:query("DELETE FROM " .. queue .. " WHERE id = " .. front)
  end
  connection:query("COMMIT")
end
