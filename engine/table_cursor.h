// SPDX-License-Identifier: GPL-2.0-only
// TableCursor: an ordered scan of one index of a table that puts whole rows into records of the
// user (engine/row_codec.h). Through a secondary index it goes entry -> clustered row, or decodes
// the entry alone (entry only: never a clustered visit). Reads and locks as ReadOptions say: entry
// first, then row; an entry whose row is gone is skipped. Consistent reads open the
// session's snapshot when none is open.
//
// The cursor on the index knows where the scan is, which survives the end of a statement as a key;
// this class makes rows from its entries.
// Thread safety: one thread at a time.
#pragma once

#include <memory>
#include <new>
#include <string>
#include <vector>

#include "base/assertions.h"
#include "base/bytes.h"
#include "base/function_ref.h"
#include "base/out_of_memory.h"
#include "base/status.h"
#include "engine/peeked_entries.h"
#include "engine/read_meter.h"
#include "engine/row_codec.h"
#include "engine/rows_ahead.h"
#include "engine/salvage.h"
#include "engine/session.h"
#include "mvcc/row/version_cursor.h"

namespace rowan {

/// Decides on an entry before its row is fetched (index condition pushdown).
class EntryFilter {
 public:
  virtual ~EntryFilter() = default;
  /// The index's whole columns have been put into the record; a column indexed by a prefix holds
  /// anything.
  virtual bool Matches() = 0;
};

/// Decides on an entry from its bytes alone, before anything is decoded.
class EntryGate {
 public:
  virtual ~EntryGate() = default;
  /// False: the entry is skipped. Then `*go_on`, if set, is a key to seek from in the direction of
  /// the scan: nothing between the entry and it is wanted. Its bytes stay until the next call.
  virtual bool Admits(Bytes key, Bytes payload, Bytes* go_on) = 0;
};

/// An entry by its number from the start or the end of a range.
using EntryOrdinal = SnapshotScan::Ordinal;

/// Whether a cursor keeps each row's clustered key and off-page references; needed to change the
/// row.
enum class RowKeys : uint8_t { kForget, kKeep };

/// Keys of an index: [from, end); empty: no bound.
struct EntryRange {
  Bytes from{};
  Bytes end{};
};

class TableCursor : private RowCodec::BlobReader {
 public:
  /// For later sessions. All three outlive the cursor.
  TableCursor(Engine* engine, Table* table, const RowCodec* codec);
  /// For one session.
  TableCursor(Session* session, Table* table, const RowCodec* codec,
              const ReadOptions& options = {});
  TableCursor(const TableCursor&) = delete;
  TableCursor& operator=(const TableCursor&) = delete;

  /// What to deliver, from the next read on.
  void SetColumns(const void* columns, RowKeys keys) {
    columns_ = columns;
    keep_key_ = keys == RowKeys::kKeep;
  }
  void SetFilter(EntryFilter* filter) { filter_ = filter; }
  /// Until the scan is closed or another one opened.
  void SetGate(EntryGate* gate) {
    gate_ = gate;
    go_on_ = {};
  }
  void SetSession(Session* session, const ReadOptions& options);

  // --- scan; errors: kEndOfRange, kTableChanged (the snapshot is older than the table), and those
  // --- of the engine. Index 0 is the clustered one ---
  void OpenScan(uint32_t index);
  void CloseScan();
  /// The statement ends while the scan stays open.
  void Suspend();
  [[nodiscard]] bool scan_open() const { return scan_open_; }
  [[nodiscard]] uint32_t index() const { return index_; }
  void set_entry_only(bool entry_only) { entry_only_ = entry_only; }

