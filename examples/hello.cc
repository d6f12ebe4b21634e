// SPDX-License-Identifier: GPL-2.0-only
// Rowan without MySQL: a table of towns, first with only its primary key, then with an index.
//
//   rowan-hello FOLDER     where the instance goes; created if it is missing
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/logging.h"
#include "engine/engine.h"
#include "engine/stored_row.h"
#include "engine/table_cursor.h"
#include "engine/table_writer.h"

namespace rowan {
namespace {

void Require(Status status, const char* what) {
  if (status.ok()) return;
  std::fprintf(stderr, "rowan-hello: %s failed: %s\n", what, status.message());
  std::exit(1);
}

template <typename T>
T Require(Result<T> result, const char* what) {
  Require(result.status(), what);
  return std::move(result).value();
}

void Print(const StoredRow& row) {
  const std::string key(AsText(row.key));
  const std::string value(AsText(row.value));
  std::printf("%s: %s\n", key.c_str(), value.c_str());
}

/// Keys and rows are byte strings, and keys sort as bytes do. What is in them is up to us.
void UsePrimaryKey(Engine* engine) {
  const std::unique_ptr<Session> session = engine->NewSession();
  session->Begin();
  const TableDef definition{.name = "hello/towns", .indexes = {ClusteredIndex("PRIMARY")}};
  const std::shared_ptr<Table> towns =
      Require(engine->CreateTable(session.get(), definition), "creating a table");

  const StoredRowCodec codec;
  TableWriter writer(session.get(), towns.get(), &codec);
  StoredRow row{AsBytes("Lyon"), AsBytes("France")};
  Require(writer.Insert(&row), "putting");
  row = {AsBytes("Bern"), AsBytes("Switzerland")};
  Require(writer.Insert(&row), "putting");

  TableCursor cursor(session.get(), towns.get(), &codec);
  Require(cursor.GetRow(AsBytes("Lyon"), &row), "getting");
  Print(row);
  cursor.OpenScan(0);
  for (Status at = cursor.SeekFirst(&row); at.ok(); at = cursor.Next(&row)) Print(row);
  Require(session->Commit(), "committing");
}

/// An entry of a secondary index is a key of its own: what it sorts by, then the row's key, by
/// which the row is found.
EncodedEntry EntryOf(uint32_t /*index*/, const StoredRow& row) {
  EncodedEntry entry{.key = {row.value.begin(), row.value.end()}};
  entry.key.push_back(std::byte{0});
  entry.key.insert(entry.key.end(), row.key.begin(), row.key.end());
  return entry;
}

Bytes TownOf(uint32_t /*index*/, Bytes entry) {
  const std::string_view text = AsText(entry);
  return AsBytes(text.substr(text.find('\0') + 1));
}

void UseIndex(Engine* engine) {
  const std::unique_ptr<Session> session = engine->NewSession();
  session->Begin();
  const TableDef definition{.name = "hello/towns_by_country",
                            .indexes = {ClusteredIndex("PRIMARY"), SecondaryIndex("country")}};
  const std::shared_ptr<Table> towns =
      Require(engine->CreateTable(session.get(), definition), "creating a table");
  const StoredRowCodec codec(TownOf, EntryOf);
  TableWriter writer(session.get(), towns.get(), &codec);
  for (const auto& [town, country] : {std::pair{"Bern", "Switzerland"}, std::pair{"Genoa", "Italy"},
                                      std::pair{"Basel", "Switzerland"}}) {
    const StoredRow row{AsBytes(town), AsBytes(country)};
    Require(writer.Insert(&row), "putting");
  }
  Require(session->Commit(), "committing");

  session->Begin();
  TableCursor cursor(session.get(), towns.get(), &codec);
  StoredRow row;
  cursor.OpenScan(1);
  for (Status at = cursor.SeekAtLeast(AsBytes("S"), &row); at.ok(); at = cursor.Next(&row)) {
    Print(row);
  }
  Require(session->Commit(), "committing");
}

}  // namespace

int Hello(const char* folder) {
  SetLogLevel(LogLevel::kError);
  EngineOptions options;
  options.storage.folder = folder;
  const std::unique_ptr<Engine> engine = Require(Engine::Open(options), "opening");
  UsePrimaryKey(engine.get());
  UseIndex(engine.get());
  Require(engine->Close(), "closing");
  return 0;
}

}  // namespace rowan

int main(int count, char** arguments) {
  if (count == 2) return rowan::Hello(arguments[1]);
  std::fprintf(stderr, "usage: rowan-hello FOLDER\n");
  return 2;
}
