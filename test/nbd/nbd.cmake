# Volumes exported by nbdkit: real clients as processes. Not under a sanitizer, which wants to be
# loaded before nbdkit.
if(GNSTOR_SANITIZE OR NOT TARGET gnstor_nbd)
  return()
endif()
add_dependencies(host_tests gnstor_nbd)
# Debian's Python: it has libnbd's module.
find_program(GNSTOR_SYSTEM_PYTHON python3 PATHS /usr/bin NO_DEFAULT_PATH)
set(local_tools)
if(GNSTOR_BUILD_TOOLS)  # which are made later
  add_dependencies(host_tests gnstor-homid gnstor-perf)
  set(local_tools $<TARGET_FILE:gnstor-homid> $<TARGET_FILE:gnstor-perf>)
endif()
add_test(NAME nbd.clients COMMAND ${GNSTOR_SYSTEM_PYTHON} ${CMAKE_CURRENT_LIST_DIR}/clients.py
         $<TARGET_FILE:gnstor_nbd> ${local_tools})
set_tests_properties(nbd.clients PROPERTIES LABELS "host;room-nbd" TIMEOUT 240
                     SKIP_RETURN_CODE 77)
