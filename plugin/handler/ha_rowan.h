// SPDX-License-Identifier: GPL-2.0-only
// ha_rowan: the server's handler for one open Rowan table. Split by what the server does with it:
//   ha_rowan_open.cc   flags, open, close, clone      ha_rowan_write.cc  insert, update, delete
//   ha_rowan_lock.cc   statements, lock modes, extra  ha_rowan_ddl.cc    create, drop, rename
//   ha_rowan_read.cc   index and table scans          ha_rowan_info.cc   statistics, costs
//   ha_rowan_multi_range.cc multi-range reads
//   ha_rowan_groups.cc of each group only the first rows
//   ha_rowan_count.cc rows counted or skipped         ha_rowan_sample.cc  samples for histograms
//   ha_rowan_spatial.cc searches of SPATIAL indexes
//   ha_rowan_foreign_keys.cc what cascades change
//   ha_rowan_fulltext.cc searches of FULLTEXT indexes
//   ha_rowan_load.cc  the copy of ALTER TABLE
//   ha_rowan_stored_entries.cc entries that were computed under other settings
//   ha_rowan_autoinc.cc AUTO_INCREMENT                ha_rowan_admin.cc  ANALYZE, CHECK, OPTIMIZE
//
// Between external_lock(F_RDLCK|F_WRLCK) (or start_stmt) and external_lock(F_UNLCK) `session_` is
// the connection's session, or its part for temporary tables; outside it is null. Row references
// (`ref`) are the primary key in the server's key image format, or the 8-byte hidden row id.
// Thread safety: one thread at a time, as the server guarantees.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "my_base.h"
#include "sql/handler.h"
#include "sql/table.h"

#include "engine/bulk_load.h"
#include "engine/entry_search.h"
#include "engine/group_scan.h"
#include "engine/table_cursor.h"
#include "plugin/codec/spatial_scan.h"
#include "plugin/codec/table_codec.h"
#include "plugin/handler/computed_columns.h"
#include "plugin/handler/foreign_keys.h"
#include "plugin/handler/group_plan.h"
#include "plugin/handler/row_plan.h"
#include "plugin/handler/table_part.h"
#include "plugin/handler/table_share.h"
#include "plugin/server/thd_context.h"

namespace rowan {

struct TextMatchState;

class ha_rowan : public handler, private EntryFilter, private StoredEntries {
 public:
  ha_rowan(handlerton* hton, TABLE_SHARE* table_share);
  ~ha_rowan() override;

  // --- what the engine can do ---
  const char* table_type() const override { return "ROWAN"; }
  Table_flags table_flags() const override;
  ulong index_flags(uint index, uint part, bool all_parts) const override;
  uint max_supported_keys() const override { return MAX_KEY; }
  uint max_supported_key_length() const override;
  uint max_supported_key_part_length(HA_CREATE_INFO* create_info) const override;
  bool primary_key_is_clustered() const override { return true; }
  enum ha_key_alg get_default_index_algorithm() const override { return HA_KEY_ALG_BTREE; }
  bool is_index_algorithm_supported(enum ha_key_alg algorithm) const override {
    return algorithm == HA_KEY_ALG_BTREE;
  }
  enum row_type get_real_row_type(const HA_CREATE_INFO*) const override { return ROW_TYPE_DYNAMIC; }
  uint lock_count() const override { return 0; }  // metadata locks and row locks are enough
  bool get_error_message(int error, String* message) override;

  // --- life ---
  int open(const char* name, int mode, uint test_if_locked, const dd::Table* table_def) override;
  int close() override;
  handler* clone(const char* name, MEM_ROOT* mem_root) override;

  // --- statements ---
  THR_LOCK_DATA** store_lock(THD* thd, THR_LOCK_DATA** to, thr_lock_type lock_type) override;
  int external_lock(THD* thd, int lock_type) override;
  int start_stmt(THD* thd, thr_lock_type lock_type) override;
  int extra(ha_extra_function operation) override;
  int reset() override;
  void unlock_row() override;
  void try_semi_consistent_read(bool yes) override;
  bool was_semi_consistent_read() override;
  void column_bitmaps_signal() override;

