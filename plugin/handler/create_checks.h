// SPDX-License-Identifier: GPL-2.0-only
// What CREATE TABLE may ask for and Rowan does not do. What changes what a table promises or where
// it lies is refused with a sentence; a mere hint how to store it is ignored with a warning, so
// that definitions made for InnoDB can be taken over. Columns and indexes are judged by
// TableCodec::Make. Thread safety: the session's thread.
#pragma once

#include <string>

struct HA_CREATE_INFO;
struct TABLE;
class THD;

namespace rowan {

/// Why a table cannot be created, or that it can.
struct Refusal {
  const char* option = nullptr;  ///< for the server's error 1478; null: it is about something else
  std::string sentence;  ///< completes "Rowan does not support ..."; empty: it can be created

  [[nodiscard]] bool refuses() const { return !sentence.empty(); }
};

/// InnoDB's name for what every table and partition has: a file of its own.
bool IsFilePerTable(const char* tablespace);

Refusal UnsupportedOption(THD* thd, const TABLE* form, const HA_CREATE_INFO& info);

/// Raises the error, of an option with the sentence as a warning before it. Returns the handler's
/// error.
int Refuse(THD* thd, const Refusal& refusal);

/// Warns of options that have no effect, without refusing the statement.
void NoteIgnoredOptions(THD* thd, const TABLE* form, const HA_CREATE_INFO& info);

}  // namespace rowan
