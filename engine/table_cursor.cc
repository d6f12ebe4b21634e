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
  rows_ahead_ = {};
  peeked_.Clear();
  clustered_.WatchLeaves(false);
  cursor_.Forget();
  view_ = {};
}

void TableCursor::CloseScan() {
  if (cursor_open_) cursor_.Close();
  cursor_.Forget();
  if (clustered_open_) clustered_.Close();
  cursor_open_ = false;
  clustered_open_ = false;
  scan_open_ = false;
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
  view_ = {};
  return Status(Code::kOutOfMemory, kMemoryRanOut);
}

void TableCursor::Suspend() {
  view_ = {};
  cursor_.Suspend();
  if (clustered_open_) clustered_.Close();
  cursor_open_ = false;
  clustered_open_ = false;
  session_ = nullptr;
}

Status TableCursor::PrepareRead(ReadMode mode, uint32_t index) {
  if (const Status usable = session_->CheckUsable(); !usable.ok()) return usable;
  if (mode == ReadMode::kSnapshot) return session_->OpenSnapshotFor(*table_, index);
  // A row's last committed version may be overwritten by a writer that commits meanwhile: purge
  // waits for a snapshot.
  if (options_.semi_consistent) session_->OpenSnapshot();
  return session_->CheckCanTellNewer(*table_);
}

ReadOptions TableCursor::OptionsFor(EntryKeys* keys, uint32_t index, ReadOptions options) const {
  *keys = {codec_, index};
  if (index != 0) options.row_key = {FindRowKey, keys};
  if (salvage_ != nullptr) options.detour = salvage_->DetourOf(index);
  return options;
}

