// SPDX-License-Identifier: GPL-2.0-only
// ha_rowan_part: the handler of a partitioned table. Each partition (or subpartition, if there are
// any) is its own engine table, and the handler works on one of them at a time: ha_rowan's code for
// rows runs on the partition chosen by Select(). The server's Partition_helper decides which
// partition comes next, how ordered scans are merged and which partition a row belongs to.
//   ha_rowan_part_open.cc  open, close, moving      ha_rowan_part_ddl.cc   create, drop, exchange
//   ha_rowan_part_rows.cc  reads and writes         ha_rowan_part_alter.cc changes of partitions
//   ha_rowan_part_info.cc  statistics, administration
//
// A partition is touched when it is first used: its reader is made and given the statement.
// Clean-up after a statement is limited to the partitions that it touched, so a statement on few of
// many partitions costs what those few cost.
// Row references are the partition's number in two bytes, then the row's within the partition.
// Thread safety: like ha_rowan.
#pragma once

#include <string>
#include <vector>

#include "sql/partitioning/partition_handler.h"

#include "plugin/handler/ha_rowan.h"
#include "plugin/handler/logged_documents.h"
#include "plugin/partition/partitioned_share.h"

class Field_blob;

namespace dd {
class Partition;
}

namespace rowan {

class RowSample;
struct Refusal;

/// If the file of a lost partition exists again, perhaps because its disk was mounted, the next
/// statement reopens the table.
void OpenAnewIfFound(THD* thd, const TableShare& part, const TABLE_SHARE& table);

class ha_rowan_part final : public ha_rowan, public Partition_helper, public Partition_handler {
 public:
  ha_rowan_part(handlerton* hton, TABLE_SHARE* table_share);
  ~ha_rowan_part() override;

  // --- what the engine can do ---
  Table_flags table_flags() const override;
  uint alter_flags(uint flags) const override;
  bool is_ignorable_error(int error) override;
  void print_error(int error, myf flags) override;

  // --- life ---
  int open(const char* name, int mode, uint test_if_locked, const dd::Table* table_def) override;
  int close() override;
  Partition_handler* get_partition_handler() override { return this; }
  void set_part_info(partition_info* info, bool early) override { set_part_info_low(info, early); }
  enum row_type get_partition_row_type(const dd::Table*, uint) override { return ROW_TYPE_DYNAMIC; }

  // --- statements ---
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
  int index_next(uchar* record) override { return ph_index_next(record); }
  int index_prev(uchar* record) override { return ph_index_prev(record); }
  int index_first(uchar* record) override { return ph_index_first(record); }
  int index_last(uchar* record) override { return ph_index_last(record); }
  int index_next_same(uchar* record, const uchar*, uint key_length) override {
    return ph_index_next_same(record, key_length);
  }
  int read_range_first(const key_range* start_key, const key_range* end_key, bool equal,
                       bool sorted) override {
    return ph_read_range_first(start_key, end_key, equal, sorted);
  }
  int read_range_next() override { return ph_read_range_next(); }
  int rnd_init(bool scan) override;
  int rnd_end() override;
  int rnd_next(uchar* record) override { return ph_rnd_next(record); }
  int rnd_pos(uchar* record, uchar* position) override;
  int rnd_pos_by_record(uchar* record) override;
  void position(const uchar* record) override { ph_position(record); }
  int cmp_ref(const uchar* left, const uchar* right) const override;
  int multi_range_read_init(RANGE_SEQ_IF* sequence, void* sequence_start, uint ranges, uint mode,
                            HANDLER_BUFFER* buffer) override;
  int multi_range_read_next(char** range_info) override;
  int sample_init(void*& scan, double percentage, int seed, enum_sampling_method method,
                  bool tablesample) override;
  int sample_next(void* scan, uchar* record) override;
  Item* idx_cond_push(uint key_number, Item* condition) override;
  void cancel_pushed_idx_cond() override;
  int records(ha_rows* count) override;
  int records_from_index(ha_rows* count, uint index) override;

  [[nodiscard]] bool StartBlock() override;

