#pragma once
/// What gnstorctl prints: tables for people, JSON for programs.

#include <gnstor/v1/control.pb.h>

#include <string>
#include <vector>

namespace gnstor::tools {

/// Lines of columns, each as wide as it has to be; the first row is the head.
std::string table(const std::vector<std::vector<std::string>>& rows);
/// A number of bytes in the largest unit that leaves no more than two digits after the point.
std::string in_units(std::uint64_t bytes);
/// A text without what a terminal would obey.
std::string printable(const std::string& text);

std::string volume_text(const v1::Volume& v);
std::string volumes_text(const std::vector<v1::Volume>& volumes);
std::string leases_text(const std::vector<v1::Volume>& volumes);
std::string traffic_text(const v1::TrafficList& traffic);
/// Of what was done in the last `seconds`: per second.
std::string traffic_text(const v1::TrafficList& traffic, double seconds);
std::string hosts_text(const v1::HostList& hosts);
std::string admission_text(const v1::HostAdmission& done);
std::string removal_text(const v1::HostRemoval& done);
std::string array_text(const v1::Array& a);
/// With the pace of repairs since `before`, which was `seconds` ago.
std::string array_text(const v1::Array& a, const v1::Array& before, double seconds);
std::string ssds_text(const v1::Array& a);
std::string event_text(const v1::Event& e);
/// In a line what is wrong, each with a remedy; "healthy" if nothing is.
std::string health_text(const v1::Array& a);
bool is_healthy(const v1::Array& a);
/// A message as JSON, with the names of the .proto file.
std::string json(const google::protobuf::Message& m);

}  // namespace gnstor::tools
