# SPDX-License-Identifier: GPL-2.0-only
# Target rowan_thread_safety: Clang's thread-safety analysis of every library (base/thread_annotations.h). Only
# looks, generates nothing; a source is looked at again when it or a header of it changes. Not part of `all`; there
# is no such target without clang++. The plugin's headers need a server and are left out.
find_program(ROWAN_CLANG clang++)
if(NOT ROWAN_CLANG)
  return()
endif()
set(folder_of_stamps ${CMAKE_BINARY_DIR}/thread_safety)
set(clang ${ROWAN_CLANG} -std=gnu++20 -D_GNU_SOURCE)

# What nearly every source includes, read once: half of the time.
set(common_header ${folder_of_stamps}/common.h)
set(common_text "")
foreach(header algorithm array atomic chrono condition_variable cstdint cstring deque functional map memory mutex
        optional set shared_mutex span string string_view thread unordered_map unordered_set vector)
  string(APPEND common_text "#include <${header}>\n")
endforeach()
file(CONFIGURE OUTPUT ${common_header} CONTENT "${common_text}")
add_custom_command(OUTPUT ${common_header}.pch
  COMMAND ${clang} -x c++-header ${common_header} -o ${common_header}.pch
  DEPENDS ${common_header} COMMENT "Reading common headers with Clang" VERBATIM)

set(stamps)
foreach(folder base io wal buffer space storage btree mvcc engine)
  get_target_property(sources rowan_${folder} SOURCES)
  set(definitions $<TARGET_PROPERTY:rowan_${folder},COMPILE_DEFINITIONS>)
  set(includes $<TARGET_PROPERTY:rowan_${folder},INCLUDE_DIRECTORIES>)
  foreach(source ${sources})
    file(RELATIVE_PATH name ${CMAKE_SOURCE_DIR} ${source})
    string(REPLACE "/" "_" name ${name})
    set(stamp ${folder_of_stamps}/${name}.ok)
    add_custom_command(OUTPUT ${stamp}
      COMMAND ${clang} -fsyntax-only -Wthread-safety -Werror -include-pch ${common_header}.pch
              -I$<JOIN:${includes},$<SEMICOLON>-I>
              "$<$<BOOL:${definitions}>:-D$<JOIN:${definitions},$<SEMICOLON>-D>>"
              -MD -MT ${stamp} -MF ${stamp}.d ${source}
      COMMAND ${CMAKE_COMMAND} -E touch ${stamp}
      DEPENDS ${source} ${common_header}.pch DEPFILE ${stamp}.d
      COMMENT "Thread safety of ${name}" COMMAND_EXPAND_LISTS VERBATIM)
    list(APPEND stamps ${stamp})
  endforeach()
endforeach()
add_custom_target(rowan_thread_safety DEPENDS ${stamps})
