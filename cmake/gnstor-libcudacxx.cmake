# Defines gnstor::libcudacxx: NVIDIA's C++ library, headers only, needed by a plain host compiler
# too. Comes from GNSTOR_CCCL_DIR, else from the CUDA toolkit, else from where the package
# found it. Serves the build and the package.
if(TARGET gnstor::libcudacxx)
  return()
endif()

set(gnstor_cccl_places ${GNSTOR_CCCL_DIR})
if(NOT gnstor_cccl_places)
  find_package(CUDAToolkit QUIET)
  foreach(dir IN LISTS CUDAToolkit_INCLUDE_DIRS)
    list(APPEND gnstor_cccl_places ${dir}/cccl ${dir})
  endforeach()
  list(APPEND gnstor_cccl_places ${gnstor_cccl_built_with})
endif()

set(gnstor_cccl_found "")
foreach(dir IN LISTS gnstor_cccl_places)
  set(version_file ${dir}/cuda/std/__cccl/version.h)
  if(NOT gnstor_cccl_found AND EXISTS ${version_file})
    file(STRINGS ${version_file} version_line REGEX "#define CCCL_VERSION [0-9]+")
    string(REGEX MATCH "[0-9]+$" version "${version_line}")
    if(version GREATER_EQUAL 3000000)
      set(gnstor_cccl_found ${dir})
    endif()
  endif()
endforeach()

if(NOT gnstor_cccl_found)
  message(FATAL_ERROR
    "libcu++ 3.0 or newer was not found in '${gnstor_cccl_places}'. "
    "Install the CUDA toolkit 13, or run\n"
    "  python3 -m pip install --no-deps --target build/cccl nvidia-cuda-cccl==13.0.85\n"
    "and pass -DGNSTOR_CCCL_DIR=<path of build/cccl>/nvidia/cu13/include/cccl")
endif()
add_library(gnstor::libcudacxx INTERFACE IMPORTED GLOBAL)
# nvcc brings its own copy; a second one on its command line would only shadow it.
target_include_directories(gnstor::libcudacxx SYSTEM INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:${gnstor_cccl_found}>)