Status TableCursor::OpenCursor() {
  if (cursor_open_) return Status::Ok();
  if (const Status status = PrepareRead(options_.mode, index_); !status.ok()) return status;
  cursor_.Bind(session_->txn(), table_->index(index_), OptionsFor(&entry_keys_, index_, options_));
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

// --- moving ---

Status TableCursor::SeekAtLeast(Bytes key, void* record) {
  return Move(&key, Direction::kForward, record, [&] { return cursor_.SeekAtLeast(key, &view_); });
}

Status TableCursor::SeekBefore(Bytes key, void* record) {
  return Move(&key, Direction::kBackward, record, [&] { return cursor_.SeekBefore(key, &view_); });
}

Status TableCursor::SeekFirst(void* record) {
  constexpr Bytes kEnd;
  return Move(&kEnd, Direction::kForward, record, [&] { return cursor_.SeekFirst(&view_); });
}

Status TableCursor::SeekLast(void* record) {
  constexpr Bytes kEnd;
  return Move(&kEnd, Direction::kBackward, record, [&] { return cursor_.SeekLast(&view_); });
}

Status TableCursor::Next(void* record) {
  return Move(nullptr, Direction::kForward, record, [&] {
    return lock_current_ ? LockAndStep(Direction::kForward) : cursor_.Next(&view_);
  });
}

Status TableCursor::Prev(void* record) {
  return Move(nullptr, Direction::kBackward, record, [&] {
    return lock_current_ ? LockAndStep(Direction::kBackward) : cursor_.Prev(&view_);
  });
}

Status TableCursor::SeekNumber(Bytes from, Bytes end, const EntryOrdinal& ordinal, void* record) {
  return OrLetGo([&] {
    if (const Status opened = OpenCursor(); !opened.ok()) return opened;
    const Status found = cursor_.SeekNumber(from, end, ordinal, &view_);
    const Status status = StepUntilRow(found, ordinal.direction, record);
    if (!status.ok()) cursor_.StayOutside(ordinal.direction);
    return status;
  });
}

Status TableCursor::PrepareMove(const Bytes* from) {
  if (salvage_ != nullptr) NotePlace(from);
  return OpenCursor();
}

Status TableCursor::GoOn(Status status, const Bytes* from, Direction direction, void* record) {
  if (!status.ok()) status = StepUntilRow(status, direction, record);
  if (status.ok()) return status;
  view_ = {};
  if (Salvages(status)) return PassDamage(direction, record);
  if (from != nullptr && !from->empty()) {
    cursor_.Stay(ScanPlace::Kind::kInGap, *from);
  } else {
    cursor_.StayOutside(direction);
  }
  return status;
}

Status TableCursor::LockAndStep(Direction direction) {
  lock_current_ = false;
  return cursor_.current_is_unlocked() ? cursor_.LockCurrent(&view_)
                                       : cursor_.Step(direction, &view_);
}

bool TableCursor::WillReadAgain() {
  lock_current_ = source_ == Source::kScan && cursor_open_ && cursor_.current_is_unlocked();
  return lock_current_;
}

Status TableCursor::GetRow(Bytes clustered_key, void* record) {
  return OrLetGo([&] { return FindRow(clustered_key, record); });
}

Status TableCursor::FindRow(Bytes clustered_key, void* record) {
  if (const Status opened = OpenClustered(); !opened.ok()) return opened;
  const Status status = clustered_.Get(clustered_key, &row_view_);
  if (clustered_.TakeLeafWasAbsent()) [[unlikely]]
    rows_ahead_.Begin();
  const bool scanned = scan_open_ && index_ == 0;
  if (!status.ok()) {
    if (scanned) cursor_.Stay(ScanPlace::Kind::kInGap, clustered_key);
    return status.Is(Code::kSkipped) ? Status(Code::kNotFound) : status;
  }
  if (scanned) cursor_.Stay(ScanPlace::Kind::kAtKey, clustered_key);
  source_ = Source::kLookup;
  return Decode(row_view_, record);
}

void TableCursor::UnlockCurrent() {
  // The other cursor may still stand on an earlier row, whose lock the statement keeps.
  const bool scanned = source_ == Source::kScan || source_ == Source::kScanAndLookup;
  const bool looked_up = source_ == Source::kLookup || source_ == Source::kScanAndLookup;
  if (looked_up && clustered_open_) clustered_.UnlockCurrent();
  if (scanned && cursor_open_) cursor_.UnlockCurrent();
}

Status TableCursor::StepUntilRow(Status status, Direction direction, void* record) {
  for (;; status = Advance(direction)) {
    if (status.ok()) {
      status = PutRow(record);
      if (!status.ok()) status = LeaveEntry(status, record);
    }
    if (!status.Is(Code::kSkipped)) return status;
    if (session_->interrupted()) return Status(Code::kInterrupted);
  }
}

Status TableCursor::LeaveEntry(Status status, void* record) {
  if (!PassesRow(&status, record) && !status.Is(Code::kNotFound)) return status;
  // No row here: at READ COMMITTED the entry's lock is not kept either.
  if (session_->isolation() <= IsolationLevel::kReadCommitted) cursor_.UnlockCurrent();
  return Status(Code::kSkipped);
}

Status TableCursor::Advance(Direction direction) {
  if (go_on_.empty()) return cursor_.Step(direction, &view_);
  return cursor_.Seek(direction, std::exchange(go_on_, {}), &view_);
}

// --- entry to record; kNotFound: no row here, go on ---

Status TableCursor::PutRowOfEntry(void* record) {
  if (gate_ != nullptr && !gate_->Admits(view_.key, view_.value, &go_on_)) {
    return Status(Code::kNotFound);
  }
  if (index_ == 0) return Decode(view_, record);
  return filter_ == nullptr ? PutRowOfWanted(record) : PutRowIfMatches(record);
}

Status TableCursor::PutRowIfMatches(void* record) {
  const Status status = codec_->DecodeEntry(index_, view_, nullptr, record);
  if (status.Is(Code::kUnsupported)) {  // only the row has the values
    const Status fetched = FetchRowInstead(record);
    return !fetched.ok() || filter_->Matches() ? fetched : Status(Code::kNotFound);
  }
  if (!status.ok()) return status;
  if (!filter_->Matches()) return Status(Code::kNotFound);
  return entry_only_ ? TakeEntry() : FetchRow(record);
}

Status TableCursor::KeepKeyOfEntry() {
  Result<Bytes> key = codec_->ClusteredKeyOf(index_, view_.key, &scratch_);
  if (!key.ok()) return key.status();
  row_key_.assign(key->begin(), key->end());
  return Status::Ok();
}

Status TableCursor::PutFromEntry(void* record) {
  if (const Status taken = TakeEntry(); !taken.ok()) return taken;
  const Status status = codec_->DecodeEntry(index_, view_, columns_, record);
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
  if (rows_ahead_.active()) [[unlikely]]
    AskForRowsAhead();
  const Status status = clustered_.Get(*key, &row_view_);
  clustered_.WatchLeaves(true);  // of the rows after the first
  if (clustered_.TakeLeafWasAbsent()) [[unlikely]]
    rows_ahead_.Begin();
  if (status.Is(Code::kSkipped)) return Status(Code::kNotFound);
  if (!status.ok()) return status;
  source_ = Source::kScanAndLookup;
  const Status decoded = Decode(row_view_, record);
  // Without snapshot or locks, the row may have moved on since the entry was read.
  if (!decoded.ok() || options_.mode != ReadMode::kReadUncommitted) return decoded;
  return CheckStillMatches(record);
}

void TableCursor::AskForRowsAhead() {
  const bool locks =
      options_.mode == ReadMode::kLockShared || options_.mode == ReadMode::kLockExclusive;
  const RowsAhead::Known known = locks ? peeked_.Find(&cursor_, view_.key) : cursor_.copied_ahead();
  ByteBuffer scratch;
  rows_ahead_.Ask(table_->index(0)->tree.pool(), known, [&](size_t position) {
    const Bytes entry = locks ? peeked_.At(position) : cursor_.CopiedKey(position);
    Result<Bytes> key = codec_->ClusteredKeyOf(index_, entry, &scratch);
    return key.ok() ? clustered_.LeafAhead(*key) : PageId{};
  });
}

void TableCursor::ReadRowsAhead(const RowsAhead::Known& known, KeyOf key_of) {
  ByteBuffer key;
  rows_ahead_.Ask(table_->index(0)->tree.pool(), known, [&](size_t position) {
    key_of(position, &key);
    return clustered_.LeafAhead(key);
  });
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
  cursor.Open(session_->txn(), table_->index(index_), OptionsFor(&keys, index_, options_));
  VersionView view;
  return cursor.Get(view_.key, &view);
}

Status TableCursor::DecodeAndKeep(const VersionView& row, void* record) {
  if (blobs_used_ != 0) ForgetOffPageValues();
  if (options_.mode == ReadMode::kReadUncommitted) [[unlikely]]
    return DecodeUncommitted(row, record);
  if (keep_key_) row_key_.assign(row.key.begin(), row.key.end());
  return codec_->DecodeRow(row, columns_, this, record);
}

void TableCursor::ForgetOffPageValues() {
  off_page_.clear();
  blobs_used_ = 0;
}

const void* TableCursor::ColumnsOfUncommitted() const {
  // CheckStillMatches needs the index columns whatever the statement asked for.
  return index_ != 0 ? nullptr : columns_;
}

Status TableCursor::DecodeUncommitted(const VersionView& row, void* record) {
  row_key_.assign(row.key.begin(), row.key.end());
  const Status status = codec_->DecodeRow(row, ColumnsOfUncommitted(), this, record);
  return status.Is(Code::kNotFound) ? DecodeAgain(record) : status;
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
    ForgetOffPageValues();
    report_missing_blobs_ = damaged;
    status = codec_->DecodeRow(row_view_, ColumnsOfUncommitted(), this, record);
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
  ForgetOffPageValues();
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
