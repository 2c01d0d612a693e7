/// What gnstorctl does with volumes.

#include "commands.hpp"
#include "export_command.hpp"
#include <gnstor/host/control_error.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdlib>
#include <iostream>

namespace gnstor::tools {
namespace {

bool is_number(const std::string& text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

/// Asks for a volume's name at a terminal, unless --yes was said.
void confirm_deletion(const command_words& w) {
  if (w.yes) return;
  fmt::print(stderr, "All data of volume {} will be lost. Type its name again: ", w.volume);
  std::string typed;
  std::getline(std::cin, typed);
  if (typed != w.volume)
    throw host::control_error(host::control_reason::bad_request, "not deleted",
                              "the name was another; --yes asks nothing");
}

}  // namespace

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

command_line& commands::of_volume(command_line& line, const char* word, const char* about) {
  command_line& verb = line.verb(word, about);
  verb.option("VOLUME", w_->volume, "its name or its id").required();
  return verb;
}

void commands::volumes(command_line& line) {
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
    r.set_stripe_bytes(static_cast<std::uint32_t>(std::min<std::uint64_t>(w_->stripe_bytes, ~0u)));
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
                     [this](const v1::TrafficList& t) { return rates_.traffic_text(t); });
       });
  exports(line);
  changes(line);
  rights(line);
}

void commands::exports(command_line& line) {
  command_line& verb =
      of_volume(line, "export", "print the command by which nbdkit exports a volume (NBD)");
  verb.option("--listen", w_->listen, "for clients: unix:PATH or HOST:PORT; a socket in /tmp else");
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

void commands::changes(command_line& line) {
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

void commands::rights(command_line& line) {
  const auto change = [&](const char* word, const char* about, const char* example, auto method) {
    command_line& verb = of_volume(line, word, about);
    verb.option("HOST", w_->host_name, "its NQN, or its session's host_name").required();
    does(verb, example, [this, method](connection& c) {
      v1::ShareVolumeRequest r;
      *r.mutable_volume() = key_of(w_->volume);
      r.set_host(w_->host_name);
      return show(c.call(method, r), volume_text);
    });
  };
  change("share", "let a host read a volume, and write it while nobody else does",
         "gnstorctl volume share edges trainer-1", &v1::Control::Stub::ShareVolume);
  change("unshare", "take all rights to a volume from a host",
         "gnstorctl volume unshare edges trainer-1", &v1::Control::Stub::UnshareVolume);
}

}  // namespace gnstor::tools
