#pragma once

#include <gnstor/files/mounted_file.hpp>
#include <gnstor/host/session.hpp>

namespace gnstor::host {

/// Throws `input_error` if a file's file system does not lie on this namespace: their superblocks
/// differ. Where this process may not read Linux's block device nothing is compared.
void check_same_disk(session& s, const volume_info& where, const files::mounted_file& file);

}  // namespace gnstor::host
