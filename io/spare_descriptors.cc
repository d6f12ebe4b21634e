// SPDX-License-Identifier: GPL-2.0-only
#include "io/spare_descriptors.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

namespace rowan {

uint64_t DescriptorLimit() {
  rlimit limit{};
  constexpr uint64_t kUsual = 1024;
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return kUsual;
  return limit.rlim_cur == RLIM_INFINITY ? UINT32_MAX : limit.rlim_cur;
}

SpareDescriptors::~SpareDescriptors() {
  for (const int descriptor : descriptors_) ::close(descriptor);
}

void SpareDescriptors::Refill() {
  if (count_.load(std::memory_order_relaxed) >= wanted_) return;
  const MutexLock lock(&mutex_);
  while (descriptors_.size() < wanted_) {
    const int descriptor = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) break;
    descriptors_.push_back(descriptor);
  }
  count_.store(static_cast<uint32_t>(descriptors_.size()), std::memory_order_relaxed);
}

bool SpareDescriptors::GiveUpOne() {
  const MutexLock lock(&mutex_);
  if (descriptors_.empty()) return false;
  ::close(descriptors_.back());
  descriptors_.pop_back();
  count_.store(static_cast<uint32_t>(descriptors_.size()), std::memory_order_relaxed);
  return true;
}

}  // namespace rowan