  // --- reads ---
  int index_init(uint index, bool sorted) override;
  int index_end() override;
  int index_read_map(uchar* record, const uchar* key, key_part_map keypart_map,
                     ha_rkey_function find_flag) override;
  int index_read_last_map(uchar* record, const uchar* key, key_part_map keypart_map) override;
  int index_next(uchar* record) override;
  int index_prev(uchar* record) override;
  int index_first(uchar* record) override;
  int index_last(uchar* record) override;
  int index_next_same(uchar* record, const uchar* key, uint key_length) override;
  int read_range_first(const key_range* start_key, const key_range* end_key, bool eq_range,
                       bool sorted) override;
  int read_range_next() override;
  int rnd_init(bool scan) override;
  int rnd_end() override;
  int rnd_next(uchar* record) override;
  int rnd_pos(uchar* record, uchar* position) override;
  void position(const uchar* record) override;
  int cmp_ref(const uchar* left, const uchar* right) const override;
  int sample_init(void*& scan, double percentage, int seed, enum_sampling_method method,
                  bool tablesample) override;
  int sample_next(void* scan, uchar* record) override;
  int sample_end(void* scan) override;
  void use_hidden_primary_key() override {}
  Item* idx_cond_push(uint key_number, Item* condition) override;
  void cancel_pushed_idx_cond() override;
  // With rows fetched in the order of the primary key (ha_rowan_multi_range.cc).
  int multi_range_read_init(RANGE_SEQ_IF* sequence, void* sequence_start, uint ranges, uint mode,
                            HANDLER_BUFFER* buffer) override;
  int multi_range_read_next(char** range_info) override;
  ha_rows multi_range_read_info_const(uint index, RANGE_SEQ_IF* sequence, void* sequence_start,
                                      uint ranges, uint* buffer_bytes, uint* flags,
                                      bool* force_default, Cost_estimate* cost) override;
  ha_rows multi_range_read_info(uint index, uint ranges, uint rows, uint* buffer_bytes, uint* flags,
                                Cost_estimate* cost) override;
  // Parts of a query that the engine does (plugin/pushdown/, ha_rowan_groups.cc).
  const handlerton* hton_supporting_engine_pushdown() override { return ht; }
  std::string explain_extra() const override;
  /// From now on, index scans named by the plan deliver only the first rows of each group, until
  /// the statement's end or the next plan; null: none.
  void SetGroupPlan(std::unique_ptr<const GroupPlan> plan) { group_plan_ = std::move(plan); }
  /// For the scans of the statement, until its end or the next plan; null: none.
  void SetRowPlan(std::unique_ptr<const RowPlan> plan);
  /// The range between two ends, either of which may be null. False: it has no such form.
  bool MakeRange(uint key, const key_range* low, const key_range* high,
                 RowPlan::Range* range) const;
  /// Reads are of one snapshot and lock nothing.
  [[nodiscard]] bool ReadsSnapshot() const;
  /// The index as the engine numbers it; false: the server may not search it by its key parts.
  [[nodiscard]] bool IsSearchableKey(uint key, uint32_t* index_number) const;
  // MATCH ... AGAINST (ha_rowan_fulltext.cc).
  FT_INFO* ft_init_ext(uint flags, uint key_number, String* key) override;
  int ft_init() override;
  int ft_read(uchar* record) override;
  int records(ha_rows* count) override;
  int records_from_index(ha_rows* count, uint index) override;

  // --- writes ---
  int end_bulk_insert() override;
  void print_error(int error, myf flags) override;
  int write_row(uchar* record) override;
  int update_row(const uchar* old_record, uchar* new_record) override;
  int delete_row(const uchar* record) override;
  void get_auto_increment(ulonglong offset, ulonglong increment, ulonglong count,
                          ulonglong* first_value, ulonglong* reserved) override;
  void update_create_info(HA_CREATE_INFO* create_info) override;

  // --- definition ---
  int create(const char* name, TABLE* form, HA_CREATE_INFO* create_info,
             dd::Table* table_def) override;
  int delete_table(const char* name, const dd::Table* table_def) override;
  int rename_table(const char* from, const char* to, const dd::Table* from_def,
                   dd::Table* to_def) override;
  enum_alter_inplace_result check_if_supported_inplace_alter(TABLE* altered_table,
                                                             Alter_inplace_info* info) override;
  bool prepare_inplace_alter_table(TABLE* altered_table, Alter_inplace_info* info,
                                   const dd::Table* old_def, dd::Table* new_def) override;
  bool inplace_alter_table(TABLE* altered_table, Alter_inplace_info* info, const dd::Table* old_def,
                           dd::Table* new_def) override;
  bool commit_inplace_alter_table(TABLE* altered_table, Alter_inplace_info* alter_info, bool commit,
                                  const dd::Table* old_def, dd::Table* new_def) override;

  int discard_or_import_tablespace(bool discard, dd::Table* table_def) override;

  /// Asked of a table that is to change places with a partition.
  bool check_if_incompatible_data(HA_CREATE_INFO* create_info, uint changes) override;

