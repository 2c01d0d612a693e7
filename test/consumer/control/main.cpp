/// The installed package with gRPC: a session asks a daemon, here one that is not there.

#include <gnstor/host/control_error.hpp>
#include <gnstor/host/session.hpp>

#include <cstdio>
#include <string>

int main() try {
  const gnstor::host::session session("gnstor://127.0.0.1:1", {.channels = 0});
  return 1;
} catch (const gnstor::host::error& e) {
  std::printf("%s\n", e.what());
  const std::string words = e.what();
#if defined(WITHOUT_CONTROL)
  return words.find("link gnstor::control") == std::string::npos ? 1 : 0;
#else
  return words.find("no daemon answers") == std::string::npos ? 1 : 0;
#endif
}
