// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/server/abi_guard.h"

#include "plugin/handler/partition_names.h"

#include "mysql_com.h"
#include "sql/dd/types/partition.h"
#include "sql/mysqld_cs.h"
#include "sql/sql_table.h"
#include "sql/strfunc.h"

namespace rowan {
namespace {

constexpr const char* kPartition = "#p#";
constexpr const char* kSubpartition = "#sp#";

std::string FileNameOf(const dd::Partition& partition) {
  // Their names are compared without regard to case.
  const std::string name = casedn(system_charset_info, std::string(partition.name().c_str()));
  char file_name[FN_REFLEN];
  const size_t bytes = tablename_to_filename(name.c_str(), file_name, sizeof(file_name));
  return {file_name, bytes};
}

std::string NameOfFileName(const std::string& file_name) {
  char name[FN_REFLEN];
  const size_t bytes = filename_to_tablename(file_name.c_str(), name, sizeof(name));
  return {name, bytes};
}

}  // namespace

std::string PartitionTableName(const std::string& table_name, const dd::Partition& leaf) {
  const dd::Partition* parent = leaf.parent();
  if (parent == nullptr) return table_name + kPartition + FileNameOf(leaf);
  return table_name + kPartition + FileNameOf(*parent) + kSubpartition + FileNameOf(leaf);
}

std::string NameWithoutPartition(const std::string& name) {
  return name.substr(0, name.find(kPartition));
}

std::string PartitionInName(const std::string& name) {
  const size_t at = name.find(kPartition);
  if (at == std::string::npos) return {};
  std::string partition = name.substr(at + 3);
  const size_t sub = partition.find(kSubpartition);
  if (sub == std::string::npos) return NameOfFileName(partition);
  return NameOfFileName(partition.substr(0, sub)) + ", subpartition " +
         NameOfFileName(partition.substr(sub + 4));
}

}  // namespace rowan
