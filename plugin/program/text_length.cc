// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/program/text_length.h"

#include "mysql/strings/m_ctype.h"
#include "plugin/program/ascii_rules.h"
#include "plugin/program/operand.h"

namespace rowan {
namespace {

class TextLengthNode final : public ValueNode {
 public:
  /// `charset`: whose characters are counted; null: bytes are.
  TextLengthNode(const ValueType& type, ValueId text, const CHARSET_INFO* charset)
      : ValueNode(type), text_(text), charset_(charset) {}

  void Compute(Batch* batch, Selection* rows, ValueVector* values) const override {
    const ValueVector& texts = batch->Read(text_, rows);
    CombineNulls(&texts, nullptr, *rows, values);
    auto* const target = values->As<int64_t>();
    for (const RowNumber row : *rows) {
      target[row] = static_cast<int64_t>(LengthOf(texts.As<Bytes>()[row]));
    }
  }

 private:
  [[nodiscard]] size_t LengthOf(Bytes text) const {
    if (charset_ == nullptr) return text.size();
    // Unless all characters have two or four bytes, a text of ASCII alone has one for each.
    if (charset_->mbminlen == 1 && IsAscii(text)) [[likely]]
      return text.size();
    const auto* const begin = reinterpret_cast<const char*>(text.data());
    return charset_->cset->numchars(charset_, begin, begin + text.size());
  }

  const ValueId text_;
  const CHARSET_INFO* const charset_;
};

}  // namespace

std::unique_ptr<ValueNode> MakeTextLength(ValueId text, const ValueType& type, LengthUnit unit) {
  if (type.kind != ValueKind::kBytes) return nullptr;
  const bool counts = unit == LengthUnit::kCharacters && type.charset->mbmaxlen > 1;
  const ValueType result{.kind = ValueKind::kSigned, .precision = 10, .nullable = type.nullable};
  return std::make_unique<TextLengthNode>(result, text, counts ? type.charset : nullptr);
}

}  // namespace rowan
