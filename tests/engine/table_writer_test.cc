// SPDX-License-Identifier: GPL-2.0-only
// Records that go in and come out: what TableWriter makes of them in indexes with one entry of a
// row and with any number, and what becomes of values off the page. A record is a Note.
#include "engine/table_writer.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "base/random.h"
#include "engine/bulk_load.h"
#include "tests/engine/await_purge.h"
#include "tests/engine/engine_fixture.h"

namespace rowan {
namespace {

constexpr uint32_t kTitleIndex = 1;  // unique
constexpr uint32_t kWordIndex = 2;   // an entry for each letter

struct Note {
  uint64_t id = 0;
  char title = 0;
  std::string letters{};  ///< all different
  Bytes text{};           ///< off the page
};

std::vector<std::byte> EntryKey(char first, Bytes key) {
  std::vector<std::byte> bytes{static_cast<std::byte>(first)};
  bytes.insert(bytes.end(), key.begin(), key.end());
  return bytes;
}

/// Stored: title, count of letters, letters, reference of the text.
class NoteCodec final : public RowCodec {
 public:
  Status EncodeKey(const void* record, ByteBuffer* key) const override {
    key->resize(sizeof(uint64_t));
    StoreBe64(key->data(), Of(record).id);
    return Status::Ok();
  }
  Status EncodeRow(const void* record, size_t, BlobWriter* blobs, ByteBuffer* row) const override {
    const Note& note = Of(record);
    const std::string start = note.title + std::string(1, static_cast<char>(note.letters.size()));
    OffPageWrite text{.value = note.text, .column = 7, .reference_bytes_max = 1000};
    const Status status = blobs->Write(&text);
    if (!status.ok()) return status;
    const std::string stored = start + note.letters;
    row->assign(AsBytes(stored).begin(), AsBytes(stored).end());
    AppendReference(text.stored, row);
    return Status::Ok();
  }
  Status DecodeRow(const VersionView& row, const void*, BlobReader* blobs,
                   void* record) const override {
    Note* note = static_cast<Note*>(record);
    const std::string_view text = AsText(row.value);
    *note = {LoadBe64(row.key.data()), text[0],
             std::string(text.substr(2, static_cast<size_t>(text[1])))};
    Result<Bytes> read = blobs->Read(ReferenceIn(row.value), 7);
    if (read.ok()) note->text = *read;
    return read.status();
  }
  Status DecodeEntry(uint32_t, const VersionView&, const void*, void*) const override {
    return Status(Code::kUnsupported);
  }
  [[nodiscard]] bool HasSeveralEntries(uint32_t index) const override {
    return index == kWordIndex;
  }
  Status EncodeEntry(uint32_t, const void* record, Bytes key, EncodedEntry* entry) const override {
    *entry = {.key = EntryKey(Of(record).title, key), .unique_prefix_bytes = 1};
    return Status::Ok();
  }
  Status EncodeEntries(uint32_t index, const void* record, Bytes key, EncodedEntry* buffer,
                       EntryVisit visit) const override {
    if (index != kWordIndex) return RowCodec::EncodeEntries(index, record, key, buffer, visit);
    for (const char letter : Of(record).letters) {
      *buffer = {.key = EntryKey(letter, key)};
      const Status status = visit(*buffer);
      if (!status.ok()) return status;
    }
    return Status::Ok();
  }
  Result<Bytes> ClusteredKeyOf(uint32_t, Bytes entry_key, ByteBuffer*) const override {
    return entry_key.subspan(1);
  }
  void BlobsOf(Bytes row, std::vector<BlobRef>* refs) const override {
    refs->clear();
    AppendBlobsOf(ReferenceIn(row), refs);
  }

