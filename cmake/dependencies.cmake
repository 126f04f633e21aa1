# Everything comes from Debian 12; tools/install_packages.sh names the packages.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
find_package(OpenMP REQUIRED COMPONENTS CXX)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
# Debian's own dnnl-config.cmake asks for OpenCL, which the CPU engine does not need.
find_path(DNNL_INCLUDE oneapi/dnnl/dnnl.hpp REQUIRED)
find_library(DNNL_LIBRARY dnnl REQUIRED)
add_library(dnnl INTERFACE)
target_include_directories(dnnl INTERFACE "${DNNL_INCLUDE}")
target_link_libraries(dnnl INTERFACE "${DNNL_LIBRARY}")
find_package(MPI REQUIRED COMPONENTS C)
find_package(JPEG REQUIRED)
find_package(PNG REQUIRED)
find_package(ZLIB REQUIRED)
find_package(Protobuf REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
pkg_check_modules(ISAL REQUIRED IMPORTED_TARGET libisal)
find_path(TOMLPLUSPLUS_INCLUDE toml++/toml.h REQUIRED)

# The PJRT C API's header is taken from a plugin's package, never copied into the repository.
# The next build after tools/fetch_pjrt.sh configures again by itself.
file(GLOB TOROID_PJRT_HEADER CONFIGURE_DEPENDS "${TOROID_PJRT_DIR}/include/pjrt_c_api.h")
add_library(pjrt_header INTERFACE)
target_compile_definitions(pjrt_header INTERFACE TOROID_PJRT_DIR="${TOROID_PJRT_DIR}")
if(TOROID_PJRT_HEADER)
  message(STATUS "PJRT header: ${TOROID_PJRT_HEADER}")
  target_include_directories(pjrt_header SYSTEM INTERFACE "${TOROID_PJRT_DIR}/include")
else()
  message(STATUS "PJRT header: not found under ${TOROID_PJRT_DIR}; the xla backend will load no "
                 "plugin (run tools/fetch_pjrt.sh, then build again)")
endif()
