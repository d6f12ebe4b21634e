// SPDX-License-Identifier: GPL-2.0-only
#include "base/key_prefix.h"

#include <cstdint>

namespace rowan {

void PrefixSuccessor(Bytes prefix, std::vector<std::byte>* successor) {
  if (successor->data() != prefix.data()) successor->assign(prefix.begin(), prefix.end());
  while (!successor->empty() && successor->back() == std::byte{0xFF}) successor->pop_back();
  if (!successor->empty()) {
    successor->back() = static_cast<std::byte>(static_cast<uint8_t>(successor->back()) + 1);
  }
}

}  // namespace rowan