  // --- statistics and administration ---
  int info(uint flag) override;
  ha_rows records_in_range(uint index, key_range* low, key_range* high) override;
  double scan_time() override;
  double read_time(uint index, uint ranges, ha_rows rows) override;
  longlong get_memory_buffer_size() const override;
  int analyze(THD* thd, HA_CHECK_OPT* options) override;
  int check(THD* thd, HA_CHECK_OPT* options) override;
  int optimize(THD* thd, HA_CHECK_OPT* options) override;

 protected:
  // What ha_rowan_part does to the partitions one by one.

  // ha_rowan_open.cc
  Status OpenShare(const dd::Table* table_def);
  /// For the engine table of the server's table. kTableChanged: the definitions differ.
  Result<std::unique_ptr<TableShare>> MakeShare(TableId id) const;
  /// Writes to the log why the table cannot be opened; the handler error.
  int FailOpen(const char* name, Status status);
  void PrepareBuffers();
  // Of the engine table that the handler works on.
  [[nodiscard]] const TableCodec& codec() const { return part_->codec(); }
  [[nodiscard]] Table* engine_table() const { return part_->table(); }
  [[nodiscard]] TableCursor* reader() const { return part_->reader(); }
  [[nodiscard]] bool is_temporary() const { return IsTemporary(engine_table()->id()); }
  /// Counts a row at an end of an index; as InnoDB counts, it was searched by key as well.
  void CountEnd(ulonglong System_status_var::*end) const;
  /// Whether rows are read from now on with computed columns (computed_columns.h).
  void ComputeColumns(bool active) {
    if (part_->computed_columns() != nullptr) part_->computed_columns()->set_active(active);
  }
  [[nodiscard]] int Fail(Status status);

  // ha_rowan_ddl.cc
  /// What the engine is to make of the server's definition. 0, or the handler error, raised.
  /// `former`: the engine's table that TRUNCATE replaces, whose words FULLTEXT indexes keep.
  int Describe(TABLE* form, const HA_CREATE_INFO& info, const std::string& name,
               TableDef* definition, dd::Object_id former = dd::INVALID_OBJECT_ID) const;
  static int CreateTemporary(THD* thd, TableDef definition, uint64_t auto_increment,
                             dd::Table* table_def);

  // ha_rowan_lock.cc
  virtual int EnterStatementAs(THD* thd, thr_lock_type lock_type, bool writes);
  /// At the end of a statement: scans that stay open hold no page.
  virtual void SuspendScans();
  /// 0, or the handler error of a table that is dropped or damaged.
  static int CheckUsable(const Table& engine_table, bool writes);
  void ReportSalvage();  ///< to client and error log: what the result lacks
  /// The connection's session and how it reads, for the statement that begins.
  int BeginUse(THD* thd, thr_lock_type lock_type, bool writes);
  /// The reader reads for the statement from now on.
  void AttachReader();
  [[nodiscard]] ReadMode ModeFor(THD* thd, thr_lock_type lock_type, bool writes) const;
  void ReadAs(ReadMode mode);  ///< from the next read on

  // ha_rowan_multi_range.cc
  void EndMultiRange() {
    if (sorted_ranges_used_) sorted_ranges_.dsmrr_close();
  }

  // ha_rowan_read.cc
  void PrepareRead();
  /// At the end of a statement: what the reader counted, to the session's meter and the totals.
  void PublishReads(TableCursor* reader) const;
  /// Rows without a primary key are found again by their hidden key, which no record holds.
  [[nodiscard]] RowKeys KeysFor(bool writes) const {
    const bool keeps = writes || searches_text_ || !codec().has_primary_key();
    return keeps ? RowKeys::kKeep : RowKeys::kForget;
  }
  const MY_BITMAP* ColumnsOfKeyRead(bool* from_entry);
  /// Whether the entries of the active index hold every column the statement reads.
  bool IndexCoversRead() const;
  /// Whether an entry of the active index gives all that position() takes from the record.
  [[nodiscard]] bool EntryHasRowReference() const;
  int Found(Status status, int error_at_end);
  /// COUNT(*) has to lock every row.
  [[nodiscard]] bool CountsUnderLocks() const {
    return read_options_.mode != ReadMode::kSnapshot &&
           read_options_.mode != ReadMode::kReadUncommitted;
  }
  bool Matches() override;
  [[nodiscard]] bool HasCondition() const;
  [[nodiscard]] key_part_map PartsInImage(uint index, key_part_map keypart_map) const;
  void EncodeSearch(const uchar* key, key_part_map keypart_map);
  /// First byte string after, or at the start of, the entries that a range's end names.
  void EncodeBound(uint index, const key_range& range, bool behind, ByteBuffer* bound) const;
  /// Estimated rows between the ends, either of which may be null; 0 when there seem to be none.
  Result<uint64_t> EstimateRange(uint index, const key_range* low, const key_range* high) const;
  int ReadPrefix(uchar* record, bool last, bool exact);
  /// First row of a range, which the scan then ends with.
  int OpenRange(uchar* record, const key_range* start_key, const key_range* end_key);
  /// The start's flag for a range that is opened.
  [[nodiscard]] ha_rkey_function StartFlag(const key_range& start_key) const;
  // A reference to a row within its engine table: `row_reference_bytes_` of the handler's `ref`.
  int ReadReferenced(uchar* record, const uchar* reference);
  void PutReference(const uchar* record, uchar* reference) const;
  [[nodiscard]] int CompareReferences(const uchar* left, const uchar* right) const;
  void SetEndOf(const key_range* range);
  void SetStartOf(const key_range* range);

