// SPDX-License-Identifier: GPL-2.0-only
// rowan-backup: the work of scripts/backup that needs no server. Exit status: 0 success, 1 failure,
// with sentences that say why, 2 wrong usage.
#include <unistd.h>

#include <cstdio>
#include <string>
#include <vector>

#include "base/clock.h"
#include "engine/backup_folder.h"

namespace {

constexpr char kUsage[] =
    "usage: rowan-backup verify FOLDER [BASE]\n"
    "       rowan-backup check FULL INCREMENT\n"
    "       rowan-backup apply FULL INCREMENT\n"
    "\n"
    "Each folder is that of Rowan's part of a backup. `verify` reads all of it and, if it is\n"
    "incremental and BASE is given, whether it goes onto that one; `check` looks at the manifests\n"
    "only; `apply` puts an incremental backup onto a full one. See docs/backup.md.\n";

/// One live line on a terminal.
class Progress {
 public:
  void Show(uint64_t bytes_done, uint64_t bytes) {
    constexpr uint64_t kPauseNanos = 200'000'000;
    const uint64_t now = rowan::MonotonicNanos();
    if (!live_ || now < next_nanos_) return;
    next_nanos_ = now + kPauseNanos;
    std::fprintf(stderr, "\r%llu of %llu MiB", static_cast<unsigned long long>(bytes_done >> 20),
                 static_cast<unsigned long long>(bytes >> 20));
  }
  void Clear() const {
    if (live_) std::fputs("\r\x1b[K", stderr);
  }

 private:
  const bool live_ = ::isatty(STDERR_FILENO) != 0;
  uint64_t next_nanos_ = 0;
};

int Verify(const std::string& folder, const std::string& base) {
  Progress progress;
  const bool good = rowan::VerifyBackup(
      folder, base,
      {[&progress](const std::string& sentence) {
         progress.Clear();
         std::printf("%s\n", sentence.c_str());
       },
       [&progress](uint64_t done, uint64_t bytes) { progress.Show(done, bytes); }});
  progress.Clear();
  return good ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.size() == 1 && arguments[0] == "--help") {
    std::fputs(kUsage, stdout);
    return 0;
  }
  if (arguments.size() == 2 && arguments[0] == "verify") return Verify(arguments[1], "");
  if (arguments.size() == 3 && arguments[0] == "verify") return Verify(arguments[1], arguments[2]);
  if (arguments.size() == 3 && arguments[0] == "check") {
    return rowan::CheckIncrement(arguments[1], arguments[2]).ok() ? 0 : 1;
  }
  if (arguments.size() == 3 && arguments[0] == "apply") {
    return rowan::ApplyIncrement(arguments[1], arguments[2]).ok() ? 0 : 1;
  }
  std::fputs(kUsage, stderr);
  return 2;
}
