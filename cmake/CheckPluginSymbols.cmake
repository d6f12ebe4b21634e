# SPDX-License-Identifier: GPL-2.0-only
# Fails the build if the plugin LIBRARY leaves a symbol of our own namespace or of a bundled library
# undefined: the server would refuse to load it, at run time and with a less clear message.
execute_process(COMMAND ${NM} -DC --undefined-only ${LIBRARY} OUTPUT_VARIABLE symbols
                RESULT_VARIABLE failed)
if(failed)
  message(FATAL_ERROR "${NM} cannot read ${LIBRARY}")
endif()
string(REGEX MATCHALL "U (rowan::|io_uring_|io_submit|io_setup|spdlog::|fmt::)[^\n]*" ours "${symbols}")
if(ours)
  file(REMOVE ${LIBRARY})
  string(REPLACE ";" "\n  " ours "${ours}")
  message(FATAL_ERROR "the plugin refers to symbols nobody defines:\n  ${ours}")
endif()
