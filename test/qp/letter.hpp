#pragma once

#include <gnstor/core/hash.hpp>
#include <gnstor/simt/atomic_ref.hpp>

namespace gnstor::test {

/// The data of one request, in memory that both ends reach: what its sender says and what the peer
/// answers.
///
/// Each thing is said twice: in a relaxed word, of which the weak mode shows an older value, and in
/// a plain one, on which ThreadSanitizer sees the race, when the queues lose the order between
/// them.
struct letter {
  std::uint64_t asked = 0;
  std::uint64_t answered = 0;
  std::uint64_t asked_plain = 0;
  std::uint64_t answered_plain = 0;

  GNSTOR_HD static std::uint64_t question(std::uint32_t id) { return mix64(id + 1); }
  GNSTOR_HD static std::uint64_t reply(std::uint32_t id) { return ~mix64(id + 1); }

  GNSTOR_HD void ask(std::uint32_t id) {
    system_word<std::uint64_t>(asked).store(question(id), relaxed);
    asked_plain = question(id);
  }
  /// True if the peer sees what `ask` wrote.
  GNSTOR_HD bool holds_question(std::uint32_t id) {
    return system_word<std::uint64_t>(asked).load(relaxed) == question(id) &&
           asked_plain == question(id);
  }
  GNSTOR_HD void answer(std::uint32_t id) {
    system_word<std::uint64_t>(answered).store(reply(id), relaxed);
    answered_plain = reply(id);
  }
  /// True if the sender sees what `answer` wrote.
  GNSTOR_HD bool holds_reply(std::uint32_t id) {
    return system_word<std::uint64_t>(answered).load(relaxed) == reply(id) &&
           answered_plain == reply(id);
  }
};

}  // namespace gnstor::test
