// SPDX-License-Identifier: GPL-2.0-only
// Features of CREATE TABLE that Rowan does not support. Options that change what a table promises
// or where it is stored are refused with a sentence; mere storage hints are ignored with a warning,
// so definitions made for InnoDB can be reused. TableCodec::Make judges columns and indexes. Thread
// safety: the session's thread.
#pragma once

#include <string>

struct HA_CREATE_INFO;
struct TABLE;
class THD;

namespace rowan {

/// Why a table cannot be created, if so.
struct Refusal {
  const char* option = nullptr;  ///< for the server's error 1478; null: for another reason
  std::string sentence;  ///< completes "Rowan does not support ..."; empty: it can be created

  [[nodiscard]] bool refuses() const { return !sentence.empty(); }
};

/// InnoDB's name for what every table and partition has here: its own file.
bool IsFilePerTable(const char* tablespace);

Refusal UnsupportedOption(THD* thd, const TABLE* form, const HA_CREATE_INFO& info);

/// Raises the error, for an option after the sentence as a warning. Returns the handler's error.
int Refuse(THD* thd, const Refusal& refusal);

/// Warns of options that have no effect, without refusing the statement.
void NoteIgnoredOptions(THD* thd, const TABLE* form, const HA_CREATE_INFO& info);

}  // namespace rowan
