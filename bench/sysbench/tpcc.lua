-- SPDX-License-Identifier: GPL-2.0-only
-- sysbench: a load in the manner of TPC-C for scripts/bench tpcc: its tables and its five
-- transactions at their shares, without key and think times, so its figures are none of TPC-C.
-- What gives no rows is prepared; a read whose values the next statement needs is text, as sysbench
-- cannot fetch the rows of a prepared statement.
local common = require("common")
local tpcc_random = require("tpcc_random")
local tpcc_tables = require("tpcc_tables")

sysbench.cmdline.options = {
  warehouses = { "warehouses", 1 },
  customers = { "customers of a district", 3000 },
  items = { "items", 100000 },
  engine = { "storage engine, for MySQL", "" },
  isolation = { "READ COMMITTED, REPEATABLE READ or SERIALIZABLE", "READ COMMITTED" },
}

local DISTRICTS = 10
local ROLLBACKS = 100   -- one new order of so many names an item that does not exist
local connection, options
local is_restarted = false
local statements, done = {}, {}

local uniform = sysbench.rand.uniform

local WRITES = {
  begin = { "BEGIN", {} },
  commit = { "COMMIT", {} },
  rollback = { "ROLLBACK", {} },
  next_order = { "UPDATE tpcc_district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = ? AND " ..
                 "d_id = ?", { "int", "int" } },
  add_order = { "INSERT INTO tpcc_orders VALUES (?, ?, ?, ?, CURRENT_TIMESTAMP, NULL, ?, ?)",
                { "int", "int", "int", "int", "int", "int" } },
  add_new_order = { "INSERT INTO tpcc_new_order VALUES (?, ?, ?)", { "int", "int", "int" } },
  add_line = { "INSERT INTO tpcc_order_line VALUES (?, ?, ?, ?, ?, ?, NULL, ?, ? * 0.01, ?)",
               { "int", "int", "int", "int", "int", "int", "int", "int", 24 } },
  take_stock = { "UPDATE tpcc_stock SET s_quantity = ?, s_ytd = s_ytd + ?, " ..
                 "s_order_cnt = s_order_cnt + 1, s_remote_cnt = s_remote_cnt + ? " ..
                 "WHERE s_w_id = ? AND s_i_id = ?", { "int", "int", "int", "int", "int" } },
  pay_warehouse = { "UPDATE tpcc_warehouse SET w_ytd = w_ytd + ? * 0.01 WHERE w_id = ?",
                    { "int", "int" } },
  pay_district = { "UPDATE tpcc_district SET d_ytd = d_ytd + ? * 0.01 WHERE d_w_id = ? AND " ..
                   "d_id = ?", { "int", "int", "int" } },
  pay_customer = { "UPDATE tpcc_customer SET c_balance = c_balance - ? * 0.01, " ..
                   "c_ytd_payment = c_ytd_payment + ? * 0.01, c_payment_cnt = c_payment_cnt + 1 " ..
                   "WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?",
                   { "int", "int", "int", "int", "int" } },
  note_customer = { "UPDATE tpcc_customer SET c_data = SUBSTR(CONCAT(?, c_data), 1, 500) " ..
                    "WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?", { 60, "int", "int", "int" } },
  add_history = { "INSERT INTO tpcc_history VALUES (?, ?, ?, ?, ?, CURRENT_TIMESTAMP, ? * 0.01, " ..
                  "'payment')", { "int", "int", "int", "int", "int", "int" } },
  take_new_order = { "DELETE FROM tpcc_new_order WHERE no_w_id = ? AND no_d_id = ? AND " ..
                     "no_o_id = ?", { "int", "int", "int" } },
  carry_order = { "UPDATE tpcc_orders SET o_carrier_id = ? WHERE o_w_id = ? AND o_d_id = ? AND " ..
                  "o_id = ?", { "int", "int", "int", "int" } },
  deliver_lines = { "UPDATE tpcc_order_line SET ol_delivery_d = CURRENT_TIMESTAMP " ..
                    "WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?", { "int", "int", "int" } },
  bill_customer = { "UPDATE tpcc_customer SET c_balance = c_balance + ? * 0.01, " ..
                    "c_delivery_cnt = c_delivery_cnt + 1 WHERE c_w_id = ? AND c_d_id = ? AND " ..
                    "c_id = ?", { "bigint", "int", "int", "int" } },
}

local function write(name, ...)
  local statement = statements[name]
  for number, value in ipairs({ ... }) do statement.values[number]:set(value) end
  statement.prepared:execute()
end

-- The values of the first row; nothing where there is none.
local function read(text, ...)
  return connection:query_row(string.format(text, ...))
end

-- All rows, each a table of texts.
local function read_all(text, ...)
  local result = connection:query(string.format(text, ...))
  local rows = {}
  for number = 1, result.nrows do rows[number] = result:fetch_row() end
  result:free()
  return rows
