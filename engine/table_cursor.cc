// SPDX-License-Identifier: GPL-2.0-only
#include "engine/table_cursor.h"

#include <algorithm>
#include <utility>

#include "base/counter_batch.h"
#include "base/counters.h"
#include "engine/engine_impl.h"

namespace rowan {

TableCursor::TableCursor(Engine* engine, Table* table, const RowCodec* codec)
    : txns_(engine->impl()->TxnsOf(*table)),
      salvage_(engine->options().storage.recovery.force ? std::make_unique<Salvage>() : nullptr),
      table_(table),
      codec_(codec),
      cursor_(txns_),
      clustered_(txns_) {}

TableCursor::TableCursor(Session* session, Table* table, const RowCodec* codec,
                         const ReadOptions& options)
    : TableCursor(session->engine(), table, codec) {
  SetSession(session, options);
}

bool TableCursor::FindRowKey(const void* entry_keys, Bytes entry_key, ByteBuffer* scratch,
                             Bytes* row_key) {
  const auto* keys = static_cast<const EntryKeys*>(entry_keys);
  Result<Bytes> found = keys->codec->ClusteredKeyOf(keys->index, entry_key, scratch);
  if (!found.ok()) return false;
  *row_key = *found;
  return true;
}

void TableCursor::SetSession(Session* session, const ReadOptions& options) {
  session_ = session;
  options_ = options;
  cursor_open_ = false;
  clustered_open_ = false;
}

void TableCursor::OpenScan(uint32_t index) {
  index_ = index;
  entry_only_ = false;
  SetGate(nullptr);
  scan_open_ = true;
  cursor_open_ = false;
  place_ = Place::kNone;
  view_ = {};
  end_.clear();
  start_.clear();
}

void TableCursor::CloseScan() {
  if (cursor_open_) cursor_.Close();
  if (clustered_open_) clustered_.Close();
  cursor_open_ = false;
  clustered_open_ = false;
  scan_open_ = false;
  place_ = Place::kNone;
  view_ = {};
  filter_ = nullptr;
  SetGate(nullptr);
}

Status TableCursor::LetGo() {
  // One that is not open may remember a transaction that is gone.
  if (cursor_open_) cursor_.LetGo();
  if (clustered_open_) clustered_.LetGo();
  cursor_open_ = false;
  clustered_open_ = false;
  place_ = Place::kNone;
  view_ = {};
  return Status(Code::kOutOfMemory, kMemoryRanOut);
}

void TableCursor::Suspend() {
  if (place_ == Place::kCursor && !view_.key.empty()) {
    resume_key_.assign(view_.key.begin(), view_.key.end());
    place_ = Place::kKey;
  }
  view_ = {};
  if (cursor_open_) cursor_.Close();
  if (clustered_open_) clustered_.Close();
  cursor_open_ = false;
  clustered_open_ = false;
  session_ = nullptr;
}

Status TableCursor::PrepareRead(ReadMode mode, uint32_t index) {
  if (const Status usable = session_->CheckUsable(); !usable.ok()) return usable;
  return mode == ReadMode::kSnapshot ? session_->OpenSnapshotFor(*table_, index)
                                     : session_->CheckCanTellNewer(*table_);
}

void TableCursor::Open(VersionCursor* cursor, EntryKeys* keys, uint32_t index,
                       ReadOptions options) {
  *keys = {codec_, index};
  if (index != 0) options.row_key = {FindRowKey, keys};
  if (salvage_ != nullptr) options.detour = salvage_->DetourOf(index);
  cursor->Open(session_->txn(), table_->index(index), options);
}

Status TableCursor::OpenCursor() {
  if (cursor_open_) return Status::Ok();
  if (const Status status = PrepareRead(options_.mode, index_); !status.ok()) return status;
  Open(&cursor_, &entry_keys_, index_, options_);
  if (!end_.empty()) cursor_.SetEnd(end_);
  cursor_open_ = true;
  return Status::Ok();
}

Status TableCursor::OpenClustered() {
  if (clustered_open_) return Status::Ok();
  if (const Status status = PrepareRead(options_.mode, 0); !status.ok()) return status;
  ReadOptions options = options_;
  options.semi_consistent = false;  // a row that is looked up is wanted
  if (salvage_ != nullptr) options.detour = salvage_->DetourOf(0);
  clustered_.Open(session_->txn(), table_->index(0), options);
  clustered_open_ = true;
  return Status::Ok();
}

void TableCursor::SetEnd(Bytes end) {
  if (end.empty() && end_.empty()) return;
  end_.assign(end.begin(), end.end());
  if (cursor_open_) cursor_.SetEnd(end_);
}

// --- moving ---

Status TableCursor::SeekAtLeast(Bytes key, void* record) {
  return Move(&key, true, record, [&] {
    if (const Status opened = OpenCursor(); !opened.ok()) return opened;
    const Status status = StepUntilRow(cursor_.SeekAtLeast(key, &view_), true, record);
    if (!status.ok()) StayInGap(key);
    return status;
  });
}

Status TableCursor::SeekBefore(Bytes key, void* record) {
  return Move(&key, false, record, [&] {
    if (const Status opened = OpenCursor(); !opened.ok()) return opened;
    const Status status = StepUntilRow(cursor_.SeekBefore(key, &view_), false, record);
    if (!status.ok()) StayInGap(key);
    return status;
  });
}

Status TableCursor::SeekFirst(void* record) {
  constexpr Bytes kStart;
  return Move(&kStart, true, record, [&] {
    if (const Status opened = OpenCursor(); !opened.ok()) return opened;
    const Status status = StepUntilRow(cursor_.SeekFirst(&view_), true, record);
    if (!status.ok()) StayOutside(true);
    return status;
  });
}

Status TableCursor::SeekLast(void* record) {
  constexpr Bytes kEnd;
  return Move(&kEnd, false, record, [&] {
    if (const Status opened = OpenCursor(); !opened.ok()) return opened;
    const Status status = StepUntilRow(cursor_.SeekLast(&view_), false, record);
    if (!status.ok()) StayOutside(false);
    return status;
  });
}

Status TableCursor::SeekNumber(Bytes from, Bytes end, const EntryOrdinal& ordinal, void* record) {
  return OrLetGo([&] { return FindNumber(from, end, ordinal, record); });
}

Status TableCursor::FindNumber(Bytes from, Bytes end, const EntryOrdinal& ordinal, void* record) {
  if (const Status opened = OpenCursor(); !opened.ok()) return opened;
  end_.assign(end.begin(), end.end());
  const Status status =
      StepUntilRow(cursor_.SeekNumber(from, end, ordinal, &view_), ordinal.forward, record);
  if (!status.ok()) StayOutside(ordinal.forward);
  return status;
}

Status TableCursor::Next(void* record) {
  return Move(nullptr, true, record, [&] {
    if (place_ != Place::kCursor || !cursor_open_) return Resume(true, record);
    Status status = Step(true);
    if (status.ok()) [[likely]] {  // as a rule the row is here: without the loop
      status = PutRow(record);
      if (status.ok()) [[likely]]
        return status;
      if (PassesRow(&status, record)) status = Status(Code::kNotFound);
      if (status.Is(Code::kNotFound)) status = StepUntilRow(LeaveEntry(), true, record);
    } else {
      status = StepUntilRow(status, true, record);
    }
    if (!status.ok()) StayOutside(true);
    return status;
  });
}

Status TableCursor::Prev(void* record) {
  return Move(nullptr, false, record, [&] {
    if (place_ != Place::kCursor || !cursor_open_) return Resume(false, record);
    const Status status = StepUntilRow(Step(false), false, record);
    if (!status.ok()) StayOutside(false);
    return status;
  });
}

Status TableCursor::Step(bool forward) {
  if (lock_current_) [[unlikely]] {
    lock_current_ = false;
    if (cursor_.current_is_unlocked()) return cursor_.LockCurrent(&view_);
  }
  return forward ? cursor_.Next(&view_) : cursor_.Prev(&view_);
}

bool TableCursor::WillReadAgain() {
  lock_current_ = source_ == Source::kScan && cursor_open_ && cursor_.current_is_unlocked();
  return lock_current_;
}

void TableCursor::StayInGap(Bytes key) {
  if (key.data() != resume_key_.data()) resume_key_.assign(key.begin(), key.end());
  place_ = Place::kGap;
}

void TableCursor::StayOutside(bool forward) {
  const ByteBuffer& bound = forward ? end_ : start_;
  if (!bound.empty()) return StayInGap(bound);
  place_ = forward ? Place::kPastEnd : Place::kBeforeStart;
}

Status TableCursor::Resume(bool forward, void* record) {
  switch (place_) {
    case Place::kKey: {
      if (!forward) return SeekBefore(resume_key_, record);
      if (const Status opened = OpenCursor(); !opened.ok()) return opened;
      const Status status = StepUntilRow(cursor_.SeekAfter(resume_key_, &view_), true, record);
      if (!status.ok()) StayOutside(true);
      return status;
    }
    case Place::kGap:
      return forward ? SeekAtLeast(resume_key_, record) : SeekBefore(resume_key_, record);
    case Place::kPastEnd: return forward ? Status(Code::kEndOfRange) : SeekLast(record);
    case Place::kBeforeStart: return forward ? SeekFirst(record) : Status(Code::kEndOfRange);
    default: return forward ? SeekFirst(record) : SeekLast(record);
  }
}

Status TableCursor::GetRow(Bytes clustered_key, void* record) {
  return OrLetGo([&] { return FindRow(clustered_key, record); });
}

Status TableCursor::FindRow(Bytes clustered_key, void* record) {
  if (const Status opened = OpenClustered(); !opened.ok()) return opened;
  const Status status = clustered_.Get(clustered_key, &row_view_);
  const bool scanned = scan_open_ && index_ == 0;
  if (!status.ok()) {
    if (scanned) StayInGap(clustered_key);
    return status.Is(Code::kSkipped) ? Status(Code::kNotFound) : status;
  }
  if (scanned) {
    resume_key_.assign(clustered_key.begin(), clustered_key.end());
    place_ = Place::kKey;
  }
  source_ = Source::kLookup;
  return Decode(clustered_key, row_view_.value, record);
}

void TableCursor::UnlockCurrent() {
  // The other cursor may still stand on an earlier row, whose lock the statement keeps.
  const bool scanned = source_ == Source::kScan || source_ == Source::kScanAndLookup;
  const bool looked_up = source_ == Source::kLookup || source_ == Source::kScanAndLookup;
  if (looked_up && clustered_open_) clustered_.UnlockCurrent();
  if (scanned && cursor_open_) cursor_.UnlockCurrent();
}

Status TableCursor::StepUntilRow(Status status, bool forward, void* record) {
  for (;;) {
    if (status.ok()) {
      place_ = Place::kCursor;
      if (!forward && BeforeStart()) {
        if (session_->isolation() <= IsolationLevel::kReadCommitted) cursor_.UnlockCurrent();
        return Status(Code::kEndOfRange);
      }
      status = PutRow(record);
      if (PassesRow(&status, record)) status = Status(Code::kNotFound);
      if (!status.Is(Code::kNotFound)) return status;
      LeaveEntry().Ignore();  // the way goes on below
    } else if (!status.Is(Code::kSkipped)) {
      view_ = {};
      return status;
    }
    if (session_->interrupted()) return Status(Code::kInterrupted);
    status = Advance(forward);
  }
}

Status TableCursor::LeaveEntry() {
  // No row here: at READ COMMITTED the entry's lock is not kept either.
  if (session_->isolation() <= IsolationLevel::kReadCommitted) cursor_.UnlockCurrent();
  return Status(Code::kSkipped);
}

Status TableCursor::Advance(bool forward) {
  if (go_on_.empty()) return forward ? cursor_.Next(&view_) : cursor_.Prev(&view_);
  const Bytes key = std::exchange(go_on_, {});
  return forward ? cursor_.SeekAtLeast(key, &view_) : cursor_.SeekBefore(key, &view_);
}

// --- entry to record; kNotFound: no row here, go on ---

Status TableCursor::PutRow(void* record) {
  source_ = Source::kScan;
  if (index_ == 0 && gate_ == nullptr) [[likely]]
    return Decode(view_.key, view_.value, record);
  return PutRowOfEntry(record);
}

Status TableCursor::PutRowOfEntry(void* record) {
  if (gate_ != nullptr && !gate_->Admits(view_.key, view_.value, &go_on_)) {
    return Status(Code::kNotFound);
  }
  if (index_ == 0) return Decode(view_.key, view_.value, record);
  if (filter_ != nullptr) {
    const Status status = codec_->DecodeEntry(index_, view_.key, view_.value, nullptr, record);
    if (status.Is(Code::kUnsupported)) {  // only the row has the values
      const Status fetched = FetchRowInstead(record);
      return !fetched.ok() || filter_->Matches() ? fetched : Status(Code::kNotFound);
    }
    if (!status.ok()) return status;
    if (!filter_->Matches()) return Status(Code::kNotFound);
  }
  return entry_only_ ? PutFromEntry(record) : FetchRow(record);
}

Status TableCursor::PutFromEntry(void* record) {
  ++covering_reads_;
  ++rows_read_;
  returned_bytes_ += view_.key.size() + view_.value.size();
  if (keep_key_) {
    Result<Bytes> key = codec_->ClusteredKeyOf(index_, view_.key, &scratch_);
    if (!key.ok()) return key.status();
    row_key_.assign(key->begin(), key->end());
  }
  if (filter_ != nullptr) return Status::Ok();  // decoded already
  const Status status = codec_->DecodeEntry(index_, view_.key, view_.value, columns_, record);
  return status.Is(Code::kUnsupported) ? FetchRowInstead(record) : status;
}

/// Of an entry that was expected to do without its row.
Status TableCursor::FetchRowInstead(void* record) {
  const Status status = FetchRow(record);
  if (status.ok()) fallback_ += {1, row_view_.key.size() + row_view_.value.size()};
  return status;
}

Status TableCursor::FetchRow(void* record) {
  Result<Bytes> key = codec_->ClusteredKeyOf(index_, view_.key, &scratch_);
  if (!key.ok()) return key.status();
  if (const Status opened = OpenClustered(); !opened.ok()) return opened;
  ++clustered_lookups_;
  const Status status = clustered_.Get(*key, &row_view_);
  if (status.Is(Code::kSkipped)) return Status(Code::kNotFound);
  if (!status.ok()) return status;
  source_ = Source::kScanAndLookup;
  const Status decoded = Decode(*key, row_view_.value, record);
  // Without snapshot or locks, the row may have moved on since the entry was read.
  if (!decoded.ok() || options_.mode != ReadMode::kReadUncommitted) return decoded;
  return CheckStillMatches(record);
}

Status TableCursor::CheckStillMatches(const void* record) {
  bool matches = false;
  const auto compare = [&](const EncodedEntry& entry) {
    matches = matches || EqualBytes(entry.key, view_.key);
    return Status::Ok();
  };
  const Status status = codec_->EncodeEntries(index_, record, row_key_, &check_entry_, compare);
  if (!status.ok() || matches) return status;
  // Made of more than the row, the entry may be the row's although another one is made now.
  return codec_->IsComputed(index_) ? CheckStillThere() : Status(Code::kNotFound);
}

Status TableCursor::CheckStillThere() {
  EntryKeys keys;
  VersionCursor cursor(txns_);
  Open(&cursor, &keys, index_, options_);
  VersionView view;
  return cursor.Get(view_.key, &view);
}

const void* TableCursor::ColumnsToDecode() const {
  // CheckStillMatches needs the index columns whatever the statement asked for.
  const bool checked = options_.mode == ReadMode::kReadUncommitted && index_ != 0;
  return checked ? nullptr : columns_;
}

Status TableCursor::Decode(Bytes key, Bytes row, void* record) {
  ++rows_read_;
  returned_bytes_ += key.size() + row.size();
  const bool uncommitted = options_.mode == ReadMode::kReadUncommitted;
  if (keep_key_ || uncommitted) row_key_.assign(key.begin(), key.end());
  if (!off_page_.empty()) off_page_.clear();
  blobs_used_ = 0;
  const Status status = codec_->DecodeRow(key, row, ColumnsToDecode(), this, record);
  return uncommitted && status.Is(Code::kNotFound) ? DecodeAgain(record) : status;
}

Status TableCursor::DecodeAgain(void* record) {
  // An off-page value was gone: the row has another one by now, or is gone as well. When it still
  // has this one, the value was there all the time: then its pages are damaged.
  constexpr int kTries = 100;  // many times what rollbacks of one row in a loop were seen to need
  if (const Status opened = OpenClustered(); !opened.ok()) return opened;
  std::vector<BlobRef> refs;
  for (int i = 0; i < kTries; ++i) {
    const BlobRef missing = missing_blob_;
    Status status = clustered_.Get(row_key_, &row_view_);
    if (!status.ok()) return status;
    codec_->BlobsOf(row_view_.value, &refs);
    const bool damaged = std::any_of(refs.begin(), refs.end(), [&](const BlobRef& ref) {
      return ref.first_page == missing.first_page && ref.birth == missing.birth;
    });
    off_page_.clear();
    blobs_used_ = 0;
    report_missing_blobs_ = damaged;
    status = codec_->DecodeRow(row_key_, row_view_.value, ColumnsToDecode(), this, record);
    report_missing_blobs_ = false;
    if (!status.Is(Code::kNotFound)) return status;
  }
  return Status(Code::kNotFound);
}

Result<Bytes> TableCursor::Read(const OffPageValue& value, uint32_t column) {
  if (blobs_used_ == blobs_.size()) blobs_.emplace_back();
  ByteBuffer& bytes = blobs_[blobs_used_++];
  bytes.resize(value.size_bytes());
  const bool may_go = options_.mode == ReadMode::kReadUncommitted && !report_missing_blobs_;
  const auto read = [this, may_go](const BlobRef& ref, MutableBytes target) {
    const Status status =
        may_go ? session_->TryReadBlob(ref, target) : session_->ReadBlob(ref, target);
    if (status.Is(Code::kNotFound)) missing_blob_ = ref;
    return status;
  };
  const Status status = AssembleValue(value, read, bytes);
  if (!status.ok()) return status;
  if (keep_key_) off_page_.push_back({value, column, bytes.data(), bytes.size()});
  return Bytes(bytes);
}

void TableCursor::GiveBackBuffers() {
  constexpr size_t kKeptBytesMax = 64 * 1024;  // a cursor may lie unused for days
  size_t kept = 0;
  for (const ByteBuffer& bytes : blobs_) kept += bytes.capacity();
  if (kept <= kKeptBytesMax) return;
  blobs_.clear();
  blobs_used_ = 0;
  off_page_.clear();
}

void TableCursor::PublishCounts(StatementKind kind, ReadMeter* session) {
  CounterBatch totals;
  totals.Add(Counter::kRowsRead, rows_read_);
  totals.Add(Counter::kClusteredLookups, clustered_lookups_);
  totals.Add(Counter::kCoveringReads, covering_reads_);
  StatementReads read;
  for (VersionCursor* cursor : {&cursor_, &clustered_}) {
    const ReadCounts counts = cursor->TakeCounts();
    read.examined += {counts.examined_entries, counts.examined_bytes};
    read.co_located += {counts.unused_entries, counts.unused_bytes};
  }
  read.returned = {rows_read_, std::exchange(returned_bytes_, 0)};
  read.index_only_fallback = std::exchange(fallback_, {});
  rows_read_ = clustered_lookups_ = covering_reads_ = 0;
  AddToTotals(read, kind, &totals);
  if (session != nullptr) session->Add(read, kind);
}

}  // namespace rowan
