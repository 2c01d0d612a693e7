#include "daemon_connection.hpp"

#include "certificate_file.hpp"
#include <gnstor/host/control_error.hpp>
#include <gnstor/host/text_values.hpp>

#include <control/control_role.hpp>
#include <fmt/format.h>
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <thread>
#include <utility>

namespace gnstor::host {

namespace {

constexpr std::chrono::milliseconds start_time{2000};
/// Of several daemons: how long one is waited for, and how long until one leads.
constexpr std::chrono::milliseconds look_time{200};
constexpr std::chrono::milliseconds election_time{15'000};
/// Of what may be asked of the next one again.
constexpr std::chrono::milliseconds try_time{8'000};

control_reason reason_of(v1::Reason why) {
  switch (why) {
    case v1::REASON_UNKNOWN_VOLUME: return control_reason::unknown_volume;
    case v1::REASON_UNKNOWN_SSD: return control_reason::unknown_ssd;
    case v1::REASON_NAME_EXISTS: return control_reason::name_exists;
    case v1::REASON_NO_ROOM: return control_reason::no_room;
    case v1::REASON_BUSY: return control_reason::busy;
    case v1::REASON_LOST_LEASE: return control_reason::lost_lease;
    case v1::REASON_NOT_ALLOWED: return control_reason::not_allowed;
    case v1::REASON_UNAVAILABLE: return control_reason::unavailable;
    case v1::REASON_BAD_REQUEST: return control_reason::bad_request;
    case v1::REASON_TIMED_OUT: return control_reason::timed_out;
    case v1::REASON_NOT_LEADING: return control_reason::not_leading;
    case v1::REASON_INTERRUPTED: return control_reason::interrupted;
    default: return control_reason::failed;
  }
}

std::shared_ptr<grpc::ChannelCredentials> credentials_of(const daemon_connection::tls_files& tls) {
  if (tls.authority.empty() && tls.certificate.empty() && tls.key.empty())
    return grpc::InsecureChannelCredentials();
  if (tls.authority.empty() || tls.certificate.empty() || tls.key.empty())
    throw input_error(
        "TLS needs all of a certificate, its key, and the authority of the other side");
  return grpc::SslCredentials(
      {pem_in(tls.authority), pem_in(tls.key), certificate_in(tls.certificate)});
}

/// Why a daemon is not reached, as far as the connection says.
control_error unreached(const std::string& server, const std::string& authority,
                        const std::string& said) {
  const auto has = [&](const char* words) { return said.find(words) != std::string::npos; };
  if (has("certificate verify failed") || has("is not in peer certificate")) {
    return {control_reason::unavailable,
            fmt::format("the daemon at {} is not believed: \"{}\" has not signed its certificate, "
                        "or that has expired or names another host ({})",
                        server, authority, said),
            "say who has signed it (tls_ca), or give the daemon a new certificate"};
  }
  if (has("andshake failed")) {
    return {control_reason::unavailable,
            fmt::format("the daemon at {} speaks no TLS, or another protocol ({})", server, said),
            "see whether it was started with a certificate (--tls-cert)"};
  }
  if (has("Socket closed") || has("onnection reset") || has("roken pipe")) {
    return {control_reason::unavailable,
            fmt::format("the daemon at {} has closed the connection: {} ({})", server,
                        authority.empty()
                            ? "it ends, or it wants TLS"
                            : "it ends, speaks no TLS, or does not believe this certificate",
                        said),
            "see what its log says; with TLS it wants a certificate of its own authority's"};
  }
  return {control_reason::unavailable, fmt::format("no daemon answers at {} ({})", server, said),
          std::string("start it (gnstor-target --manage, or gnstord), or say where it is") +
              (authority.empty() ? "" : "; with TLS it believes its own authority's alone")};
}

}  // namespace

daemon_connection::daemon_connection(const std::string& servers, std::chrono::milliseconds timeout,
                                     const tls_files& tls, std::string host)
    : host_(std::move(host)), authority_(tls.authority), timeout_(timeout) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(-1);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 300);
  const auto credentials = credentials_of(tls);
  for (const std::string& one : between_commas(servers)) {
    const auto where = parse_host_port(one);
    if (!one.starts_with("unix:") && (!where || !where->port)) {
      throw input_error(fmt::format(
          "daemons \"{}\": say HOST:PORT, several with commas between them, or unix:PATH",
          servers));
    }
    way w{one, grpc::CreateCustomChannel(one, credentials, arguments), nullptr};
    w.calls = v1::Control::NewStub(w.channel);
    ways_.push_back(std::move(w));
  }
  for (const way& w : ways_) (void)w.channel->GetState(true);
  // A daemon that has just been started is on its way; one that is not there is reported soon.
  if (ways_.size() == 1) (void)connects_again(present());
}

daemon_connection::search daemon_connection::begin() const {
  const auto now = std::chrono::steady_clock::now();
  return {now, now + std::min(timeout_, election_time)};
}

/// Between calls nobody looks at the socket: without this, the first call after a daemon's restart
/// would mostly be lost with the former daemon's connection. One that was on its way may have been
/// carried out, so that only what is `repeatable` is made again.
void daemon_connection::notice_loss(const way& to) {
  if (to.channel->GetState(false) == GRPC_CHANNEL_READY)
    (void)to.channel->WaitForStateChange(GRPC_CHANNEL_READY, std::chrono::system_clock::now());
}

/// Not ok: one of several daemons is not reached, and nothing was sent.
grpc::Status daemon_connection::reaches(const way& to) const {
  notice_loss(to);
  if (ways_.size() == 1 ||
      to.channel->WaitForConnected(std::chrono::system_clock::now() + look_time))
    return grpc::Status::OK;
  v1::Refusal r;
  r.set_reason(v1::REASON_NOT_LEADING);
  r.set_message(fmt::format("no daemon answers at {}", to.server));
  r.set_remedy(authority_.empty()
                   ? "see whether one of them runs, and whether etcd answers them"
                   : "see whether one of them runs and believes this certificate, whether \"" +
                         authority_ + "\" has signed theirs, and whether etcd answers them");
  return {grpc::StatusCode::UNAVAILABLE, r.message(), r.SerializeAsString()};
}

/// True if a call that failed is to be made again, with the same daemon or another one.
bool daemon_connection::goes_on(search& how, const way& to, const grpc::Status& s,
                                bool repeatable) const {
  ++how.tries;
  // One that stands still would be asked for ever.
  if (ways_.size() != 1 && s.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED) {
    pass_over(to);
    return repeatable && std::chrono::steady_clock::now() < how.begin + timeout_;
  }
  if (s.error_code() != grpc::StatusCode::UNAVAILABLE) return false;
  v1::Refusal r;
  const bool refused = !s.error_details().empty() && r.ParseFromString(s.error_details());
  const bool untouched = refused && r.reason() == v1::REASON_NOT_LEADING;
  const bool unknown = !refused || r.reason() == v1::REASON_INTERRUPTED;
  if (!untouched && !(unknown && repeatable)) return false;
  const bool alone = ways_.size() == 1;
  if (alone && !refused) return how.tries == 1 && connects_again(to);
  const auto now = std::chrono::steady_clock::now();
  // One that stands by says so; one that takes over does it soon.
  if (now >= how.end || (alone && untouched && now >= how.begin + start_time)) return false;
  if (how.tries % ways_.size() == 0) std::this_thread::sleep_for(look_time);
  pass_over(to);
  return true;
}

/// Has the next call go to the next daemon, unless another thread has seen to that.
void daemon_connection::pass_over(const way& to) const {
  const auto asked = static_cast<std::size_t>(&to - ways_.data());
  std::size_t seen = present_.load();
  if (seen % ways_.size() == asked) present_.compare_exchange_strong(seen, asked + 1);
}

/// True if a daemon answers there, or does so soon.
bool daemon_connection::connects_again(const way& to) const {
  return to.channel->WaitForConnected(std::chrono::system_clock::now() +
                                      std::min<std::chrono::milliseconds>(timeout_, start_time));
}

void daemon_connection::introduce(grpc::ClientContext& context) const {
  if (!host_.empty()) context.AddMetadata(asking_host, host_);
}

void daemon_connection::limit(grpc::ClientContext& context, bool again) const {
  const auto most = again && ways_.size() != 1 ? std::min(timeout_, try_time) : timeout_;
  context.set_deadline(std::chrono::system_clock::now() + most);
}

void daemon_connection::check(const way& to, const grpc::Status& s) const {
  if (s.ok()) return;
  v1::Refusal r;
  const bool refused = !s.error_details().empty() && r.ParseFromString(s.error_details());
  if (refused && ways_.size() != 1 && r.reason() == v1::REASON_NOT_LEADING) {
    std::string all;
    for (const way& w : ways_) all += (all.empty() ? "" : ", ") + w.server;
    throw control_error(control_reason::not_leading,
                        fmt::format("none of the daemons at {} leads now; {}", all, r.message()),
                        "see what their logs say, and whether etcd answers them");
  }
  if (refused) throw control_error(reason_of(r.reason()), r.message(), r.remedy());
  switch (s.error_code()) {
    case grpc::StatusCode::UNAVAILABLE: throw unreached(to.server, authority_, s.error_message());
    case grpc::StatusCode::UNIMPLEMENTED:
      throw control_error(control_reason::bad_request,
                          fmt::format("the daemon at {} does not know this call", to.server),
                          "it is of another version: use its gnstorctl and library");
    case grpc::StatusCode::DEADLINE_EXCEEDED:
      throw control_error(control_reason::timed_out,
                          fmt::format("the daemon at {} did not answer within {} ms, and may do it "
                                      "yet",
                                      to.server, timeout_.count()),
                          "look at the state before trying again, or allow it more time");
    default:
      throw control_error(control_reason::failed,
                          fmt::format("the daemon at {}: {}", to.server, s.error_message()), "");
  }
}

/// Brings `present` to the daemon that leads.
void daemon_connection::find_leader() const {
  if (ways_.size() != 1) (void)repeatable(&stub::ShowArray, v1::ShowArrayRequest{});
}

void daemon_connection::volumes(const std::function<void(const v1::Volume&)>& each) const {
  search how = begin();
  for (;;) {
    const way& to = present();
    std::vector<v1::Volume> all;
    grpc::Status s = reaches(to);
    if (s.ok()) {
      grpc::ClientContext context;
      introduce(context);
      limit(context, true);
      const auto from = to.calls->ListVolumes(&context, {});
      v1::Volume v;
      while (from->Read(&v)) all.push_back(v);
      s = from->Finish();
    }
    if (!s.ok() && goes_on(how, to, s, true)) continue;
    check(to, s);
    for (const v1::Volume& v : all) each(v);
    return;
  }
}

void daemon_connection::events(std::uint64_t from, bool follow,
                               const std::function<void(const v1::Event&)>& each) const {
  find_leader();
  const way& to = present();
  notice_loss(to);
  grpc::ClientContext context;
  introduce(context);
  if (!follow) limit(context, false);
  v1::ListEventsRequest request;
  request.set_from(from);
  request.set_follow(follow);
  const auto reader = to.calls->ListEvents(&context, request);
  v1::Event e;
  while (reader->Read(&e)) each(e);
  check(to, reader->Finish());
}

}  // namespace gnstor::host
