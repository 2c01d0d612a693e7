#pragma once
/// Everything a kernel needs of gnstor.

#include <gnstor/array/remote_array.hpp>
#include <gnstor/memory/expandable_pool.hpp>
#include <gnstor/memory/memory_pool.hpp>
#include <gnstor/simt/lane.hpp>
#include <gnstor/volume/remote_volume.hpp>
