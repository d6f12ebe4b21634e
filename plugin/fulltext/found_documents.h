// SPDX-License-Identifier: GPL-2.0-only
// Documents of a search: each row that any word led to gets a number, so that its clustered key is
// kept once and everything else known about it is found by number. Thread safety: one thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <xxhash.h>

#include "base/bytes.h"

namespace rowan {

using DocumentNumber = uint32_t;

/// Clustered keys by number and back.
class DocumentKeys {
 public:
  static constexpr DocumentNumber kNone = UINT32_MAX;

  DocumentNumber NumberOf(Bytes key) {
    if (2 * (ends_.size() + 1) > slots_.size()) Grow();
    DocumentNumber* slot = SlotOf(key);
    if (*slot != kNone) return *slot;
    *slot = static_cast<DocumentNumber>(ends_.size());
    const auto* bytes = reinterpret_cast<const char*>(key.data());
    bytes_.append(bytes, key.size());
    ends_.push_back(bytes_.size());
    return *slot;
  }
  /// kNone: no word led to it.
  [[nodiscard]] DocumentNumber Find(Bytes key) const {
    return slots_.empty() ? kNone : *const_cast<DocumentKeys*>(this)->SlotOf(key);
  }
  [[nodiscard]] Bytes KeyOf(DocumentNumber number) const {
    const size_t begin = number == 0 ? 0 : ends_[number - 1];
    return {reinterpret_cast<const std::byte*>(bytes_.data()) + begin, ends_[number] - begin};
  }
  [[nodiscard]] size_t count() const { return ends_.size(); }
  [[nodiscard]] size_t memory_bytes() const {
    return bytes_.capacity() + ends_.capacity() * sizeof(size_t) +
           slots_.capacity() * sizeof(DocumentNumber);
  }

 private:
  DocumentNumber* SlotOf(Bytes key) {
    const size_t mask = slots_.size() - 1;
    for (size_t at = XXH3_64bits(key.data(), key.size()) & mask;; at = (at + 1) & mask) {
      if (slots_[at] == kNone || EqualBytes(KeyOf(slots_[at]), key)) return &slots_[at];
    }
  }
  void Grow() {
    slots_.assign(slots_.empty() ? 64 : 2 * slots_.size(), kNone);
    for (DocumentNumber number = 0; number < ends_.size(); ++number) {
      *SlotOf(KeyOf(number)) = number;
    }
  }

  std::string bytes_;
  std::vector<size_t> ends_;
  std::vector<DocumentNumber> slots_;  ///< their count is a power of two
};

/// Something for some of the documents. Values move when one is added.
template <typename Value>
class DocumentMap {
 public:
  struct Slot {
    DocumentNumber document = DocumentKeys::kNone;
    Value value{};
  };

  [[nodiscard]] Value* Find(DocumentNumber document) {
    Slot* slot = slots_.empty() ? nullptr : SlotOf(document);
    return slot == nullptr || slot->document != document ? nullptr : &slot->value;
  }
  /// Adds one if there is none.
  Value* Get(DocumentNumber document, bool* added) {
    if (2 * (used_ + 1) > slots_.size()) Grow();
    Slot* slot = SlotOf(document);
    *added = slot->document != document;
    if (*added) {
      slot->document = document;
      ++used_;
    }
    return &slot->value;
  }
  [[nodiscard]] size_t count() const { return used_; }
  [[nodiscard]] size_t memory_bytes() const { return slots_.capacity() * sizeof(Slot); }
  void Clear() {
    slots_.clear();
    used_ = 0;
  }
  template <typename Visit>
  void ForEach(Visit visit) {
    for (Slot& slot : slots_) {
      if (slot.document != DocumentKeys::kNone) visit(slot.document, &slot.value);
    }
  }

 private:
  Slot* SlotOf(DocumentNumber document) {
    const size_t mask = slots_.size() - 1;
    size_t at = (document * uint64_t{0x9E3779B97F4A7C15} >> 32) & mask;
    while (slots_[at].document != DocumentKeys::kNone && slots_[at].document != document) {
      at = (at + 1) & mask;
    }
    return &slots_[at];
  }
  void Grow() {
    std::vector<Slot> former(slots_.empty() ? 16 : 2 * slots_.size());
    former.swap(slots_);
    for (Slot& slot : former) {
      if (slot.document != DocumentKeys::kNone) *SlotOf(slot.document) = std::move(slot);
    }
  }

  std::vector<Slot> slots_;
  size_t used_ = 0;
};

}  // namespace rowan
