// Hot loops for several instruction sets in one binary.
#pragma once

// Compiles a function for several instruction sets; the best is chosen when the program starts, so
// that one binary runs everywhere. The sanitizers do not get along with it.
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define TOROID_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define TOROID_CLONES
#endif
// For helpers of such functions, which must become part of them.
#define TOROID_INLINE __attribute__((always_inline)) inline
// After a lambda's parameters, for the same.
#define TOROID_INLINE_LAMBDA __attribute__((always_inline))
