/// How often a channel rings under each doorbell policy, and that nobody waits for a request the
/// NIC has never seen.
#include "channel_image.hpp"
#include "exchange.hpp"
#include "qp/seed_sweep.hpp"
#include <gnstor/channel/doorbell/batch.hpp>
#include <gnstor/channel/doorbell/every.hpp>
#include <gnstor/channel/doorbell/manual.hpp>

using namespace gnstor;
using namespace gnstor::test;

namespace {

/// An mlx5 queue pair that counts how often it was rung, behind its memory.
class counted_queue_pair : public mlx5_queue_pair<> {
 public:
  using mlx5_queue_pair<>::mlx5_queue_pair;
  void ring() const {
    device_word<std::uint32_t>(*rings_).fetch_add(1, relaxed);
    mlx5_queue_pair<>::ring();
  }
  static inline std::uint32_t rings = 0;

 private:
  std::uint32_t* rings_ = &rings;
};
static_assert(queue_pair<counted_queue_pair>);

template <doorbell_policy Doorbell>
using counted = channel<counted_queue_pair, Doorbell>;

/// A ready channel without a peer: nothing is ever answered.
template <doorbell_policy Doorbell>
struct lone_channel {
  explicit lone_channel(std::uint32_t depth)
      : image(4096 + mlx5_queue_layout::of(depth).bytes + counted<Doorbell>::bytes(depth)),
        ref(make_channel<counted<Doorbell>>(image, depth, 7, 0x101, at)) {
    ref.counters().phase = static_cast<std::uint32_t>(channel_phase::ready);
    counted_queue_pair::rings = 0;
  }
  /// Submits `n` requests, one after another; how often the channel has rung by then.
  std::uint32_t rings_after(std::uint32_t n) {
    for (std::uint32_t k = 0; k < n; ++k) {
      const result<ticket> sent = ref.submit({});
      REQUIRE(sent);
      last = sent.value;
    }
    return counted_queue_pair::rings;
  }
  /// Requests that the doorbell record announces.
  std::uint64_t announced() const { return ref.queue().announced(); }

  fw::queue_attributes at;
  memory_image image;
  counted<Doorbell> ref;
  ticket last{};
};

/// Every lane submits one request and looks whether all that returned before are counted.
template <class Channel>
struct submit_once {
  struct shared {};
  Channel channel;
  std::uint32_t* returned = nullptr;
  std::uint32_t* unpublished = nullptr;

  template <class Lane>
  void operator()(Lane&) const {
    if (!channel.submit({})) return;
    const std::uint32_t so_far = device_word<std::uint32_t>(*returned).fetch_add(1, relaxed) + 1;
    const device_word<std::uint64_t> submitted(channel.counters().submitted);
    if (submitted.fetch_add(0, relaxed) < so_far)
      device_word<std::uint32_t>(*unpublished).fetch_add(1, relaxed);
  }
};

/// Lets `lanes` lanes of one warp submit together. Says what went wrong, or nothing.
template <doorbell_policy Doorbell>
std::string submitted(host::options chosen, std::uint32_t lanes) {
  lone_channel<Doorbell> c(32);
  std::uint32_t returned = 0;
  std::uint32_t unpublished = 0;
  host::executor machine(chosen);
  machine.spawn(1, lanes, submit_once<counted<Doorbell>>{c.ref, &returned, &unpublished});
  const std::string fault = run_to_end(machine);
  if (!fault.empty()) return fault;
  if (returned != lanes) return "a lane could not submit";
  if (Doorbell::may_wait != 0 && unpublished != 0)
    return "submit returned before the request was published";
  return {};
}

}  // namespace

TEST_CASE("lanes that send together ring once, under `every` each for itself") {
  CHECK(submitted<doorbell::leader_warp>({}, 32) == "");
  CHECK(counted_queue_pair::rings == 1);
  CHECK(submitted<doorbell::every>({}, 32) == "");
  CHECK(counted_queue_pair::rings == 32);
  CHECK(submitted<doorbell::batch<32>>({}, 32) == "");
  CHECK(counted_queue_pair::rings == 1);
  CHECK(submitted<doorbell::batch<33>>({}, 32) == "");
  CHECK(counted_queue_pair::rings == 0);
}

