/// gnstorctl: what an operator does with an array. It asks gnstord, `api/gnstor/v1/control.proto`;
/// `local` is about this machine, and asks nobody.
///
/// Exit code 0: done; 1: refused, or no daemon answers, with the reason and the remedy on stderr;
/// 3: `array health` found something; others: the command line is wrong.

#include "completion.hpp"
#include "export_command.hpp"
#include "local_command.hpp"
#include "print.hpp"
#include <gnstor/host/control_error.hpp>

#include <command_line/command_line.hpp>
#include <fmt/format.h>
#include <managed/daemon_connection.hpp>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <optional>
#include <thread>

namespace {

using namespace gnstor::tools;
namespace host = gnstor::host;
namespace v1 = gnstor::v1;
using connection = gnstor::host::daemon_connection;

/// All that the command line may say.
struct words {
  std::string server = "127.0.0.1:4422";
  connection::tls_files tls;
  std::string format = "text";
  std::uint32_t timeout_ms = 30'000;
  double watch_s = 0;
  std::uint32_t times = 0;
  bool yes = false;
  bool force = false;
  bool follow = false;
  bool write = false;
  bool unclean = false;
  bool cancel = false;
  bool read_only = false;
  std::uint64_t from = 0;
  std::string volume;
  std::string name;
  std::string labels;
  std::string owner;
  std::string host;
  std::vector<std::string> volumes;
  std::uint64_t bytes = 0;
  std::uint32_t replicas = 0;
  std::uint64_t stripe_bytes = 0;
  std::uint32_t ssd = 0;
  std::uint32_t maintenance_s = 0;
  std::string shell;
  std::string listen;
  local_wanted local;
};

bool is_number(const std::string& text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

/// A volume by its name, or by its id.
v1::VolumeKey key_of(const std::string& text) {
  v1::VolumeKey key;
  if (!is_number(text)) {
    key.set_name(text);
  } else if (text.size() <= 5) {
    key.set_id(static_cast<std::uint32_t>(std::strtoul(text.c_str(), nullptr, 10)));
  } else {
    throw host::control_error(host::control_reason::bad_request, "volume " + text,
                              "ids are 1 to 65535, and names have a letter");
  }
  return key;
}

/// Asks for a volume's name at a terminal, unless --yes was said.
void confirm_deletion(const words& w) {
  if (w.yes) return;
  fmt::print(stderr, "All data of volume {} will be lost. Type its name again: ", w.volume);
  std::string typed;
  std::getline(std::cin, typed);
  if (typed != w.volume)
    throw host::control_error(host::control_reason::bad_request, "not deleted",
                              "the name was another; --yes asks nothing");
}

/// A command: what it does with the daemon. Its exit code.
using command = std::function<int(connection&)>;

class commands {
 public:
  commands(command_line& line, words& w) : w_(&w) {
    array(line.verb("array", "the array as a whole"));
    ssds(line.verb("ssd", "its SSDs"));
    volumes(line.verb("volume", "its volumes"));
    leases(line.verb("lease", "who may write what, and for how long"));
    hosts(line.verb("host", "who is connected, and who is to go"));
    locals(line.verb("local", "NVMe controllers on this machine's bus: no daemon is asked"));
    command_line& completion = line.verb("completion", "a script by which a shell completes words");
    completion.option("SHELL", w_->shell, "bash or zsh").one_of({"bash", "zsh"}).required();
    completion.example("gnstorctl completion bash");
    completion.when_given([this] { script_ = true; });
  }
  /// What is wanted needs no daemon: a script, or something of this machine. What to print.
  std::optional<std::string> without_daemon() const {
    if (script_) return completion_script(w_->shell);
    if (!local_) return {};
    w_->local.format = w_->format;
    return local_(w_->local);
  }
  int run(connection& c) const { return chosen_(c); }

 private:
  template <class Message>
  int show(const Message& m, std::string (*text)(const Message&)) const {
    std::fputs((w_->format == "json" ? json(m) + "\n" : text(m)).c_str(), stdout);
    return 0;
  }
  void does(command_line& verb, const char* example, command c) {
    verb.example(example);
    verb.when_given([this, c = std::move(c)] { chosen_ = c; });
  }
  std::vector<v1::Volume> all(connection& c) const {
    std::vector<v1::Volume> volumes;
    c.volumes([&](const v1::Volume& v) { volumes.push_back(v); });
    return volumes;
  }
  int show_all(connection& c, std::string (*text)(const std::vector<v1::Volume>&)) const {
    const auto volumes = all(c);
    if (w_->format == "json") {
      for (const v1::Volume& v : volumes) fmt::print("{}\n", json(v));
    } else {
      std::fputs(text(volumes).c_str(), stdout);
    }
    return 0;
  }

  void array(command_line& line) {
    does(line.verb("show", "epoch, SSDs, capacity, and repairs under way"), "gnstorctl array show",
         [this](connection& c) {
           return show(c.call(&v1::Control::Stub::ShowArray, v1::ShowArrayRequest{}), array_text);
         });
    does(line.verb("health", "what is wrong, and what to do; exit code 3 if anything is"),
         "gnstorctl array health", [this](connection& c) {
           const auto a = c.call(&v1::Control::Stub::ShowArray, v1::ShowArrayRequest{});
           show(a, health_text);
           return is_healthy(a) ? 0 : 3;
         });
    command_line& events = line.verb("events", "what has happened, the oldest first");
    events.option("--from", w_->from, "number of the first event");
    events.flag("--follow", w_->follow, "wait for those to come, too");
    does(events, "gnstorctl array events --from 1", [this](connection& c) {
      c.events(w_->from, w_->follow, [&](const v1::Event& e) {
        show(e, event_text);
        std::fflush(stdout);
      });
      return 0;
    });
  }

  void ssds(command_line& line) {
    does(line.verb("list", "each SSD: state, capacity, what is free"), "gnstorctl ssd list",
         [this](connection& c) {
           return show(c.call(&v1::Control::Stub::ShowArray, v1::ShowArrayRequest{}), ssds_text);
         });
    const auto change = [&](const char* word, const char* about, const char* example, auto method) {
      command_line& verb = line.verb(word, about);
      verb.option("INDEX", w_->ssd, "of the SSD, from 0").required();
      does(verb, example, [this, method](connection& c) {
        v1::SsdRequest r;
        r.set_index(w_->ssd);
        r.set_force(w_->force);
        r.set_maintenance_s(w_->maintenance_s);
        return show(c.call(method, r), ssds_text);
      });
      return &verb;
    };
    const auto forced = [&](command_line* verb) {
      verb->flag("--force", w_->force, "although a volume needs it: no other SSD has some blocks");
      return verb;
    };
    forced(change("detach", "take an SSD out of the array, as if it had failed",
                  "gnstorctl ssd detach 2", &v1::Control::Stub::DetachSsd));
    forced(change("maintain", "take an SSD out for planned work: replace brings it back",
                  "gnstorctl ssd maintain 2 --for 1800", &v1::Control::Stub::DetachSsd))
        ->option("--for", w_->maintenance_s,
                 "seconds, at most, until what it has counts no more and it is filled whole")
        .range(1, 604'800)
        .required();
    change("replace", "put the SSD in an absent one's place into service: it is filled",
           "gnstorctl ssd replace 2", &v1::Control::Stub::ReplaceSsd);
    const auto move = [&](const char* word, const char* about, const char* example, auto method) {
      command_line& verb = line.verb(word, about);
      verb.option("INDEX", w_->ssd, "of the SSD, from 0").required();
      verb.flag("--cancel", w_->cancel, "call it off: volumes stay where they are by now");
      does(verb, example, [this, method](connection& c) {
        v1::MoveVolumesRequest r;
        r.set_index(w_->ssd);
        r.set_cancel(w_->cancel);
        return show(c.call(method, r), ssds_text);
      });
    };
    move("drain", "empty the last SSD of the volumes on it: detach may follow when none is left",
         "gnstorctl ssd drain 3", &v1::Control::Stub::DrainSsd);
    move("add", "give an SSD its share of all volumes that lie on the SSDs before it",
         "gnstorctl ssd add 3", &v1::Control::Stub::AddSsd);
  }

  command_line& of_volume(command_line& line, const char* word, const char* about) {
    command_line& verb = line.verb(word, about);
    verb.option("VOLUME", w_->volume, "its name or its id").required();
    return verb;
  }

  void volumes(command_line& line) {
    command_line& create = line.verb("create", "make a volume");
    create.option("NAME", w_->name, "1 to 64 bytes that no other volume is called by").required();
    create.option("--size", w_->bytes, "bytes (takes K, M, G, T)").size().required();
    create.option("--replicas", w_->replicas, "1 to 8; 0: 2, or as many as there are SSDs");
    create.option("--stripe", w_->stripe_bytes, "bytes on one SSD in a row; 64K else").size();
    create.option("--owner", w_->owner, "the host that may use it: NQN or session's host_name");
    create.option("--labels", w_->labels, "key=value,... up to 128 bytes");
    does(create, "gnstorctl volume create edges --size 16M --replicas 2", [this](connection& c) {
      v1::CreateVolumeRequest r;
      r.set_name(w_->name);
      r.set_bytes(w_->bytes);
      r.set_replicas(w_->replicas);
      r.set_stripe_bytes(
          static_cast<std::uint32_t>(std::min<std::uint64_t>(w_->stripe_bytes, ~0u)));
      r.set_owner(w_->owner);
      r.set_labels(w_->labels);
      return show(c.call(&v1::Control::Stub::CreateVolume, r), volume_text);
    });
    does(line.verb("list", "all volumes"), "gnstorctl volume list",
         [this](connection& c) { return show_all(c, volumes_text); });
    does(of_volume(line, "show", "one volume, and who may use it"), "gnstorctl volume show edges",
         [this](connection& c) {
           v1::ShowVolumeRequest r;
           *r.mutable_volume() = key_of(w_->volume);
           return show(c.call(&v1::Control::Stub::ShowVolume, r), volume_text);
         });
    does(line.verb("traffic", "what hosts have done with each volume, and how long it took"),
         "gnstorctl volume traffic", [this](connection& c) {
           return show(c.call(&v1::Control::Stub::ListTraffic, v1::ListTrafficRequest{}),
                       traffic_text);
         });
    exports(line);
    changes(line);
    rights(line);
  }

  void exports(command_line& line) {
    command_line& verb =
        of_volume(line, "export", "print the command by which nbdkit exports a volume (NBD)");
    verb.option("--listen", w_->listen,
                "for clients: unix:PATH or HOST:PORT; a socket in /tmp else");
    verb.flag("--read-only", w_->read_only, "take no right to write: another host may");
    does(verb, "gnstorctl volume export edges", [this](connection& c) {
      v1::ShowVolumeRequest r;
      *r.mutable_volume() = key_of(w_->volume);
      (void)c.call(&v1::Control::Stub::ShowVolume, r);  // it is there
      const std::string text =
          export_command({w_->server, w_->tls, w_->volume, w_->listen, w_->read_only});
      if (w_->format == "json") {
        fmt::print("{}\n", nlohmann::json{{"command", text}}.dump());
      } else {
        fmt::print("{}\n", text);
      }
      return 0;
    });
  }

  void changes(command_line& line) {
    command_line& rename = of_volume(line, "rename", "give a volume another name");
    rename.option("NAME", w_->name, "the new one").required();
    does(rename, "gnstorctl volume rename edges old-edges", [this](connection& c) {
      v1::UpdateVolumeRequest r;
      *r.mutable_volume() = key_of(w_->volume);
      r.set_name(w_->name);
      return show(c.call(&v1::Control::Stub::UpdateVolume, r), volume_text);
    });
    command_line& label = of_volume(line, "label", "give a volume other labels");
    label.option("LABELS", w_->labels, "key=value,... up to 128 bytes").required();
    does(label, "gnstorctl volume label edges team=graphs,tier=hot", [this](connection& c) {
      v1::UpdateVolumeRequest r;
      *r.mutable_volume() = key_of(w_->volume);
      r.set_labels(w_->labels);
      return show(c.call(&v1::Control::Stub::UpdateVolume, r), volume_text);
    });
    command_line& grow = of_volume(line, "grow", "give a volume more bytes: who uses it goes on");
    grow.option("--size", w_->bytes, "bytes from now on (takes K, M, G, T)").size().required();
    does(grow, "gnstorctl volume grow edges --size 24M", [this](connection& c) {
      v1::UpdateVolumeRequest r;
      *r.mutable_volume() = key_of(w_->volume);
      r.set_bytes(w_->bytes);
      return show(c.call(&v1::Control::Stub::UpdateVolume, r), volume_text);
    });
    command_line& remove = of_volume(line, "delete", "delete a volume and all of its data");
    remove.flag("--yes", w_->yes, "do not ask for the name again");
    remove.flag("--force", w_->force, "although a host holds a lease to write it");
    does(remove, "gnstorctl volume delete edges --yes", [this](connection& c) {
      confirm_deletion(*w_);
      v1::DeleteVolumeRequest r;
      *r.mutable_volume() = key_of(w_->volume);
      r.set_force(w_->force);
      (void)c.call(&v1::Control::Stub::DeleteVolume, r);
      return 0;
    });
    const auto order = [&](const char* word, const char* about, const char* example, auto method) {
      does(of_volume(line, word, about), example, [this, method](connection& c) {
        v1::ShowVolumeRequest r;
        *r.mutable_volume() = key_of(w_->volume);
        return show(c.call(method, r), volume_text);
      });
    };
    order("scrub", "read every replica, and mend what is damaged", "gnstorctl volume scrub edges",
          &v1::Control::Stub::ScrubVolume);
    order("spread", "spread a volume over one SSD more", "gnstorctl volume spread edges",
          &v1::Control::Stub::SpreadVolume);
  }

  void rights(command_line& line) {
    const auto change = [&](const char* word, const char* about, const char* example, auto method) {
      command_line& verb = of_volume(line, word, about);
      verb.option("HOST", w_->host, "its NQN, or its session's host_name").required();
      does(verb, example, [this, method](connection& c) {
        v1::ShareVolumeRequest r;
        *r.mutable_volume() = key_of(w_->volume);
        r.set_host(w_->host);
        return show(c.call(method, r), volume_text);
      });
    };
    change("share", "let a host read a volume, and write it while nobody else does",
           "gnstorctl volume share edges trainer-1", &v1::Control::Stub::ShareVolume);
    change("unshare", "take all rights to a volume from a host",
           "gnstorctl volume unshare edges trainer-1", &v1::Control::Stub::UnshareVolume);
  }

  void leases(command_line& line) {
    does(line.verb("list", "who may write which volume"), "gnstorctl lease list",
         [this](connection& c) { return show_all(c, leases_text); });
    command_line& revoke =
        of_volume(line, "revoke", "end a host's rights to a volume, whatever it is doing");
    revoke.option("HOST", w_->host, "its NQN, or its session's host_name").required();
    does(revoke, "gnstorctl lease revoke edges trainer-1", [this](connection& c) {
      v1::LeaseRequest r;
      *r.mutable_volume() = key_of(w_->volume);
      r.set_host(w_->host);
      (void)c.call(&v1::Control::Stub::CloseVolume, r);
      return 0;
    });
  }

  void hosts(command_line& line) {
    does(line.verb("list", "each host: its id, where it connects from, what it may write"),
         "gnstorctl host list", [this](connection& c) {
           return show(c.call(&v1::Control::Stub::ListHosts, v1::ListHostsRequest{}), hosts_text);
         });
    command_line& add =
        line.verb("add", "let a host open volumes, also before it has ever been connected");
    add.option("HOST", w_->host, "its NQN, or its session's host_name").required();
    add.option("--volumes", w_->volumes, "their names or ids: all of them, or none").required();
    does(add, "gnstorctl host add trainer-1 --volumes edges", [this](connection& c) {
      v1::AddHostRequest r;
      r.set_host(w_->host);
      for (const std::string& v : w_->volumes) *r.add_volumes() = key_of(v);
      return show(c.call(&v1::Control::Stub::AddHost, r), admission_text);
    });
    command_line& remove =
        line.verb("remove", "take all rights to all volumes from a host, whatever it is doing");
    remove.option("HOST", w_->host, "its NQN, or its session's host_name").required();
    remove.option("--heir", w_->owner, "the host that owns its volumes from now on");
    does(remove, "gnstorctl host remove trainer-1 --heir trainer-2", [this](connection& c) {
      v1::RemoveHostRequest r;
      r.set_host(w_->host);
      r.set_heir(w_->owner);
      return show(c.call(&v1::Control::Stub::RemoveHost, r), removal_text);
    });
  }

  void locals(command_line& line) {
    const auto does_here = [&](const char* word, const char* about, const char* example,
                               auto action, bool one) {
      command_line& verb = line.verb(word, about);
      if (one) verb.option("ADDRESS", w_->local.address, "DOMAIN:BUS:DEVICE.FUNCTION").required();
      verb.example(example);
      verb.when_given([this, action] { local_ = action; });
      return &verb;
    };
    does_here("list",
              "each NVMe controller and 82574: who has it, and what its devices are used for",
              "gnstorctl local list", list_controllers, false);
    command_line& clients = line.verb("clients", "who has queues of a gnstor-homid");
    clients.option("NAME", w_->local.address, "of the daemon, or its socket's path").required();
    clients.example("gnstorctl local clients default");
    clients.when_given([this] { local_ = list_clients; });
    does_here("bind", "take a controller from the kernel, for endpoints nvme:// and eth://",
              "gnstorctl local bind 0000:01:00.0", bind_controller, true)
        ->option("--driver", w_->local.driver,
                 "vfio-pci (behind an IOMMU), or none (no IOMMU); auto: what this machine has")
        .one_of({"auto", "vfio-pci", "none"})
        .show_default();
    does_here("release", "give it back to the driver that had it, also after a crash",
              "gnstorctl local release 0000:01:00.0", release_controller, true);
  }

  words* w_;
  command chosen_;
  std::string (*local_)(const local_wanted&) = nullptr;
  bool script_ = false;
};

/// `gnstorctl complete WORD...`: what may stand in the place of the last word.
int completed(const command_line& line, words& w, std::vector<std::string> typed) {
  if (typed.empty()) typed.emplace_back();
  for (std::size_t k = 0; k + 1 < typed.size(); ++k) {
    if (typed[k] == "--server") w.server = typed[k + 1];
  }
  complete(line, typed, [&] {
    return std::make_unique<connection>(w.server, std::chrono::milliseconds(1000), w.tls);
  });
  return 0;
}

/// Does a command again and again, at a terminal always at the top of the screen.
int watch(const commands& all, connection& daemon, const words& w) {
  const bool terminal = isatty(STDOUT_FILENO) != 0;
  for (std::uint32_t k = 1;; ++k) {
    if (terminal) std::fputs("\x1b[H\x1b[2J", stdout);
    const int code = all.run(daemon);
    std::fflush(stdout);
    if (k == w.times) return code;
    std::this_thread::sleep_for(std::chrono::duration<double>(w.watch_s));
  }
}

}  // namespace

int main(int argc, char** argv) try {
  words w;
  if (const char* server = std::getenv("GNSTOR_SERVER")) w.server = server;
  command_line line("Operates an array: asks the gnstord that manages it");
  line.option("--server", w.server,
              "HOST:PORT or unix:PATH of gnstord, several with commas; else GNSTOR_SERVER")
      .show_default();
  line.option("--tls-cert", w.tls.certificate,
              "FILE in PEM: who is asking, for admin:WHO or host:NAME");
  line.option("--tls-key", w.tls.key, "FILE in PEM: its key");
  line.option("--tls-ca", w.tls.authority, "FILE in PEM: who signs the daemon's certificate");
  line.option("--format", w.format, "text or json").one_of({"text", "json"}).show_default();
  line.option("--timeout", w.timeout_ms, "milliseconds that a call may take")
      .range(1, 600'000)
      .show_default();
  line.option("--watch", w.watch_s, "do it again after so many seconds, until interrupted")
      .positive();
  line.option("--times", w.times, "with --watch: end after so many times");
  const commands all(line, w);
  if (argc > 1 && std::string_view(argv[1]) == "complete")
    return completed(line, w, {argv + 2, argv + argc});
  if (const auto code = line.parse(argc, argv)) return *code;
  if (const auto text = all.without_daemon()) {
    std::fputs(text->c_str(), stdout);
    return 0;
  }
  connection daemon(w.server, std::chrono::milliseconds(w.timeout_ms), w.tls);
  return w.watch_s > 0 ? watch(all, daemon, w) : all.run(daemon);
} catch (const host::control_error& e) {
  const char* line = e.remedy().empty() ? "" : "\n  ";
  fmt::print(stderr, "gnstorctl: {}{}{}\n", e.complaint(), line, e.remedy());
  return 1;
} catch (const std::exception& e) {
  fmt::print(stderr, "gnstorctl: {}\n", e.what());
  return 1;
}
