/// Three hosts on an array behind RDMA: who may read and write what, and when no longer.
#include <gnstor/host/error.hpp>
#include <gnstor/host/session.hpp>

#include <command_line/command_line.hpp>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

namespace {

namespace host = gnstor::host;

constexpr std::uint64_t volume_bytes = 1 << 20;
constexpr std::uint64_t piece_bytes = 65536;

/// Counts what went otherwise than it should.
class referee {
 public:
  void may(const std::string& what, const std::function<void()>& act) { judge(what, act, true); }
  void may_not(const std::string& what, const std::function<void()>& act) {
    judge(what, act, false);
  }
  std::uint32_t wrong() const { return wrong_; }

 private:
  void judge(const std::string& what, const std::function<void()>& act, bool wanted) {
    std::string refusal;
    try {
      act();
    } catch (const host::io_error& e) {
      refusal = e.what();
    }
    const bool right = refusal.empty() == wanted;
    wrong_ += right ? 0 : 1;
    std::printf("%s: %s%s%s\n", right ? "ok" : "WRONG", what.c_str(), refusal.empty() ? "" : ": ",
                refusal.c_str());
  }
  std::uint32_t wrong_ = 0;
};

/// One host: a session under its own name.
struct party {
  party(const std::string& endpoint, const std::string& name)
      : session(endpoint, {.channels = 0, .host_name = name}) {}

  void write(const gnstor::volume_info& volume, unsigned char what) {
    const std::vector<unsigned char> bytes(piece_bytes, what);
    session.write(volume, 0, bytes.data(), bytes.size());
  }
  /// Throws `host::error` if the volume does not hold `what`.
  void read(const gnstor::volume_info& volume, unsigned char what) {
    std::vector<unsigned char> bytes(piece_bytes);
    session.read(volume, 0, bytes.data(), bytes.size());
    if (bytes != std::vector<unsigned char>(piece_bytes, what)) {
      throw host::error("the volume holds other bytes than it should");
    }
  }
  host::session session;
};

/// The information of another host, under this host's client id: what a forger would send.
gnstor::volume_info as(const party& who, gnstor::volume_info volume) {
  volume.client = who.session.client();
  return volume;
}

std::uint32_t play(const std::string& endpoint, bool keep) {
  referee r;
  party owner(endpoint, "owner");
  party reader(endpoint, "reader");
  party stranger(endpoint, "stranger");
  const gnstor::volume_info first = owner.session.create_volume({.bytes = volume_bytes});

  r.may("its creator writes a volume", [&] { owner.write(first, 1); });
  r.may("and reads it", [&] { owner.read(first, 1); });
  r.may_not("a stranger reads it", [&] { stranger.read(as(stranger, first), 1); });
  r.may_not("a stranger writes it", [&] { stranger.write(as(stranger, first), 2); });
  r.may_not("a stranger reads it under the creator's id", [&] { stranger.read(first, 1); });
  r.may_not("a stranger writes it under the creator's id", [&] { stranger.write(first, 2); });
  r.may_not("a stranger opens it", [&] { (void)stranger.session.open_volume(first.vid); });
  r.may_not("a stranger deletes it", [&] { stranger.session.delete_volume(first.vid); });
  r.may_not("a stranger admits itself", [&] { stranger.session.admit(first.vid, "stranger"); });
  owner.session.admit(first.vid, "reader");
  const gnstor::volume_info shared = reader.session.open_volume(first.vid);
  r.may("who opens it reads it", [&] { reader.read(shared, 1); });
  r.may_not("but does not write it beside its writer", [&] { reader.write(shared, 3); });
  r.may_not("nor under the creator's id", [&] { reader.write(first, 3); });
  r.may("the creator's bytes are untouched", [&] { owner.read(first, 1); });
  if (keep) {  // and the right to write it, as a host keeps it that does not end in order
    std::fflush(nullptr);
    std::_Exit(r.wrong() == 0 ? 0 : 1);
  }

  owner.session.delete_volume(first.vid);
  r.may_not("a writer of a deleted volume", [&] { owner.write(first, 4); });
  r.may_not("a reader of a deleted volume", [&] { reader.read(shared, 1); });
  const gnstor::volume_info second = reader.session.create_volume({.bytes = volume_bytes});
  r.may("a new volume belongs to its creator", [&] { reader.write(second, 5); });
  gnstor::volume_info stale = first;
  stale.vid = second.vid;
  r.may_not("a writer left from before", [&] { owner.write(stale, 6); });
  r.may("the new volume's bytes are untouched", [&] { reader.read(second, 5); });
  reader.session.delete_volume(second.vid);
  return r.wrong();
}

}  // namespace

int main(int argc, char** argv) try {
  std::string endpoint;
  bool keep = false;
  gnstor::tools::command_line line("Who may do what on an array");
  line.option("--endpoint", endpoint).required();
  line.flag("--keep", keep, "leaves the first volume there");
  if (const auto code = line.parse(argc, argv)) return *code;
  return play(endpoint, keep) == 0 ? 0 : 1;
} catch (const std::exception& e) {
  std::fprintf(stderr, "interop_rights: %s\n", e.what());
  return 2;
}
