// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/server/abi_guard.h"

#include "plugin/handler/table_check.h"

#include <xxhash.h>

#include "mysql/plugin.h"
#include "mysqld_error.h"
#include "sql/error_handler.h"
#include "sql/sql_class.h"
#include "sql/sql_error.h"
#include "sql/table.h"

#include "engine/row_image.h"
#include "plugin/handler/partition_names.h"
#include "plugin/server/instance.h"

namespace rowan {

namespace {

/// Order-independent fingerprint of a set of entries: equal sets have equal sums.
struct Fingerprint {
  uint64_t count = 0;
  uint64_t sum = 0;

  void Add(Bytes key, Bytes payload) {
    ++count;
    sum +=
        XXH3_64bits_withSeed(payload.data(), payload.size(), XXH3_64bits(key.data(), key.size()));
  }
  bool operator==(const Fingerprint&) const = default;
};

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
  void Complain(const std::string& sentence) const;
  [[nodiscard]] std::string IndexName(size_t index_number) const;
  int CheckAgreement();
  /// What each secondary index should hold, by its number; at 0, clustered keys.
  Status FingerprintRows(std::vector<Fingerprint>* expected);
  /// For an index whose entries differ from those that the rows require: whether they still belong
  /// to the rows, computed differently.
  Status FitsRows(uint32_t index_number, const Fingerprint& rows, bool* fits);

  THD* const thd_;
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
  const Status status =
      g_engine->RefreshStatistics(part_.table(), [this] { return thd_killed(thd_) != 0; });
  if (status.ok()) return HA_ADMIN_OK;
  if (!status.Is(Code::kInterrupted)) {
    Complain(std::string("statistics could not be sampled: ") + status.message());
  }
  return HA_ADMIN_FAILED;
}

int TableCheck::Check(Session* session) {
  const auto killed = [this] { return thd_killed(thd_) != 0; };
  bool damaged = false;
  for (size_t i = 0; i < part_.table()->index_count(); ++i) {
    const Status status = g_engine->CheckIndex(part_.table(), i, {}, killed);
    if (status.Is(Code::kInterrupted)) return HA_ADMIN_FAILED;
    if (status.ok()) continue;
    damaged = true;
    Complain(IndexName(i) + " is damaged: " + status.message() + ", page " +
             std::to_string(status.detail()));
  }
  const auto find_blobs = [this](Bytes row, std::vector<BlobRef>* blobs) {
    part_.codec().BlobsOf(row, blobs);
  };
  const Status space = g_engine->CheckSpace(part_.table(), find_blobs, killed);
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
  std::vector<Fingerprint> expected(part_.table()->index_count());
  bool damaged = false;
  Status status = FingerprintRows(&expected);
  part_.reader()->CloseScan();
  for (uint32_t i = 1; status.ok() && i < expected.size(); ++i) {
    Fingerprint found;
    status = part_.reader()->VisitEntries(i, [&found](Bytes key, Bytes payload) {
      found.Add(key, payload);
      return Status::Ok();
    });
    if (!status.ok() || found == expected[i]) continue;
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

Status TableCheck::FingerprintRows(std::vector<Fingerprint>* expected) {
  const WithoutWarnings silence(thd_);
  TableCursor* const reader = part_.reader();
  uchar* const record = part_.server_table()->record[0];
  reader->OpenScan(0);
  part_.ComputeColumns(true);
  reader->SetColumns(nullptr, RowKeys::kKeep);
  RowImage image(part_.row_codec(), expected->size());
  Status moved = reader->SeekFirst(record);
  for (; moved.ok(); moved = reader->Next(record)) {
    image.SetKey(reader->row_key());
    const Status encoded = image.EncodeEntries(record);
    if (!encoded.ok()) return encoded;
    (*expected)[0].Add(image.key(), {});
    for (const IndexEntry& entry : image.ViewEntries()) {
      (*expected)[entry.index].Add(entry.key, entry.payload);
    }
  }
  return moved.Is(Code::kEndOfRange) ? Status::Ok() : moved;
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
