#include "commands.hpp"

#include "completion.hpp"

#include <fmt/format.h>

#include <utility>

namespace gnstor::tools {

commands::commands(command_line& line, command_words& w) : w_(&w) {
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

std::optional<std::string> commands::without_daemon() const {
  if (script_) return completion_script(w_->shell);
  if (!local_) return {};
  w_->local.format = w_->format;
  return local_(w_->local);
}

void commands::does(command_line& verb, const char* example, command c) {
  verb.example(example);
  verb.when_given([this, c = std::move(c)] { chosen_ = c; });
}

int commands::show_all(connection& c, std::string (*text)(const std::vector<v1::Volume>&)) const {
  std::vector<v1::Volume> volumes;
  c.volumes([&](const v1::Volume& v) { volumes.push_back(v); });
  if (w_->format == "json") {
    for (const v1::Volume& v : volumes) fmt::print("{}\n", json(v));
  } else {
    std::fputs(text(volumes).c_str(), stdout);
  }
  return 0;
}

void commands::array(command_line& line) {
  does(line.verb("show", "epoch, SSDs, capacity, and repairs under way"), "gnstorctl array show",
       [this](connection& c) {
         return show(c.call(&v1::Control::Stub::ShowArray, v1::ShowArrayRequest{}),
                     [this](const v1::Array& a) { return rates_.array_text(a); });
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

void commands::ssds(command_line& line) {
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
  replacement(line);
  const auto move = [&](const char* word, const char* about, const char* example, auto method) {
    command_line& verb = line.verb(word, about);
    verb.option("INDEX", w_->ssd, "of the SSD, from 0").required();
    verb.flag("--cancel", w_->cancel, "call it off: volumes stay where they are by now");
    does(verb, example, [this, method](connection& c) {
      v1::MoveVolumesRequest r;
      r.set_index(w_->ssd);
      r.set_cancel(w_->cancel);
      r.set_spare(w_->spare);
      return show(c.call(method, r), ssds_text);
    });
    return &verb;
  };
  move("drain", "empty an SSD: what it has goes to a spare, or to the SSDs before the last one",
       "gnstorctl ssd drain 3", &v1::Control::Stub::DrainSsd);
  move("add", "give an SSD its share of all volumes that lie on the SSDs before it",
       "gnstorctl ssd add 3", &v1::Control::Stub::AddSsd)
      ->flag("--spare", w_->spare, "no share: have it stand by to serve in another one's place");
}

void commands::replacement(command_line& line) {
  command_line& verb =
      line.verb("replace", "put the SSD in an absent one's place into service: it is filled");
  verb.option("INDEX", w_->ssd, "of the SSD, from 0").required();
  verb.option("--with", w_->with, "INDEX of another SSD that is to serve in its place")
      .range(0, 63);
  does(verb, "gnstorctl ssd replace 2", [this](connection& c) {
    v1::SsdRequest r;
    r.set_index(w_->ssd);
    if (w_->with >= 0) r.set_with(static_cast<std::uint32_t>(w_->with));
    return show(c.call(&v1::Control::Stub::ReplaceSsd, r), ssds_text);
  });
}

void commands::leases(command_line& line) {
  does(line.verb("list", "who may write which volume"), "gnstorctl lease list",
       [this](connection& c) { return show_all(c, leases_text); });
  command_line& revoke =
      of_volume(line, "revoke", "end a host's rights to a volume, whatever it is doing");
  revoke.option("HOST", w_->host_name, "its NQN, or its session's host_name").required();
  does(revoke, "gnstorctl lease revoke edges trainer-1", [this](connection& c) {
    v1::LeaseRequest r;
    *r.mutable_volume() = key_of(w_->volume);
    r.set_host(w_->host_name);
    r.set_all_sessions(true);
    (void)c.call(&v1::Control::Stub::CloseVolume, r);
    return 0;
  });
}

void commands::hosts(command_line& line) {
  does(line.verb("list", "each host: its id, where it connects from, what it may write"),
       "gnstorctl host list", [this](connection& c) {
         return show(c.call(&v1::Control::Stub::ListHosts, v1::ListHostsRequest{}), hosts_text);
       });
  command_line& add =
      line.verb("add", "let a host open volumes, also before it has ever been connected");
  add.option("HOST", w_->host_name, "its NQN, or its session's host_name").required();
  add.option("--volumes", w_->volumes, "their names or ids: all of them, or none").required();
  does(add, "gnstorctl host add trainer-1 --volumes edges", [this](connection& c) {
    v1::AddHostRequest r;
    r.set_host(w_->host_name);
    for (const std::string& v : w_->volumes) *r.add_volumes() = key_of(v);
    return show(c.call(&v1::Control::Stub::AddHost, r), admission_text);
  });
  command_line& remove =
      line.verb("remove", "take all rights to all volumes from a host, whatever it is doing");
  remove.option("HOST", w_->host_name, "its NQN, or its session's host_name").required();
  remove.option("--heir", w_->owner, "the host that owns its volumes from now on");
  does(remove, "gnstorctl host remove trainer-1 --heir trainer-2", [this](connection& c) {
    v1::RemoveHostRequest r;
    r.set_host(w_->host_name);
    r.set_heir(w_->owner);
    return show(c.call(&v1::Control::Stub::RemoveHost, r), removal_text);
  });
}

void commands::locals(command_line& line) {
  const auto does_here = [&](const char* word, const char* about, const char* example, auto action,
                             bool one) {
    command_line& verb = line.verb(word, about);
    if (one) verb.option("ADDRESS", w_->local.address, "DOMAIN:BUS:DEVICE.FUNCTION").required();
    verb.example(example);
    verb.when_given([this, action] { local_ = action; });
    return &verb;
  };
  does_here("list", "each NVMe controller and 82574: who has it, and what its devices are used for",
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

}  // namespace gnstor::tools
