// SPDX-License-Identifier: GPL-2.0-only
// Samples of a table's rows, from which ANALYZE TABLE ... UPDATE HISTOGRAM makes histograms: leaves
// chosen at random, each with the percentage for which the server has memory.
#include "plugin/server/abi_guard.h"

#include "plugin/handler/ha_rowan.h"

#include "mysql/plugin.h"
#include "sql/sql_class.h"

#include "engine/work_progress.h"
#include "plugin/handler/row_sample.h"

namespace rowan {

int ha_rowan::sample_init(void*& scan, double percentage, int seed, enum_sampling_method method,
                          bool) {
  if (method != enum_sampling_method::SYSTEM) return HA_ERR_UNSUPPORTED;
  const int error = ha_rowan::rnd_init(false);
  if (error != 0) return error;
  auto sample = std::make_unique<RowSample>(percentage, seed);
  sample->Enter(reader(), engine_table());
  scan = sample.release();
  return 0;
}

int ha_rowan::sample_next(void* scan, uchar* record) {
  auto* const sample = static_cast<RowSample*>(scan);
  // The server checks only at the end.
  if (thd_killed(ha_thd()) != 0) return HA_ERR_QUERY_INTERRUPTED;
  return Found(sample->Next(record), HA_ERR_END_OF_FILE);
}

int ha_rowan::sample_end(void* scan) {
  delete static_cast<RowSample*>(scan);
  return ha_rowan::rnd_end();
}

}  // namespace rowan
