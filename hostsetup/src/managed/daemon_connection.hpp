#pragma once

#include <gnstor/v1/control.grpc.pb.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>

namespace gnstor::host {

/// A connection with a daemon. Each call throws `control_error`; any thread may call.
class daemon_connection {
 public:
  /// Files in PEM by which both sides prove who they are.
  struct tls_files {
    std::string certificate;
    std::string key;
    std::string authority;  ///< whose daemon is believed; empty: no TLS
  };
  /// @param server HOST:PORT or unix:PATH
  /// @param host the NQN of the host that asks, which may do what that one may; empty: whoever the
  /// certificate says, without one an administrator
  daemon_connection(std::string server, std::chrono::milliseconds timeout, const tls_files& tls,
                    std::string host = {});

  using stub = v1::Control::Stub;
  /// Calls `method` of the stub: what it answers.
  template <class Response, class Request>
  Response call(grpc::Status (stub::*method)(grpc::ClientContext*, const Request&, Response*),
                const Request& request) const {
    Response answer;
    check(attempt(method, request, answer));
    return answer;
  }
  /// The same of what may be done twice: once more, where the connection was lost on the way, as
  /// that of a daemon that was started again.
  template <class Response, class Request>
  Response repeatable(grpc::Status (stub::*method)(grpc::ClientContext*, const Request&, Response*),
                      const Request& request) const {
    Response answer;
    grpc::Status s = attempt(method, request, answer);
    if (s.error_code() == grpc::StatusCode::UNAVAILABLE && connects_again()) {
      answer.Clear();
      s = attempt(method, request, answer);
    }
    check(s);
    return answer;
  }
  /// Calls `each` for all volumes.
  void volumes(const std::function<void(const v1::Volume&)>& each) const;
  /// Calls `each` for the events from number `from` on; with `follow` until the daemon ends.
  void events(std::uint64_t from, bool follow,
              const std::function<void(const v1::Event&)>& each) const;

 private:
  template <class Response, class Request>
  grpc::Status attempt(grpc::Status (stub::*method)(grpc::ClientContext*, const Request&,
                                                    Response*),
                       const Request& request, Response& answer) const {
    grpc::ClientContext context;
    notice_loss();
    introduce(context);
    limit(context);
    return (stub_.get()->*method)(&context, request, &answer);
  }
  bool connects_again() const;
  void notice_loss() const;
  void introduce(grpc::ClientContext& context) const;
  void limit(grpc::ClientContext& context) const;
  void check(const grpc::Status& s) const;

  std::string server_;
  std::string host_;
  std::chrono::milliseconds timeout_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<stub> stub_;
};

}  // namespace gnstor::host
