/// Any bytes may come from a host: the model answers or gives up, and others go on.
#include "qp/seed_sweep.hpp"
#include "rig.hpp"
#include <gnstor/core/hash.hpp>

using namespace gnstor;
using namespace gnstor::test;

namespace {

/// Draws numbers from one seed.
class dice {
 public:
  explicit dice(std::uint64_t seed) : state_(mix64(seed + 1)) {}
  std::uint64_t word() { return state_ = mix64(state_ + 0x9e3779b97f4a7c15); }
  std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(word() % n); }
  bool one_in(std::uint32_t n) { return below(n) == 0; }

 private:
  std::uint64_t state_;
};

const char* const nqns[] = {"nqn.2014-08.org.nvmexpress.discovery", array_nqn, volume_nqn};

/// A command that may be good: of a known kind, with plausible fields.
submission_entry plausible(dice& d, std::uint16_t qid) {
  static constexpr std::uint8_t admin[] = {0x02, 0x06, 0x08, 0x09, 0x0a, 0x0c, 0x18,
                                           0x7f, 0x7f, 0xc1, 0xc5, 0xc8, 0xca, 0xce};
  static constexpr std::uint8_t io[] = {0x00, 0x01, 0x02, 0x08, 0x09, 0x7f};
  const std::uint8_t opcode = qid == 0 ? admin[d.below(14)] : io[d.below(6)];
  static constexpr std::uint32_t sizes[] = {0, 16, 512, 1024, 4096, 8192, 131072, 0xffffff};
  submission_entry e = host_queue::command(opcode, d.below(4), sizes[d.below(8)]);
  e.command_id = static_cast<std::uint16_t>(d.word());
  e.cdw10 = d.below(256);
  e.cdw11 = d.one_in(2) ? 0 : static_cast<std::uint32_t>(d.word());
  e.cdw12 = d.below(40);
  if (d.one_in(3)) e.dptr.length_key_type |= std::uint64_t{0x0f} << 56;
  if (d.one_in(4)) {
    e.dptr.address = d.below(128);
    e.dptr.length_key_type = sizes[d.below(8)] | std::uint64_t{1} << 56;
  }
  return e;
}

/// A message: a plausible command with up to `flips` bytes changed, of any length.
std::vector<std::byte> message(dice& d, std::uint16_t qid) {
  const submission_entry e = plausible(d, qid);
  std::vector<std::byte> m(64 + (d.one_in(3) ? d.below(4097) : 0));
  std::memcpy(m.data(), &e, 64);
  for (std::uint32_t flips = d.one_in(2) ? d.below(6) : 0; flips > 0; --flips)
    m[d.below(64)] = static_cast<std::byte>(d.word());
  if (d.one_in(20)) m.resize(d.below(64));
  return m;
}

std::vector<std::byte> garbage(dice& d, std::size_t bytes) {
  std::vector<std::byte> g(bytes);
  for (auto& b : g) b = static_cast<std::byte>(d.word());
  return g;
}

/// One hostile host: connects or not, sends what it likes, leaves when it likes.
void misbehave(dice& d, serve::target_model& target, std::uint64_t now) {
  const char* nqn = nqns[d.below(3)];
  std::vector<std::unique_ptr<host_queue>> queues;
  queues.push_back(std::make_unique<host_queue>(target, 0));
  std::uint16_t id = 0xffff;
  if (!d.one_in(8))
    id = static_cast<std::uint16_t>(queues[0]->connect(nqn, bob, 0xffff, d.below(3000)).dw0);
  if (!d.one_in(8)) (void)queues[0]->enable();
  for (std::uint32_t k = d.below(3); k > 0; --k) {
    queues.push_back(std::make_unique<host_queue>(target, static_cast<std::uint16_t>(d.below(20))));
    (void)queues.back()->connect(nqn, bob, d.one_in(8) ? d.below(70) : id);
  }
  for (std::uint32_t k = d.below(40); k > 0; --k) {
    host_queue& q = *queues[d.below(static_cast<std::uint32_t>(queues.size()))];
    q.now_ms = now + d.below(4000);
    const auto m = message(d, q.queue().id());
    const reply r = q.raw(m, garbage(d, d.one_in(2) ? 1024 : 0));
    if (r.step == serve::next_step::give_up) CHECK(m.size() < 64);
    CHECK(r.data.size() <= target.limits().transfer_bytes);
    (void)q.event();
    if (d.one_in(30)) q.queue().close(d.one_in(2));
  }
}

std::string ran(std::uint64_t seed) {
  dice d(seed);
  target_rig rig;
  const auto admin = rig.admin(volume_nqn, alice);
  const auto io = rig.io(volume_nqn, alice);
  const std::vector<std::byte> mine = garbage(d, block_bytes);
  for (int guest = 0; guest < 4; ++guest) {
    const std::uint64_t now = 1000 + 1000 * static_cast<std::uint64_t>(guest);
    rig.volume->writable = true;
    if (io->send(host_queue::io(wire::nvme::nvm_opcode::write, 7, 1), mine).status != 0)
      return "a good host's write failed";
    rig.volume->writable = false;  // what the others send must not change the volume
    misbehave(d, rig.target, now);
    rig.target.tick(now);
    if (io->send(host_queue::io(wire::nvme::nvm_opcode::read, 7, 1)).data != mine)
      return "a good host does not read what it wrote";
    if (admin->identify(0, 1).status != 0) return "a good host's admin queue failed";
  }
  rig.target.tick(1'000'000);
  if (rig.target.associations() != 1) return "an association was left behind";
  if (rig.volume->attached != 1) return "a volume stays attached";
  return "";
}

}  // namespace

TEST_CASE("mutated sequences of hostile hosts leave a good host undisturbed and nothing behind") {
  const std::uint64_t first = number_from("GNSTOR_FIRST_SEED", 1);
  const std::uint64_t count = number_from("GNSTOR_SEEDS", 500);
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    CAPTURE(seed);
    REQUIRE(ran(seed) == "");
  }
}
