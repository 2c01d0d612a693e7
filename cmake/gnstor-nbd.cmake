# gnstor-plugin.so, for `nbdkit ./gnstor-plugin.so endpoint=...`. Installed as nbdkit finds it:
# `nbdkit gnstor endpoint=...`.
file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/serve/nbd/*.cpp)
add_library(gnstor_nbd MODULE ${sources})
set_target_properties(gnstor_nbd PROPERTIES PREFIX "" OUTPUT_NAME gnstor-plugin
                      LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/nbd)
target_include_directories(gnstor_nbd PRIVATE ${PROJECT_SOURCE_DIR} ${GNSTOR_NBDKIT_HEADERS})
target_link_libraries(gnstor_nbd PRIVATE gnstor::serve)
if(gnstor_with_control)
  target_link_libraries(gnstor_nbd PRIVATE gnstor::control)  # gnstor:// endpoints
endif()
if(TARGET gnstor_metrics)
  target_link_libraries(gnstor_nbd PRIVATE gnstor::metrics)
  target_compile_definitions(gnstor_nbd PRIVATE GNSTOR_WITH_METRICS=1)
endif()
# nbdkit and other plugins see its entry point alone.
target_link_options(gnstor_nbd PRIVATE "LINKER:--exclude-libs,ALL")
gnstor_warnings(gnstor_nbd)
install(PROGRAMS $<TARGET_FILE:gnstor_nbd> DESTINATION ${CMAKE_INSTALL_LIBDIR}/nbdkit/plugins
        RENAME nbdkit-gnstor-plugin.so)
