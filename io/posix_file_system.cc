// SPDX-License-Identifier: GPL-2.0-only
// The FileSystem over POSIX calls. Thread-safe: stateless except for the spare descriptors.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "base/instruments.h"
#include "base/logging.h"
#include "io/atomic_write.h"
#include "io/placed_file.h"
#include "io/posix_file.h"
#include "io/resource_shortage.h"
#include "io/spare_descriptors.h"

namespace rowan {
namespace {

constexpr mode_t kFileMode = 0640;
constexpr mode_t kFolderMode = 0750;
/// The log opens two files at a time and a folder; twice that, for another thread that takes the
/// one just released.
constexpr uint32_t kSpareDescriptors = 6;

Status PathCallFailed(const char* call, const std::string& path, const char* message) {
  const int error = errno;
  LogError("{} of '{}' failed: {} (errno {})", call, path, std::strerror(error), error);
  return StatusFromErrno(error, message);
}

int OpenFlags(FileOptions options) {
  int flags = O_CLOEXEC | (options.read_only ? O_RDONLY : O_RDWR);
  if (options.create) flags |= O_CREAT;
  if (options.create && options.exclusive) flags |= O_EXCL;
  if (options.direct) flags |= O_DIRECT;
  if (options.write_through) flags |= O_DSYNC;
  return flags;
}

class PosixFiles final : public FileSystem {
 public:
  Result<std::unique_ptr<File>> Open(const std::string& path, FileOptions options) override {
    const int descriptor = OpenDescriptor(path, OpenFlags(options), options.spare);
    if (descriptor >= 0) {
      const int write_flags = options.atomic ? kWriteAtomicFlag : 0;
      return std::unique_ptr<File>(std::make_unique<PosixFile>(path, descriptor, write_flags));
    }
    if (errno == ENOENT && !options.create) return Status(Code::kNotFound, "no such file");
    if (errno == EEXIST) return Status(Code::kInvalidArgument, "file exists already", EEXIST);
    // A file system without O_DIRECT says EINVAL; the caller decides whether that is an error.
    if (errno == EINVAL && options.direct) {
      return Status(Code::kIoError, "the file system refuses direct I/O", EINVAL);
    }
    if (IsResourceShortage(errno)) {
      return StatusFromErrno(errno, "no descriptor or memory to open a file");
    }
    return PathCallFailed("Open", path, "cannot open file");
  }

  Status Rename(const std::string& source, const std::string& target) override {
    if (::rename(source.c_str(), target.c_str()) == 0) return Status::Ok();
    if (errno == ENOENT) return Status(Code::kNotFound, "no such file");
    return PathCallFailed("Rename", source, "cannot rename file");
  }

  Status Remove(const std::string& path) override {
    if (::unlink(path.c_str()) == 0) {
      const Instruments* instruments = CurrentInstruments();
      if (instruments != nullptr) instruments->file_removed(path.c_str());
      return Status::Ok();
    }
    if (errno == ENOENT) return Status(Code::kNotFound, "no such file");
    return PathCallFailed("Remove", path, "cannot remove file");
  }

  Result<bool> Exists(const std::string& path) override {
    struct stat facts;
    if (::stat(path.c_str(), &facts) == 0) return true;
    if (errno == ENOENT || errno == ENOTDIR) return false;
    return PathCallFailed("stat", path, "cannot stat file");
  }

  Result<std::vector<std::string>> List(const std::string& folder) override {
    std::vector<std::string> names;
    std::error_code error;
    std::filesystem::directory_iterator entry(folder, error);
    for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
      std::error_code no_type;  // an entry that has just vanished is not ours
      if (!entry->is_directory(no_type)) names.push_back(entry->path().filename().string());
    }
    if (!error) return names;
    if (error.value() == ENOENT) return Status(Code::kNotFound, "no such folder");
    errno = error.value();
    return PathCallFailed("List", folder, "cannot list folder");
  }

  Status CreateLink(const std::string& target, const std::string& path) override {
    if (::symlink(target.c_str(), path.c_str()) == 0) return Status::Ok();
    if (errno == EEXIST) return Status(Code::kInvalidArgument, "file exists already", EEXIST);
    return PathCallFailed("symlink", path, "cannot create link");
  }

  Result<std::string> ReadLink(const std::string& path) override {
    std::array<char, PATH_MAX> target;
    const ssize_t bytes = ::readlink(path.c_str(), target.data(), target.size());
    if (bytes >= 0) {
      std::string where(target.data(), static_cast<size_t>(bytes));
      return where.starts_with('/') ? where : FolderOf(path) + "/" + where;
    }
    if (errno == EINVAL) return std::string();
    if (errno == ENOENT) return Status(Code::kNotFound, "no such file");
    return PathCallFailed("readlink", path, "cannot read link");
  }

  Status CreateFolder(const std::string& path) override {
    if (::mkdir(path.c_str(), kFolderMode) == 0) return Status::Ok();
    struct stat facts;
    if (errno == EEXIST && ::stat(path.c_str(), &facts) == 0 && S_ISDIR(facts.st_mode)) {
      return Status::Ok();
    }
    return PathCallFailed("mkdir", path, "cannot create folder");
  }

  Status SyncDirectory(const std::string& folder) override {
    int descriptor;
    ShortageWait wait("Syncing a folder");
    do {
      descriptor = OpenDescriptor(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC, true);
    } while (descriptor < 0 && IsResourceShortage(errno) && wait.Again(errno));
    if (descriptor < 0) return PathCallFailed("Open", folder, "cannot open folder");
    Status status;
    if (::fsync(descriptor) != 0) status = PathCallFailed("fsync", folder, "cannot sync folder");
    ::close(descriptor);
    return status;
  }

  Result<uint32_t> AtomicWriteUnitMax(const std::string& path) override {
    return ProbeAtomicWriteUnitMax(path);
  }

 private:
  /// -1 and errno as open(2).
  int OpenDescriptor(const std::string& path, int flags, bool spare) {
    for (;;) {
      const int descriptor = ::open(path.c_str(), flags, kFileMode);
      if (descriptor >= 0) {
        spares_.Refill();
        return descriptor;
      }
      if (errno == EINTR) continue;
      const int error = errno;
      const bool used_up = error == EMFILE || error == ENFILE;
      if (used_up && spare && spares_.GiveUpOne()) continue;
      errno = error;
      return -1;
    }
  }

  SpareDescriptors spares_{kSpareDescriptors};
};

}  // namespace

FileSystem* PosixFileSystem() {
  static PosixFiles& files = *new PosixFiles();
  return &files;
}

}  // namespace rowan