  // ha_rowan_groups.cc
  [[nodiscard]] bool ReadsGroups(uint index) const {
    return group_plan_ != nullptr && group_plan_->access_key == index;
  }
  int InitGroupScan();
  void KeepGroupScan();  ///< closes it, for the next InitGroupScan of the plan
  void PrepareGroupRead();
  struct KeySearch {
    const uchar* key = nullptr;
    key_part_map parts = 0;
    ha_rkey_function flag = HA_READ_KEY_EXACT;
  };
  int ReadGroupsOf(uchar* record, const KeySearch& search);
  int ReadFirstGroup(uchar* record, GroupScan::Direction direction);
  int ReadNextOfGroups(uchar* record);
  /// Of the range that the server opens; empty: none.
  Bytes EndOfGroups();
  int PassedCondition(Status found, uchar* record, int error_at_end);
  // ha_rowan_count.cc
  int CountRows(uint32_t index_number, ha_rows* count);
  int CountPlanned(ha_rows* count);
  Status CountRange(const RowPlan::Range& range, uint64_t* rows);
  /// The conditions of the plan, for the row in the table's record.
  [[nodiscard]] bool MatchesPlan() const;
  /// Asks the conditions of two rows of the range; of none where there is none.
  Status IsTrueBetween(const RowPlan::Range& range, const std::array<EntryOrdinal, 2>& ordinals,
                       bool* is_true);
  /// Rows that match, in the plan's direction, until `visit` says no.
  Status ForEachRow(const RowPlan::Range& range, FunctionRef<bool()> visit);
  [[nodiscard]] bool SkipsRows() const {
    return row_plan_ != nullptr && row_plan_->kind == RowPlan::Kind::kSkip;
  }
  [[nodiscard]] std::string ExplainRowPlan() const;
  /// Where a scan begins, if it skips rows.
  int ReadBehindSkipped(uchar* record, int error_at_end);
  Status SeekBehindSkipped(uchar* record, uint64_t* skipped);
  Status PassRows(uchar* record, uint64_t* skipped);

  // ha_rowan_spatial.cc
  void FindNothing();
  int ReadSpatial(uchar* record, const uchar* key, ha_rkey_function find_flag);
  int ReadNextSpatialRange(uchar* record);
  /// kUnsupported: the range is not that of a box.
  [[nodiscard]] Result<uint64_t> EstimateSpatial(uint32_t index_number,
                                                 const key_range* range) const;

  // ha_rowan_fulltext.cc
  Status FindMatches(TextMatchState* match);
  /// kNotFound: the row is none of the matches any more.
  Status ReadMatch(const TextMatchState& match, Bytes key, uchar* record);
  /// Whether a row that was found in the index is one of the matches as it was read.
  Status StillMatches(const TextMatchState& match, const uchar* record, bool* matches);

  // ha_rowan_write.cc
  Status UpdateRecord(const uchar* old_record, uchar* new_record);
  Status DeleteRecord(const uchar* record);
  int NoteFailure(Status status);
  void ChooseChangedIndexes();
  bool SameRow(const uchar* old_record, const uchar* new_record);
  void mv_key_capacity(uint* keys, size_t* bytes) const override;

  // ha_rowan_stored_entries.cc
  Status Find(uint32_t index_number, Bytes key, std::vector<EncodedEntry>* entries) override;
  void TellOfOtherSettings(uint32_t index_number) const;

