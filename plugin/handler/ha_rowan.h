// SPDX-License-Identifier: GPL-2.0-only
// ha_rowan: the server's handler for one open Rowan table. Split by what the server does with it:
//   ha_rowan_open.cc  flags, open, close, clone    ha_rowan_read.cc   scans, searches, references
//   ha_rowan_lock.cc  statements, lock modes       ha_rowan_write.cc  insert, update, delete, loads
//   ha_rowan_ddl.cc   create, drop, rename, alter  ha_rowan_info.cc   statistics, administration
//   ha_rowan_multi_range.cc  multi-range reads     ha_rowan_sample.cc samples for histograms
// What it works on is a TablePart; what only some statements need has a class of its own: AlterJob,
// TableTransport, GroupReader, TextMatchState, KeyRead, KeyStatistics.
//
// Between external_lock(F_RDLCK|F_WRLCK) (or start_stmt) and external_lock(F_UNLCK) `session_` is
// the connection's session, or its part for temporary tables; outside it is null.
// Thread safety: one thread at a time, as the server guarantees.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "my_base.h"
#include "sql/handler.h"
#include "sql/table.h"

#include "plugin/handler/block_rows.h"
#include "plugin/handler/foreign_keys.h"
#include "plugin/handler/group_reader.h"
#include "plugin/handler/key_bounds.h"
#include "plugin/handler/key_read.h"
#include "plugin/handler/key_statistics.h"
#include "plugin/handler/points_ahead.h"
#include "plugin/handler/references_ahead.h"
#include "plugin/handler/row_plan.h"
#include "plugin/handler/table_part.h"

namespace rowan {

class ha_rowan : public handler, private EntryFilter {
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
  uint lock_count() const override { return 0; }  // metadata locks and row locks suffice
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
  // With rows fetched in the order of the primary key.
  int multi_range_read_init(RANGE_SEQ_IF* sequence, void* sequence_start, uint ranges, uint mode,
                            HANDLER_BUFFER* buffer) override;
  int multi_range_read_next(char** range_info) override;
  ha_rows multi_range_read_info_const(uint index, RANGE_SEQ_IF* sequence, void* sequence_start,
                                      uint ranges, uint* buffer_bytes, uint* flags,
                                      bool* force_default, Cost_estimate* cost) override;
  ha_rows multi_range_read_info(uint index, uint ranges, uint rows, uint* buffer_bytes, uint* flags,
                                Cost_estimate* cost) override;
  // Parts of a query that the engine executes (plugin/pushdown/).
  const handlerton* hton_supporting_engine_pushdown() override { return ht; }
  std::string explain_extra() const override;
  /// From now on, index scans named by the plan deliver only the first rows of each group, until
  /// the statement's end or the next plan; null: none.
  void SetGroupPlan(std::unique_ptr<const GroupPlan> plan) { groups_.SetPlan(std::move(plan)); }
  /// For the scans of the statement, until its end or the next plan; null: none.
  void SetRowPlan(std::unique_ptr<const RowPlan> plan) { row_plan_ = std::move(plan); }
  /// Likewise; its rows come instead of those of the scan.
  void SetBlockRows(std::unique_ptr<BlockRows> rows) { block_rows_ = std::move(rows); }
  /// Before a plan for them is made: of a table with partitions, works on the first one that the
  /// statement reads. False: there is none, or not all of them store their rows in the same way.
  [[nodiscard]] virtual bool StartBlock() { return true; }
  /// True if reads use one snapshot and lock nothing.
  [[nodiscard]] bool ReadsSnapshot() const;
  /// The engine table that the handler works on.
  [[nodiscard]] const TablePart& part() const { return *part_; }
  // MATCH ... AGAINST.
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

  /// Called for a table to be exchanged with a partition.
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
  // ha_rowan_open.cc
  Status MakeShare(const dd::Table* table_def);
  void PrepareBuffers();
  [[nodiscard]] const TableCodec& codec() const { return part_->codec(); }
  [[nodiscard]] Table* engine_table() const { return part_->table(); }
  [[nodiscard]] TableCursor* reader() const { return part_->reader(); }
  [[nodiscard]] int Fail(Status status);

  // ha_rowan_lock.cc
  virtual int EnterStatementAs(THD* thd, thr_lock_type lock_type, bool writes);
  /// At the end of a statement: scans that stay open hold no page.
  virtual void SuspendScans();
  /// Sets the connection's session and how it reads, for the statement that begins.
  int BeginUse(THD* thd, thr_lock_type lock_type, bool writes);
  /// From now on the reader reads for the statement.
  void AttachReader();
  [[nodiscard]] ReadMode ModeFor(THD* thd, thr_lock_type lock_type, bool writes) const;
  int RareExtra(ha_extra_function operation);
  void ReadAs(ReadMode mode);  ///< from the next read on
  void EndMultiRange();

