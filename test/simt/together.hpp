#pragma once
/// Two grids that need each other, as a client and a NIC do; run on both machines.

#include <gnstor/core/bounded.hpp>
#include <gnstor/simt/atomic_ref.hpp>
#include <gnstor/simt/lane.hpp>

namespace gnstor::test {

inline constexpr std::uint32_t exchanges = 100;

/// Words of the exchange, zero at the start.
struct mailbox {
  std::uint32_t request;
  std::uint32_t answer;
  std::uint32_t served;
  std::uint32_t wrong;
};

/// Answers every request with its double.
struct server_kernel {
  template <class Lane>
  GNSTOR_HD void operator()(Lane&, mailbox* box) const {
    std::uint32_t served = 0;
    for (until wait{simt::within(10'000'000'000)}; served < exchanges && wait;) {
      const std::uint32_t asked = system_word<std::uint32_t>(box->request).load(acquire);
      if (asked != served + 1) continue;
      system_word<std::uint32_t>(box->answer)
          .store(2 * asked, release);  // read by client_kernel's acquire
      ++served;
    }
    system_word<std::uint32_t>(box->served).store(served, relaxed);
  }
};

/// Asks `exchanges` times and counts wrong answers.
struct client_kernel {
  template <class Lane>
  GNSTOR_HD void operator()(Lane&, mailbox* box) const {
    std::uint32_t wrong = 0;
    for (std::uint32_t k = 1; k <= exchanges; ++k) {
      system_word<std::uint32_t>(box->request)
          .store(k, release);  // read by server_kernel's acquire
      bool answered = false;
      for (until wait{simt::within(10'000'000'000)}; !answered && wait;) {
        answered = system_word<std::uint32_t>(box->answer).load(acquire) == 2 * k;
      }
      wrong += answered ? 0 : 1;
    }
    system_word<std::uint32_t>(box->wrong).store(wrong, relaxed);
  }
};

/// Runs until word 0 is not 0, and marks each client that had written its word by then.
struct watch_clients {
  template <class Lane>
  GNSTOR_HD void operator()(Lane& lane, std::uint32_t* words) const {
    const system_word<std::uint32_t> stop(words[0]);
    for (until wait{simt::within(10'000'000'000)}; wait && stop.load(acquire) == 0;) {
    }
    for (std::uint32_t k = 1; k < 3 && lane.thread() == 0; ++k) {
      const system_word<std::uint32_t> client(words[k]);
      if (client.load(acquire) == 1) client.store(2, release);
    }
  }
};

/// Writes 1 after a while.
struct late_client {
  std::uint64_t delay_ns;
  template <class Lane>
  GNSTOR_HD void operator()(Lane&, std::uint32_t* word) const {
    for (until wait{simt::within(delay_ns)}; wait;) {
    }
    system_word<std::uint32_t>(*word).store(1, release);
  }
};

}  // namespace gnstor::test
