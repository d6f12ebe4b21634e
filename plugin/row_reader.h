// SPDX-License-Identifier: GPL-2.0-only
// RowReader: an ordered scan of one index of a table that puts whole rows into the server's record
// format. Through a secondary index it goes entry -> clustered row, or decodes the entry alone
// (entry only: never a clustered visit). Reads and locks as ReadOptions say: entry first, then row;
// an entry whose row is gone meanwhile is stepped over.
//
// A scan survives the end of a statement (HANDLER): Suspend keeps the position as a key.
// Thread safety: one thread at a time.
#pragma once

#include <optional>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"
#include "engine/session.h"
#include "mvcc/version_cursor.h"
#include "plugin/table_codec.h"

struct MY_BITMAP;

namespace rowan {

/// Decides on an entry before its row is fetched (index condition pushdown).
class EntryFilter {
 public:
  virtual ~EntryFilter() = default;
  /// The index's whole columns have been put into the record; of a column that is indexed by a
  /// prefix it holds anything.
  virtual bool Matches() = 0;
};

/// Tells a cursor on a secondary index where its entries keep the clustered key.
struct EntryKeys {
  const TableCodec* codec = nullptr;
  uint32_t ordinal = 0;

  /// Valid while this object is.
  [[nodiscard]] RowKeyFinder Finder() const;
};

class RowReader : private TableCodec::BlobReader {
 public:
  RowReader(Engine* engine, Table* table, const TableCodec* codec);

  /// Which columns to deliver, from the next read on; null = all. `track_key`: keep each row's
  /// clustered key and its off-page references (needed to change the row).
  void SetColumns(const MY_BITMAP* columns, bool track_key) {
    columns_ = columns;
    track_key_ = track_key;
  }
  void SetFilter(EntryFilter* filter) { filter_ = filter; }
  void SetSession(Session* session, const ReadOptions& options);

  // --- scan; errors: kEndOfRange and those of the engine ---
  void OpenScan(uint32_t ordinal, bool entry_only);
  void CloseScan();
  /// The statement ends while the scan stays open: remember the place, let go of the cursor.
  void Suspend();
  [[nodiscard]] bool scan_open() const { return scan_open_; }
  [[nodiscard]] uint32_t ordinal() const { return ordinal_; }
  [[nodiscard]] bool entry_only() const { return entry_only_; }
  void set_entry_only(bool entry_only) { entry_only_ = entry_only; }

  /// Forward scans stop before `end` (empty: no bound). Stays until changed or the scan is closed.
  void SetEnd(Bytes end);
  /// Backward scans stop behind the last entry before `start` (empty: no bound). Stays likewise.
  void SetStart(Bytes start) {
    if (!start.empty() || !start_.empty()) start_.assign(start.begin(), start.end());
  }
  Status SeekAtLeast(Bytes key, unsigned char* record);
  Status SeekBefore(Bytes key, unsigned char* record);
  Status SeekFirst(unsigned char* record);
  Status SeekLast(unsigned char* record);
  Status Next(unsigned char* record);
  Status Prev(unsigned char* record);
  /// The row with exactly this clustered key; the scan may go on from it when it is of the
  /// clustered index. kNotFound.
  Status GetRow(Bytes clustered_key, unsigned char* record);
  /// Gives back the locks of the row just read.
  void UnlockCurrent();
  /// UPDATE at READ COMMITTED: from the next scan on, rows that others have locked are read as
  /// their last commit left them, without waiting (clustered scans; see ReadOptions).
  void SetSemiConsistent(bool semi_consistent) { options_.semi_consistent = semi_consistent; }
  /// True when the row just read is such a row: then the next step of the scan waits for its lock
  /// and reads it again.
  bool WillReadAgain();

  // --- the row read last ---
  /// Tree key of the current entry in the scanned index; empty when there is none.
  [[nodiscard]] Bytes current_entry_key() const { return view_.key; }
  /// Clustered key; REQUIRES: tracked.
  [[nodiscard]] Bytes row_key() const { return {row_key_.data(), row_key_.size()}; }
  /// An off-page value as it was handed to the server.
  struct OffPage {
    BlobRef ref;
    const std::byte* data = nullptr;
    size_t size = 0;
  };
  /// Of the row read last; REQUIRES: tracked and all columns were asked for.
  [[nodiscard]] const std::vector<OffPage>& off_page_values() const { return off_page_; }

  /// The statement is over: gives back the memory of large off-page values, and with it what the
  /// record of the last row points to.
  void GiveBackBuffers();
  /// Adds what was read since the last call to the counters.
  void PublishCounts();

 private:
  /// Where the next step starts from: nowhere yet, the cursor's entry, the entry with `resume_key_`
  /// (which may be gone), between the entries before and at `resume_key_`, outside at an end.
  enum class Place : uint8_t { kNone, kCursor, kKey, kGap, kPastEnd, kBeforeStart };
  /// Which cursors hold the locks of the row read last.
  enum class Source : uint8_t { kNone, kScan, kLookup, kScanAndLookup };

  Result<Bytes> Read(const BlobRef& ref) override;
  Status OpenCursor();
  Status OpenClustered();
  Status StepUntilRow(Status status, bool forward, unsigned char* record);
  Status PutRow(unsigned char* record);
  Status PutFromEntry(unsigned char* record);
  Status FetchRow(unsigned char* record);
  Status Decode(Bytes key, Bytes row, unsigned char* record);
  Status DecodeAgain(unsigned char* record);
  Status CheckStillMatches(unsigned char* record);
  [[nodiscard]] const MY_BITMAP* ColumnsToDecode() const;
  Status Resume(bool forward, unsigned char* record);
  Status Step(bool forward);
  void StayInGap(Bytes key);
  void StayOutside(bool forward);
  [[nodiscard]] bool BeforeStart() const {
    return !start_.empty() && CompareBytes(view_.key, start_) < 0;
  }

  Engine* const engine_;
  Table* const table_;
  const TableCodec* const codec_;
  VersionCursor cursor_;     ///< on the scanned index
  VersionCursor clustered_;  ///< rows found through secondary entries, and GetRow
  Session* session_ = nullptr;
  ReadOptions options_;
  const MY_BITMAP* columns_ = nullptr;
  EntryFilter* filter_ = nullptr;
  EntryKeys entry_keys_;
  uint32_t ordinal_ = 0;
  bool entry_only_ = false;
  bool track_key_ = false;
  bool scan_open_ = false;
  bool cursor_open_ = false;
  bool clustered_open_ = false;
  bool lock_current_ = false;  ///< the next step reads the current row again, locked
  Place place_ = Place::kNone;
  Source source_ = Source::kNone;
  VersionView view_;
  VersionView row_view_;
  ByteBuffer row_key_;
  ByteBuffer scratch_;
  ByteBuffer resume_key_;
  ByteBuffer end_;
  ByteBuffer start_;
  ByteBuffer check_key_;
  ByteBuffer check_payload_;
  std::vector<OffPage> off_page_;
  std::vector<std::vector<std::byte>> blobs_;  ///< off-page bytes of the current row; reused
  size_t blobs_used_ = 0;
  BlobRef missing_blob_;               ///< READ UNCOMMITTED: the value that was gone
  bool report_missing_blobs_ = false;  ///< it is known that it must be there
  uint64_t rows_read_ = 0;
  uint64_t clustered_lookups_ = 0;
  uint64_t covering_reads_ = 0;
};

}  // namespace rowan
