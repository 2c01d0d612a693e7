# The replay of what fuzzers have kept, with the parsers under AddressSanitizer and UBSan whatever
# the rest of the build is under.
set(parsers hostsetup/src/array_replies hostsetup/src/base/error
    hostsetup/src/base/memory_block
    hostsetup/src/fabrics/admin_queue hostsetup/src/fabrics/controller
    hostsetup/src/fabrics/controller_life hostsetup/src/fabrics/controller_limits
    hostsetup/src/fabrics/discovered hostsetup/src/fabrics/discovery
    hostsetup/src/fabrics/host_identity hostsetup/src/fabrics/namespace_info
    hostsetup/src/fabrics/words serve/controller
    serve/identify serve/log_page serve/target_id
    serve/deallocate serve/target_model serve/target_queue)
if(gnstor_with_rdma)
  list(APPEND parsers hostsetup/src/verbs/words)
endif()
list(TRANSFORM parsers PREPEND ${PROJECT_SOURCE_DIR}/)
list(TRANSFORM parsers APPEND .cpp)
# Sanitizers double what it takes to compile: only scripts/test --thorough builds it.
add_executable(test_fuzz EXCLUDE_FROM_ALL ${CMAKE_CURRENT_LIST_DIR}/replay.cpp ${parsers})
set_target_properties(test_fuzz PROPERTIES UNITY_BUILD OFF)
target_include_directories(test_fuzz PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}
  ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/firmware ${PROJECT_SOURCE_DIR}/hostsetup/include
  ${PROJECT_SOURCE_DIR}/hostsetup/src ${PROJECT_SOURCE_DIR}/hostsetup/simt/include)
target_compile_definitions(test_fuzz PRIVATE
  GNSTOR_FUZZ_CORPUS="${CMAKE_CURRENT_LIST_DIR}/corpus")
target_link_libraries(test_fuzz PRIVATE test_main gnstor::gnstor fmt::fmt uuid)
if(gnstor_with_rdma)
  target_compile_definitions(test_fuzz PRIVATE GNSTOR_WITH_RDMA=1)
  target_link_libraries(test_fuzz PRIVATE rdmacm ibverbs)
endif()
# Not vptr: it asks for the type of each base that a parser names, also where its source is not
# linked (serve/block/block_request.hpp).
set(instrumented -fsanitize=address,undefined -fno-sanitize=vptr -fno-sanitize-recover=all)
target_compile_options(test_fuzz PRIVATE -O1 ${instrumented})
target_link_options(test_fuzz PRIVATE ${instrumented})
gnstor_warnings(test_fuzz)
gnstor_test_entries(test_fuzz thorough fuzz "${CMAKE_CURRENT_LIST_DIR}/replay.cpp")
