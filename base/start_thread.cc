// SPDX-License-Identifier: GPL-2.0-only
#include "base/start_thread.h"

#include <cerrno>
#include <new>
#include <system_error>
#include <utility>

namespace rowan {
namespace {

constexpr const char* kNoThread = "the system allows no further thread";

}  // namespace

Result<std::thread> StartThread(std::function<void()> work) {
  try {
    return std::thread(std::move(work));
  } catch (const std::system_error& refusal) {
    return Status(Code::kBusy, kNoThread, static_cast<uint32_t>(refusal.code().value()));
  } catch (const std::bad_alloc&) {
    return Status(Code::kBusy, kNoThread, ENOMEM);
  }
}

}  // namespace rowan
