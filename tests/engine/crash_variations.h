// SPDX-License-Identifier: GPL-2.0-only
// CrashVariations: what some crash programs do besides what all of them do. The seed decides.
#pragma once

#include <cstdint>
#include <string>

#include "base/random.h"

namespace rowan {

struct CrashVariations {
  bool rebuilds = false;         ///< tables are made anew while they are written
  bool transports = false;       ///< tables go through an exported file
  bool temporary = false;        ///< a session has a temporary table
  bool rollback_faults = false;  ///< calls fail once a rollback, or an undo of DDL, is under way
  bool unmounts = false;         ///< the disk with the placed files is away at times
  bool heals = false;            ///< faults end, and the same process goes on
};

/// Of an ordinary program, with a `random` of their own: without a variation a program is what its
/// seed always made of it.
inline CrashVariations DrawVariations(Random* random) {
  CrashVariations drawn;
  drawn.rebuilds = random->OneIn(5);
  drawn.transports = random->OneIn(6);
  drawn.temporary = random->OneIn(8);
  drawn.rollback_faults = random->OneIn(12);
  drawn.unmounts = random->OneIn(10);
  drawn.heals = random->OneIn(drawn.rollback_faults ? 2 : 5);
  return drawn;
}

/// For SCOPED_TRACE.
inline std::string Describe(const CrashVariations& variations) {
  std::string text = "variations:";
  if (variations.rebuilds) text += " rebuilds";
  if (variations.transports) text += " transports";
  if (variations.temporary) text += " temporary";
  if (variations.rollback_faults) text += " rollback-faults";
  if (variations.unmounts) text += " unmounts";
  if (variations.heals) text += " heals";
  return text;
}

}  // namespace rowan