  // ha_rowan_read.cc
  void PrepareRead();
  /// Rows without a primary key are found again by their hidden key, which is not in the record.
  [[nodiscard]] RowKeys KeysFor(bool writes) const;
  int Found(Status status, int error_at_end);
  /// Counts a row at an end of an index; like InnoDB, it also counts as a search by key.
  void CountEnd(ulonglong System_status_var::*end) const;
  bool Matches() override;
  /// The condition pushed down to the active index; null: none.
  EntryFilter* Filter() {
    return pushed_idx_cond != nullptr && pushed_idx_cond_keyno == active_index ? this : nullptr;
  }
  [[nodiscard]] GroupReader::Read GroupRead(uchar* record);
  int SearchGroups(uchar* record, const GroupReader::Key& key);
  int ReadFirstGroup(uchar* record, GroupScan::Direction direction);
  int ReadNextOfGroups(uchar* record);
  void EncodeSearch(const uchar* key, key_part_map keypart_map);
  int ReadPrefix(uchar* record, bool last, bool exact);
  /// Reads the first row of a range, at whose end the scan then ends.
  int OpenRange(uchar* record, const key_range* start_key, const key_range* end_key);
  /// The flag of the start of a range being opened.
  [[nodiscard]] ha_rkey_function StartFlag(const key_range& start_key) const;
  /// Reads the row by its reference within its engine table.
  int ReadReferenced(uchar* record, const uchar* reference);
  void ReadAheadFrom(const uchar* reference);
  /// The next range of points_ahead_; nonzero: none.
  uint NextPoint(KEY_MULTI_RANGE* range);
  void SetEndOf(const key_range* range);
  void SetStartOf(const key_range* range);
  /// The scan goes on from its place, seeking it anew, up to this end; empty: none.
  void GoOnUntil(Bytes end);
  [[nodiscard]] bool SkipsRows() const {
    return row_plan_ != nullptr && row_plan_->kind == RowPlan::Kind::kSkip;
  }
  /// The next row of `block_rows_`; the first one of those with equal keys.
  int ReadOfBlock(uchar* record);
  int LookUpOfBlock(uchar* record, const uchar* key, key_part_map keypart_map);
  /// Begins a scan that skips rows.
  int ReadAfterSkipped(uchar* record, int error_at_end);

  // ha_rowan_write.cc
  int BeginLoad(size_t sort_memory_bytes);
  Status ShowDuplicate(Status status, Bytes entry_key);
  Status UpdateRecord(const uchar* old_record, uchar* new_record);
  Status DeleteRecord(const uchar* record);
  int NoteFailure(Status status);
  /// As TableWriter::Take wants them.
  const IndexSet* ChangedIndexes();
  void mv_key_capacity(uint* keys, size_t* bytes) const override;

  // ha_rowan_info.cc
  void ShowStatistics(const Table::Statistics& now, uint flag);
  /// True if COUNT(*) must lock every row.
  [[nodiscard]] bool CountsUnderLocks() const;
  int CountRows(uint32_t index_number, ha_rows* count);

  TablePart own_part_;            ///< of a table without partitions
  TablePart* part_ = &own_part_;  ///< the current one
  // The statement's.
  Session* session_ = nullptr;
  ReadOptions read_options_;
  thr_lock_type lock_type_ = TL_READ;
  bool writes_ = false;
  bool searches_text_ = false;  ///< it asks for the relevance of rows, by their keys
  KeyRead key_read_;
  GroupReader groups_;
  std::unique_ptr<const RowPlan> row_plan_;    ///< null: none
  std::unique_ptr<BlockRows> block_rows_;      ///< null: none
  std::unique_ptr<DsMrr_impl> sorted_ranges_;  ///< reads the index with a second handler; or null
  ReferencesAhead references_ahead_;           ///< of sorted_ranges_
  std::unique_ptr<PointsAhead> points_ahead_;  ///< of a list of primary keys; or null
  const ha_rowan* last_clone_ = nullptr;       ///< may be gone
  const ha_rowan* second_ = nullptr;           ///< of sorted_ranges_, if there is one
  uint64_t references_put_ = 0;                ///< by position()
  /// Exclusive: REPLACE, ON DUPLICATE KEY UPDATE.
  LockMode duplicate_mode_ = LockMode::kShared;
  UncheckedKeys unchecked_keys_ = UncheckedKeys::kNone;
  IndexSet changed_indexes_;  ///< see ChangedIndexes
  const IndexSet no_indexes_;
  uint duplicate_key_ = MAX_KEY;             ///< server key number of the last duplicate
  bool duplicate_in_load_ = false;           ///< it was found after rows had been loaded
  std::vector<std::string> exported_files_;  ///< until UNLOCK TABLES
  KeyStatistics key_statistics_;

  const key_range* range_end_ = nullptr;  ///< of the range being opened
  ByteBuffer search_key_;
  ByteBuffer bound_key_;
  ByteBuffer range_key_;
  EstimatedRanges estimated_;
};

}  // namespace rowan
