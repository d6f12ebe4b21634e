// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/fulltext/phrase.h"

#include <algorithm>
#include <utility>

namespace rowan {

void Phrase::Add(std::string weights, uint32_t number) {
  if (number == kNotIndexed && indexed_.empty()) return;
  Word word{std::move(weights), number, static_cast<uint32_t>(all_.size())};
  all_.push_back(word);
  if (number != kNotIndexed) indexed_.push_back(std::move(word));
}

Status Phrase::AddRow(DocumentNumber document, Bytes payload) {
  bool added = false;
  if (turn_ > 0 && rows_.Find(document) == nullptr) return Status::Ok();
  Row* row = rows_.Get(document, &added);
  row->document = document;
  if (row->places.size() != turn_) return Status::Ok();  // another word was missing
  bool complete = true;
  row->places.emplace_back();
  if (!ReadPlaces(payload, columns_, &row->places.back(), &complete)) {
    return Status(Code::kCorrupt, "malformed entry of a full-text index");
  }
  row->complete = row->complete && complete;
  return Status::Ok();
}

void Phrase::EndWord() { ++turn_; }

Status Phrase::VisitMatches(VisitRow visit_row, FunctionRef<void(DocumentNumber)> visit) {
  std::vector<const Row*> rows;
  rows_.ForEach([&](DocumentNumber, const Row* row) {
    if (row->places.size() == indexed_.size()) rows.push_back(row);
  });
  std::sort(rows.begin(), rows.end(),
            [](const Row* one, const Row* other) { return one->document < other->document; });
  for (const Row* row : rows) {
    bool found = all_.size() == 1;
    if (!found && distance_ > 0) {
      found = AreNear(*row);
    } else if (!found && (!row->complete || FollowEachOther(*row))) {
      found = row->complete && all_.size() == indexed_.size();
      if (!found) {
        const Status status = IsInText(*row, visit_row, &found);
        if (!status.ok()) return status;
      }
    }
    if (found) visit(row->document);
  }
  return Status::Ok();
}

bool Phrase::FollowEachOther(const Row& row) const {
  const auto starts_at = [&](WordPosition start) {
    for (size_t i = 1; i < indexed_.size(); ++i) {
      const std::vector<WordPosition>& places = row.places[i];
      if (!std::binary_search(places.begin(), places.end(), start + indexed_[i].offset)) {
        return false;
      }
    }
    return true;
  };
  return std::any_of(row.places[0].begin(), row.places[0].end(), starts_at);
}

bool Phrase::AreNear(const Row& row) const {
  // One place of each word at a time; the first of them moves on.
  std::vector<size_t> at(row.places.size(), 0);
  const auto place = [&](size_t word) { return PlaceOf(row.places[word][at[word]]); };
  for (;;) {
    size_t first = 0;
    uint32_t last = 0;
    for (size_t i = 0; i < at.size(); ++i) {
      if (at[i] == row.places[i].size()) return false;
      if (place(i) < place(first)) first = i;
      last = std::max(last, place(i));
    }
    if (last - place(first) + 1 <= distance_) return true;
    ++at[first];
  }
}

Status Phrase::IsInText(const Row& row, VisitRow visit_row, bool* found) const {
  // How many words of the phrase have been met, for each place where it may have begun.
  std::vector<size_t> begun;
  *found = false;
  const auto take = [&](const TextIndex::Word& word) {
    if (word.begins_column) begun.clear();
    begun.push_back(0);
    size_t kept = 0;
    for (const size_t met : begun) {
      if (word.weights != all_[met].weights) continue;
      if (met + 1 == all_.size()) {
        *found = true;
      } else {
        begun[kept++] = met + 1;
      }
    }
    begun.resize(kept);
    return Status::Ok();
  };
  const Status status = visit_row(row.document, take);
  return status.Is(Code::kNotFound) ? Status::Ok() : status;
}

}  // namespace rowan
