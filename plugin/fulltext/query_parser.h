// SPDX-License-Identifier: GPL-2.0-only
// Parses the text of AGAINST.
//
//   query   item ...
//   item    [operator] ( word [*] | "phrase" [@ number] | ( query ) )
//   operator  + - ~ < >
//
// Outside boolean mode there are only words, phrases, and a lone *. With a parser plugin, the
// plugin determines words and operators.
// Thread safety: stateless.
#pragma once

#include <string>

#include "base/bytes.h"
#include "base/status.h"
#include "plugin/codec/text_index.h"
#include "plugin/fulltext/query_node.h"

namespace rowan {

/// A list; null when nothing is asked for, or, with a sentence in *problem, when the text makes no
/// sense.
QueryNode::Pointer ParseQuery(const TextIndex& index, Bytes small, bool boolean_mode,
                              std::string* problem);

}  // namespace rowan
