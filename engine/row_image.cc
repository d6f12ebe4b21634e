// SPDX-License-Identifier: GPL-2.0-only
#include "engine/row_image.h"

#include <algorithm>
#include <utility>

namespace rowan {

RowImage::RowImage(const RowCodec* codec, size_t index_count)
    : codec_(codec), entries_(index_count) {
  for (uint32_t i = 1; i < index_count; ++i) {
    entries_[i].has_several = codec->HasSeveralEntries(i);
    entries_[i].computed = codec->IsComputed(i);
  }
  views_.reserve(index_count);
}

void RowImage::Clear() {
  key_.clear();
  for (Entry& entry : entries_) {
    entry.key.clear();
    entry.payload.clear();
  }
  elements_.clear();
}

Status RowImage::EncodeKey(const void* record, Bytes number) {
  if (codec_->has_primary_key()) return codec_->EncodeKey(record, &key_);
  SetKey(number);
  return Status::Ok();
}

Status RowImage::EncodeEntries(const void* record, const IndexSet* only) {
  if (only != nullptr && only->empty()) return Status::Ok();
  elements_.clear();
  for (uint32_t i = 1; i < entries_.size(); ++i) {
    if (only != nullptr && !(*only)[i]) continue;
    const Status status = entries_[i].has_several
                              ? EncodeElements(i, record)
                              : codec_->EncodeEntry(i, record, key_, &entries_[i]);
    if (!status.ok()) return status;
  }
  return Status::Ok();
}

Status RowImage::EncodeElements(uint32_t index, const void* record) {
  const auto keep = [&](const EncodedEntry& entry) {
    elements_.push_back({index, entry});
    return Status::Ok();
  };
  EncodedEntry buffer{.computed = entries_[index].computed};
  const auto first = static_cast<ptrdiff_t>(elements_.size());
  const Status status = codec_->EncodeEntries(index, record, key_, &buffer, keep);
  std::sort(elements_.begin() + first, elements_.end(),
            [](const auto& left, const auto& right) { return Compare(left, right) < 0; });
  return status;
}

Status RowImage::EncodeRow(const void* record, RowCodec::BlobWriter* blobs) {
  return codec_->EncodeRow(record, key_.size(), blobs, &row_);
}

void RowImage::ReplaceEntries(uint32_t index, std::vector<EncodedEntry> entries) {
  if (!entries_[index].has_several) {
    entries_[index].key = std::move(entries.front().key);
    entries_[index].payload = std::move(entries.front().payload);
    return;
  }
  std::erase_if(elements_, [&](const auto& one) { return one.index == index; });
  auto place = std::find_if(elements_.begin(), elements_.end(),
                            [&](const auto& one) { return one.index > index; });
  for (EncodedEntry& one : entries) place = elements_.insert(place, {index, std::move(one)}) + 1;
}

std::span<const IndexEntry> RowImage::ViewEntries() {
  views_.clear();
  for (uint32_t i = 1; i < entries_.size(); ++i) {
    if (!entries_[i].has_several) views_.push_back(entries_[i].View(i));
  }
  for (const Element& element : elements_) views_.push_back(element.entry.View(element.index));
  return views_;
}

// --- two images ---

void RowImage::ListChanges(const RowImage& before, const RowImage& after, const IndexSet* only,
                           std::vector<EntryChange>* changes) {
  changes->clear();
  if (only != nullptr && only->empty()) return;
  for (uint32_t i = 1; i < after.entries_.size(); ++i) {
    if ((only != nullptr && !(*only)[i]) || after.entries_[i].has_several) continue;
    const EntryChange change{before.entries_[i].View(i), after.entries_[i].View(i)};
    const bool same = EqualBytes(change.before.key, change.after.key) &&
                      EqualBytes(change.before.payload, change.after.payload);
    if (!same) changes->push_back(change);
  }
  ListElementChanges(before, after, changes);
}

int RowImage::Compare(const Element& left, const Element& right) {
  if (left.index != right.index) return left.index < right.index ? -1 : 1;
  return CompareBytes(left.entry.key, right.entry.key);
}

void RowImage::ListElementChanges(const RowImage& before_row, const RowImage& after_row,
                                  std::vector<EntryChange>* changes) {
  auto before = before_row.elements_.cbegin();
  auto after = after_row.elements_.cbegin();
  const auto before_end = before_row.elements_.cend();
  const auto after_end = after_row.elements_.cend();
  const auto first = static_cast<ptrdiff_t>(changes->size());
  while (before != before_end || after != after_end) {
    const int order = before == before_end ? 1 : after == after_end ? -1 : Compare(*before, *after);
    const uint32_t index = order <= 0 ? before->index : after->index;
    EntryChange change{{.index = index}, {.index = index}};
    if (order <= 0) change.before = before->entry.View(index);
    if (order >= 0) change.after = after->entry.View(index);
    const bool same = order == 0 && EqualBytes(change.before.payload, change.after.payload);
    if (!same) changes->push_back(change);
    if (order <= 0) ++before;
    if (order >= 0) ++after;
  }
  std::stable_partition(changes->begin() + first, changes->end(),
                        [](const EntryChange& change) { return change.after.key.empty(); });
}

}  // namespace rowan
