# Real programs as processes of this machine, over the model of rdma-core in ../rdma_model: programs
# processes_<name> for the tests here, and their CTest entries.
if(GNSTOR_SANITIZE)
  return()  # a sanitizer wants to be loaded first
endif()
set(processes ${CMAKE_CURRENT_LIST_DIR})
set(with_model "LD_PRELOAD=$<TARGET_FILE:gnstor_rdma_model>")

# What the model promises, by the classes with which the library uses rdma-core.
add_executable(test_processes ${processes}/verbs.cpp)
target_link_libraries(test_processes PRIVATE test_main gnstor::host)
target_include_directories(test_processes PRIVATE ${PROJECT_SOURCE_DIR}/hostsetup/src)
target_compile_options(test_processes PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-O1>)
gnstor_warnings(test_processes)
add_dependencies(test_processes gnstor_rdma_model)
add_dependencies(host_tests test_processes)
add_test(NAME processes.verbs COMMAND test_processes "--source-file=*/test/processes/verbs.*")
set_tests_properties(processes.verbs PROPERTIES LABELS "host;room-processes" TIMEOUT 120
                     ENVIRONMENT "${with_model}")
# What the lab's guests say of soft-RoCE holds for the model, too.
if(fabrics IN_LIST rooms)
  add_dependencies(test_processes test_fabrics)
  add_test(NAME processes.loopback
           COMMAND test_fabrics "--source-file=*/test/fabrics/loopback.*")
  set_tests_properties(processes.loopback PROPERTIES LABELS "host;room-processes" TIMEOUT 120
                       ENVIRONMENT "${with_model};GNSTOR_TEST_RDMA=127.0.0.1")
endif()

if(GNSTOR_BUILD_TOOLS AND TARGET interop_memory)
  add_dependencies(test_processes interop_client interop_handover interop_rights interop_memory
                   gnstor-target gnstor-memory)
  add_test(NAME processes.unmanaged COMMAND Python3::Interpreter ${processes}/unmanaged.py
           ${PROJECT_BINARY_DIR})
  set_tests_properties(processes.unmanaged PROPERTIES LABELS "host;room-processes" TIMEOUT 120)
endif()

if(NOT gnstor_with_control OR NOT GNSTOR_BUILD_TOOLS OR NOT TARGET interop_managed)
  return()
endif()
add_executable(processes_writer ${processes}/writer.cpp ${processes}/block_log.cpp)
target_link_libraries(processes_writer PRIVATE gnstor::host gnstor::control gnstor_command_line)
gnstor_warnings(processes_writer)
add_dependencies(processes_writer gnstor_rdma_model gnstor-target gnstorctl gnstord)
add_dependencies(test_processes processes_writer interop_managed)
add_test(NAME processes.managed COMMAND Python3::Interpreter ${processes}/managed.py
         ${PROJECT_BINARY_DIR})
set_tests_properties(processes.managed PROPERTIES LABELS "host;room-processes" TIMEOUT 120)
add_test(NAME processes.elsewhere COMMAND Python3::Interpreter ${processes}/managed.py
         ${PROJECT_BINARY_DIR} --elsewhere)
add_test(NAME processes.tls COMMAND Python3::Interpreter ${processes}/managed.py
         ${PROJECT_BINARY_DIR} --tls)
set_tests_properties(processes.tls PROPERTIES LABELS "host;room-processes" TIMEOUT 120)
set_tests_properties(processes.elsewhere PROPERTIES
                     LABELS "host;thorough;room-processes" TIMEOUT 120)
if(TARGET gnstor_nbd)
  add_dependencies(test_processes gnstor_nbd)
  # Debian's Python: it has libnbd's module.
  find_program(GNSTOR_SYSTEM_PYTHON python3 PATHS /usr/bin NO_DEFAULT_PATH)
  add_test(NAME processes.nbd_exports COMMAND ${GNSTOR_SYSTEM_PYTHON} ${processes}/nbd_exports.py
           ${PROJECT_BINARY_DIR})
  set_tests_properties(processes.nbd_exports PROPERTIES LABELS "host;room-processes" TIMEOUT 240
                       SKIP_RETURN_CODE 77)
endif()
# The faults belong to a thorough run: they take minutes.
foreach(fault client twins target both drain dead blank silent fence exchange repair hang default
        upgrade given_up stopped cut self lease asleep kernel)
  add_test(NAME processes.faults.${fault} COMMAND Python3::Interpreter ${processes}/faults.py
           ${PROJECT_BINARY_DIR} --only ${fault})
  set_tests_properties(processes.faults.${fault} PROPERTIES
                       LABELS "host;thorough;room-processes" TIMEOUT 240)
endforeach()
foreach(fault client target both dead daemon drain exchange repair upgrade asleep kernel)
  add_test(NAME processes.faults_elsewhere.${fault} COMMAND Python3::Interpreter
           ${processes}/faults.py ${PROJECT_BINARY_DIR} --only ${fault} --elsewhere)
  set_tests_properties(processes.faults_elsewhere.${fault} PROPERTIES
                       LABELS "host;thorough;room-processes" TIMEOUT 240)
endforeach()
add_test(NAME processes.leaders COMMAND Python3::Interpreter ${processes}/leaders.py
         ${PROJECT_BINARY_DIR})
set_tests_properties(processes.leaders PROPERTIES LABELS "host;thorough;room-processes" TIMEOUT 240
                     SKIP_RETURN_CODE 77)
