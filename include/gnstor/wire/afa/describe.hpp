#pragma once
/// Payload of the ARRAY DESCRIBE command.

#include <gnstor/wire/afa/array_description.hpp>