  /// Forward scans stop before `end` (empty: no bound). Stays until changed or the scan is closed.
  void SetEnd(Bytes end) { cursor_.SetEnd(end); }
  /// Backward scans stop after the last entry before `start` (empty: no bound). Stays likewise.
  void SetStart(Bytes start) { cursor_.SetStart(start); }
  Status SeekAtLeast(Bytes key, void* record);
  Status SeekBefore(Bytes key, void* record);
  Status SeekFirst(void* record);
  Status SeekLast(void* record);
  /// The visible entry with this number in [from, end), counted from 0 at one of its ends; the scan
  /// may go on from it in that direction, with `end` as SetEnd. Entries on the way are not
  /// examined, not even by a filter. REQUIRES: no locks asked for, no gate.
  Status SeekNumber(Bytes from, Bytes end, const EntryOrdinal& ordinal, void* record);
  Status Next(void* record);
  Status Prev(void* record);
  /// The row with exactly this clustered key; a scan of the clustered index may go on from it.
  /// kNotFound.
  Status GetRow(Bytes clustered_key, void* record);
  /// GetRow will be asked for many rows, until a scan is opened.
  void ExpectManyRows() { clustered_.WatchLeaves(true); }
  /// Before GetRow for one of several known keys: those that follow may be read ahead. Worth the
  /// call only while WantsRowsAhead.
  using KeyOf = FunctionRef<void(size_t position, ByteBuffer* clustered_key)>;
  void ReadRowsAhead(const RowsAhead::Known& known, KeyOf key_of);
  [[nodiscard]] bool WantsRowsAhead() const { return rows_ahead_.active() && clustered_open_; }
  // --- in batches: entries as they are stored. REQUIRES: a scan is open and neither locks nor a
  // --- gate are asked for. Errors as of the scan ---
  /// The first entries of [from, end), empty: no bound; the first batch has up to `entries` of
  /// them, the next ones grow to whole leaves.
  Status FirstBatch(const EntryRange& range, size_t entries, EntryBatch* batch);
  Status NextBatch(EntryBatch* batch);
  /// Puts an entry of the batch, or a copy of one, into the record like one that the scan is on; a
  /// filter does not apply. kNotFound: it has no row.
  Status PutEntry(Bytes key, Bytes value, void* record) {
    ROWAN_DCHECK(gate_ == nullptr);
    view_ = {key, value};
    source_ = Source::kScan;
    try {
      return index_ == 0 ? Decode(view_, record) : PutRowOfWanted(record);
    } catch (const std::bad_alloc&) {
      return LetGo();
    }
  }
  /// Another cursor on the same index, in the same transaction, which another thread may use while
  /// this one's thread is in a call that waits for it or only reads. Its scan is open, and ends
  /// before the transaction's snapshot does. REQUIRES: MayHaveHelpers.
  Result<std::unique_ptr<TableCursor>> NewHelper();
  /// Consistent reads that are not optimistic.
  [[nodiscard]] bool MayHaveHelpers() const {
    return options_.mode == ReadMode::kSnapshot && session_->txn()->serial == nullptr;
  }
  /// What a helper has read counts as read by this cursor.
  void TakeCountsOf(TableCursor* helper) { cursor_.AddCounts(helper->cursor_.TakeCounts()); }
  /// Cuts a range of the scanned index, from its start on, into at most `most` pieces of some
  /// leaves each (btree/range_cutter.h), and appends where each ends. `*done`: the last one is the
  /// range's end.
  Status CutRange(const EntryRange& range, size_t most, std::vector<ByteBuffer>* ends, bool* done);

  /// Releases the locks of the row just read.
  void UnlockCurrent();
  /// UPDATE at READ COMMITTED: from the next scan on, rows locked by others are read as last
  /// committed, without waiting (clustered scans; see ReadOptions).
  void SetSemiConsistent(bool semi_consistent) { options_.semi_consistent = semi_consistent; }
  /// True when the row just read is such a row: then the next step of the scan waits for its lock
  /// and reads it again.
  bool WillReadAgain();

  // --- the row read last ---
  /// Key of the index entry by which the scan found it. Valid until the scan moves.
  [[nodiscard]] Bytes entry_key() const { return view_.key; }
  /// Clustered key. REQUIRES: kept.
  [[nodiscard]] Bytes row_key() const { return {row_key_.data(), row_key_.size()}; }
  /// Where the row was seen, if that is known: a hint for whoever changes it.
  [[nodiscard]] EntryPlace row_place() const {
    const bool scanned = source_ == Source::kScan && index_ == 0;
    return scanned ? cursor_.entry_place() : clustered_.entry_place();
  }
  /// An off-page value as it was handed to the codec.
  struct OffPage {
    OffPageValue stored;
    uint32_t column = 0;  ///< as given to the codec
    const std::byte* data = nullptr;
    size_t size = 0;
  };
  /// Of the row read last. REQUIRES: kept, and all columns were asked for.
  [[nodiscard]] const std::vector<OffPage>& off_page_values() const { return off_page_; }

