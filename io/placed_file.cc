// SPDX-License-Identifier: GPL-2.0-only
#include "io/placed_file.h"

#include <unordered_set>
#include <vector>

#include "base/logging.h"

namespace rowan {
namespace {

/// The lowest existing folder at or above `folder`; in the end "/".
Result<std::string> LowestFolder(FileSystem* file_system, const std::string& folder) {
  std::string at = folder;
  for (; at != "/"; at = FolderOf(at)) {
    const Result<bool> exists = file_system->Exists(at);
    if (!exists.ok()) return exists.status();
    if (exists.value()) break;
  }
  return at;
}

/// Creates the missing levels of `folder`, each durable before the next one. The lowest existing
/// one may be as young, of another session or of a call whose sync failed: it is made durable too.
Status MakeFolders(FileSystem* file_system, const std::string& folder) {
  const Result<std::string> lowest = LowestFolder(file_system, folder);
  if (!lowest.ok()) return lowest.status();
  std::vector<std::string> wanted;
  for (std::string at = folder; at != lowest.value(); at = FolderOf(at)) wanted.push_back(at);
  if (lowest.value() != "/") wanted.push_back(lowest.value());
  for (; !wanted.empty(); wanted.pop_back()) {
    const bool existed = wanted.back() == lowest.value();
    // Fails where there is a file of this name.
    Status status = file_system->CreateFolder(wanted.back());
    if (!status.ok()) return status;
    status = file_system->SyncDirectory(FolderOf(wanted.back()));
    // A process that may not open the folder above has made nothing in it.
    if (existed && status.detail() == EACCES) continue;
    if (!status.ok()) return status;
  }
  return Status::Ok();
}

/// Whether `folder` can be created: not in what may be the empty mount point of a disk that holds
/// another file. That file's folder must not exist without it (invariant 2), and anything created
/// there would be hidden once the disk is back. `links`: the folder of all links.
Status CheckMounted(FileSystem* file_system, const std::string& folder, const std::string& links) {
  const Result<std::string> lowest = LowestFolder(file_system, folder);
  if (!lowest.ok()) return lowest.status();
  if (lowest.value() == folder) return Status::Ok();
  const Result<std::vector<std::string>> names = file_system->List(links);
  if (!names.ok()) return names.status();
  std::unordered_set<std::string> seen;
  for (const std::string& name : names.value()) {
    const Result<std::string> target = file_system->ReadLink(links + "/" + name);
    if (target.status().Is(Code::kNotFound)) continue;  // dropped in the meantime
    if (!target.ok()) return target.status();
    if (target.value().empty() || !seen.insert(FolderOf(target.value())).second) continue;
    const Result<std::string> other = LowestFolder(file_system, FolderOf(target.value()));
    if (!other.ok()) return other.status();
    if (other.value() != lowest.value() || other.value() == FolderOf(target.value())) continue;
    LogError("Nothing is made in '{}': the file '{}' is not there. Is its disk mounted?", folder,
             target.value());
    return Status(Code::kUnsupported, "a file of another table is missing: is its disk mounted?");
  }
  return Status::Ok();
}

/// Where a link points.
struct LinkEnd {
  std::string file;
  std::string folder;  ///< of the file
  bool reachable;      ///< the folder exists
};

Result<LinkEnd> Follow(FileSystem* file_system, const std::string& path) {
  const Result<std::string> file = file_system->ReadLink(path);
  if (!file.ok()) return file.status();
  LinkEnd end{file.value(), FolderOf(file.value()), false};
  const Result<bool> reachable = file_system->Exists(end.folder);
  if (!reachable.ok()) return reachable.status();
  end.reachable = reachable.value();
  return end;
}

/// REQUIRES: its file is gone, though perhaps not durably.
Status RemoveLink(FileSystem* file_system, const std::string& path, const LinkEnd& end) {
  const Status synced = file_system->SyncDirectory(end.folder);
  if (!synced.ok()) return synced;
  return file_system->Remove(path);
}

}  // namespace

std::string FolderOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

Status LinkToPlace(FileSystem* file_system, const std::string& file, const std::string& path) {
  const Result<bool> taken = file_system->Exists(file);
  if (!taken.ok()) return taken.status();
  // Not ours, and no link may claim it even for a moment.
  if (taken.value()) return Status(Code::kInvalidArgument, "file exists already", EEXIST);
  Status status = CheckMounted(file_system, FolderOf(file), FolderOf(path));
  if (!status.ok()) return status;
  status = MakeFolders(file_system, FolderOf(file));
  if (!status.ok()) return status;
  status = file_system->CreateLink(file, path);
  if (!status.ok()) return status;
  return file_system->SyncDirectory(FolderOf(path));
}

Status RemovePlaced(FileSystem* file_system, const std::string& path) {
  Result<LinkEnd> end = Follow(file_system, path);
  if (!end.ok()) return end.status();
  if (!end->reachable) {
    LogWarning(
        "'{}' of a dropped table is not removed: there is no '{}'. It is tried again at "
        "the next start.",
        end->file, end->folder);
    return Status::Ok();
  }
  const Status removed = file_system->Remove(end->file);
  if (!removed.ok() && !removed.Is(Code::kNotFound)) return removed;
  return RemoveLink(file_system, path, *end);
}

Status RemoveDeadLink(FileSystem* file_system, const std::string& path) {
  Result<LinkEnd> end = Follow(file_system, path);
  if (!end.ok()) return end.status();
  if (!end->reachable) return Status::Ok();
  const Result<bool> exists = file_system->Exists(end->file);
  if (!exists.ok()) return exists.status();
  if (exists.value()) return Status(Code::kInvalidArgument, "its file is there", EEXIST);
  return RemoveLink(file_system, path, *end);
}

}  // namespace rowan
