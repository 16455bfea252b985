// The controller library: everything that its users need.
#pragma once

#include "quietus/adapter.hpp"         // IWYU pragma: export
#include "quietus/connect.hpp"         // IWYU pragma: export
#include "quietus/error.hpp"           // IWYU pragma: export
#include "quietus/glob.hpp"            // IWYU pragma: export
#include "quietus/payload.hpp"         // IWYU pragma: export
#include "quietus/receipt_check.hpp"   // IWYU pragma: export
#include "quietus/sandbox.hpp"         // IWYU pragma: export
#include "quietus/session.hpp"         // IWYU pragma: export
#include "quietus/session_status.hpp"  // IWYU pragma: export
#include "quietus/shell.hpp"           // IWYU pragma: export
#include "quietus/timeouts.hpp"        // IWYU pragma: export
#include "quietus/toml_fault.hpp"      // IWYU pragma: export
#include "quietus/transport.hpp"       // IWYU pragma: export