end

local function cents(text)
  return math.floor(tonumber(text) * 100 + 0.5)
end

local function a_warehouse()
  return uniform(1, options.warehouses)
end

local function another_warehouse(than)
  local other = uniform(1, options.warehouses - 1)
  return other < than and other or other + 1
end

local function a_customer()
  return tpcc_random.skewed(1023, 1, options.customers)
end

-- Three of five customers are asked for by name: of those that share it, the one in the middle.
local function find_customer(warehouse, district)
  if uniform(1, 100) > 60 then return a_customer() end
  local name = tpcc_random.last_name(tpcc_random.last_name_number(options.customers))
  local rows = read_all("SELECT c_id FROM tpcc_customer WHERE c_w_id = %d AND c_d_id = %d AND " ..
                        "c_last = '%s' ORDER BY c_first", warehouse, district, name)
  return tonumber(rows[math.ceil(#rows / 2)][1])
end

local kinds = {}

-- What is ordered: {item, supplying warehouse, quantity} of each line; and whether all is local.
local function choose_lines(warehouse)
  local lines, all_local = {}, 1
  for number = 1, uniform(5, 15) do
    local supply = warehouse
    if options.warehouses > 1 and uniform(1, 100) == 1 then
      supply, all_local = another_warehouse(warehouse), 0
    end
    lines[number] = { tpcc_random.skewed(8191, 1, options.items), supply, uniform(1, 10) }
  end
  if uniform(1, ROLLBACKS) == 1 then lines[#lines][1] = options.items + 1 end
  return lines, all_local
end

-- False where the item does not exist.
local function order_line(warehouse, district, order, number, line)
  local item, supply, quantity = unpack(line)
  local price = read("SELECT i_price, i_name, i_data FROM tpcc_item WHERE i_id = %d", item)
  if price == nil then return false end
  local stock, info = read("SELECT s_quantity, s_dist_%02d, s_data FROM tpcc_stock WHERE " ..
                           "s_w_id = %d AND s_i_id = %d FOR UPDATE", district, supply, item)
  local left = tonumber(stock) - quantity
  if left < 10 then left = left + 91 end
  write("take_stock", left, quantity, supply == warehouse and 0 or 1, supply, item)
  write("add_line", order, district, warehouse, number, item, supply, quantity,
        quantity * cents(price), info)
  return true
end

function kinds.new_order()
  local warehouse, district, customer = a_warehouse(), uniform(1, DISTRICTS), a_customer()
  local lines, all_local = choose_lines(warehouse)
  write("begin")
  read("SELECT w_tax FROM tpcc_warehouse WHERE w_id = %d", warehouse)
  read("SELECT c_discount, c_last, c_credit FROM tpcc_customer WHERE c_w_id = %d AND " ..
       "c_d_id = %d AND c_id = %d", warehouse, district, customer)
  local order = tonumber((read("SELECT d_next_o_id, d_tax FROM tpcc_district WHERE d_w_id = %d " ..
                               "AND d_id = %d FOR UPDATE", warehouse, district)))
  write("next_order", warehouse, district)
  write("add_order", order, district, warehouse, customer, #lines, all_local)
  write("add_new_order", order, district, warehouse)
  for number, line in ipairs(lines) do
    if not order_line(warehouse, district, order, number, line) then
      write("rollback")
      return "refused"
    end
  end
  write("commit")
end

function kinds.payment()
  local warehouse, district, amount = a_warehouse(), uniform(1, DISTRICTS), uniform(100, 500000)
  local home, home_district = warehouse, district
  if options.warehouses > 1 and uniform(1, 100) > 85 then
    home, home_district = another_warehouse(warehouse), uniform(1, DISTRICTS)
  end
  write("begin")
  write("pay_warehouse", amount, warehouse)
  read("SELECT w_name, street_1, street_2, city, state, zip FROM tpcc_warehouse WHERE w_id = %d",
       warehouse)
  write("pay_district", amount, warehouse, district)
  read("SELECT d_name, street_1, street_2, city, state, zip FROM tpcc_district WHERE " ..
       "d_w_id = %d AND d_id = %d", warehouse, district)
  local customer = find_customer(home, home_district)
  local credit = read("SELECT c_credit, c_data, c_first, c_last, c_balance, c_discount " ..
                      "FROM tpcc_customer WHERE c_w_id = %d AND c_d_id = %d AND c_id = %d " ..
                      "FOR UPDATE", home, home_district, customer)
  write("pay_customer", amount, amount, home, home_district, customer)
  if credit == "BC" then
    local note = string.format("%d %d %d %d %d %d|", customer, home_district, home, district,
                               warehouse, amount)
    write("note_customer", note, home, home_district, customer)
  end
  write("add_history", customer, home_district, home, district, warehouse, amount)
  write("commit")
end

function kinds.order_status()
  local warehouse, district = a_warehouse(), uniform(1, DISTRICTS)
  write("begin")
  local customer = find_customer(warehouse, district)
  read("SELECT c_balance, c_first, c_middle, c_last FROM tpcc_customer WHERE c_w_id = %d AND " ..
       "c_d_id = %d AND c_id = %d", warehouse, district, customer)
  local order = read("SELECT o_id, o_entry_d, o_carrier_id FROM tpcc_orders WHERE o_w_id = %d " ..
                     "AND o_d_id = %d AND o_c_id = %d ORDER BY o_id DESC LIMIT 1", warehouse,
                     district, customer)
  read_all("SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount FROM tpcc_order_line WHERE " ..
           "ol_w_id = %d AND ol_d_id = %d AND ol_o_id = %d", warehouse, district, tonumber(order))
  write("commit")
end

local function deliver(warehouse, district, carrier)
  local order = tonumber((read("SELECT no_o_id FROM tpcc_new_order WHERE no_w_id = %d AND " ..
                               "no_d_id = %d ORDER BY no_o_id LIMIT 1 FOR UPDATE", warehouse,
                               district)))
  if order == nil then return end
  write("take_new_order", warehouse, district, order)
  -- The order may be younger than this transaction's snapshot, so that only a locking read sees it.
  local customer = read("SELECT o_c_id FROM tpcc_orders WHERE o_w_id = %d AND o_d_id = %d AND " ..
                        "o_id = %d FOR UPDATE", warehouse, district, order)
  write("carry_order", carrier, warehouse, district, order)
  write("deliver_lines", warehouse, district, order)
  local amount = read("SELECT SUM(ol_amount) FROM tpcc_order_line WHERE ol_w_id = %d AND " ..
                      "ol_d_id = %d AND ol_o_id = %d", warehouse, district, order)
  write("bill_customer", cents(amount), warehouse, district, tonumber(customer))
end

function kinds.delivery()
  local warehouse, carrier = a_warehouse(), uniform(1, 10)
  write("begin")
  for district = 1, DISTRICTS do deliver(warehouse, district, carrier) end
  write("commit")
end

function kinds.stock_level()
  local warehouse, district = a_warehouse(), uniform(1, DISTRICTS)
  write("begin")
  local next_order = tonumber((read("SELECT d_next_o_id FROM tpcc_district WHERE d_w_id = %d " ..
                                    "AND d_id = %d", warehouse, district)))
  read("SELECT COUNT(DISTINCT s_i_id) FROM tpcc_order_line JOIN tpcc_stock ON s_w_id = %d AND " ..
       "s_i_id = ol_i_id WHERE ol_w_id = %d AND ol_d_id = %d AND ol_o_id >= %d AND " ..
       "ol_o_id < %d AND s_quantity < %d", warehouse, warehouse, district, next_order - 20,
       next_order, uniform(10, 20))
  write("commit")
end

-- Percent; what is left are new orders.
local SHARES = { { "payment", 43 }, { "order_status", 4 }, { "delivery", 4 }, { "stock_level", 4 } }

local function choose_kind()
  local number = uniform(1, 100)
  for _, share in ipairs(SHARES) do
    if number <= share[2] then return share[1] end
    number = number - share[2]
  end
  return "new_order"
end

local function prepare()
  local driver = sysbench.sql.driver()
  local to = driver:connect()
  tpcc_tables.create(driver, to, sysbench.opt)
  to:disconnect()
end

-- The warehouses of the threads' numbers, one after the other.
local function fill()
  local to = sysbench.sql.driver():connect()
  for warehouse = sysbench.tid % sysbench.opt.threads + 1, sysbench.opt.warehouses,
      sysbench.opt.threads do
    tpcc_tables.fill_warehouse(to, warehouse, sysbench.opt)
  end
  to:disconnect()
end

sysbench.cmdline.commands = { prepare = { prepare },
                              fill = { fill, sysbench.cmdline.PARALLEL_COMMAND } }

function thread_init()
  options = sysbench.opt
  local driver = sysbench.sql.driver()
  connection = common.connect()
  connection:query((driver:name() == "mysql" and "SET SESSION TRANSACTION ISOLATION LEVEL " or
                    "SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL ") ..
                   options.isolation)
  for name, entry in pairs(WRITES) do
    statements[name] = common.prepare(connection, unpack(entry))
  end
end

function event()
  -- After a lock wait that took too long the transaction is still open.
  if is_restarted then write("rollback") end
  is_restarted = false
  local kind = choose_kind()
  kind = kinds[kind]() or kind
  done[kind] = (done[kind] or 0) + 1
end

function thread_done()
  for kind, count in pairs(done) do print(string.format("counted %s %d", kind, count)) end
  common.thread_done()
end

function sysbench.hooks.before_restart_event(description)
  common.count_error(description)
  is_restarted = true
end
