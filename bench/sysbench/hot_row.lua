-- SPDX-License-Identifier: GPL-2.0-only
-- sysbench: every client adds to the same row of hot (id INT PRIMARY KEY, v BIGINT, pad CHAR(60)),
-- or, with --own, to a row of its own. scripts/bench hotrow makes the table and runs this.
local common = require("common")

sysbench.cmdline.options = {
  table = { "table to update", "hot" },
  own = { "each client has a row of its own", false },
}

function thread_init()
  local connection = common.connect()
  local id = sysbench.opt.own and sysbench.tid % sysbench.opt.threads + 1 or 1
  update = connection:prepare("UPDATE " .. sysbench.opt.table .. " SET v = v + 1 WHERE id = " .. id)
end

function event()
  update:execute()
end