  // --- writes ---
  int write_row(uchar* record) override { return ph_write_row(record); }
  int update_row(const uchar* old_record, uchar* new_record) override {
    LogWholeDocuments(table);  // a row that moves is deleted and inserted
    return ph_update_row(old_record, new_record);
  }
  int delete_row(const uchar* record) override { return ph_delete_row(record); }
  int end_bulk_insert() override;
  void get_auto_increment(ulonglong offset, ulonglong increment, ulonglong count,
                          ulonglong* first_value, ulonglong* reserved) override;
  void release_auto_increment() override { ph_release_auto_increment(); }
  void update_create_info(HA_CREATE_INFO* create_info) override;
  uint32 calculate_key_hash_value(Field** fields) override {
    return ph_calculate_key_hash_value(fields);
  }

  // --- definition ---
  int create(const char* name, TABLE* form, HA_CREATE_INFO* create_info,
             dd::Table* table_def) override;
  int delete_table(const char* name, const dd::Table* table_def) override;
  /// For the partitions that the statement names, or for all.
  int discard_or_import_tablespace(bool discard, dd::Table* table_def) override;
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

  // --- statistics and administration ---
  int info(uint flag) override;
  ha_rows records_in_range(uint index, key_range* low, key_range* high) override;
  double scan_time() override;
  double read_time(uint index, uint ranges, ha_rows rows) override;
  void get_dynamic_partition_info(ha_statistics* figures, ha_checksum* checksum,
                                  uint part) override {
    get_dynamic_partition_info_low(figures, checksum, part);
  }
  int analyze(THD* thd, HA_CHECK_OPT* options) override;
  int check(THD* thd, HA_CHECK_OPT* options) override;
  int repair(THD* thd, HA_CHECK_OPT* options) override;

 private:
  /// What the handler knows about a partition besides its place in it. Numbers of statements and
  /// scans count from 1.
  struct Use {
    uint64_t statement = 0;  ///< the last one to touch it
    uint64_t scan = 0;       ///< the last one opened in it
    bool load_tried = false;
    std::vector<std::string> computed;  ///< see KeepComputed
  };

  // ha_rowan_part_open.cc
  Status OpenPartitions(const dd::Table* table_def);
  Status CompleteShare(PartitionedShare* share);
  /// CHECK PARTITION and the like lock all partitions, but touch only those that they name.
  bool LeavesOut(THD* thd, uint part);
  /// From now on the handler works on this partition.
  void Select(uint part) {
    if (part != selected_) MoveTo(part);
    if (uses_[part].statement != statement_) Touch(part);
  }
  void MoveTo(uint part);
  void Touch(uint part);
  /// Runs `action()` on each partition that the statement has touched.
  template <typename Action>
  void ForTouched(Action action) {
    for (const uint part : touched_) {
      MoveTo(part);
      action();
    }
  }
  int EnterStatementAs(THD* thd, thr_lock_type lock_type, bool writes) override;
  void SuspendScans() override;
  void LeaveStatement();

  // ha_rowan_part_rows.cc
  /// Select(), and opens the index scan there unless it is open.
  void SelectForScan(uint part);
  void CloseScans();
  void ReadWhatOrderNeeds();
  /// Returns `error`. For a row read for a merge, gives values of virtual BLOB columns in the key a
  /// place of their own: the next computed row overwrites the field's.
  int KeepComputed(int error, uchar* record);
  /// HA_ERR_END_OF_FILE: there is no such partition.
  int SampleFrom(uint part, RowSample* sample);
  /// From now on rows with equal keys come in the order of their references.
  void SortByReference();

