#pragma once
/// Everything a kernel needs of gnstor.

#include <gnstor/array/cached_reader.hpp>
#include <gnstor/array/mapped_array.hpp>
#include <gnstor/array/memory_array.hpp>
#include <gnstor/array/remote_array.hpp>
#include <gnstor/channel/doorbell/batch.hpp>
#include <gnstor/channel/doorbell/every.hpp>
#include <gnstor/channel/doorbell/leader_warp.hpp>
#include <gnstor/channel/doorbell/manual.hpp>
#include <gnstor/channel/exclusive_channel.hpp>
#include <gnstor/files/file_view.hpp>
#include <gnstor/memory/expandable_pool.hpp>
#include <gnstor/memory/memory_pool.hpp>
#include <gnstor/packet/packet_application.hpp>
#include <gnstor/simt/lane.hpp>
#include <gnstor/simt/warp_number.hpp>
#include <gnstor/volume/exclusive_volume.hpp>
