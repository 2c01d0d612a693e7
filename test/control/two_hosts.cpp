/// Two hosts that make, open, write, close and delete volumes of the same few names, as they like.
#include "rig.hpp"

#include <qp/seeds.hpp>

#include <atomic>
#include <map>
#include <random>

using namespace gnstor;
using namespace gnstor::test;

namespace {

constexpr std::uint32_t names = 6;
constexpr std::uint64_t blocks = 16;

/// Who may write each volume, by what tells it from all others, as their hosts believe.
class ledger {
 public:
  /// A host was given the right. False: another one has it.
  bool take(std::uint64_t volume, std::uint32_t host) {
    const std::lock_guard lock(guard_);
    return holders_.emplace(volume, host).second;
  }
  void leave(std::uint64_t volume) {
    const std::lock_guard lock(guard_);
    holders_.erase(volume);
  }
  void deleted(std::uint64_t volume) {
    const std::lock_guard lock(guard_);
    CHECK_FALSE(holders_.contains(volume));      // in use
    CHECK(gone_.insert({volume, true}).second);  // once
  }
  void made(std::uint64_t volume) {
    const std::lock_guard lock(guard_);
    CHECK(made_.insert({volume, true}).second);
  }
  /// What was made and not deleted.
  std::map<std::uint64_t, bool> left() {
    auto all = made_;
    for (const auto& [volume, yes] : gone_) all.erase(volume);
    return all;
  }
  std::size_t count_made() const { return made_.size(); }
  std::size_t count_deleted() const { return gone_.size(); }

 private:
  std::mutex guard_;
  std::map<std::uint64_t, std::uint32_t> holders_;
  std::map<std::uint64_t, bool> made_, gone_;
};

class random_host {
 public:
  random_host(managed_array& array, ledger& all, std::uint32_t number)
      : array_(array),
        all_(all),
        number_(number),
        random_(number),
        client_(array.shared, "host " + std::to_string(number)) {}

  void act() {
    const std::string name = "v" + std::to_string(random_() % names);
    const std::uint32_t what = random_() % 10;
    const auto why = refused([&] {
      if (what < 2) {
        all_.made(array_.create(name, blocks).record.hash_factor);
      } else if (what < 3) {
        remove(name);
      } else {
        write(name);
      }
    });
    ++(why ? refusals_ : done_);
  }
  std::uint32_t done() const { return done_; }
  std::uint32_t refusals() const { return refusals_; }
  std::uint32_t kept() const { return kept_; }

 private:
  void remove(const std::string& name) {
    const auto r = array_.manager->find(name).record;
    array_.manager->remove(r.vid, false, r.hash_factor);
    all_.deleted(r.hash_factor);
  }
  /// Opens a volume, writes it if nobody else may, finds what it wrote, and gives it back.
  void write(const std::string& name) {
    const auto meant = array_.manager->find(name).record;
    const auto r = array_.manager->open(meant.vid, client_.id(), true).record;
    CHECK(all_.take(r.hash_factor, number_));
    const auto bytes = random_bytes(blocks * block_bytes, static_cast<unsigned>(random_()));
    CHECK(client_.write(r, bytes).ok());
    CHECK(client_.holds(r, bytes));
    ++kept_;
    all_.leave(r.hash_factor);
    array_.manager->close(r.vid, client_.id(), true);
  }

  managed_array& array_;
  ledger& all_;
  std::uint32_t number_;
  std::mt19937 random_;
  managed_client client_;
  std::uint32_t done_ = 0, refusals_ = 0, kept_ = 0;
};

}  // namespace

TEST_CASE("two hosts at the same names: no volume is lost, no right is given twice") {
  managed_array array;
  ledger all;
  const std::uint32_t each = number_from("GNSTOR_QUICK", 0) != 0 ? 500 : 5000;
  std::vector<std::unique_ptr<random_host>> hosts;
  for (std::uint32_t h = 1; h <= 2; ++h)
    hosts.push_back(std::make_unique<random_host>(array, all, h));
  std::vector<std::thread> threads;
  for (auto& h : hosts) {
    threads.emplace_back([&h, each] {
      for (std::uint32_t k = 0; k < each; ++k) h->act();
    });
  }
  for (std::thread& t : threads) t.join();
  std::map<std::uint64_t, bool> there;
  for (const host::volume_state& v : array.manager->volumes()) there[v.record.hash_factor] = true;
  CHECK(there == all.left());
  for (const auto& h : hosts) {
    CHECK(h->done() > each / 10);
    CHECK(h->refusals() > each / 20);
    CHECK(h->kept() > each / 10);
  }
  CHECK(all.count_deleted() > 20);
  MESSAGE(all.count_made() << " volumes made, " << all.count_deleted() << " deleted, "
                           << hosts[0]->kept() + hosts[1]->kept() << " times written");
}
