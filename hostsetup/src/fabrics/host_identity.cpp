#include "host_identity.hpp"

#include <gnstor/core/hash.hpp>
#include <gnstor/host/error.hpp>
#include <gnstor/wire/fabrics/connect_data.hpp>

#include <fmt/format.h>
#include <unistd.h>
#include <uuid/uuid.h>

#include <cstring>
#include <fstream>

namespace gnstor::host::fabrics {
namespace {

/// The first line of a file without blanks at its end; empty if there is none.
std::string first_line(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  const auto end = line.find_last_not_of(" \t\r\n");
  return end == std::string::npos ? std::string{} : line.substr(0, end + 1);
}

std::string machine_name() {
  char name[256] = {};
  if (gethostname(name, sizeof name - 1) != 0) return "unnamed";
  return name;
}

/// A version 8 UUID (RFC 9562: a scheme of one's own) that depends on a name alone.
std::array<std::uint8_t, 16> id_of_name(const std::string& name) {
  std::uint64_t half[2] = {1, 2};
  for (std::uint64_t& h : half)
    for (const char c : name) h = mix64(h + static_cast<unsigned char>(c) + 1);
  std::array<std::uint8_t, 16> id{};
  std::memcpy(id.data(), half, sizeof half);
  id[6] = static_cast<std::uint8_t>((id[6] & 0x0f) | 0x80);
  id[8] = static_cast<std::uint8_t>((id[8] & 0x3f) | 0x80);
  return id;
}

}  // namespace

std::array<std::uint8_t, 16> parse_uuid(const std::string& text) {
  std::array<std::uint8_t, 16> id{};
  std::string dashed = text;
  if (text.size() == 32) {  // as in /etc/machine-id
    for (const std::size_t at : {8, 13, 18, 23}) dashed.insert(at, 1, '-');
  }
  if (uuid_parse(dashed.c_str(), id.data()) != 0) {
    throw input_error(fmt::format(
        "host id '{}': expected a UUID such as 6c616200-0000-4000-8000-000000000001", text));
  }
  return id;
}

std::string uuid_text(const std::array<std::uint8_t, 16>& id) {
  char text[UUID_STR_LEN] = {};
  uuid_unparse_lower(id.data(), text);
  return text;
}

void check_nqn(const std::string& nqn, const char* what) {
  if (nqn.size() < 5 || nqn.compare(0, 4, "nqn.") != 0 ||
      nqn.size() > wire::fabrics::max_nqn_bytes) {
    throw input_error(
        fmt::format("{} '{}': expected an NVMe qualified name, such as "
                    "nqn.2014-08.org.nvmexpress:uuid:..., of at most {} bytes",
                    what, nqn, wire::fabrics::max_nqn_bytes));
  }
}

host_identity host_identity::find(const std::string& nqn, const std::string& id,
                                  const std::filesystem::path& folder,
                                  const std::filesystem::path& machine_id) {
  host_identity who;
  const std::string machine = first_line(machine_id);
  const bool has_id = machine.size() == 32;  // "uninitialized" is none
  const std::string name = machine_name();
  who.id = id_of_name(has_id ? "gnstor:" + machine : name);
  who.nqn = "nqn.2014-08.org.nvmexpress:uuid:" + uuid_text(who.id);
  who.origin = has_id ? fmt::format("made from {}", machine_id.string())
                      : fmt::format("made from the machine's name '{}'", name);
  const std::string file_nqn = first_line(folder / "hostnqn");
  who.generated = nqn.empty() && file_nqn.empty();
  if (!nqn.empty()) {
    who.nqn = nqn;
    who.origin = "as given";
    // Targets want one id a name: an own name does not share the file's id.
    who.id = id_of_name(nqn);
  } else if (!file_nqn.empty()) {
    who.nqn = file_nqn;
    who.origin = fmt::format("of {}", (folder / "hostnqn").string());
    if (const std::string line = first_line(folder / "hostid"); !line.empty())
      who.id = parse_uuid(line);
    else
      who.id = id_of_name(file_nqn);
  }
  if (!id.empty()) who.id = parse_uuid(id);
  check_nqn(who.nqn, "host NQN");
  return who;
}

}  // namespace gnstor::host::fabrics
