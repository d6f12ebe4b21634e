-- SPDX-License-Identifier: GPL-2.0-only
-- sysbench: the microbenchmarks of scripts/bench micro, in tables like sysbench's own. --kind names
-- one, --range the rows of a range or of an IN list. Everything is prepared.
local common = require("common")

sysbench.cmdline.options = {
  kind = { "which microbenchmark", "point" },
  range = { "rows of a range, or of an IN list", 100 },
  rows = { "rows of a table", 10000 },
  tables = { "tables", 1 },
  engine = { "storage engine, for MySQL", "" },
}

local kinds = {}
local connection, options, choose
local statements = {}  -- table number: {name: statement}

local SELECTS = {
  point = { "SELECT c FROM sbtest%d WHERE id = ?", { "int" } },
  simple = { "SELECT c FROM sbtest%d WHERE id BETWEEN ? AND ?", { "int", "int" } },
  sum = { "SELECT SUM(k) FROM sbtest%d WHERE id BETWEEN ? AND ?", { "int", "int" } },
  order = { "SELECT c FROM sbtest%d WHERE id BETWEEN ? AND ? ORDER BY c", { "int", "int" } },
  distinct = { "SELECT DISTINCT c FROM sbtest%d WHERE id BETWEEN ? AND ? ORDER BY c",
               { "int", "int" } },
  count = { "SELECT COUNT(c) FROM sbtest%d WHERE id BETWEEN ? AND ?", { "int", "int" } },
  range_covered_pk = { "SELECT id FROM sbtest%d WHERE id BETWEEN ? AND ?", { "int", "int" } },
  range_covered_si = { "SELECT k FROM sbtest%d WHERE k BETWEEN ? AND ?", { "int", "int" } },
  range_notcovered_pk = { "SELECT id, c FROM sbtest%d WHERE id BETWEEN ? AND ?",
                          { "int", "int" } },
  range_notcovered_si = { "SELECT k, c FROM sbtest%d WHERE k BETWEEN ? AND ?", { "int", "int" } },
  sum_covered_si = { "SELECT SUM(k) FROM sbtest%d WHERE k BETWEEN ? AND ?", { "int", "int" } },
  scan = { "SELECT COUNT(*) FROM sbtest%d WHERE LENGTH(c) < 0", {} },
  update_index = { "UPDATE sbtest%d SET k = k + 1 WHERE id = ?", { "int" } },
  update_nonindex = { "UPDATE sbtest%d SET c = ? WHERE id = ?", { 120, "int" } },
  delete = { "DELETE FROM sbtest%d WHERE id = ?", { "int" } },
  insert = { "INSERT INTO sbtest%d (id, k, c, pad) VALUES (?, ?, ?, ?)",
             { "int", "int", 120, 60 } },
  append = { "INSERT INTO sbtest%d (k, c, pad) VALUES (?, ?, ?)", { "int", 120, 60 } },
  begin = { "BEGIN", {} },
  commit = { "COMMIT", {} },
}
local LISTS = {
  random_points = "SELECT id, k, c, pad FROM sbtest%d WHERE id IN (%s)",
  points_covered_pk = "SELECT id FROM sbtest%d WHERE id IN (%s)",
  points_covered_si = "SELECT k FROM sbtest%d WHERE k IN (%s)",
  points_notcovered_pk = "SELECT id, c FROM sbtest%d WHERE id IN (%s)",
  points_notcovered_si = "SELECT k, c FROM sbtest%d WHERE k IN (%s)",
}

local function statement(table_number, name)
  local prepared = statements[table_number][name]
  if prepared == nil then
    local text, types = unpack(SELECTS[name])
    prepared = common.prepare(connection, string.format(text, table_number), types)
    statements[table_number][name] = prepared
  end
  return prepared
end

local function execute(table_number, name, ...)
  local prepared = statement(table_number, name)
  for number, value in ipairs({ ... }) do prepared.values[number]:set(value) end
  prepared.prepared:execute()
end

local function a_table()
  return sysbench.rand.uniform(1, options.tables)
end

local function execute_range(table_number, name, rows)
  local first = choose()
  execute(table_number, name, first, first + rows - 1)
end

