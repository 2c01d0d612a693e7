# gnstor::control_api, the messages and calls of api/gnstor/v1, and gnstor::control, by which
# sessions and gnstorctl ask a daemon; `gnstor_with_control` says whether gRPC was found.
find_package(Protobuf QUIET)
find_package(gRPC CONFIG QUIET)
find_program(GNSTOR_GRPC_PLUGIN grpc_cpp_plugin)
find_program(GNSTOR_PROTOC protoc)
if(NOT (Protobuf_FOUND AND gRPC_FOUND AND GNSTOR_GRPC_PLUGIN AND GNSTOR_PROTOC))
  message(STATUS "gnstor: no gRPC here (libgrpc++-dev, protobuf-compiler-grpc): without gnstord")
  add_custom_target(gnstor_control_messages)
  return()
endif()
set(gnstor_with_control ON)

set(api ${PROJECT_SOURCE_DIR}/api)
set(generated ${PROJECT_BINARY_DIR}/api)
set(proto gnstor/v1/control)
set(sources ${generated}/${proto}.pb.cc ${generated}/${proto}.grpc.pb.cc)
add_custom_command(
  OUTPUT ${sources} ${generated}/${proto}.pb.h ${generated}/${proto}.grpc.pb.h
  COMMAND ${CMAKE_COMMAND} -E make_directory ${generated}
  COMMAND ${GNSTOR_PROTOC} -I ${api} --cpp_out=${generated} --grpc_out=${generated}
          --plugin=protoc-gen-grpc=${GNSTOR_GRPC_PLUGIN} ${api}/${proto}.proto
  DEPENDS ${api}/${proto}.proto VERBATIM)
add_custom_target(gnstor_control_messages DEPENDS ${sources})
add_library(gnstor_control_api STATIC ${sources})
set_target_properties(gnstor_control_api PROPERTIES EXPORT_NAME control_api
                      POSITION_INDEPENDENT_CODE ON)
add_library(gnstor::control_api ALIAS gnstor_control_api)
target_compile_features(gnstor_control_api PUBLIC cxx_std_20)
target_include_directories(gnstor_control_api SYSTEM PUBLIC $<BUILD_INTERFACE:${generated}>)
target_link_libraries(gnstor_control_api PUBLIC gRPC::grpc++ protobuf::libprotobuf)
# Nothing in it is worth optimising: a call takes a hundred times as long as its messages.
target_compile_options(gnstor_control_api PRIVATE -O0 -w)

# gnstor::etcd_api: what gnstord asks of etcd.
set(proto etcd/etcd)
set(sources ${generated}/${proto}.pb.cc ${generated}/${proto}.grpc.pb.cc)
add_custom_command(
  OUTPUT ${sources} ${generated}/${proto}.pb.h ${generated}/${proto}.grpc.pb.h
  COMMAND ${CMAKE_COMMAND} -E make_directory ${generated}
  COMMAND ${GNSTOR_PROTOC} -I ${api} --cpp_out=${generated} --grpc_out=${generated}
          --plugin=protoc-gen-grpc=${GNSTOR_GRPC_PLUGIN} ${api}/${proto}.proto
  DEPENDS ${api}/${proto}.proto VERBATIM)
add_custom_target(gnstor_etcd_messages DEPENDS ${sources})
add_dependencies(gnstor_control_messages gnstor_etcd_messages)
add_library(gnstor_etcd_api STATIC EXCLUDE_FROM_ALL ${sources})
add_library(gnstor::etcd_api ALIAS gnstor_etcd_api)
target_compile_features(gnstor_etcd_api PUBLIC cxx_std_20)
target_include_directories(gnstor_etcd_api SYSTEM PUBLIC ${generated})
target_link_libraries(gnstor_etcd_api PUBLIC gRPC::grpc++ protobuf::libprotobuf)
target_compile_options(gnstor_etcd_api PRIVATE -O0 -w)

file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/hostsetup/src/managed/*.cpp)
add_library(gnstor_daemon STATIC ${sources})
set_target_properties(gnstor_daemon PROPERTIES EXPORT_NAME control POSITION_INDEPENDENT_CODE ON)
add_library(gnstor::control ALIAS gnstor_daemon)
target_include_directories(gnstor_daemon PRIVATE ${PROJECT_SOURCE_DIR}/hostsetup/src)
target_link_libraries(gnstor_daemon PUBLIC gnstor::host PRIVATE gnstor::control_api)
# What sessions look for: the linker takes it, though nothing else of this library is used.
target_link_options(gnstor_daemon INTERFACE "LINKER:-u,gnstor_open_daemon")
gnstor_warnings(gnstor_daemon)
