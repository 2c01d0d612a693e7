#pragma once
/// Payloads of the VOLUME commands.

#include <gnstor/wire/afa/volume_chmod.hpp>
#include <gnstor/wire/afa/volume_client.hpp>
#include <gnstor/wire/afa/volume_list.hpp>
#include <gnstor/wire/afa/volume_record.hpp>
