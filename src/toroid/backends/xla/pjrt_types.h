// Element types of PJRT buffers. For the client's own .cpp files.
#pragma once

#include <optional>

#include "toroid/base/dtype.h"

namespace toroid {

/// The value of PJRT_Buffer_Type that has the same elements in memory.
int pjrt_type_of(DType dtype);
/// The inverse; nothing where Toroid has no such type.
std::optional<DType> dtype_of_pjrt(int type);

}  // namespace toroid