  // --- without records; the place of the scan stays ---
  /// The stored newest version of a row, which is locked exclusively. kNotFound.
  Status LockRow(Bytes clustered_key, ByteBuffer* row);
  /// Counts entries in [from, end) as ReadOptions say; empty: no bound. REQUIRES: they do not ask
  /// for locks.
  Result<uint64_t> CountEntries(uint32_t index, Bytes from = {}, Bytes end = {});
  /// All entries of an index in the session's snapshot, in order; for the clustered one, rows. At
  /// READ UNCOMMITTED the newest ones. Ends with the first error of `visit`.
  using EntryVisit = FunctionRef<Status(Bytes key, Bytes payload)>;
  Status VisitEntries(uint32_t index, EntryVisit visit) { return VisitEntries(index, {}, visit); }
  /// The same of a range.
  Status VisitEntries(uint32_t index, const EntryRange& range, EntryVisit visit);

  /// True if it goes on after damage; TakeSalvageReport says what it skipped.
  [[nodiscard]] bool salvages() const { return salvage_ != nullptr; }
  /// What was skipped because it cannot be read, as a sentence; empty: nothing. Once.
  [[nodiscard]] std::string TakeSalvageReport() {
    return salvage_ == nullptr ? std::string() : salvage_->TakeReport(*table_);
  }
  /// The statement is over: the next one checks again what cannot be read.
  void ForgetSalvage();
  /// The statement is over: frees the memory of large off-page values, to which the record of the
  /// last row may point.
  void GiveBackBuffers();
  /// PublishCounts has something to do.
  [[nodiscard]] bool HasCounts() const {
    return rows_read_ != 0 || cursor_.HasCounts() || clustered_.HasCounts();
  }
  /// Adds what was read since the last call to the counters of the engine and, unless null, to
  /// those of a session. What the open scans copied counts when they move on or are closed.
  void PublishCounts(StatementKind kind = StatementKind::kSingleTable,
                     ReadMeter* session = nullptr);

 private:
  /// Which cursors hold the locks of the row read last.
  enum class Source : uint8_t { kNone, kScan, kLookup, kScanAndLookup };
  /// Tells a cursor on a secondary index where its entries keep the clustered key.
  struct EntryKeys {
    const RowCodec* codec = nullptr;
    uint32_t index = 0;
  };

  /// True for damage that is to be skipped.
  [[nodiscard]] bool Salvages(const Status& status) const {
    return salvage_ != nullptr && Salvage::IsDamage(status) &&
           options_.mode != ReadMode::kLockExclusive;
  }
  Result<bool> FindDetour(uint32_t index);
  /// Notes where to go on if a step meets damage.
  void NotePlace(const Bytes* from);
  /// A step met damage: goes on after it from the place noted.
  Status PassDamage(Direction direction, void* record);
  /// The row is unreadable though its entry is not: true if it is left out.
  bool PassesRow(Status* status, void* record);

  /// As OrOutOfMemory: then the cursors hold nothing any more, and the scan has no place.
  template <typename Step>
  Status OrLetGo(Step step) {
    try {
      return step();
    } catch (const std::bad_alloc&) {
      return LetGo();
    }
  }
  /// Moves the cursor by `step` and on to the next entry with a row, which it puts into the record.
  /// `from`: the key or the end (empty) that it starts from; null: where the scan is. Usually the
  /// first entry has a row: then all is done here, in one frame.
  template <typename Step>
  Status Move(const Bytes* from, Direction direction, void* record, Step step) {
    return OrLetGo([&] {
      if (!cursor_open_ || salvage_ != nullptr) [[unlikely]] {
        if (const Status ready = PrepareMove(from); !ready.ok()) return ready;
      }
      Status status = step();
      if (status.ok()) [[likely]] {
        status = PutRow(record);
        if (status.ok()) [[likely]]
          return status;
        status = LeaveEntry(status, record);
      }
      return GoOn(status, from, direction, record);
    });
  }
  Status PrepareMove(const Bytes* from);
  /// The rest of Move, from the outcome of its first entry: ok, kSkipped (it has no row) or an
  /// error.
  Status GoOn(Status status, const Bytes* from, Direction direction, void* record);
  Status LetGo();
  Status TryLockRow(Bytes clustered_key, ByteBuffer* row);
  Result<uint64_t> TryCountEntries(uint32_t index, Bytes from, Bytes end);
  Status TryVisitEntries(uint32_t index, const EntryRange& range, EntryVisit visit);
  Status TakeBatch(Status moved, EntryBatch* batch);
  Status FindRow(Bytes clustered_key, void* record);

