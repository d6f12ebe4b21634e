// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/codec/server_variable.h"

#include "mysql/components/my_service.h"
#include "mysql/components/services/mysql_system_variable.h"
#include "mysql/service_plugin_registry.h"
#include "sql/current_thd.h"

namespace rowan {

std::string ServerVariable(const char* name) {
  SERVICE_TYPE(registry)* const registry = mysql_plugin_registry_acquire();
  std::string text;
  {
    const my_service<SERVICE_TYPE(mysql_system_variable_reader)> reader(
        "mysql_system_variable_reader", registry);
    std::string buffer(1024, 0);
    // Where that is too short, the first answer is how long it has to be.
    for (int attempt = 0; reader.is_valid() && attempt < 2; ++attempt) {
      void* value = buffer.data();
      size_t bytes = buffer.size();
      if (!reader->get(current_thd, "SESSION", "mysql_server", name, &value, &bytes)) {
        text.assign(static_cast<const char*>(value), bytes);
        break;
      }
      if (bytes <= buffer.size()) break;
      buffer.resize(bytes);
    }
  }
  mysql_plugin_registry_release(registry);
  return text;
}

}  // namespace rowan
