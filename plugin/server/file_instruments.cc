// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/server/abi_guard.h"

#include "plugin/server/file_instruments.h"

#include <algorithm>
#include <iterator>
#include <new>
#include <string_view>

#include "my_sys.h"
#include "mysql/psi/mysql_file.h"

namespace rowan {
namespace {

static_assert(sizeof(PSI_file_locker_state) <= sizeof(FileWaitState::bytes));

/// By what the path's last part begins or ends with; the last one is for everything else.
struct FileClass {
  const char* instrument;
  std::string_view begin;
  std::string_view end;
  PSI_file_key key = 0;
};
FileClass g_classes[] = {
    {"data_file", "space_", ".rws"},
    {"temporary_file", "space_", ".temporary"},
    {"log_file", "redo_", ""},
    {"doublewrite_file", "rowan.doublewrite", ""},
    {"page_lsn_file", "rowan.page_lsns", ""},
    {"control_file", "rowan.control", ""},
    {"other_file", "", ""},
};

PSI_file_key InstrumentKeyOf(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  const auto* found =
      std::find_if(std::begin(g_classes), std::end(g_classes), [name](const FileClass& file) {
        return name.starts_with(file.begin) && name.ends_with(file.end);
      });
  return found->key;
}

void* FileOpened(const char* path) {
  PSI_file_locker_state state;
  PSI_file_locker* locker = PSI_FILE_CALL(get_thread_file_name_locker)(
      &state, InstrumentKeyOf(path), PSI_FILE_OPEN, path, path);
  if (locker == nullptr) return nullptr;
  PSI_FILE_CALL(start_file_open_wait)(locker, __FILE__, __LINE__);
  return PSI_FILE_CALL(end_file_open_wait)(locker, &state);
}

void FileClosed(void* file) {
  PSI_file_locker_state state;
  PSI_file_locker* locker = PSI_FILE_CALL(get_thread_file_stream_locker)(
      &state, static_cast<PSI_file*>(file), PSI_FILE_CLOSE);
  if (locker == nullptr) return;
  PSI_FILE_CALL(start_file_close_wait)(locker, __FILE__, __LINE__);
  PSI_FILE_CALL(end_file_close_wait)(locker, 0);
}

/// Otherwise it would be listed forever.
void FileRemoved(const char* path) {
  PSI_file_locker_state state;
  PSI_file_locker* locker = PSI_FILE_CALL(get_thread_file_name_locker)(
      &state, InstrumentKeyOf(path), PSI_FILE_DELETE, path, path);
  if (locker == nullptr) return;
  PSI_FILE_CALL(start_file_close_wait)(locker, __FILE__, __LINE__);
  PSI_FILE_CALL(end_file_close_wait)(locker, 0);
}

PSI_file_operation OperationOf(FileWaitKind kind) {
  switch (kind) {
    case FileWaitKind::kRead: return PSI_FILE_READ;
    case FileWaitKind::kWrite: return PSI_FILE_WRITE;
    case FileWaitKind::kSync: break;
  }
  return PSI_FILE_SYNC;
}

void WaitBegins(void* file, FileWaitKind kind, size_t bytes, FileWaitState* wait) {
  auto* state = new (wait->bytes.data()) PSI_file_locker_state;
  PSI_file_locker* locker = PSI_FILE_CALL(get_thread_file_stream_locker)(
      state, static_cast<PSI_file*>(file), OperationOf(kind));
  wait->wait = locker;
  if (locker != nullptr) PSI_FILE_CALL(start_file_wait)(locker, bytes, __FILE__, __LINE__);
}

void WaitEnds(FileWaitState* wait, size_t bytes) {
  PSI_FILE_CALL(end_file_wait)(static_cast<PSI_file_locker*>(wait->wait), bytes);
}

}  // namespace

void RegisterFileInstruments() {
  constexpr size_t kCount = std::size(g_classes);
  static PSI_file_info infos[kCount];
  for (size_t i = 0; i < kCount; ++i) {
    infos[i] = {&g_classes[i].key, g_classes[i].instrument, 0, 0, PSI_DOCUMENT_ME};
  }
  mysql_file_register("rowan", infos, static_cast<int>(kCount));
}

void AddFileInstruments(Instruments* instruments) {
  instruments->file_opened = FileOpened;
  instruments->file_closed = FileClosed;
  instruments->file_removed = FileRemoved;
  instruments->file_wait_begins = WaitBegins;
  instruments->file_wait_ends = WaitEnds;
}

}  // namespace rowan
