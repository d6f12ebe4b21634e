// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/codec/server_variable.h"

#include <array>

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
    std::array<char, 1024> buffer;
    void* value = buffer.data();
    size_t bytes = buffer.size() - 1;
    if (reader.is_valid() &&
        !reader->get(current_thd, "SESSION", "mysql_server", name, &value, &bytes)) {
      text.assign(static_cast<const char*>(value), bytes);
    }
  }
  mysql_plugin_registry_release(registry);
  return text;
}

}  // namespace rowan
