-- SPDX-License-Identifier: GPL-2.0-only
-- sysbench: every client updates the same row. The table: CREATE TABLE hot (id INT PRIMARY KEY,
-- v BIGINT, pad CHAR(60)), with a row 1; --table names another one.
sysbench.cmdline.options = { table = { "table to update", "hot" } }

function thread_init()
  connection = sysbench.sql.driver():connect()
  update = connection:prepare("UPDATE " .. sysbench.opt.table .. " SET v = v + 1 WHERE id = 1")
end

function event()
  update:execute()
end

function thread_done()
  connection:disconnect()
end
