// SPDX-License-Identifier: GPL-2.0-only
#include "tests/support/sparse_image.h"

#include <algorithm>
#include <cstring>

#include "base/crc32c.h"

namespace rowan {
namespace {

bool AllZero(Bytes bytes) {
  return bytes.empty() || (bytes[0] == std::byte{0} &&
                           std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0);
}

}  // namespace

void SparseImage::Resize(uint64_t size_bytes) {
  const uint64_t rest = size_bytes % kBlockBytes;
  blocks_.resize((size_bytes + kBlockBytes - 1) / kBlockBytes);
  if (size_bytes < size_ && rest != 0 && blocks_.back() != nullptr) {
    Block& last = Own(blocks_.size() - 1);
    std::fill(last.begin() + static_cast<ptrdiff_t>(rest), last.end(), std::byte{0});
  }
  size_ = size_bytes;
}

SparseImage::Block& SparseImage::Own(uint64_t number) {
  std::shared_ptr<Block>& block = blocks_[number];
  if (block == nullptr) {
    block = std::make_shared<Block>();
  } else if (block.use_count() > 1) {
    block = std::make_shared<Block>(*block);
  }
  return *block;
}

void SparseImage::Read(uint64_t offset, MutableBytes target) const {
  for (size_t done = 0; done < target.size();) {
    const uint64_t at = (offset + done) % kBlockBytes;
    const size_t length = std::min<uint64_t>(kBlockBytes - at, target.size() - done);
    const std::shared_ptr<Block>& block = blocks_[(offset + done) / kBlockBytes];
    if (block == nullptr) {
      std::memset(target.data() + done, 0, length);
    } else {
      std::memcpy(target.data() + done, block->data() + at, length);
    }
    done += length;
  }
}

uint64_t SparseImage::Digest() const {
  uint64_t digest = size_;
  for (size_t number = 0; number < blocks_.size(); ++number) {
    if (blocks_[number] == nullptr) continue;
    digest = digest * 31 + Crc32c(*blocks_[number]) + number;
  }
  return digest;
}

void SparseImage::Write(uint64_t offset, Bytes source) {
  if (offset + source.size() > size_) Resize(offset + source.size());
  for (size_t done = 0; done < source.size();) {
    const uint64_t number = (offset + done) / kBlockBytes;
    const uint64_t at = (offset + done) % kBlockBytes;
    const size_t length = std::min<uint64_t>(kBlockBytes - at, source.size() - done);
    const Bytes part = source.subspan(done, length);
    done += length;
    if (length == kBlockBytes && AllZero(part)) {
      blocks_[number].reset();
      continue;
    }
    std::memcpy(Own(number).data() + at, part.data(), length);
  }
}

}  // namespace rowan
