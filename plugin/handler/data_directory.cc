// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/server/abi_guard.h"

#include "plugin/handler/data_directory.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include "mysqld_error.h"
#include "sql/dd/properties.h"
#include "sql/dd/types/partition.h"
#include "sql/derror.h"
#include "sql/handler.h"
#include "sql/sql_class.h"
#include "sql/sql_error.h"

#include "engine/engine.h"
#include "plugin/codec/server_variable.h"
#include "plugin/server/error_map.h"
#include "plugin/server/instance.h"

namespace rowan {
namespace {

/// The server's names for them among the options of a partition.
constexpr char kDirectoryOption[] = "data_file_name";
constexpr char kIndexDirectoryOption[] = "index_file_name";

namespace fs = std::filesystem;

/// Absolute, without links as far as the path exists, without "." and "..", without a slash at the
/// end.
std::string Plain(const std::string& path) {
  std::error_code error;
  const fs::path absolute = fs::absolute(path, error);
  const fs::path whole = fs::weakly_canonical(absolute, error);
  std::string plain = (error ? absolute.lexically_normal() : whole).string();
  while (plain.size() > 1 && plain.ends_with('/')) plain.pop_back();
  return plain;
}

bool IsWithin(const std::string& path, const std::string& folder) {
  return path == folder || path.starts_with(folder == "/" ? folder : folder + "/");
}

bool IsKnown(const std::string& path) {
  const std::string known = ServerVariable("innodb_directories");
  for (size_t begin = 0; begin < known.size();) {
    const size_t end = std::min(known.find(';', begin), known.size());
    if (end > begin && IsWithin(path, Plain(known.substr(begin, end - begin)))) return true;
    begin = end + 1;
  }
  return false;
}

/// A sentence, in InnoDB's words where it has them; empty: the directory can be used. `path`:
/// plain.
std::string ProblemWith(const std::string& path) {
  if (!path.starts_with('/')) return "The DATA DIRECTORY location must be an absolute path.";
  if (IsWithin(path, Plain(g_engine->options().storage.folder)) ||
      IsWithin(path, Plain(ServerVariable("datadir")))) {
    return "The DATA DIRECTORY location cannot be the datadir.";
  }
  if (IsKnown(path)) return {};
  return "The DATA DIRECTORY location must be in a known directory.";
}

}  // namespace

std::string DirectoryOf(const HA_CREATE_INFO& info) {
  if (info.data_file_name == nullptr) return {};
  const std::string_view path = info.data_file_name;
  return std::string(path.substr(0, path.rfind('/') + 1));
}

std::string DirectoryOf(const dd::Partition& leaf) {
  for (const dd::Partition* part = &leaf; part != nullptr; part = part->parent()) {
    dd::String_type directory;
    if (part->options().exists(kDirectoryOption) &&
        !part->options().get(kDirectoryOption, &directory)) {
      return directory.c_str();
    }
  }
  return {};
}

void SetDirectory(const std::string& directory, dd::Partition* leaf) {
  if (!directory.empty()) {
    leaf->options().set(kDirectoryOption, directory.c_str());
  } else if (leaf->options().exists(kDirectoryOption)) {
    leaf->options().remove(kDirectoryOption);
  }
}

bool RefusesOptions() { return ServerVariable("innodb_strict_mode") != "OFF"; }

int ChooseDirectory(THD* thd, const std::string& wanted, std::string* directory) {
  directory->clear();
  if (wanted.empty()) return 0;
  // The path that is checked is the one that is used.
  std::string path = wanted.starts_with('/') ? Plain(wanted) : wanted;
  const std::string problem = ProblemWith(path);
  if (problem.empty()) {
    *directory = std::move(path);
    return 0;
  }
  if (RefusesOptions()) {
    my_printf_error(ER_WRONG_FILE_NAME, "%s", MYF(0), problem.c_str());
    return HA_WRONG_CREATE_OPTION;
  }
  push_warning_printf(thd, Sql_condition::SL_WARNING, ER_WRONG_FILE_NAME,
                      "%s The DATA DIRECTORY location will be ignored and the file will be put "
                      "into the default datadir location.",
                      problem.c_str());
  push_warning_printf(thd, Sql_condition::SL_WARNING, WARN_OPTION_IGNORED,
                      ER_THD(thd, WARN_OPTION_IGNORED), "DATA DIRECTORY");
  return 0;
}

void NoteIndexDirectory(THD* thd, const dd::Partition& leaf) {
  if (!leaf.options().exists(kIndexDirectoryOption)) return;
  push_warning_printf(thd, Sql_condition::SL_WARNING, WARN_OPTION_IGNORED,
                      ER_THD(thd, WARN_OPTION_IGNORED), "INDEX DIRECTORY");
}

Status KeepDirectory(TableId table, TableDef* definition) {
  Result<std::string> directory = g_engine->DirectoryOf(table);
  if (!directory.ok()) return directory.status();
  definition->directory = std::move(directory).value();
  if (definition->directory.empty()) return Status::Ok();
  const Status opened = g_engine->OpenTable(table).status();
  const bool away = opened.Is(Code::kIoError) && opened.detail() == ENODEV;
  return away ? opened : Status::Ok();  // a damaged one can be replaced
}

int FailCreate(THD* thd, const std::string& directory, Status status) {
  const bool of_place = status.Is(Code::kIoError) || status.Is(Code::kUnsupported) ||
                        (status.Is(Code::kInvalidArgument) && status.detail() == EEXIST);
  if (!directory.empty() && of_place) {
    const int error = static_cast<int>(status.detail());
    my_error(ER_CANT_CREATE_FILE, MYF(0), directory.c_str(), error,
             error == 0 ? status.message() : std::strerror(error));
  }
  return HandlerError(thd, status);
}

}  // namespace rowan