  // Partition_helper
  THD* get_thd() const override { return ha_thd(); }
  TABLE* get_table() const override { return table; }
  bool get_eq_range() const override { return eq_range; }
  void set_eq_range(bool equal) override { eq_range = equal; }
  void set_range_key_part(KEY_PART_INFO* key_part) override { range_key_part = key_part; }
  int write_row_in_part(uint part, uchar* record) override;
  int update_row_in_part(uint part, const uchar* old_record, uchar* new_record) override;
  int delete_row_in_part(uint part, const uchar* record) override;
  int initialize_auto_increment(bool no_lock) override;
  void save_auto_increment(ulonglong value) override;
  int rnd_init_in_part(uint part, bool table_scan) override;
  int rnd_next_in_part(uint part, uchar* record) override;
  int rnd_end_in_part(uint part, bool table_scan) override;
  void position_in_last_part(uchar* reference, const uchar* record) override;
  int index_first_in_part(uint part, uchar* record) override;
  int index_last_in_part(uint part, uchar* record) override;
  int index_prev_in_part(uint part, uchar* record) override;
  int index_next_in_part(uint part, uchar* record) override;
  int index_next_same_in_part(uint part, uchar* record, const uchar* key, uint length) override;
  int index_read_map_in_part(uint part, uchar* record, const uchar* key, key_part_map keypart_map,
                             ha_rkey_function find_flag) override;
  int index_read_last_map_in_part(uint part, uchar* record, const uchar* key,
                                  key_part_map keypart_map) override;
  int read_range_first_in_part(uint part, uchar* record, const key_range* start_key,
                               const key_range* end_key, bool sorted) override;
  int read_range_next_in_part(uint part, uchar* record) override;
  int index_read_idx_map_in_part(uint part, uchar* record, uint index, const uchar* key,
                                 key_part_map keypart_map, ha_rkey_function find_flag) override;
  void copy_cached_row(uchar* to, const uchar* from) override;
  int write_row_in_new_part(uint new_part) override;

  // Partition_handler
  handler* get_handler() override { return this; }
  int truncate_partition_low(dd::Table* table_def) override;
  int exchange_partition_low(uint part, dd::Table* part_table_def,
                             dd::Table* swap_table_def) override;

  // ha_rowan_part_ddl.cc
  /// Unsupported features that a partition asks for.
  static Refusal UnsupportedInPartitions(const partition_info& info);
  int ExportPartitions();
  /// Where to place a new partition: in its own directory or that of the whole table (empty: none).
  /// As ChooseDirectory.
  static int PlacePartition(THD* thd, const std::string& of_table, dd::Partition* leaf,
                            TableDef* definition);
  /// `definition`: for the whole table. The dictionary's partition gets the id.
  static Result<std::shared_ptr<Table>> CreatePartition(Session* session, TableDef definition,
                                                        uint64_t auto_increment,
                                                        dd::Partition* leaf);

  // ha_rowan_part_info.cc
  /// Runs `visit(part)` for each partition that the statement may read.
  template <typename Visit>
  void ForUsed(Visit visit) const;
  template <typename Count>
  int SumOver(ha_rows* sum, Count count_rows);
  [[nodiscard]] Table::Statistics SumOfStatistics() const;
  [[nodiscard]] uint BiggestPart() const;
  /// Runs `action()` on each partition that an ALTER TABLE ... PARTITION names, or on all, until
  /// one does not return HA_ADMIN_OK.
  template <typename Action>
  int Administer(const char* operation, Action action);

  // ha_rowan_part_alter.cc
  bool PreparePartitions(TABLE* altered_table, Alter_inplace_info* info, const dd::Table& old_def,
                         dd::Table* new_def);
  bool CommitPartitions(Alter_inplace_info* info);
  bool CopyPartitions(Alter_inplace_info* info);

  PartitionedShare* partitions_ = nullptr;  ///< owned by the server's TABLE_SHARE
  std::vector<TablePart> parts_;            ///< by number
  std::vector<Use> uses_;
  std::vector<uint> touched_;                ///< those touched by the statement
  std::vector<Field_blob*> computed_blobs_;  ///< in the keys that a scan merges by
  std::vector<uint> scanned_;                ///< index scans are open in them
  uint range_part_ = 0;                      ///< whose rows of a block's ranges are read
  bool range_begins_ = false;                ///< none has been read there yet
  uint selected_ = 0;
  uint64_t statement_ = 1;
  uint64_t scan_ = 1;
  bool loading_ = false;       ///< ALTER TABLE copies into this table
  bool scan_begins_ = false;   ///< the table scan has not read from this partition yet
  bool write_failed_ = false;  ///< for the row written last
  bool semi_consistent_ = false;
  bool preserves_fields_ = false;     ///< columns that are not read keep their values in the record
  std::vector<TablePart> new_parts_;  ///< during a change of partitions, by their new numbers
};

}  // namespace rowan
