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

# A library of the messages and calls of api/<proto>.proto, and a target that only generates them.
set(api ${PROJECT_SOURCE_DIR}/api)
set(generated ${PROJECT_BINARY_DIR}/api)
function(gnstor_proto_library name messages proto)
  set(sources ${generated}/${proto}.pb.cc ${generated}/${proto}.grpc.pb.cc)
  add_custom_command(
    OUTPUT ${sources} ${generated}/${proto}.pb.h ${generated}/${proto}.grpc.pb.h
    COMMAND ${CMAKE_COMMAND} -E make_directory ${generated}
    COMMAND ${GNSTOR_PROTOC} -I ${api} --cpp_out=${generated} --grpc_out=${generated}
            --plugin=protoc-gen-grpc=${GNSTOR_GRPC_PLUGIN} ${api}/${proto}.proto
    DEPENDS ${api}/${proto}.proto VERBATIM)
  add_custom_target(${messages} DEPENDS ${sources})
  add_library(gnstor_${name} STATIC ${sources})
  add_library(gnstor::${name} ALIAS gnstor_${name})
  set_target_properties(gnstor_${name} PROPERTIES EXPORT_NAME ${name}
                        POSITION_INDEPENDENT_CODE ON)
  target_compile_features(gnstor_${name} PUBLIC cxx_std_20)
  target_include_directories(gnstor_${name} SYSTEM PUBLIC $<BUILD_INTERFACE:${generated}>)
  target_link_libraries(gnstor_${name} PUBLIC gRPC::grpc++ protobuf::libprotobuf)
  # Nothing in it is worth optimising: a call takes a hundred times as long as its messages.
  target_compile_options(gnstor_${name} PRIVATE -O0 -w)
endfunction()
gnstor_proto_library(control_api gnstor_control_messages gnstor/v1/control)
# gnstor::etcd_api: what gnstord asks of etcd.
gnstor_proto_library(etcd_api gnstor_etcd_messages etcd/etcd)
set_target_properties(gnstor_etcd_api PROPERTIES EXCLUDE_FROM_ALL ON)
add_dependencies(gnstor_control_messages gnstor_etcd_messages)

file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/hostsetup/src/managed/*.cpp)
add_library(gnstor_daemon STATIC ${sources})
set_target_properties(gnstor_daemon PROPERTIES EXPORT_NAME control POSITION_INDEPENDENT_CODE ON)
add_library(gnstor::control ALIAS gnstor_daemon)
target_include_directories(gnstor_daemon PRIVATE ${PROJECT_SOURCE_DIR}/hostsetup/src)
# OpenSSL's is gRPC's own, which finds it.
target_link_libraries(gnstor_daemon PUBLIC gnstor::host
                      PRIVATE gnstor::control_api OpenSSL::Crypto)
# What sessions look for: the linker takes it, though nothing else of this library is used.
target_link_options(gnstor_daemon INTERFACE "LINKER:-u,gnstor_open_daemon")
gnstor_warnings(gnstor_daemon)
