// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/program/weight_table.h"

#include <memory>

#include "mysql/strings/m_ctype.h"
#include "plugin/codec/collation_weights.h"
#include "plugin/codec/column_info.h"
#include "plugin/program/ascii_rules.h"
#include "plugin/program/per_collation.h"

namespace rowan {

const WeightTable* WeightTable::Of(const CHARSET_INFO* collation) {
  static PerCollation<WeightTable> known;
  return known.Of(collation, [](const CHARSET_INFO* wanted) {
    return std::make_unique<const WeightTable>(wanted);
  });
}

WeightTable::WeightTable(const CHARSET_INFO* collation)
    : collation_(collation), trims_(collation->pad_attribute == PAD_SPACE) {
  if (trims_ && PadOrderOf(collation) == PadOrder::kEndlessSpaces) {
    std::array<char, 4> space{};
    const size_t size = collation->mbminlen;
    collation->cset->fill(collation, space.data(), size, ' ');
    const CollationWeights weights(collation, AsBytes({space.data(), size}));
    space_.assign(weights.bytes().begin(), weights.bytes().end());
  }
  const AsciiRules* const rules = AsciiRules::Of(collation);
  if (rules != nullptr && rules->has_order) FindWidth();
}

void WeightTable::FindWidth() {
  const AsciiRules& rules = *AsciiRules::Of(collation_);
  for (size_t c = 0; c < ascii_.size(); ++c) {
    if (rules.rank[c] == 0) continue;
    const auto character = static_cast<std::byte>(c);
    const CollationWeights weights(collation_, {&character, 1});
    const Bytes bytes = weights.bytes();
    if (width_ == 0) width_ = bytes.size();
    if (bytes.size() != width_ || width_ > kWeightBytesMax) {
      width_ = 0;
      return;
    }
    std::memcpy(ascii_[c].data(), bytes.data(), width_);
    is_known_[c] = true;
  }
}

bool WeightTable::TryAppendAscii(Bytes text, std::vector<std::byte>* weights) const {
  bool all_known = true;
  for (const std::byte byte : text) all_known &= is_known_[static_cast<uint8_t>(byte)];
  if (!all_known) return false;
  size_t at = weights->size();
  weights->resize(at + text.size() * width_);
  for (const std::byte byte : text) {
    std::memcpy(weights->data() + at, ascii_[static_cast<uint8_t>(byte)].data(), width_);
    at += width_;
  }
  return true;
}

void WeightTable::Append(Bytes text, std::vector<std::byte>* weights) const {
  if (trims_) text = WithoutPadding(collation_, text);
  if (width_ != 0 && TryAppendAscii(text, weights)) return;
  const CollationWeights all(collation_, text);
  Bytes bytes = all.bytes();
  // Spaces before an ignorable character at the end do not count either.
  while (!space_.empty() && bytes.size() >= space_.size() &&
         EqualBytes(bytes.last(space_.size()), space_)) {
    bytes = bytes.first(bytes.size() - space_.size());
  }
  weights->insert(weights->end(), bytes.begin(), bytes.end());
}

}  // namespace rowan
