// SPDX-License-Identifier: GPL-2.0-only
#include "wal/log_file_list.h"

#include <algorithm>
#include <memory>
#include <optional>

namespace rowan {

Result<LogFileHeader> ReadHeaderOfLogFile(FileSystem* file_system, const std::string& folder,
                                          const InstanceId& instance_id, uint64_t number) {
  Result<std::unique_ptr<File>> file =
      file_system->Open(folder + "/" + LogFileName(number), {.read_only = true});
  if (!file.ok()) return file.status();
  return ReadLogFileHeader(file.value().get(), instance_id, number);
}

Result<std::vector<ListedLogFile>> ListLogFiles(FileSystem* file_system, const std::string& folder,
                                                const InstanceId& instance_id) {
  const Result<std::vector<std::string>> names = file_system->List(folder);
  if (!names.ok()) return names.status();
  std::vector<ListedLogFile> files;
  for (const std::string& name : names.value()) {
    const std::optional<uint64_t> number = ParseLogFileName(name);
    if (!number.has_value()) continue;
    const Result<LogFileHeader> header =
        ReadHeaderOfLogFile(file_system, folder, instance_id, *number);
    if (header.ok()) {
      files.push_back({*number, Status::Ok(), header.value()});
    } else if (header.status().Is(Code::kCorrupt)) {
      files.push_back({*number, header.status(), {}});
    } else if (!header.status().Is(Code::kNotFound)) {  // renamed just then by a log in use
      return header.status();
    }
  }
  std::sort(files.begin(), files.end(),
            [](const auto& one, const auto& other) { return one.number < other.number; });
  return files;
}

}  // namespace rowan
