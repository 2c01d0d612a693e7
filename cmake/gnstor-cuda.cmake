# Enables CUDA: finds nvcc, chooses the GPUs it compiles for, and refuses what cannot work in words.
if(NOT CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
  find_program(GNSTOR_NVCC nvcc HINTS /usr/local/cuda/bin)
  if(NOT GNSTOR_NVCC)
    message(FATAL_ERROR
      "GNSTOR_BUILD_CUDA=ON needs nvcc, which is neither in PATH nor in /usr/local/cuda/bin. "
      "Install the CUDA toolkit 13, pass -DCMAKE_CUDA_COMPILER=<path of nvcc>, or leave the option "
      "off: kernels then run in the host runtime.")
  endif()
  set(CMAKE_CUDA_COMPILER ${GNSTOR_NVCC})
endif()

# CMake's own default is the oldest GPU that nvcc knows.
if(NOT CMAKE_CUDA_ARCHITECTURES AND NOT DEFINED ENV{CUDAARCHS})
  set(gnstor_architectures 90)
  if(EXISTS /dev/nvidia0)
    set(gnstor_architectures native)
  endif()
  set(CMAKE_CUDA_ARCHITECTURES ${gnstor_architectures} CACHE STRING
      "GPUs to compile for; by default this machine's, without one sm_90 (Hopper)" FORCE)
endif()
foreach(architecture IN LISTS CMAKE_CUDA_ARCHITECTURES)
  string(REGEX MATCH "^[0-9]+" number "${architecture}")
  if(number AND number LESS 75)
    message(FATAL_ERROR
      "CMAKE_CUDA_ARCHITECTURES=${CMAKE_CUDA_ARCHITECTURES}: sm_${number} is too old, gnstor needs "
      "sm_75 or newer. Use 90 for Hopper, or native for this machine's GPU.")
  endif()
endforeach()

enable_language(CUDA)
if(CMAKE_CUDA_COMPILER_VERSION VERSION_LESS 13.0)
  message(FATAL_ERROR
    "${CMAKE_CUDA_COMPILER} is of version ${CMAKE_CUDA_COMPILER_VERSION}: gnstor needs the CUDA "
    "toolkit 13.0 or newer. Pass -DCMAKE_CUDA_COMPILER=<path of its nvcc>.")
endif()
find_package(CUDAToolkit REQUIRED)
message(STATUS "gnstor: GPU side for CUDA architectures ${CMAKE_CUDA_ARCHITECTURES}")
