#pragma once

#include <gnstor/v1/control.grpc.pb.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace gnstor::host {

/// A connection with a daemon, or with several that stand by for each other: the one that leads is
/// found. Each call throws `control_error`; any thread may call.
class daemon_connection {
 public:
  /// Files in PEM by which both sides prove who they are.
  struct tls_files {
    std::string certificate;
    std::string key;
    std::string authority;  ///< whose daemon is believed; empty: no TLS
  };
  /// @param servers HOST:PORT or unix:PATH; several with commas between them
  /// @param host the NQN of the host that asks, which may do what that one may; empty: whoever the
  /// certificate says, without one an administrator
  daemon_connection(const std::string& servers, std::chrono::milliseconds timeout,
                    const tls_files& tls, std::string host = {});

  using stub = v1::Control::Stub;
  /// Calls `method` of the stub: what it answers.
  template <class Response, class Request>
  Response call(grpc::Status (stub::*method)(grpc::ClientContext*, const Request&, Response*),
                const Request& request) const {
    return ask(method, request, false);
  }
  /// The same of what may be done twice: once more, where the connection was lost on the way, as
  /// that of a daemon that was started again.
  template <class Response, class Request>
  Response repeatable(grpc::Status (stub::*method)(grpc::ClientContext*, const Request&, Response*),
                      const Request& request) const {
    return ask(method, request, true);
  }
  /// Calls the daemon that led last, once and for a short time: what need not be heard.
  template <class Response, class Request>
  void mention(grpc::Status (stub::*method)(grpc::ClientContext*, const Request&, Response*),
               const Request& request, std::chrono::milliseconds most) const {
    const way& to = present();
    grpc::ClientContext context;
    introduce(context);
    context.set_deadline(std::chrono::system_clock::now() + most);
    Response answer;
    check(to, (to.calls.get()->*method)(&context, request, &answer));
  }
  /// Calls `each` for all volumes.
  void volumes(const std::function<void(const v1::Volume&)>& each) const;
  /// Calls `each` for the events from number `from` on; with `follow` until the daemon ends.
  void events(std::uint64_t from, bool follow,
              const std::function<void(const v1::Event&)>& each) const;

 private:
  /// A daemon.
  struct way {
    std::string server;
    std::shared_ptr<grpc::Channel> channel;
    std::unique_ptr<stub> calls;
  };
  /// A call to whichever daemon leads: which may be another one meanwhile.
  struct search {
    std::chrono::steady_clock::time_point begin;
    std::chrono::steady_clock::time_point end;
    std::uint32_t tries = 0;
  };

  template <class Response, class Request>
  Response ask(grpc::Status (stub::*method)(grpc::ClientContext*, const Request&, Response*),
               const Request& request, bool repeatable) const {
    search how = begin();
    for (;;) {
      Response answer;
      const way& to = present();
      const grpc::Status s = attempt(to, method, request, answer, repeatable);
      if (s.ok()) return answer;
      if (!goes_on(how, to, s, repeatable)) check(to, s);
    }
  }
  template <class Response, class Request>
  grpc::Status attempt(const way& to,
                       grpc::Status (stub::*method)(grpc::ClientContext*, const Request&,
                                                    Response*),
                       const Request& request, Response& answer, bool repeatable) const {
    if (const grpc::Status away = reaches(to); !away.ok()) return away;
    grpc::ClientContext context;
    introduce(context);
    limit(context, repeatable);
    return (to.calls.get()->*method)(&context, request, &answer);
  }
  void find_leader() const;
  const way& present() const { return ways_[present_ % ways_.size()]; }
  search begin() const;
  bool goes_on(search& how, const way& to, const grpc::Status& s, bool repeatable) const;
  grpc::Status reaches(const way& to) const;
  bool connects_again(const way& to) const;
  static void notice_loss(const way& to);
  void introduce(grpc::ClientContext& context) const;
  void limit(grpc::ClientContext& context, bool repeatable) const;
  void pass_over(const way& to) const;
  void check(const way& to, const grpc::Status& s) const;

  std::string host_;
  std::string authority_;  ///< file of who signs the daemon's certificate; empty: no TLS
  std::chrono::milliseconds timeout_;
  std::vector<way> ways_;
  mutable std::atomic<std::size_t> present_{0};  ///< the way that led last, modulo their number
};

}  // namespace gnstor::host
