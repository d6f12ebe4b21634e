// SPDX-License-Identifier: GPL-2.0-only
#include "io/process_user.h"

#include <pwd.h>
#include <unistd.h>

#include <array>

#include "base/format.h"

namespace rowan {

std::string ProcessUser() {
  const uid_t user = ::geteuid();
  std::array<char, 4096> buffer;
  passwd entry;
  passwd* found = nullptr;
  const int error = ::getpwuid_r(user, &entry, buffer.data(), buffer.size(), &found);
  if (error != 0 || found == nullptr) return Format("{}", user);
  return Format("'{}' ({})", entry.pw_name, user);
}

}  // namespace rowan
