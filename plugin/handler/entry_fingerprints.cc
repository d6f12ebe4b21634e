// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/server/abi_guard.h"

#include "plugin/handler/entry_fingerprints.h"

#include <xxhash.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <memory>

#include "sql/table.h"

#include "engine/row_image.h"
#include "plugin/handler/spare_record.h"
#include "plugin/server/scan_workers.h"

namespace rowan {

namespace {

class FingerprintScan {
 public:
  explicit FingerprintScan(TablePart* part)
      : part_(*part), index_count_(part->table()->index_count()) {}
  Status Run(uint32_t helpers, EntryFingerprints* sums);

 private:
  struct Piece {
    uint32_t index = 0;
    ByteBuffer from;
    ByteBuffer end;  ///< empty: no bound
  };
  /// What one thread at a time uses.
  struct Strand {
    explicit Strand(const RowCodec* codec, size_t index_count)
        : image(codec, index_count),
          sums{std::vector<Fingerprint>(index_count), std::vector<Fingerprint>(index_count)} {}

    std::unique_ptr<TableCursor> helper;  ///< null: the part's reader
    TableCursor* cursor = nullptr;
    std::shared_ptr<void> spare;  ///< null: the table's record
    void* record = nullptr;
    RowImage image;
    EntryFingerprints sums;
    std::atomic<bool> taken{false};
  };

  Status Cut();
  Status Step();
  Status ReadRows(const Piece& piece, Strand* strand);
  static Status ReadEntries(const Piece& piece, Strand* strand);

  TablePart& part_;
  const size_t index_count_;
  std::vector<Piece> pieces_;
  std::atomic<size_t> next_{0};  ///< piece that no thread has begun; taken by each
  std::vector<std::unique_ptr<Strand>> strands_;
};

Status FingerprintScan::Run(uint32_t helpers, EntryFingerprints* sums) {
  if (const Status cut = Cut(); !cut.ok()) return cut;
  TableCursor* const reader = part_.reader();
  reader->OpenScan(0);
  for (uint32_t i = 0; i <= helpers; ++i) {
    auto strand = std::make_unique<Strand>(part_.row_codec(), index_count_);
    strand->cursor = reader;
    strand->record = part_.server_table()->record[0];
    if (i > 0) {
      Result<std::unique_ptr<TableCursor>> helper = reader->NewHelper();
      if (!helper.ok()) return helper.status();
      strand->helper = std::move(helper).value();
      strand->cursor = strand->helper.get();
      strand->spare = NewSpareRecord(*part_.server_table()->s);
      strand->record = strand->spare.get();
    }
    strand->cursor->SetColumns(nullptr, RowKeys::kKeep);
    strands_.push_back(std::move(strand));
  }
  if (helpers > 0) {
    CountParallelScan();
    CountParallelPieces(pieces_.size());
  }
  const Status status = RunWithScanWorkers(helpers, [this] { return Step(); });
  *sums = {std::vector<Fingerprint>(index_count_), std::vector<Fingerprint>(index_count_)};
  for (const std::unique_ptr<Strand>& strand : strands_) {
    if (strand->helper != nullptr) reader->TakeCountsOf(strand->helper.get());
    for (size_t i = 0; i < index_count_; ++i) {
      sums->expected[i].Add(strand->sums.expected[i]);
      sums->found[i].Add(strand->sums.found[i]);
    }
  }
  reader->CloseScan();
  return status;
}

Status FingerprintScan::Cut() {
  TableCursor* const reader = part_.reader();
  for (uint32_t i = 0; i < index_count_; ++i) {
    std::vector<ByteBuffer> ends;
    bool done = false;
    reader->OpenScan(i);
    const Status status = reader->CutRange({}, std::numeric_limits<size_t>::max(), &ends, &done);
    reader->CloseScan();
    if (!status.ok()) return status;
    ByteBuffer from;
    for (ByteBuffer& end : ends) {
      pieces_.push_back({i, std::move(from), end});
      from = std::move(end);
    }
  }
  return Status::Ok();
}

Status FingerprintScan::Step() {
  const size_t next = next_.fetch_add(1, std::memory_order_relaxed);
  if (next >= pieces_.size()) return Status(Code::kEndOfRange);
  Strand* const strand = strands_[TakeStrand(strands_)].get();
  const Piece& piece = pieces_[next];
  const Status status = piece.index == 0 ? ReadRows(piece, strand) : ReadEntries(piece, strand);
  strand->taken.store(false, std::memory_order_release);
  return status;
}

Status FingerprintScan::ReadRows(const Piece& piece, Strand* strand) {
  TableCursor* const cursor = strand->cursor;
  RowImage& image = strand->image;
  std::vector<Fingerprint>& expected = strand->sums.expected;
  cursor->SetEnd(piece.end);
  Status moved = piece.from.empty() ? cursor->SeekFirst(strand->record)
                                    : cursor->SeekAtLeast(piece.from, strand->record);
  for (; moved.ok(); moved = cursor->Next(strand->record)) {
    image.SetKey(cursor->row_key());
    const Status encoded = image.EncodeEntries(strand->record);
    if (!encoded.ok()) return encoded;
    expected[0].Add(image.key(), {});
    for (const IndexEntry& entry : image.ViewEntries()) {
      expected[entry.index].Add(entry.key, entry.payload);
    }
  }
  return moved.Is(Code::kEndOfRange) ? Status::Ok() : moved;
}

Status FingerprintScan::ReadEntries(const Piece& piece, Strand* strand) {
  Fingerprint& found = strand->sums.found[piece.index];
  return strand->cursor->VisitEntries(piece.index, {piece.from, piece.end},
                                      [&found](Bytes key, Bytes payload) {
                                        found.Add(key, payload);
                                        return Status::Ok();
                                      });
}

}  // namespace

void Fingerprint::Add(Bytes key, Bytes payload) {
  ++count;
  sum += XXH3_64bits_withSeed(payload.data(), payload.size(), XXH3_64bits(key.data(), key.size()));
}

Status ReadEntryFingerprints(TablePart* part, uint32_t helpers, EntryFingerprints* sums) {
  return FingerprintScan(part).Run(helpers, sums);
}

}  // namespace rowan
