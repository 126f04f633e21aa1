// Names go into JSON and TOML files, whose text is UTF-8; file systems take any bytes.
#pragma once

#include <string>
#include <string_view>

namespace toroid {

/// True when the text is well-formed UTF-8 (RFC 3629: no overlong forms, no surrogates).
bool is_utf8(std::string_view text);

/// The text for one line of a message: control characters become spaces, and bytes that are not
/// UTF-8 become \xNN, so that what a damaged file held can be shown anywhere.
std::string printable(std::string_view text);

}  // namespace toroid
