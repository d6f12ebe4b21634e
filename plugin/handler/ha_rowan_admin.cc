// SPDX-License-Identifier: GPL-2.0-only
// ANALYZE, CHECK and OPTIMIZE TABLE.
#include "plugin/server/abi_guard.h"

#include "plugin/handler/ha_rowan.h"

#include <xxhash.h>

#include "mysql/plugin.h"
#include "mysqld_error.h"
#include "sql/error_handler.h"
#include "sql/sql_class.h"
#include "sql/sql_error.h"

#include "engine/row_image.h"
#include "plugin/handler/partition_names.h"
#include "plugin/server/error_map.h"
#include "plugin/server/instance.h"

namespace rowan {

/// Order-independent fingerprint of a set of entries: equal sets have equal sums.
struct ha_rowan::Fingerprint {
  uint64_t count = 0;
  uint64_t sum = 0;

  void Add(Bytes key, Bytes payload) {
    ++count;
    sum +=
        XXH3_64bits_withSeed(payload.data(), payload.size(), XXH3_64bits(key.data(), key.size()));
  }
  bool operator==(const Fingerprint&) const = default;
};

namespace {

/// While rows are read to be checked: what computing them warns of is not about the table.
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

}  // namespace

void ha_rowan::Complain(THD* thd, const std::string& sentence) const {
  const std::string partition = PartitionInName(engine_table()->definition().name);
  push_warning_printf(thd, Sql_condition::SL_WARNING, ER_NOT_KEYFILE, "Rowan: %s%s",
                      partition.empty() ? "" : ("partition " + partition + ": ").c_str(),
                      sentence.c_str());
}

void ha_rowan::ComplainOfOtherSettings(THD* thd, uint32_t index_number) const {
  Complain(thd, "index '" + engine_table()->definition().indexes[index_number].name +
                    "' has entries that were computed under other settings than this session's, "
                    "such as time_zone, lc_time_names or sql_mode; ALTER TABLE ... FORCE computes "
                    "them anew under the session's");
}

int ha_rowan::analyze(THD* thd, HA_CHECK_OPT*) {
  const int result = AnalyzeTable(thd);
  if (result == HA_ADMIN_OK) info(HA_STATUS_NO_LOCK | HA_STATUS_CONST | HA_STATUS_VARIABLE);
  return result;
}

int ha_rowan::AnalyzeTable(THD* thd) {
  const Status status =
      g_engine->RefreshStatistics(engine_table(), [thd] { return thd_killed(thd) != 0; });
  if (status.Is(Code::kInterrupted)) return HA_ADMIN_FAILED;
  if (!status.ok()) {
    Complain(thd, std::string("statistics could not be sampled: ") + status.message());
    return HA_ADMIN_FAILED;
  }
  return HA_ADMIN_OK;
}

int ha_rowan::optimize(THD*, HA_CHECK_OPT*) { return HA_ADMIN_TRY_ALTER; }

int ha_rowan::check(THD* thd, HA_CHECK_OPT*) {
  const auto killed = [thd] { return thd_killed(thd) != 0; };
  bool damaged = false;
  for (size_t i = 0; i < engine_table()->index_count(); ++i) {
    const Status status = g_engine->CheckIndex(engine_table(), i, {}, killed);
    if (status.Is(Code::kInterrupted)) return HA_ADMIN_FAILED;
    if (status.ok()) continue;
    damaged = true;
    Complain(thd, "index '" + engine_table()->definition().indexes[i].name + "' is damaged: " +
                      status.message() + ", page " + std::to_string(status.detail()));
  }
  const auto find_blobs = [this](Bytes row, std::vector<BlobRef>* blobs) {
    codec().BlobsOf(row, blobs);
  };
  const Status space = g_engine->CheckSpace(engine_table(), find_blobs, killed);
  if (space.Is(Code::kInterrupted)) return HA_ADMIN_FAILED;
  if (!space.ok()) {
    damaged = true;
    Complain(thd, std::string("the file is damaged: ") + space.message());
  }
  if (damaged) return HA_ADMIN_CORRUPT;
  return CheckAgreement(thd);
}

int ha_rowan::CheckAgreement(THD* thd) {
  // One snapshot for all indexes: concurrent changes do not matter.
  reader()->SetSession(session_, ReadOptions{});
  std::vector<Fingerprint> expected(engine_table()->index_count());
  bool damaged = false;
  Status status = FingerprintRows(&expected);
  reader()->CloseScan();
  for (uint32_t i = 1; status.ok() && i < expected.size(); ++i) {
    Fingerprint found;
    status = reader()->VisitEntries(i, [&found](Bytes key, Bytes payload) {
      found.Add(key, payload);
      return Status::Ok();
    });
    if (!status.ok() || found == expected[i]) continue;
    if (part_->row_codec()->IsComputed(i)) {
      bool fits = false;
      status = FitsRows(i, expected[0], &fits);
      if (!status.ok()) break;
      if (fits) {
        ComplainOfOtherSettings(thd, i);
        continue;
      }
    }
    damaged = true;
    Complain(thd, "index '" + engine_table()->definition().indexes[i].name + "' has " +
                      std::to_string(found.count) + " entries, the rows call for " +
                      std::to_string(expected[i].count) +
                      (found.count == expected[i].count ? ", and they differ" : ""));
  }
  if (status.Is(Code::kInterrupted)) return HA_ADMIN_FAILED;
  if (!status.ok()) {
    Complain(thd, std::string("rows cannot be read: ") + status.message());
    return HA_ADMIN_CORRUPT;
  }
  return damaged ? HA_ADMIN_CORRUPT : HA_ADMIN_OK;
}

Status ha_rowan::FitsRows(uint32_t index_number, const Fingerprint& rows, bool* fits) {
  // How many entries a row has is computed, too.
  *fits = codec().HasSeveralEntries(index_number);
  if (*fits) return Status::Ok();
  Fingerprint found;
  const Status status = reader()->VisitEntries(index_number, [&](Bytes entry_key, Bytes) {
    const Result<Bytes> key = codec().ClusteredKeyOf(index_number, entry_key, &search_key_);
    if (key.ok()) found.Add(key.value(), {});
    return key.status();
  });
  *fits = found == rows;
  return status;
}

Status ha_rowan::FingerprintRows(std::vector<Fingerprint>* expected) {
  const WithoutWarnings silence(ha_thd());
  reader()->OpenScan(0);
  ComputeColumns(true);
  reader()->SetColumns(nullptr, RowKeys::kKeep);
  RowImage image(part_->row_codec(), expected->size());
  Status moved = reader()->SeekFirst(table->record[0]);
  for (; moved.ok(); moved = reader()->Next(table->record[0])) {
    image.SetKey(reader()->row_key());
    const Status encoded = image.EncodeEntries(table->record[0]);
    if (!encoded.ok()) return encoded;
    (*expected)[0].Add(image.key(), {});
    for (const IndexEntry& entry : image.ViewEntries()) {
      (*expected)[entry.index].Add(entry.key, entry.payload);
    }
  }
  return moved.Is(Code::kEndOfRange) ? Status::Ok() : moved;
}

}  // namespace rowan
