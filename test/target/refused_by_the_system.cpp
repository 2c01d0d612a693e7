/// What a target does where the system refuses it threads or descriptors.
// not under asan: UBSan opens descriptors to look at objects

#include "host/scarce_threads.hpp"
#include "host/temp_folder.hpp"
#include "verbs/listener.hpp"
#include <gnstor/host/error.hpp>
#include <serve/target_id.hpp>
#include <serve/worker_pool.hpp>

#include <dlfcn.h>
#include <doctest/doctest.h>
#include <sys/resource.h>

#include <filesystem>

using namespace gnstor;
using namespace gnstor::test;

namespace {

int rejected = 0;
int destroyed = 0;
bool counting = false;

/// Nothing can be opened while it lives.
struct no_descriptors {
  no_descriptors() {
    getrlimit(RLIMIT_NOFILE, &before);
    rlimit none = before;
    none.rlim_cur = 0;
    setrlimit(RLIMIT_NOFILE, &none);
  }
  ~no_descriptors() { setrlimit(RLIMIT_NOFILE, &before); }
  rlimit before{};
};

}  // namespace

// The connection manager's, as far as a request that is turned down comes to them.
extern "C" int rdma_reject(rdma_cm_id* id, const void* data, std::uint8_t bytes) {
  using function = int (*)(rdma_cm_id*, const void*, std::uint8_t);
  static const auto real = reinterpret_cast<function>(dlsym(RTLD_NEXT, "rdma_reject"));
  return counting ? (++rejected, 0) : real(id, data, bytes);
}
extern "C" int rdma_destroy_id(rdma_cm_id* id) {
  using function = int (*)(rdma_cm_id*);
  static const auto real = reinterpret_cast<function>(dlsym(RTLD_NEXT, "rdma_destroy_id"));
  return counting ? (++destroyed, 0) : real(id);
}

TEST_CASE("a pool that gets too few threads says so, and ends those it has") {
  if (!threads_can_run_out) return;
  for (int few = 0; few < 4; ++few) {
    threads_left = few;
    CHECK_THROWS_AS(serve::worker_pool(4), host::error);
    threads_left = 1 << 30;
  }
}

TEST_CASE("a connection request that cannot be served for want of descriptors is given back") {
  rdma_cm_id id{};
  host::verbs::cm_event event;
  event.id = &id;
  counting = true;
  rejected = destroyed = 0;
  {
    host::verbs::incoming request(std::move(event));
    const no_descriptors here;
    // It comes not as far as the protection domain.
    const auto& domain =
        *static_cast<const host::verbs::protection_domain*>(static_cast<const void*>(&id));
    CHECK_THROWS_AS((void)std::move(request).prepare(domain, {}), host::error);
  }
  counting = false;
  CHECK(rejected == 1);
  CHECK(destroyed == 1);
}

TEST_CASE("an id file that cannot be opened is not taken for absent") {
  const temp_folder folder;
  const std::uint64_t id = serve::target_id(folder.path());
  {
    const no_descriptors here;
    CHECK_THROWS_AS((void)serve::target_id(folder.path()), host::error);
  }
  CHECK(serve::target_id(folder.path()) == id);
  const std::string path = folder.path("target.id");
  std::filesystem::rename(path, folder.path("elsewhere"));
  for (const char* to : {"target.id", "nowhere"}) {  // a loop, and what is not mounted
    std::filesystem::remove(path);
    std::filesystem::create_symlink(to, path);
    CHECK_THROWS_AS((void)serve::target_id(folder.path()), host::error);
    CHECK(std::filesystem::is_symlink(path));
  }
  std::filesystem::remove(path);
  std::filesystem::rename(folder.path("elsewhere"), path);
  CHECK(serve::target_id(folder.path()) == id);
}
