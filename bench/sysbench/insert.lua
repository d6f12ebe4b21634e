-- SPDX-License-Identifier: GPL-2.0-only
-- sysbench: the insert benchmark of scripts/bench insert. One table a client, purchases1 and so on;
-- --kind names what is done. Each thread works on the table of its number.
local common = require("common")

sysbench.cmdline.options = {
  kind = { "insert, delete, range or point", "insert" },
  rows = { "rows of a transaction", 50 },
  keep = { "delete: rows that a table keeps", 10000 },
  tables = { "tables", 1 },
  pattern = { "where entries go: primary key, then three indexes; A, R or Z", "A-RRR" },
  engine = { "storage engine, for MySQL", "" },
  limit = { "rows of a range query", 10 },
  pace = { "insert: rows a second a client, 0 for as many as possible", 0 },
}

local CASH_REGISTERS, PRODUCTS, CUSTOMERS, PRICE = 1000, 10000, 100000, 500
local INSERT_COLUMNS = "(transactionid, dateandtime, cashregisterid, customerid, productid, " ..
                       "price, data)"
local connection, options, number, next_id, low, high
local statements = {}
local zipf

local function name()
  return "purchases" .. number
end

-- Of the pattern: 1 is the primary key, 2 the indexes on price, 3 the one on the register.
local function letter(position)
  local place = ({ 1, 3, 4 })[position]
  return string.sub(options.pattern, place, place)
end

-- A value of an index by its letter: ascending with the row, random, or skewed.
local function placed(position, id, count)
  local kind = letter(position)
  if kind == "A" then return id % 2000000000 end
  if kind == "Z" then return zipf() % count end
  return sysbench.rand.uniform(1, count)
end

local function new_id()
  if letter(1) == "A" then
    next_id = next_id + 1
    return next_id
  end
  return sysbench.rand.uniform(1, 2000000000)
end

local function row_of(id)
  return string.format("(%d, %d, %d, %d, %d, %d, '%s')", id, os.time(),
                       placed(3, id, CASH_REGISTERS), sysbench.rand.uniform(1, CUSTOMERS),
                       sysbench.rand.uniform(1, PRODUCTS),
                       placed(2, id, PRICE * 100),
                       sysbench.rand.string("##########"))
end

local kinds = {}

local function seconds_now()
  ffi.C.clock_gettime(1, moment)
  return tonumber(moment.sec) + tonumber(moment.nsec) * 1e-9
end

-- Sleeps until the next transaction is due; one that is late is not waited for.
local function keep_pace()
  paced = paced + 1
  local wait = begun + paced * options.rows / options.pace - seconds_now()
  while wait > 0 do
    ffi.C.usleep(math.min(wait, 0.5) * 1e6)
    wait = begun + paced * options.rows / options.pace - seconds_now()
  end
end

function kinds.insert()
  if options.pace > 0 then keep_pace() end
  local rows = {}
  for i = 1, options.rows do rows[i] = row_of(new_id()) end
  local ignored = letter(1) == "A" and "" or
    (connection_is_mysql and " ON DUPLICATE KEY UPDATE price = price" or " ON CONFLICT DO NOTHING")
  connection:query("INSERT INTO " .. name() .. " " .. INSERT_COLUMNS .. " VALUES " ..
                   table.concat(rows, ", ") .. ignored)
end

-- Takes the oldest rows while the table has more than it keeps.
function kinds.delete()
  if high - low < options.keep + options.rows then
    local found = connection:query_row("SELECT MAX(transactionid) FROM " .. name())
    high = tonumber(found) or high
  end
  if high - low >= options.keep + options.rows then
    connection:query(string.format("DELETE FROM %s WHERE transactionid >= %d AND " ..
                                   "transactionid < %d", name(), low, low + options.rows))
    low = low + options.rows
    deleted = deleted + options.rows
  else
    ffi.C.usleep(2000)
  end
end

local function prepared(key, text, types)
  if statements[key] == nil then
    statements[key] = common.prepare(connection, string.format(text, name()), types)
  end
  return statements[key]
