// SPDX-License-Identifier: GPL-2.0-only
// What CREATE TABLE may ask for and Rowan does not do: refused with a sentence, never accepted and
// ignored. Columns and indexes are judged by TableCodec::Make. Thread safety: the session's thread.
#pragma once

#include <string>

struct HA_CREATE_INFO;
struct TABLE;
class THD;

namespace rowan {

/// Why a table cannot be created.
struct Refusal {
  const char* option = nullptr;  ///< for the server's error 1478; null: it is about something else
  std::string sentence;  ///< completes "Rowan does not support ..."; empty: it can be created
};

Refusal UnsupportedOption(THD* thd, const TABLE* form, const HA_CREATE_INFO& info);

/// Raises the error, of an option with the sentence as a warning before it. Returns the handler's
/// error.
int Refuse(THD* thd, const Refusal& refusal);

/// Warns of options that have no effect and would be a surprise, without refusing the statement.
void NoteIgnoredOptions(THD* thd, const TABLE* form, const HA_CREATE_INFO& info);

}  // namespace rowan