 private:
  static const Note& Of(const void* record) { return *static_cast<const Note*>(record); }
  static OffPageValue ReferenceIn(Bytes row) {
    return LoadReference(row.subspan(2 + static_cast<size_t>(row[1])));
  }
};

class TableWriterTest : public ::testing::Test {
 protected:
  TableWriterTest() : world_(TestSeed()) {
    EXPECT_TRUE(world_.Open().ok());
    session_ = world_.engine->NewSession();
    session_->Begin();
    table_ = world_.engine
                 ->CreateTable(session_.get(),
                               {.name = "test/notes",
                                .indexes = {ClusteredIndex("PRIMARY"), SecondaryIndex("title"),
                                            SecondaryIndex("letters")}})
                 .value();
    EXPECT_TRUE(session_->Commit().ok());
    session_->Begin();
    cursor_ = std::make_unique<TableCursor>(session_.get(), table_.get(), &codec_,
                                            ReadOptions{.mode = ReadMode::kLockExclusive});
    cursor_->SetColumns(nullptr, RowKeys::kKeep);
    writer_ = std::make_unique<TableWriter>(session_.get(), table_.get(), &codec_);
  }

  Status Insert(uint64_t id, char title, const std::string& letters, const std::string& text) {
    const Note note{id, title, letters, AsBytes(text)};
    return writer_->Insert(&note);
  }
  /// Puts the row into `*note`.
  void Take(uint64_t id, Note* note) {
    ByteBuffer key(sizeof(uint64_t));
    StoreBe64(key.data(), id);
    ASSERT_TRUE(cursor_->GetRow(key, note).ok());
    ASSERT_TRUE(writer_->Take({.record = note, .cursor = cursor_.get()}).ok());
  }
  void Expect(const std::map<uint64_t, std::string>& texts, const std::set<std::string>& entries) {
    EXPECT_TRUE(session_->Commit().ok());
    AwaitPurge(*world_.engine);
    const auto find_blobs = [this](Bytes row, std::vector<BlobRef>* refs) {
      codec_.BlobsOf(row, refs);
    };
    const Status space = world_.engine->CheckSpace(table_.get(), find_blobs);
    EXPECT_TRUE(space.ok()) << space.message();
    session_->Begin();
    std::map<uint64_t, std::string> found;
    Note note;
    cursor_->OpenScan(0);
    for (Status at = cursor_->SeekFirst(&note); at.ok(); at = cursor_->Next(&note)) {
      found[note.id] = AsText(note.text);
    }
    EXPECT_EQ(found, texts);
    std::set<std::string> found_entries;
    TableCursor reader(session_.get(), table_.get(), &codec_);
    for (const uint32_t index : {kTitleIndex, kWordIndex}) {
      const Status read = reader.VisitEntries(index, [&](Bytes key, Bytes) {
        found_entries.insert(std::to_string(index) + AsText(key).front() +
                             std::to_string(LoadBe64(key.data() + 1)));
        return Status::Ok();
      });
      EXPECT_TRUE(read.ok());
    }
    EXPECT_EQ(found_entries, entries);
  }

