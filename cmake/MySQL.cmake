# SPDX-License-Identifier: GPL-2.0-only
# rowan_find_mysql(): the server and source tree to build the plugin against, checked to be one version.
# rowan_mysql_plugin(<name> <sources>...): a server plugin library <name>.so with the server's own settings.
# rowan_mysql_strings(): library rowan_mysql_strings, some of the server's character sets, for unit tests.
#
# ROWAN_MYSQL_PREFIX and ROWAN_MYSQL_SOURCE (CMake or environment variables) name them; without either it
# is the private copy under .mysql/ that scripts/setup makes.

macro(rowan_default_path variable fallback)
  if(NOT ${variable})
    if(DEFINED ENV{${variable}} AND NOT "$ENV{${variable}}" STREQUAL "")
      set(${variable} "$ENV{${variable}}")
    else()
      set(${variable} "${CMAKE_SOURCE_DIR}/${fallback}")
    endif()
  endif()
  if(NOT IS_DIRECTORY "${${variable}}")
    message(FATAL_ERROR "${${variable}} does not exist: run scripts/setup, set ${variable}, "
                        "or build without the plugin (-DROWAN_BUILD_PLUGIN=OFF)")
  endif()
endmacro()

function(rowan_source_version source result)
  set(file ${source}/builddir/include/mysql_version.h)
  if(NOT EXISTS ${file})
    message(FATAL_ERROR "${source} is not a configured MySQL source tree: it has no "
                        "builddir/include/mysql_version.h")
  endif()
  file(STRINGS ${file} lines REGEX "^#define[ \t]+MYSQL_VERSION_ID[ \t]")
  string(REGEX MATCH "[0-9]+" id "${lines}")
  math(EXPR major "${id} / 10000")
  math(EXPR minor "${id} / 100 % 100")
  math(EXPR patch "${id} % 100")
  set(${result} ${major}.${minor}.${patch} PARENT_SCOPE)
endfunction()

function(rowan_server_version mysqld result)
  execute_process(COMMAND ${mysqld} --no-defaults --version OUTPUT_VARIABLE text
                  RESULT_VARIABLE failed ERROR_QUIET)
  string(REGEX MATCH "Ver ([0-9]+\\.[0-9]+\\.[0-9]+)" ignored "${text}")
  if(failed OR NOT CMAKE_MATCH_1)
    message(FATAL_ERROR "${mysqld} --version does not tell a version")
  endif()
  set(${result} ${CMAKE_MATCH_1} PARENT_SCOPE)
endfunction()

# The folder with the one generated header that a packaged builddir/ lacks.
function(rowan_error_header_folder result)
  foreach(folder ${ROWAN_MYSQL_SOURCE}/builddir/include ${ROWAN_MYSQL_PREFIX}/usr/include/mysql
                 ${ROWAN_MYSQL_PREFIX}/include/mysql ${ROWAN_MYSQL_PREFIX}/include)
    if(EXISTS ${folder}/mysqld_error.h)
      set(${result} ${folder} PARENT_SCOPE)
      return()
    endif()
  endforeach()
  message(FATAL_ERROR "mysqld_error.h is neither in the builddir of ${ROWAN_MYSQL_SOURCE} nor under "
                      "${ROWAN_MYSQL_PREFIX} (package libmysqlclient-dev holds it)")
endfunction()

macro(rowan_find_mysql)
  rowan_default_path(ROWAN_MYSQL_PREFIX .mysql/prefix)
  rowan_default_path(ROWAN_MYSQL_SOURCE .mysql/source)
  unset(ROWAN_MYSQLD CACHE)
  find_program(ROWAN_MYSQLD mysqld NO_DEFAULT_PATH PATHS ${ROWAN_MYSQL_PREFIX}
               PATH_SUFFIXES usr/sbin sbin bin usr/bin libexec usr/libexec runtime_output_directory)
  if(NOT ROWAN_MYSQLD)
    message(FATAL_ERROR "no mysqld under ${ROWAN_MYSQL_PREFIX}")
  endif()
  rowan_source_version(${ROWAN_MYSQL_SOURCE} rowan_source_version)
  rowan_server_version(${ROWAN_MYSQLD} rowan_server_version)
  if(NOT rowan_source_version STREQUAL rowan_server_version)
    message(FATAL_ERROR "version mismatch: the server ${ROWAN_MYSQLD} is MySQL ${rowan_server_version} "
                        "but the source tree ${ROWAN_MYSQL_SOURCE} is MySQL ${rowan_source_version}; "
                        "a plugin loads only into the exact version it was built for")
  endif()
  message(STATUS "MySQL ${rowan_server_version}: ${ROWAN_MYSQLD}")
  rowan_plugin_folder()
endmacro()

