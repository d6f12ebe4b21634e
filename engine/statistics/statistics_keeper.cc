// SPDX-License-Identifier: GPL-2.0-only
#include "engine/statistics/statistics_keeper.h"

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "engine/catalog/statistics_row.h"
#include "engine/statistics/statistics.h"
#include "mvcc/row/row_writer.h"

namespace rowan {
namespace {

constexpr uint32_t kLeavesSampledByAnalyze = 200;
/// After this, counting continues at the next tick: it must not occupy a core.
constexpr std::chrono::milliseconds kTimePerTick{200};

}  // namespace

Status StatisticsKeeper::Refresh(Table* table, FunctionRef<bool()> interrupted) {
  const Cardinalities::Settings settings = table->cardinalities()->settings();
  const uint32_t leaves = settings.chosen ? settings.sample_leaves : kLeavesSampledByAnalyze;
  const Status status = RefreshTableStatistics(allocator_, table, leaves, interrupted);
  if (status.ok()) Keep(table);
  return status;
}

void StatisticsKeeper::RefreshDue(FunctionRef<bool()> interrupted) {
  const auto begin = std::chrono::steady_clock::now();
  catalog_->RemoveStrayStatistics(txns_);
  std::vector<std::shared_ptr<Table>> tables = catalog_->OpenTables();
  const std::vector<std::shared_ptr<Table>> temporary_tables = temporary_->All();
  tables.insert(tables.end(), temporary_tables.begin(), temporary_tables.end());
  for (const std::shared_ptr<Table>& table : tables) {
    if (interrupted()) return;
    if (!RefreshIsDue(table.get(), begin)) continue;
    const uint32_t leaves = table->cardinalities()->settings().sample_leaves;
    // Damage is left for the table's user to meet.
    if (RefreshTableStatistics(allocator_, table.get(), leaves, interrupted).ok()) {
      Keep(table.get());
    } else {
      table->cardinalities()->NoteFailure();
    }
    // The others: at the next tick, when this one is not due any more.
    if (std::chrono::steady_clock::now() - begin > kTimePerTick) break;
  }
}

void StatisticsKeeper::Keep(Table* table) {
  if (IsTemporary(table->id())) return;
  const bool nothing = table->cardinalities()->version() == 0;
  if (nothing || !table->cardinalities()->settings().persistent) return;
  if (table->dropped.load(std::memory_order_acquire)) return;
  RowWriter writer(txns_);
  Txn txn;
  txn.state = TxnState::kActive;
  txn.isolation = IsolationLevel::kReadCommitted;
  txn.locks.wait_timeout_s = 0;  // a DROP of the table holds the row: it will go
  const std::string row = EncodeStatistics(table);
  // Whatever prevents storing statistics is reported to users whose data it affects.
  if (!catalog_->WriteStatistics(&writer, &txn, table->id(), row).ok() ||
      !txns_->Commit(&txn, Durability::kBackground, false).ok()) {
    txns_->Rollback(&txn).Ignore();
  }
}

}  // namespace rowan
