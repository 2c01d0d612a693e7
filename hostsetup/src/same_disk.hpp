#pragma once

#include <gnstor/files/mounted_file.hpp>
#include <gnstor/host/session.hpp>

namespace gnstor::host {

/// Throws `input_error` if a volume is striped over several controllers: no file system of Linux
/// lies on it.
/// @param who what messages begin with
void refuse_striped(const volume_info& where, const std::string& who);

/// Throws `input_error` if a file's file system does not lie on this namespace: their superblocks
/// differ. Where this process may not read Linux's block device nothing is compared.
void check_same_disk(session& s, const volume_info& where, const files::mounted_file& file);

}  // namespace gnstor::host