end

-- One of the three indexes, in turn.
local ranges = {
  { "SELECT price, customerid FROM %s WHERE price >= ? ORDER BY price, customerid LIMIT ",
    PRICE * 100 },
  { "SELECT cashregisterid, price, customerid FROM %s WHERE cashregisterid >= ? " ..
    "ORDER BY cashregisterid, price, customerid LIMIT ", CASH_REGISTERS },
  { "SELECT price, dateandtime, customerid FROM %s WHERE price >= ? " ..
    "ORDER BY price, dateandtime, customerid LIMIT ", PRICE * 100 },
}
local turn = 0

function kinds.range()
  turn = turn % #ranges + 1
  local text, count = unpack(ranges[turn])
  local statement = prepared(turn, text .. options.limit, { "int" })
  statement.values[1]:set(sysbench.rand.uniform(1, count))
  statement.prepared:execute()
end

function kinds.point()
  turn = turn + 1
  if turn % 1000 == 1 then
    low = tonumber(connection:query_row("SELECT MIN(transactionid) FROM " .. name())) or 1
    high = tonumber(connection:query_row("SELECT MAX(transactionid) FROM " .. name())) or 1
  end
  local statement = prepared("point", "SELECT price, data FROM %s WHERE transactionid = ?",
                             { "bigint" })
  statement.values[1]:set(sysbench.rand.uniform(low, math.max(low, high)))
  statement.prepared:execute()
end

local function for_each_own_table(action)
  options = sysbench.opt
  local driver = sysbench.sql.driver()
  local to = driver:connect()
  for table_number = sysbench.tid % options.threads + 1, options.tables, options.threads do
    action(to, "purchases" .. table_number, driver:name() == "mysql")
  end
  to:disconnect()
end

local function prepare()
  for_each_own_table(function(to, table_name, is_mysql)
    to:query("DROP TABLE IF EXISTS " .. table_name)
    to:query(string.format("CREATE TABLE %s (transactionid BIGINT NOT NULL PRIMARY KEY, " ..
                           "dateandtime INT, cashregisterid INT NOT NULL, " ..
                           "customerid INT NOT NULL, productid INT NOT NULL, " ..
                           "price INT NOT NULL, data VARCHAR(4000)) %s", table_name,
                           is_mysql and options.engine ~= "" and
                           "ENGINE = " .. options.engine or ""))
  end)
end

-- l.x: the three secondary indexes.
local function index()
  for_each_own_table(function(to, table_name)
    for key, columns in pairs({ marketing = "price, customerid",
                                register = "cashregisterid, price, customerid",
                                price = "price, dateandtime, customerid" }) do
      to:query(string.format("CREATE INDEX %s_%s ON %s (%s)", table_name, key, table_name, columns))
    end
  end)
end

sysbench.cmdline.commands = { prepare = { prepare, sysbench.cmdline.PARALLEL_COMMAND },
                              index = { index, sysbench.cmdline.PARALLEL_COMMAND } }

function thread_init()
  ffi = require("ffi")
  ffi.cdef("int usleep(unsigned int); typedef struct { long sec, nsec; } moment_of_time; " ..
           "int clock_gettime(int, moment_of_time*);")
  moment = ffi.new("moment_of_time")
  options = sysbench.opt
  number = sysbench.tid % options.tables + 1
  local driver = sysbench.sql.driver()
  connection_is_mysql = driver:name() == "mysql"
  connection = common.connect()
  next_id = tonumber(connection:query_row("SELECT MAX(transactionid) FROM " .. name())) or 0
  low = tonumber(connection:query_row("SELECT MIN(transactionid) FROM " .. name())) or 1
  high, deleted, paced = next_id, 0, 0
  begun = seconds_now()
  zipf = common.zipf(PRICE * 100, 0.8)
end

function event()
  kinds[options.kind]()
end

function thread_done()
  print(string.format("deleted %d", deleted))
  common.thread_done()
end

function sysbench.hooks.before_restart_event(description)
  common.count_error(description)
  next_id = math.max(next_id, high)
end
