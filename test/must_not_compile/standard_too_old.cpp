// A user's file that is compiled as C++17 is refused once, and nothing else.
// flags: -std=c++17
// expect: error: #error gnstor needs C\+\+20: compile with -std=c\+\+20
// at most: 2 errors
#include <gnstor/gnstor.hpp>