  static bool FindRowKey(const void* entry_keys, Bytes entry_key, ByteBuffer* scratch,
                         Bytes* row_key);
  Result<Bytes> Read(const OffPageValue& value, uint32_t column) override;
  Status PrepareRead(ReadMode mode, uint32_t index);
  Status OpenCursor();
  Status OpenClustered();
  /// For a cursor on the index; `keys` lives as long as it is open.
  ReadOptions OptionsFor(EntryKeys* keys, uint32_t index, ReadOptions options) const;
  Status StepUntilRow(Status status, Direction direction, void* record);
  Status Advance(Direction direction);
  /// Its row could not be read. kSkipped: it has none, go on.
  Status LeaveEntry(Status status, void* record);
  Status PutRow(void* record) {
    source_ = Source::kScan;
    if (index_ == 0 && gate_ == nullptr) [[likely]]
      return Decode(view_, record);
    return PutRowOfEntry(record);
  }
  Status PutRowOfEntry(void* record);
  Status PutRowIfMatches(void* record);
  /// Of an entry that is wanted.
  Status PutRowOfWanted(void* record) {
    return entry_only_ ? PutFromEntry(record) : FetchRow(record);
  }
  Status PutFromEntry(void* record);
  /// It delivers without its row.
  Status TakeEntry() {
    ++covering_reads_;
    ++rows_read_;
    returned_bytes_ += view_.key.size() + view_.value.size();
    return keep_key_ ? KeepKeyOfEntry() : Status::Ok();
  }
  Status KeepKeyOfEntry();
  Status FetchRow(void* record);
  void AskForRowsAhead();
  Status Decode(const VersionView& row, void* record) {
    ++rows_read_;
    returned_bytes_ += row.key.size() + row.value.size();
    const bool is_plain =
        blobs_used_ == 0 && !keep_key_ && options_.mode != ReadMode::kReadUncommitted;
    if (!is_plain) [[unlikely]]
      return DecodeAndKeep(row, record);
    return codec_->DecodeRow(row, columns_, this, record);
  }
  Status DecodeAndKeep(const VersionView& row, void* record);
  void ForgetOffPageValues();
  Status DecodeUncommitted(const VersionView& row, void* record);
  Status DecodeAgain(void* record);
  Status FetchRowInstead(void* record);
  Status CheckStillMatches(const void* record);
  Status CheckStillThere();
  [[nodiscard]] const void* ColumnsOfUncommitted() const;
  Status LockAndStep(Direction direction);

  TxnManager* const txns_;
  const std::unique_ptr<Salvage> salvage_;  ///< null without RecoveryOptions::force
  Table* const table_;
  const RowCodec* const codec_;
  VersionCursor cursor_;     ///< on the scanned index; knows where the scan is
  VersionCursor clustered_;  ///< rows found through secondary entries, and GetRow
  Session* session_ = nullptr;
  ReadOptions options_;
  const void* columns_ = nullptr;
  EntryFilter* filter_ = nullptr;
  EntryGate* gate_ = nullptr;
  Bytes go_on_;  ///< where the gate wants the scan to continue; empty: at the next entry
  EntryKeys entry_keys_;
  uint32_t index_ = 0;
  bool entry_only_ = false;
  bool keep_key_ = false;
  bool scan_open_ = false;
  bool cursor_open_ = false;
  bool clustered_open_ = false;
  RowsAhead rows_ahead_;
  PeekedEntries peeked_;       ///< of a scan that locks
  bool lock_current_ = false;  ///< the next step reads the current row again, locked
  Source source_ = Source::kNone;
  VersionView view_;
  VersionView row_view_;
  ByteBuffer row_key_;
  ByteBuffer scratch_;
  EncodedEntry check_entry_;
  std::vector<OffPage> off_page_;
  std::vector<ByteBuffer> blobs_;  ///< off-page bytes of the current row; reused
  size_t blobs_used_ = 0;
  BlobRef missing_blob_;               ///< READ UNCOMMITTED: the value that was gone
  bool report_missing_blobs_ = false;  ///< it must exist
  ScanPlace place_before_;             ///< see NotePlace
  uint64_t rows_read_ = 0;
  uint64_t returned_bytes_ = 0;
  ReadAmount fallback_;
  uint64_t clustered_lookups_ = 0;
  uint64_t covering_reads_ = 0;
};

}  // namespace rowan
