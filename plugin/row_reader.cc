// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/abi_guard.h"

#include "plugin/row_reader.h"

#include <algorithm>
#include <utility>

#include "base/counters.h"
#include "engine/engine.h"

namespace rowan {
namespace {

bool FindRowKey(const void* context, Bytes entry_key, ByteBuffer* scratch, Bytes* row_key) {
  const auto* keys = static_cast<const EntryKeys*>(context);
  Result<Bytes> found = keys->codec->ClusteredKeyOf(keys->ordinal, entry_key, scratch);
  if (!found.ok()) return false;
  *row_key = *found;
  return true;
}

}  // namespace

RowKeyFinder EntryKeys::Finder() const { return {FindRowKey, this}; }

RowReader::RowReader(Engine* engine, Table* table, const TableCodec* codec)
    : engine_(engine),
      table_(table),
      codec_(codec),
      cursor_(engine->txns()),
      clustered_(engine->txns()) {}

void RowReader::SetSession(Session* session, const ReadOptions& options) {
  session_ = session;
  options_ = options;
  cursor_open_ = false;
  clustered_open_ = false;
}

void RowReader::OpenScan(uint32_t ordinal, bool entry_only) {
  ordinal_ = ordinal;
  entry_only_ = entry_only;
  scan_open_ = true;
  cursor_open_ = false;
  place_ = Place::kNone;
  view_ = {};
  end_.clear();
  start_.clear();
}

void RowReader::CloseScan() {
  if (cursor_open_) cursor_.Close();
  if (clustered_open_) clustered_.Close();
  cursor_open_ = false;
  clustered_open_ = false;
  scan_open_ = false;
  place_ = Place::kNone;
  view_ = {};
  filter_ = nullptr;
}

void RowReader::Suspend() {
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

Status RowReader::OpenCursor() {
  if (cursor_open_) return Status::Ok();
  if (options_.mode == ReadMode::kSnapshot) {
    const Status status = session_->OpenSnapshotFor(*table_);
    if (!status.ok()) return status;
  }
  ReadOptions options = options_;
  entry_keys_ = {codec_, ordinal_};
  if (ordinal_ != 0) options.row_key = entry_keys_.Finder();
  cursor_.Open(session_->txn(), table_->index(ordinal_), options);
  if (!end_.empty()) cursor_.SetEnd(end_);
  cursor_open_ = true;
  return Status::Ok();
}

Status RowReader::OpenClustered() {
  if (clustered_open_) return Status::Ok();
  if (options_.mode == ReadMode::kSnapshot) {
    const Status status = session_->OpenSnapshotFor(*table_);
    if (!status.ok()) return status;
  }
  ReadOptions options = options_;
  options.semi_consistent = false;  // a row that is looked up is wanted
  clustered_.Open(session_->txn(), table_->index(0), options);
  clustered_open_ = true;
  return Status::Ok();
}

void RowReader::SetEnd(Bytes end) {
  if (end.empty() && end_.empty()) return;
  end_.assign(end.begin(), end.end());
  if (cursor_open_) cursor_.SetEnd(end_);
}

// --- moving ---

Status RowReader::SeekAtLeast(Bytes key, unsigned char* record) {
  if (const Status opened = OpenCursor(); !opened.ok()) return opened;
  const Status status = StepUntilRow(cursor_.SeekAtLeast(key, &view_), true, record);
  if (!status.ok()) StayInGap(key);
  return status;
}

Status RowReader::SeekBefore(Bytes key, unsigned char* record) {
  if (const Status opened = OpenCursor(); !opened.ok()) return opened;
  const Status status = StepUntilRow(cursor_.SeekBefore(key, &view_), false, record);
  if (!status.ok()) StayInGap(key);
  return status;
}

Status RowReader::SeekFirst(unsigned char* record) {
  if (const Status opened = OpenCursor(); !opened.ok()) return opened;
  const Status status = StepUntilRow(cursor_.SeekFirst(&view_), true, record);
  if (!status.ok()) StayOutside(true);
  return status;
}

Status RowReader::SeekLast(unsigned char* record) {
  if (const Status opened = OpenCursor(); !opened.ok()) return opened;
  const Status status = StepUntilRow(cursor_.SeekLast(&view_), false, record);
  if (!status.ok()) StayOutside(false);
  return status;
}

Status RowReader::Next(unsigned char* record) {
  if (place_ != Place::kCursor || !cursor_open_) return Resume(true, record);
  const Status status = StepUntilRow(Step(true), true, record);
  if (!status.ok()) StayOutside(true);
  return status;
}

Status RowReader::Prev(unsigned char* record) {
  if (place_ != Place::kCursor || !cursor_open_) return Resume(false, record);
  const Status status = StepUntilRow(Step(false), false, record);
  if (!status.ok()) StayOutside(false);
  return status;
}

Status RowReader::Step(bool forward) {
  if (std::exchange(lock_current_, false) && cursor_.current_is_unlocked()) {
    return cursor_.LockCurrent(&view_);
  }
  return forward ? cursor_.Next(&view_) : cursor_.Prev(&view_);
}

bool RowReader::WillReadAgain() {
  lock_current_ = source_ == Source::kScan && cursor_open_ && cursor_.current_is_unlocked();
  return lock_current_;
}

void RowReader::StayInGap(Bytes key) {
  if (key.data() != resume_key_.data()) resume_key_.assign(key.begin(), key.end());
  place_ = Place::kGap;
}

void RowReader::StayOutside(bool forward) {
  const ByteBuffer& bound = forward ? end_ : start_;
  if (!bound.empty()) return StayInGap(bound);
  place_ = forward ? Place::kPastEnd : Place::kBeforeStart;
}

Status RowReader::Resume(bool forward, unsigned char* record) {
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

Status RowReader::GetRow(Bytes clustered_key, unsigned char* record) {
  if (const Status opened = OpenClustered(); !opened.ok()) return opened;
  const Status status = clustered_.Get(clustered_key, &row_view_);
  const bool scanned = scan_open_ && ordinal_ == 0;
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

void RowReader::UnlockCurrent() {
  // The other cursor may still stand on an earlier row, whose lock the statement keeps.
  const bool scanned = source_ == Source::kScan || source_ == Source::kScanAndLookup;
  const bool looked_up = source_ == Source::kLookup || source_ == Source::kScanAndLookup;
  if (looked_up && clustered_open_) clustered_.UnlockCurrent();
  if (scanned && cursor_open_) cursor_.UnlockCurrent();
}

Status RowReader::StepUntilRow(Status status, bool forward, unsigned char* record) {
  for (;;) {
    if (status.ok()) {
      place_ = Place::kCursor;
      if (!forward && BeforeStart()) {
        if (session_->isolation() <= IsolationLevel::kReadCommitted) cursor_.UnlockCurrent();
        return Status(Code::kEndOfRange);
      }
      status = PutRow(record);
      if (!status.Is(Code::kNotFound)) return status;
      // No row here: at READ COMMITTED the entry's lock is not kept either.
      if (session_->isolation() <= IsolationLevel::kReadCommitted) cursor_.UnlockCurrent();
    } else if (!status.Is(Code::kSkipped)) {
      view_ = {};
      return status;
    }
    if (session_->interrupted()) return Status(Code::kInterrupted);
    status = forward ? cursor_.Next(&view_) : cursor_.Prev(&view_);
  }
}

// --- entry to record; kNotFound: no row here, go on ---

Status RowReader::PutRow(unsigned char* record) {
  source_ = Source::kScan;
  if (ordinal_ == 0) return Decode(view_.key, view_.value, record);
  if (filter_ != nullptr) {
    const Status status = codec_->DecodeEntry(ordinal_, view_.key, view_.value, nullptr, record);
    if (status.Is(Code::kUnsupported)) {  // only the row has the values
      const Status fetched = FetchRow(record);
      return !fetched.ok() || filter_->Matches() ? fetched : Status(Code::kNotFound);
    }
    if (!status.ok()) return status;
    if (!filter_->Matches()) return Status(Code::kNotFound);
  }
  return entry_only_ ? PutFromEntry(record) : FetchRow(record);
}

Status RowReader::PutFromEntry(unsigned char* record) {
  ++covering_reads_;
  ++rows_read_;
  if (track_key_ || !codec_->has_primary_key()) {
    Result<Bytes> key = codec_->ClusteredKeyOf(ordinal_, view_.key, &scratch_);
    if (!key.ok()) return key.status();
    row_key_.assign(key->begin(), key->end());
  }
  if (filter_ != nullptr) return Status::Ok();  // decoded already
  const Status status =
      codec_->DecodeEntry(ordinal_, view_.key, view_.value, columns_, record);
  return status.Is(Code::kUnsupported) ? FetchRow(record) : status;
}

Status RowReader::FetchRow(unsigned char* record) {
  Result<Bytes> key = codec_->ClusteredKeyOf(ordinal_, view_.key, &scratch_);
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

Status RowReader::CheckStillMatches(unsigned char* record) {
  uint32_t unique_bytes = 0;
  const Status status = codec_->EncodeEntry(ordinal_, record, row_key_, &check_key_,
                                            &check_payload_, &unique_bytes);
  if (!status.ok()) return status;
  return EqualBytes(check_key_, view_.key) ? Status::Ok() : Status(Code::kNotFound);
}

const MY_BITMAP* RowReader::ColumnsToDecode() const {
  // CheckStillMatches needs the index columns whatever the statement asked for.
  const bool checked = options_.mode == ReadMode::kReadUncommitted && ordinal_ != 0;
  return checked ? nullptr : columns_;
}

Status RowReader::Decode(Bytes key, Bytes row, unsigned char* record) {
  ++rows_read_;
  const bool uncommitted = options_.mode == ReadMode::kReadUncommitted;
  if (track_key_ || !codec_->has_primary_key() || uncommitted) {
    row_key_.assign(key.begin(), key.end());
  }
  off_page_.clear();
  blobs_used_ = 0;
  const Status status = codec_->DecodeRow(key, row, ColumnsToDecode(), this, record);
  return uncommitted && status.Is(Code::kNotFound) ? DecodeAgain(record) : status;
}

Status RowReader::DecodeAgain(unsigned char* record) {
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

Result<Bytes> RowReader::Read(const BlobRef& ref) {
  if (blobs_used_ == blobs_.size()) blobs_.emplace_back();
  std::vector<std::byte>& bytes = blobs_[blobs_used_++];
  bytes.resize(ref.size_bytes);
  const bool may_go = options_.mode == ReadMode::kReadUncommitted && !report_missing_blobs_;
  const Status status =
      may_go ? session_->TryReadBlob(ref, bytes) : session_->ReadBlob(ref, bytes);
  if (status.Is(Code::kNotFound)) missing_blob_ = ref;
  if (!status.ok()) return status;
  if (track_key_) off_page_.push_back({ref, bytes.data(), bytes.size()});
  return Bytes(bytes);
}

void RowReader::GiveBackBuffers() {
  constexpr size_t kKeptBytesMax = 64 * 1024;  // one handler may stay in the table cache for days
  size_t kept = 0;
  for (const std::vector<std::byte>& bytes : blobs_) kept += bytes.capacity();
  if (kept <= kKeptBytesMax) return;
  blobs_.clear();
  blobs_used_ = 0;
  off_page_.clear();
}

void RowReader::PublishCounts() {
  if (rows_read_ != 0) AddCounter(Counter::kRowsRead, rows_read_);
  if (clustered_lookups_ != 0) AddCounter(Counter::kClusteredLookups, clustered_lookups_);
  if (covering_reads_ != 0) AddCounter(Counter::kCoveringReads, covering_reads_);
  rows_read_ = clustered_lookups_ = covering_reads_ = 0;
}

}  // namespace rowan