TEST_CASE("a batch rings when N requests are unannounced, and not before") {
  lone_channel<doorbell::batch<4>> c(16);
  CHECK(c.rings_after(3) == 0);
  CHECK(c.announced() == 0);
  CHECK(c.rings_after(1) == 1);
  CHECK(c.announced() == 4);
  CHECK(c.rings_after(3) == 1);
  CHECK(c.rings_after(1) == 2);
  CHECK(c.announced() == 8);
}

TEST_CASE("what somebody else announced does not count towards a batch") {
  lone_channel<doorbell::batch<4>> c(16);
  CHECK(c.rings_after(3) == 0);
  c.ref.commit();
  CHECK(c.announced() == 3);
  CHECK(c.rings_after(3) == 1);
  CHECK(c.rings_after(1) == 2);
}

TEST_CASE("a manual channel rings for commit alone, once for all that was submitted") {
  lone_channel<doorbell::manual> c(16);
  CHECK(c.rings_after(10) == 0);
  c.ref.commit();
  CHECK(counted_queue_pair::rings == 1);
  CHECK(c.announced() == 10);
  c.ref.commit();
  CHECK(counted_queue_pair::rings == 1);
}

TEST_CASE("one channel is used under two policies: the same requests, the same doorbell") {
  lone_channel<doorbell::manual> c(16);
  CHECK(c.rings_after(3) == 0);
  const counted<doorbell::leader_warp> usual = c.ref.with<doorbell::leader_warp>();
  CHECK(usual.submit({}));
  CHECK(counted_queue_pair::rings == 1);
  CHECK(c.announced() == 4);
  CHECK(usual.counters().submitted == 4);
}

TEST_CASE("who waits for a request announces it, by whichever call, and once") {
  const deadline now = deadline::after(0, 0);
  lone_channel<doorbell::manual> c(16);
  CHECK(c.rings_after(1) == 0);
  CHECK(c.ref.try_wait(c.last).code == status_code::would_block);
  CHECK(c.announced() == 1);
  CHECK(c.ref.try_wait(c.last).code == status_code::would_block);
  CHECK(counted_queue_pair::rings == 1);
  CHECK(c.rings_after(2) == 1);
  CHECK(c.ref.wait(c.last, now).code == status_code::timed_out);
  CHECK(c.announced() == 3);
  CHECK(counted_queue_pair::rings == 2);
  CHECK(c.ref.execute({}, now).code == status_code::timed_out);
  CHECK(c.announced() == 4);
}

TEST_CASE("a full channel announces what fills it") {
  lone_channel<doorbell::manual> c(4);
  CHECK(c.rings_after(4) == 0);
  CHECK(c.ref.submit({}).status.code == status_code::would_block);
  CHECK(c.announced() == 4);
  CHECK(c.ref.submit({}).status.code == status_code::would_block);
  CHECK(counted_queue_pair::rings == 1);
}

TEST_CASE("announced indices keep their 64 bits where the doorbell record's 16 wrap") {
  for (const std::uint64_t wrap : {std::uint64_t{1} << 16, std::uint64_t{1} << 32}) {
    queue_fixture q(8, 7, wrap - 3);
    q.ref().ring();
    CHECK(q.ref().announced() == wrap - 3);
    REQUIRE(q.ref().try_reserve(8).value == wrap - 3);
    q.ref().publish(wrap - 3, 8);
    CHECK(q.ref().announced() == wrap - 3);
    q.ref().ring();
    CHECK(q.ref().announced() == wrap + 5);
  }
}

TEST_CASE("where requests may wait for a doorbell, submit returns when its request is published") {
  sweep(host::mode::seeded, 200, [](host::options o) { return submitted<doorbell::manual>(o, 4); });
}
