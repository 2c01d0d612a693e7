/// Who a host is to a target: given, read from files, or made from its name.

#include <fabrics/host_identity.hpp>
#include <gnstor/host/error.hpp>

#include <doctest/doctest.h>
#include <unistd.h>

#include <fstream>

namespace {

using namespace gnstor;
using host::fabrics::host_identity;

constexpr char uuid[] = "01234567-89ab-cdef-0123-456789abcdef";

/// A folder like /etc/nvme, gone with the test.
struct nvme_folder {
  nvme_folder() : path(std::filesystem::temp_directory_path() / "gnstor-XXXXXX") {
    std::string name = path.string();
    REQUIRE(mkdtemp(name.data()) != nullptr);
    path = name;
  }
  ~nvme_folder() { std::filesystem::remove_all(path); }
  void write(const char* name, const std::string& text) const {
    std::ofstream(path / name) << text;
  }
  std::filesystem::path path;
};

TEST_CASE("a UUID is 16 bytes in the order of its text, and back") {
  const auto id = host::fabrics::parse_uuid(uuid);
  CHECK(id[0] == 0x01);
  CHECK(id[7] == 0xef);
  CHECK(id[15] == 0xef);
  CHECK(host::fabrics::uuid_text(id) == uuid);
  CHECK(host::fabrics::parse_uuid("0123456789ABCDEF0123456789abcdef") == id);
  for (const char* bad :
       {"", "0123", "01234567-89ab-cdef-0123-456789abcdeg", "01234567089ab-cdef-0123-456789abcdef",
        "01234567-89ab-cdef-0123-456789abcde-"}) {
    CHECK_THROWS_AS((void)host::fabrics::parse_uuid(bad), host::input_error);
  }
}

TEST_CASE("a given name wins over the files, which win over the machine's name") {
  const nvme_folder folder;
  const host_identity made = host_identity::find("", "", folder.path);
  CHECK(made.generated);
  CHECK(made.nqn.find("nqn.2014-08.org.nvmexpress:uuid:") == 0);
  CHECK(host_identity::find("", "", folder.path).id == made.id);
  CHECK(made.nqn.substr(made.nqn.size() - 36) == host::fabrics::uuid_text(made.id));

  folder.write("hostnqn", "nqn.2026-11.test:file \n");
  const host_identity nameless = host_identity::find("", "", folder.path);
  CHECK(nameless.nqn == "nqn.2026-11.test:file");
  CHECK_FALSE(nameless.generated);
  folder.write("hostid", std::string(uuid) + "\n");
  CHECK(host_identity::find("", "", folder.path).id == host::fabrics::parse_uuid(uuid));

  const host_identity given = host_identity::find("nqn.2026-11.test:given", "", folder.path);
  CHECK(given.nqn == "nqn.2026-11.test:given");
  CHECK(given.id != host::fabrics::parse_uuid(uuid));
  CHECK(host_identity::find("nqn.2026-11.test:given", uuid, folder.path).id ==
        host::fabrics::parse_uuid(uuid));
}

TEST_CASE("machines of one name are different hosts, by their machine ids") {
  const nvme_folder folder;
  const auto with = [&](const std::string& id) {
    folder.write("machine-id", id);
    return host_identity::find("", "", folder.path, folder.path / "machine-id");
  };
  const std::string one = "0123456789abcdef0123456789abcdef";
  const std::string other = "0123456789abcdef0123456789abcdee";
  const host_identity first = with(one + "\n");
  CHECK(first.generated);
  CHECK_FALSE(first.nqn == with(other).nqn);
  CHECK_FALSE(first.id == with(other).id);
  CHECK(first.nqn == with(one).nqn);
  CHECK(first.nqn.find(one) == std::string::npos);  // the id is this machine's secret
  CHECK(host::fabrics::uuid_text(first.id) != one);
  const host_identity named = with("uninitialized\n");
  CHECK(named.origin.find("name") != std::string::npos);
  CHECK(named.id == host_identity::find("", "", folder.path, folder.path / "no such file").id);
}

TEST_CASE("a malformed name or id is refused, wherever it comes from") {
  const nvme_folder folder;
  CHECK_THROWS_AS((void)host_identity::find("host", "", folder.path), host::input_error);
  CHECK_THROWS_AS((void)host_identity::find("nqn." + std::string(220, 'x'), "", folder.path),
                  host::input_error);
  CHECK_THROWS_AS((void)host_identity::find("", "xyz", folder.path), host::input_error);
  folder.write("hostnqn", "nonsense");
  CHECK_THROWS_WITH_AS((void)host_identity::find("", "", folder.path),
                       doctest::Contains("host NQN 'nonsense'"), host::input_error);
}

}  // namespace
