#include "homi_client.hpp"

#include <gnstor/host/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

namespace gnstor::host::homi {

std::string socket_path(const std::string& name) {
  return name.find('/') != std::string::npos ? name : "/run/gnstor/homi/" + name;
}

homi_client::homi_client(const std::string& socket, std::uint32_t queues, duration timeout)
    : name_("homi:" + socket),
      timeout_ms_(static_cast<int>(std::min<std::uint64_t>(timeout.ns() / 1'000'000, 600'000))),
      socket_(message_socket::connect(socket)) {
  request r;
  r.what = verb::open;
  r.a = queues;
  put_text(r.program, program_invocation_short_name);
  std::string behind;
  file_descriptor file;
  (void)ask(r, -1, &behind, &file);
  std::size_t at = 0;
  if (!take(behind, at, granted_) || granted_.queue_count == 0 ||
      granted_.queue_count > most_queues || granted_.namespace_count > most_namespaces ||
      !file.is_open() || granted_.doorbell_first >= granted_.doorbell_bytes) {
    throw error(name_ + ": the daemon's answer is not understood: is it of another version?");
  }
  name_ += " (" + text_of(granted_.controller) + ")";
  doorbells_ =
      shared_memory::mapped(std::move(file), granted_.doorbell_offset, granted_.doorbell_bytes);
}

reply homi_client::ask(request r, int file, std::string* behind, file_descriptor* brought) {
  const std::lock_guard lock(use_);
  std::string text;
  append(text, r);
  if (!socket_.is_open() || !socket_.send(text, file)) {
    throw error(name_ + ": gnstor-homid has ended, and the queues with it: open the session again");
  }
  std::optional<message> m = socket_.receive(timeout_ms_);
  reply said;
  std::size_t at = 0;
  if (!m || !take(m->text, at, said)) {
    // What comes later would be taken for the next request's answer.
    socket_ = message_socket();
    throw error(name_ + ": gnstor-homid does not answer: has it ended?");
  }
  if (said.version != protocol_version)
    throw error(name_ + ": gnstor-homid is of another version: install the same one");
  if (said.how == outcome::refused) throw input_error(name_ + ": " + text_of(said.text));
  if (said.how != outcome::done) throw error(name_ + ": " + text_of(said.text));
  if (behind != nullptr) *behind = m->text.substr(at);
  if (brought != nullptr) *brought = std::move(m->file);
  return said;
}

std::uint64_t homi_client::share(const shared_memory& memory, std::uint64_t& id) {
  request r;
  r.what = verb::share;
  r.a = memory.bytes();
  const reply said = ask(r, memory.file());
  id = said.b;
  return said.a;
}

void homi_client::unshare(std::uint64_t id) noexcept {
  try {
    request r;
    r.what = verb::unshare;
    r.a = id;
    (void)ask(r);
  } catch (const std::exception&) {
    // The daemon has ended, and nothing reaches the memory any more.
  }
}

void homi_client::create(std::uint16_t queue, std::uint32_t entries, std::uint64_t submissions,
                         std::uint64_t completions, std::uint32_t priority) {
  request r;
  r.what = verb::create;
  r.a = queue;
  r.b = entries;
  r.c = submissions;
  r.d = completions;
  r.e = priority;
  (void)ask(r);
}

void homi_client::remove(std::uint16_t queue) {
  request r;
  r.what = verb::remove;
  r.a = queue;
  (void)ask(r);
}

std::vector<client_report> homi_client::report(const std::string& socket) {
  const message_socket s = message_socket::connect(socket);
  std::string text;
  append(text, request{});
  const std::optional<message> m = s.send(text) ? s.receive(5000) : std::nullopt;
  reply said;
  std::size_t at = 0;
  if (!m || !take(m->text, at, said) || said.version != protocol_version)
    throw error(socket + ": gnstor-homid does not answer, or is of another version");
  std::vector<client_report> all;
  for (client_report one; all.size() < said.a && take(m->text, at, one);) all.push_back(one);
  return all;
}

}  // namespace gnstor::host::homi
