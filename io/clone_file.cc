// SPDX-License-Identifier: GPL-2.0-only
#include "io/clone_file.h"

#include <linux/fs.h>
#include <sys/ioctl.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "base/logging.h"
#include "io/file.h"
#include "io/posix_file.h"

namespace rowan {
namespace {

Status StatusOfClone(int error) {
  const auto detail = static_cast<uint32_t>(error);
  if (error == EXDEV) return Status(Code::kUnsupported, "it is another file system", detail);
  // File systems without reflinks differ in what they say.
  if (error == EOPNOTSUPP || error == ENOTTY || error == EINVAL || error == ENOSYS) {
    return Status(Code::kUnsupported, "the file system cannot share blocks", detail);
  }
  return StatusFromErrno(error, "cannot clone file");
}

}  // namespace

Status CloneFile(const std::string& source, const std::string& target) {
  FileSystem* const files = PosixFileSystem();
  Result<std::unique_ptr<File>> from = files->Open(source, {.read_only = true});
  if (!from.ok()) return from.status();
  Result<std::unique_ptr<File>> to = files->Open(target, {.create = true, .exclusive = true});
  if (!to.ok()) return to.status();
  while (::ioctl((*to)->descriptor(), FICLONE, (*from)->descriptor()) != 0) {
    if (errno == EINTR) continue;
    const int error = errno;
    const Status status = StatusOfClone(error);
    if (!status.Is(Code::kUnsupported)) {
      LogError("FICLONE of '{}' failed: {} (errno {})", source, std::strerror(error), error);
    }
    files->Remove(target).Ignore();
    return status;
  }
  return Status::Ok();
}

}  // namespace rowan