  EngineFixture world_;
  const NoteCodec codec_;
  std::shared_ptr<Table> table_;
  std::unique_ptr<Session> session_;
  std::unique_ptr<TableCursor> cursor_;
  std::unique_ptr<TableWriter> writer_;
};

TEST_F(TableWriterTest, EntriesComeAndGoWithTheirRow) {
  ASSERT_TRUE(Insert(1, 'a', "xyz", "one").ok());
  ASSERT_TRUE(Insert(2, 'b', "yx", "two").ok());
  ASSERT_TRUE(Insert(3, 'c', "", "three").ok());
  Note note;
  Take(1, &note);
  note.letters = "wz";
  note.id = 4;  // which all its entries hold
  EXPECT_TRUE(writer_->Update(&note).ok());
  Take(2, &note);
  note.letters = "yv";
  note.title = 'd';
  EXPECT_TRUE(writer_->Update(&note).ok());
  Take(3, &note);
  EXPECT_TRUE(writer_->Delete().ok());
  Expect({{2, "two"}, {4, "one"}}, {"1a4", "1d2", "2v2", "2w4", "2y2", "2z4"});
}

TEST_F(TableWriterTest, ValuesAreKeptChangedAndDropped) {
  Random random(TestSeed());
  std::map<uint64_t, std::string> texts;
  std::set<std::string> entries;
  for (uint64_t id = 1; id <= 20; ++id) {
    texts[id] = std::string(1 + random.Below(60'000), 't');
    const char title = static_cast<char>('a' + id);
    ASSERT_TRUE(Insert(id, title, "l", texts[id]).ok());
    entries.insert(std::string("1") + title + std::to_string(id));
    entries.insert("2l" + std::to_string(id));
  }
  for (int turn = 0; turn < 200; ++turn) {
    const uint64_t id = 1 + random.Below(texts.size());
    Note note;
    Take(id, &note);
    std::string& text = texts[id];
    switch (random.Below(3)) {
      case 0: break;  // the very bytes that were read
      case 1: text[random.Below(text.size())] ^= 1; break;
      default: text = std::string(1 + random.Below(60'000), 'u');
    }
    if (text != AsText(note.text)) note.text = AsBytes(text);
    ASSERT_TRUE(writer_->Update(&note).ok());
  }
  Expect(texts, entries);
}

TEST_F(TableWriterTest, ARefusedRowLeavesNoValue) {
  ASSERT_TRUE(Insert(1, 'a', "x", "one").ok());
  ASSERT_TRUE(Insert(2, 'b', "y", "two").ok());
  const Status refused = Insert(3, 'a', "z", std::string(50'000, 't'));
  EXPECT_TRUE(refused.Is(Code::kDuplicate));
  EXPECT_EQ(refused.detail(), kTitleIndex);
  Note note;
  Take(2, &note);
  const std::string text(50'000, 'u');
  note.title = 'a';
  note.text = AsBytes(text);
  EXPECT_TRUE(writer_->Update(&note).Is(Code::kDuplicate));
  Expect({{1, "one"}, {2, "two"}}, {"1a1", "1b2", "2x1", "2y2"});
}

// Its file goes with a rollback: a record for each text would be undone for nothing.
TEST_F(TableWriterTest, TextsOfALoadedTableHaveNoUndo) {
  const auto texts_undone = [this](bool load_it) {
    std::shared_ptr<Table> fresh =
        world_.engine
            ->CreateTable(session_.get(),
                          {.name = load_it ? "test/loaded" : "test/inserted",
                           .indexes = {ClusteredIndex("PRIMARY"), SecondaryIndex("title"),
                                       SecondaryIndex("letters")}})
            .value();
    TableWriter writer(session_.get(), fresh.get(), &codec_);
    BulkLoad load(session_.get(), fresh.get(), {size_t{1} << 20});
    const std::string text(50'000, 't');
    const uint64_t before = session_->Savepoint().records;
    for (uint64_t id = 1; id <= 20; ++id) {
      const Note note{id, static_cast<char>('a' + id), "", AsBytes(text)};
      EXPECT_TRUE((load_it ? writer.Load(&load, &note) : writer.Insert(&note)).ok());
    }
    EXPECT_TRUE(!load_it || load.Finish().ok());
    return session_->Savepoint().records - before;
  };
  EXPECT_EQ(texts_undone(true), 0u);
  EXPECT_GE(texts_undone(false), 40u) << "of a row, and of its text";
  EXPECT_TRUE(session_->Rollback().ok());
  session_->FinishDdl();
  session_->Begin();
  EXPECT_EQ(world_.engine->ListTables().size(), 1u);
}

TEST_F(TableWriterTest, AnotherRowMayHaveBeenReadSince) {
  ASSERT_TRUE(Insert(1, 'a', "x", std::string(20'000, 'o')).ok());
  ASSERT_TRUE(Insert(2, 'b', "y", std::string(20'000, 't')).ok());
  Note one;
  Take(1, &one);
  const std::string text(AsText(one.text));
  one.text = AsBytes(text);
  Note two;
  Take(2, &two);
  EXPECT_TRUE(writer_->Take({.record = &one, .cursor = cursor_.get()}).ok());
  EXPECT_TRUE(writer_->Delete().ok());
  Expect({{2, std::string(20'000, 't')}}, {"1b2", "2y2"});
}

}  // namespace
}  // namespace rowan
