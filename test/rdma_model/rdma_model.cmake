# The socket model of rdma-core: what LD_PRELOAD puts in its place.
file(GLOB model_sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/*.cpp)
add_library(gnstor_rdma_model MODULE ${model_sources})
target_compile_features(gnstor_rdma_model PRIVATE cxx_std_20)
target_link_libraries(gnstor_rdma_model PRIVATE Threads::Threads)
set(exports ${CMAKE_CURRENT_LIST_DIR}/exports.map)
target_link_options(gnstor_rdma_model PRIVATE -Wl,--version-script=${exports})
set_target_properties(gnstor_rdma_model PROPERTIES LINK_DEPENDS ${exports})
gnstor_warnings(gnstor_rdma_model)
