#pragma once
/// The version of gnstor, for programs that are compiled with several; CMake's package has it, too.
/// Until 1.0.0 a minor version may change what is public.

/// To compare: major * 10000 + minor * 100 + patch.
#define GNSTOR_VERSION 100

namespace gnstor {

/// As text; `CMakeLists.txt` reads it here.
inline constexpr const char version_text[] = "0.1.0";

}  // namespace gnstor