-- A list of `range` values: new ones each time, or for `hot` always the same neighbours.
local function execute_list(name, text, first_value, hot)
  local number = a_table()
  local prepared = statements[number][name]
  if prepared == nil then
    local types = {}
    if first_value then types[1] = 120 end
    for _ = 1, options.range do types[#types + 1] = "int" end
    prepared = common.prepare(connection, string.format(text, number,
                                                        common.marks(options.range)), types)
    statements[number][name] = prepared
  end
  local offset = 0
  if first_value then
    prepared.values[1]:set_rand_str(common.c_digits)
    offset = 1
  end
  for i = 1, options.range do
    prepared.values[offset + i]:set(hot and math.floor(options.rows / 2) + i or choose())
  end
  prepared.prepared:execute()
end

local function update_nonindex(number, id)
  local prepared = statement(number, "update_nonindex")
  prepared.values[1]:set_rand_str(common.c_digits)
  prepared.values[2]:set(id)
  prepared.prepared:execute()
end

local function insert(number, id)
  local prepared = statement(number, "insert")
  prepared.values[1]:set(id)
  prepared.values[2]:set(choose())
  prepared.values[3]:set_rand_str(common.c_digits)
  prepared.values[4]:set_rand_str(common.pad_digits)
  prepared.prepared:execute()
end

-- The parts of sysbench's transactions.
local function ten_points(number)
  for _ = 1, 10 do execute(number, "point", choose()) end
end

local function four_ranges(number)
  for _, name in ipairs({ "simple", "sum", "order", "distinct" }) do
    execute_range(number, name, options.range)
  end
end

local function four_writes(number)
  execute(number, "update_index", choose())
  update_nonindex(number, choose())
  local id = choose()
  execute(number, "delete", id)
  insert(number, id)
end

local function transaction(...)
  local number = a_table()
  execute(number, "begin")
  for _, part in ipairs({ ... }) do part(number) end
  execute(number, "commit")
end

kinds.point = function() execute(a_table(), "point", choose()) end
kinds.hot_points = function() execute_list("hot_points", LISTS.random_points, false, true) end
kinds.scan = function() execute(sysbench.tid % options.tables + 1, "scan") end
for name, text in pairs(LISTS) do
  kinds[name] = function() execute_list(name, text) end
end
for _, name in ipairs({ "simple", "sum", "order", "distinct", "count", "range_covered_pk",
                        "range_covered_si", "range_notcovered_pk", "range_notcovered_si",
                        "sum_covered_si" }) do
  kinds[name] = function() execute_range(a_table(), name, options.range) end
end
kinds.read_only = function() transaction(ten_points, four_ranges) end
kinds.read_write = function() transaction(ten_points, four_ranges, four_writes) end
kinds.write_only = function() transaction(four_writes) end
kinds.update_index = function() execute(a_table(), "update_index", choose()) end
kinds.update_nonindex = function() update_nonindex(a_table(), choose()) end
kinds.update_zipf = kinds.update_nonindex
kinds.update_one = function() update_nonindex(1, 1) end
kinds.update_inlist = function()
  execute_list("update_inlist", "UPDATE sbtest%d SET c = ? WHERE id IN (%s)", true)
end
kinds.delete = function() execute(a_table(), "delete", choose()) end
kinds.insert = function()
  local prepared = statement(a_table(), "append")
  prepared.values[1]:set(choose())
  prepared.values[2]:set_rand_str(common.c_digits)
  prepared.values[3]:set_rand_str(common.pad_digits)
  prepared.prepared:execute()
end

local function create(driver, to, number)
  local is_mysql = driver:name() == "mysql"
  to:query("DROP TABLE IF EXISTS sbtest" .. number)
  to:query(string.format("CREATE TABLE sbtest%d (id %s PRIMARY KEY, " ..
                         "k INTEGER NOT NULL DEFAULT 0, c CHAR(120) NOT NULL DEFAULT '', " ..
                         "pad CHAR(60) NOT NULL DEFAULT '') %s", number,
                         is_mysql and "INTEGER NOT NULL AUTO_INCREMENT" or "SERIAL",
                         is_mysql and options.engine ~= "" and "ENGINE = " .. options.engine or ""))
  to:bulk_insert_init("INSERT INTO sbtest" .. number .. " (k, c, pad) VALUES")
  for row = 1, options.rows do
    if row % 100000 == 0 then
      print("filled 100000")
      io.flush()
    end
    to:bulk_insert_next(string.format("(%d, '%s', '%s')", sysbench.rand.uniform(1, options.rows),
                                      sysbench.rand.string(common.c_digits),
                                      sysbench.rand.string(common.pad_digits)))
  end
  to:bulk_insert_done()
  to:query(string.format("CREATE INDEX k_%d ON sbtest%d (k)", number, number))
end

-- The tables of the threads' numbers, one after the other.
local function prepare()
  options = sysbench.opt
  local driver = sysbench.sql.driver()
  local to = driver:connect()
  for number = sysbench.tid % options.threads + 1, options.tables, options.threads do
    create(driver, to, number)
  end
  to:disconnect()
end

sysbench.cmdline.commands = { prepare = { prepare, sysbench.cmdline.PARALLEL_COMMAND } }

function thread_init()
  options = sysbench.opt
  connection = common.connect()
  for number = 1, options.tables do statements[number] = {} end
  choose = function() return sysbench.rand.uniform(1, options.rows) end
  if options.kind == "update_zipf" then choose = common.zipf(options.rows, 0.8) end
  event_of_kind = kinds[options.kind]
  if event_of_kind == nil then error("no microbenchmark " .. options.kind) end
end

function event()
  event_of_kind()
end
