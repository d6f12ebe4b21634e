// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/server/abi_guard.h"

#include "plugin/handler/table_check.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include "mysql/plugin.h"
#include "mysqld_error.h"
#include "sql/error_handler.h"
#include "sql/sql_class.h"
#include "sql/sql_error.h"
#include "sql/table.h"

#include "plugin/handler/entry_fingerprints.h"
#include "plugin/handler/partition_names.h"
#include "plugin/server/instance.h"
#include "plugin/server/scan_workers.h"
#include "plugin/server/system_variables.h"

namespace rowan {

namespace {

/// While rows are read for the check: warnings from computing them do not concern the table.
class WithoutWarnings : public Internal_error_handler {
 public:
  explicit WithoutWarnings(THD* thd) : thd_(thd) { thd_->push_internal_handler(this); }
  ~WithoutWarnings() override { thd_->pop_internal_handler(); }
  bool handle_condition(THD*, uint, const char*, Sql_condition::enum_severity_level* level,
                        const char*) override {
    return *level != Sql_condition::SL_ERROR;
  }

 private:
  THD* const thd_;
};

class TableCheck {
 public:
  TableCheck(THD* thd, TablePart* part) : thd_(thd), part_(*part) {}
  int Analyze();
  int Check(Session* session);

 private:
  [[nodiscard]] uint32_t HelpersMax() const;
  std::vector<Status> CheckIndexes();
  void Complain(const std::string& sentence) const;
  [[nodiscard]] std::string IndexName(size_t index_number) const;
  int CheckAgreement();
  /// For an index whose entries differ from those that the rows require: whether they still belong
  /// to the rows, computed differently.
  Status FitsRows(uint32_t index_number, const Fingerprint& rows, bool* fits);

  THD* const thd_;
  /// For any thread.
  const std::function<bool()> killed_ = [thd = thd_] { return thd_killed(thd) != 0; };
  TablePart& part_;
};

void TableCheck::Complain(const std::string& sentence) const {
  const std::string partition = PartitionInName(part_.table()->definition().name);
  push_warning_printf(thd_, Sql_condition::SL_WARNING, ER_NOT_KEYFILE, "Rowan: %s%s",
                      partition.empty() ? "" : ("partition " + partition + ": ").c_str(),
                      sentence.c_str());
}

std::string TableCheck::IndexName(size_t index_number) const {
  return "index '" + part_.table()->definition().indexes[index_number].name + "'";
}

int TableCheck::Analyze() {
  const Status status = g_engine->RefreshStatistics(part_.table(), killed_);
  if (status.ok()) return HA_ADMIN_OK;
  if (!status.Is(Code::kInterrupted)) {
    Complain(std::string("statistics could not be sampled: ") + status.message());
  }
  return HA_ADMIN_FAILED;
}

uint32_t TableCheck::HelpersMax() const {
  return ParallelWorkers(thd_, static_cast<double>(part_.table()->statistics().rows));
}

/// Each of them is checked by one thread.
std::vector<Status> TableCheck::CheckIndexes() {
  std::vector<Status> outcomes(part_.table()->index_count());
  std::atomic<size_t> next{0};
  const auto helpers = static_cast<uint32_t>(std::min<size_t>(HelpersMax(), outcomes.size() - 1));
  const Status status = RunWithScanWorkers(helpers, [&] {
    const size_t i = next.fetch_add(1, std::memory_order_relaxed);
    if (i >= outcomes.size()) return Status(Code::kEndOfRange);
    outcomes[i] = g_engine->CheckIndex(part_.table(), i, {}, killed_);
    return outcomes[i].Is(Code::kInterrupted) ? outcomes[i] : Status::Ok();
  });
  if (!status.ok()) outcomes.front() = status;
  return outcomes;
}

int TableCheck::Check(Session* session) {
  bool damaged = false;
  const std::vector<Status> outcomes = CheckIndexes();
  for (size_t i = 0; i < outcomes.size(); ++i) {
    const Status& status = outcomes[i];
    if (status.Is(Code::kInterrupted)) return HA_ADMIN_FAILED;
    if (status.ok()) continue;
    damaged = true;
    Complain(IndexName(i) + " is damaged: " + status.message() + ", page " +
             std::to_string(status.detail()));
  }
  const auto find_blobs = [this](Bytes row, std::vector<BlobRef>* blobs) {
    part_.codec().BlobsOf(row, blobs);
  };
  const Status space = g_engine->CheckSpace(part_.table(), find_blobs, killed_);
  if (space.Is(Code::kInterrupted)) return HA_ADMIN_FAILED;
  if (!space.ok()) {
    damaged = true;
    Complain(std::string("the file is damaged: ") + space.message());
  }
  if (damaged) return HA_ADMIN_CORRUPT;
  // One snapshot for all indexes: concurrent changes do not matter.
  part_.reader()->SetSession(session, ReadOptions{});
  return CheckAgreement();
}

int TableCheck::CheckAgreement() {
  TableCursor* const reader = part_.reader();
  // Only the server's thread computes columns.
  const bool alone =
      part_.computed_columns() != nullptr || reader->salvages() || !reader->MayHaveHelpers();
  part_.ComputeColumns(true);
  EntryFingerprints sums;
  Status status;
  {
    const WithoutWarnings silence(thd_);
    status = ReadEntryFingerprints(&part_, alone ? 0 : HelpersMax(), &sums);
  }
  const std::vector<Fingerprint>& expected = sums.expected;
  bool damaged = false;
  for (uint32_t i = 1; status.ok() && i < expected.size(); ++i) {
    const Fingerprint& found = sums.found[i];
    if (found == expected[i]) continue;
    if (part_.row_codec()->IsComputed(i)) {
      bool fits = false;
      status = FitsRows(i, expected[0], &fits);
      if (!status.ok()) break;
      if (fits) {
        Complain(IndexName(i) +
                 " has entries that were computed under other settings than this session's, such "
                 "as time_zone, lc_time_names or sql_mode; ALTER TABLE ... FORCE computes them "
                 "anew under the session's");
        continue;
      }
    }
    damaged = true;
    Complain(IndexName(i) + " has " + std::to_string(found.count) + " entries, the rows call for " +
             std::to_string(expected[i].count) +
             (found.count == expected[i].count ? ", and they differ" : ""));
  }
  if (status.Is(Code::kInterrupted)) return HA_ADMIN_FAILED;
  if (!status.ok()) {
    Complain(std::string("rows cannot be read: ") + status.message());
    return HA_ADMIN_CORRUPT;
  }
  return damaged ? HA_ADMIN_CORRUPT : HA_ADMIN_OK;
}

Status TableCheck::FitsRows(uint32_t index_number, const Fingerprint& rows, bool* fits) {
  // How many entries a row has is computed, too.
  *fits = part_.codec().HasSeveralEntries(index_number);
  if (*fits) return Status::Ok();
  Fingerprint found;
  ByteBuffer scratch;
  const Status status = part_.reader()->VisitEntries(index_number, [&](Bytes entry_key, Bytes) {
    const Result<Bytes> key = part_.codec().ClusteredKeyOf(index_number, entry_key, &scratch);
    if (key.ok()) found.Add(key.value(), {});
    return key.status();
  });
  *fits = found == rows;
  return status;
}

}  // namespace

int AnalyzeTable(THD* thd, TablePart* part) { return TableCheck(thd, part).Analyze(); }

int CheckTable(THD* thd, TablePart* part, Session* session) {
  return TableCheck(thd, part).Check(session);
}

}  // namespace rowan