  // ha_rowan_foreign_keys.cc
  /// The server reads an index of a child after counting and before it looks at the count.
  void RepairCascadeCount() const;
  [[nodiscard]] bool MayInsert() const { return unchecked_keys_ != UncheckedKeys::kAll; }
  [[nodiscard]] bool MayChange() const { return unchecked_keys_ == UncheckedKeys::kNone; }
  static int RefuseUnchecked();
  /// Returns `error`, a handler error or 0, having raised in the statement one that the server
  /// would ignore.
  int RaiseInCascade(int error);
  /// The row that is to be changed, which the server read as `read`: the same, or read again as a
  /// cascade may have changed it. kNotFound: it may also have deleted it.
  Status FindStored(const uchar* read, StoredRecord* row);
  static bool SameOffPageValues(const TableCursor& left, const TableCursor& right);

  // ha_rowan_load.cc
  int BeginLoad(size_t sort_memory_bytes);
  Status ShowDuplicate(Status status);

  // ha_rowan_autoinc.cc
  /// The column's value in a record; 0 if negative.
  [[nodiscard]] uint64_t AutoIncrementOf(const uchar* record) const;
  void RaiseAutoIncrement(const uchar* record);
  /// For an insert where rowan_autoinc_lock_mode is not "interleaved". Waits.
  Status LockAutoIncrement();
  /// Before the stored row goes (`new_record` null) or changes.
  Status KeepAutoIncrement(const uchar* old_record, const uchar* new_record);
  /// Raises the counter of a table that is being opened above the values in its index.
  Status FindAutoIncrement(const TableShare& share) const;

  // ha_rowan_info.cc
  /// `always`: even if the handler published the same before.
  void PublishRowsPerKey(bool always);
  void ShowStatistics(const Table::Statistics& now, uint flag);
  /// By the primary key.
  static double RowsReadTime(const Table::Statistics& now, uint ranges, ha_rows rows);

  // ha_rowan_admin.cc
  struct Fingerprint;
  int AnalyzeTable(THD* thd);
  void Complain(THD* thd, const std::string& sentence) const;
  int CheckAgreement(THD* thd);
  /// Of an index whose entries differ from those that the rows call for: whether they still belong
  /// to the rows, computed differently.
  Status FitsRows(uint32_t index_number, const Fingerprint& rows, bool* fits);
  void ComplainOfOtherSettings(THD* thd, uint32_t index_number) const;
  /// What each secondary index should hold, by its number; at 0, clustered keys.
  Status FingerprintRows(std::vector<Fingerprint>* expected);

  TablePart own_part_;            ///< of a table without partitions
  TablePart* part_ = &own_part_;  ///< that is worked on
  Session* session_ = nullptr;
  ReadOptions read_options_;
  thr_lock_type lock_type_ = TL_READ;
  bool writes_ = false;
  bool keyread_ = false;
  MY_BITMAP keyread_columns_{};
  std::vector<my_bitmap_map> keyread_bits_;
  /// Exclusive: REPLACE, ON DUPLICATE KEY UPDATE.
  LockMode duplicate_mode_ = LockMode::kShared;
  uint duplicate_key_ = MAX_KEY;          ///< server key number of the last duplicate
  const key_range* range_end_ = nullptr;  ///< of the range that is just being opened

  bool searches_text_ = false;  ///< the statement asks how relevant rows are, by their keys

  DsMrr_impl sorted_ranges_;         ///< the server's; reads the index with a second handler
  bool sorted_ranges_used_ = false;  ///< since the last reset()

  std::unique_ptr<const GroupPlan> group_plan_;  ///< of the statement; null: none
  std::unique_ptr<GroupScan> group_scan_;        ///< of the open scan; null: it reads every row
  std::unique_ptr<const RowPlan> row_plan_;      ///< of the statement; null: none
  bool skips_at_next_row_ = false;               ///< a table scan that has not begun

  std::unique_ptr<SpatialScan> spatial_scan_;  ///< of the active index, once it is searched

  ByteBuffer search_key_;
  ByteBuffer bound_key_;
  ByteBuffer range_key_;
  ByteBuffer position_key_;
  uint row_reference_bytes_ = 0;
  bool merges_ = false;  ///< the scan merges rows of several engine tables by computed columns

  uint64_t published_cardinalities_ = 0;  ///< which state of them the server has from this handler
  bool load_failed_ = false;
  std::vector<std::string> exported_files_;    ///< UNLOCK TABLES removes them
  std::unique_ptr<EntrySearch> entry_search_;  ///< of the statement; null: no search yet
  IndexSet changed_indexes_;

  UncheckedKeys unchecked_keys_ = UncheckedKeys::kNone;
  bool cascades_may_return_ = false;            ///< to the row of this table that they began with
  std::unique_ptr<TableCursor> stored_reader_;  ///< null until a row had to be read again
  std::vector<uchar> stored_record_;
};

}  // namespace rowan