# ROWAN_MYSQL_PLUGIN_DIR: where `cmake --install` puts the plugin.
macro(rowan_plugin_folder)
  get_filename_component(rowan_basedir ${ROWAN_MYSQLD} DIRECTORY)
  get_filename_component(rowan_basedir ${rowan_basedir} DIRECTORY)
  set(ROWAN_MYSQL_PLUGIN_DIR "" CACHE PATH "the server's plugin folder, for cmake --install")
  if(NOT ROWAN_MYSQL_PLUGIN_DIR)
    foreach(folder lib/mysql/plugin lib/plugin lib64/mysql/plugin lib64/plugin
                   plugin_output_directory)
      if(IS_DIRECTORY ${rowan_basedir}/${folder})
        set(ROWAN_MYSQL_PLUGIN_DIR ${rowan_basedir}/${folder})
        break()
      endif()
    endforeach()
  endif()
endmacro()

# Server headers come as system headers: our warnings then apply to our code alone. The order matters.
function(rowan_server_includes target)
  set(source ${ROWAN_MYSQL_SOURCE})
  file(GLOB unordered_dense ${source}/extra/unordered_dense/*/include)
  file(GLOB boost ${source}/extra/boost/boost_*)
  rowan_error_header_folder(error_header)
  target_include_directories(${target} SYSTEM PRIVATE
    ${source}/builddir/include ${source}/builddir ${source} ${source}/include ${source}/sql
    ${source}/libs ${unordered_dense} ${error_header} ${boost} ${source}/extra/rapidjson/include)
endfunction()

# NDEBUG is part of the server's ABI (class layouts depend on it), whatever our build type is.
set(ROWAN_SERVER_DEFINITIONS NDEBUG MYSQL_DYNAMIC_PLUGIN MYSQL_SERVER HAVE_CONFIG_H
    _FILE_OFFSET_BITS=64 _USE_MATH_DEFINES __STDC_FORMAT_MACROS __STDC_LIMIT_MACROS)

# The service pointers the loader patches by name: plain C, default visibility, so never hidden.
function(rowan_mysql_services name)
  if(TARGET ${name})
    return()
  endif()
  file(GLOB sources ${ROWAN_MYSQL_SOURCE}/libservices/*.c)
  if(NOT sources)
    message(FATAL_ERROR "${ROWAN_MYSQL_SOURCE}/libservices holds no sources")
  endif()
  add_library(${name} OBJECT ${sources})
  rowan_server_includes(${name})
  target_compile_definitions(${name} PRIVATE ${ROWAN_SERVER_DEFINITIONS})
endfunction()

function(rowan_mysql_plugin name)
  set(services rowan_mysql_services_${rowan_server_version})
  rowan_mysql_services(${services})
  add_library(${name} MODULE ${ARGN} $<TARGET_OBJECTS:${services}>)
  set_target_properties(${name} PROPERTIES PREFIX "" C_VISIBILITY_PRESET default)
  rowan_server_includes(${name})
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR})
  target_compile_definitions(${name} PRIVATE ${ROWAN_SERVER_DEFINITIONS}
                             ROWAN_MYSQL_VERSION="${rowan_server_version}")
  # Everything of ours binds inside the library; nothing of the static libraries leaves it.
  target_link_options(${name} PRIVATE -Wl,-Bsymbolic -Wl,-z,relro -Wl,-z,now
                      -Wl,--exclude-libs,ALL)
  # Server symbols stay undefined until the server loads the plugin; an undefined one of ours is an error.
  add_custom_command(TARGET ${name} POST_BUILD VERBATIM
    COMMAND ${CMAKE_COMMAND} -DNM=${CMAKE_NM} -DLIBRARY=$<TARGET_FILE:${name}>
            -P ${CMAKE_SOURCE_DIR}/cmake/CheckPluginSymbols.cmake)
endfunction()

# The packaged client library has them all, but may want a newer C library than this machine's. What is
# not needed of these sources is dropped by the linker, with all that it asks for.
function(rowan_mysql_strings)
  list(TRANSFORM ARGN PREPEND ${ROWAN_MYSQL_SOURCE}/strings/)
  add_library(rowan_mysql_strings STATIC ${ARGN})
  rowan_server_includes(rowan_mysql_strings)
  target_include_directories(rowan_mysql_strings PRIVATE ${ROWAN_MYSQL_SOURCE}/strings)
  target_compile_definitions(rowan_mysql_strings PRIVATE NDEBUG HAVE_CONFIG_H)
  target_compile_options(rowan_mysql_strings PRIVATE -w -O1 -g0 -ffunction-sections -fdata-sections)
  set_target_properties(rowan_mysql_strings PROPERTIES UNITY_BUILD OFF)
  target_link_options(rowan_mysql_strings INTERFACE -Wl,--gc-sections)
endfunction()
