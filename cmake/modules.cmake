# One static library per module of src/toroid, each linking those before it, and one test program
# per module from the *_test.cpp files beside the sources.

add_library(toroid_flags INTERFACE)
target_include_directories(toroid_flags INTERFACE "${CMAKE_SOURCE_DIR}/src")
target_compile_options(toroid_flags INTERFACE -Wall -Wextra -Wshadow -Wnon-virtual-dtor
                       -Woverloaded-virtual -Wno-missing-field-initializers
                       $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>  # GCC 12 warns inside std::string
                       # where clang 14 leaves a loop scalar, its result is still right
                       $<$<CXX_COMPILER_ID:Clang>:-Wno-pass-failed>)
target_compile_definitions(toroid_flags INTERFACE TOROID_VERSION="${PROJECT_VERSION}"
                           TOROID_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
target_link_libraries(toroid_flags INTERFACE Threads::Threads fmt::fmt)
if(TOROID_SANITIZE)
  target_compile_options(toroid_flags INTERFACE -O1 -fsanitize=address,undefined
                         -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
  target_link_options(toroid_flags INTERFACE -fsanitize=address,undefined)
endif()

if(TOROID_TESTS)
  find_package(GTest REQUIRED)
  enable_testing()
endif()

# Compiles the folder's *.proto files and adds them to the target; "toroid/<folder>/x.pb.h" is the
# include, for .cpp files alone.
function(toroid_protos target folder)
  file(GLOB protos CONFIGURE_DEPENDS RELATIVE "${CMAKE_SOURCE_DIR}/src"
       "${CMAKE_SOURCE_DIR}/src/toroid/${folder}/*.proto")
  set(generated "${CMAKE_BINARY_DIR}/generated")
  foreach(proto ${protos})
    string(REGEX REPLACE "\\.proto$" ".pb" base "${generated}/${proto}")
    add_custom_command(
      OUTPUT "${base}.cc" "${base}.h"
      COMMAND ${CMAKE_COMMAND} -E make_directory "${generated}"
      COMMAND protobuf::protoc "--proto_path=${CMAKE_SOURCE_DIR}/src" "--cpp_out=${generated}"
              "${proto}"
      DEPENDS "${CMAKE_SOURCE_DIR}/src/${proto}" VERBATIM)
    set_source_files_properties("${base}.cc" PROPERTIES COMPILE_OPTIONS -w)
    target_sources(${target} PRIVATE "${base}.cc")
    target_include_directories(${target} SYSTEM PRIVATE "${generated}")
  endforeach()
endfunction()

# toroid_module(<folder> LINK <libraries for this module's own use>)
function(toroid_module folder)
  cmake_parse_arguments(ARG "" "" "LINK" ${ARGN})
  string(REPLACE "/" "_" name "${folder}")
  file(GLOB sources CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/src/toroid/${folder}/*.cpp")
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "(_test|/main)\\.cpp$")
  list(FILTER tests INCLUDE REGEX "_test\\.cpp$")
  if(NOT sources)
    return()
  endif()
  add_library(toroid_${name} STATIC ${sources})
  get_property(earlier GLOBAL PROPERTY TOROID_MODULES)
  target_link_libraries(toroid_${name} PUBLIC toroid_flags PRIVATE ${ARG_LINK})
  toroid_protos(toroid_${name} "${folder}")
  foreach(module ${earlier})
    target_link_libraries(toroid_${name} PUBLIC toroid_${module})
  endforeach()
  # Nearest first, so that one pass of the linker resolves everything.
  set_property(GLOBAL PROPERTY TOROID_MODULES ${name} ${earlier})
  if(TOROID_TESTS AND tests)
    add_executable(${name}_test ${tests})
    target_link_libraries(${name}_test PRIVATE toroid_${name} GTest::gtest_main ${ARG_LINK})
    target_include_directories(${name}_test SYSTEM PRIVATE "${CMAKE_BINARY_DIR}/generated")
    add_test(NAME ${name} COMMAND ${name}_test)
    set_tests_properties(${name} PROPERTIES TIMEOUT 600)
  endif()
endfunction()

# Without the C API's header, backends/xla has a client that says so in place of the real one.
if(TOROID_PJRT_HEADER)
  set(left_out pjrt_absent.cpp pjrt_absent_test.cpp)
else()
  set(left_out pjrt_api.cpp pjrt_api_test.cpp pjrt_buffer.cpp pjrt_client.cpp pjrt_executable.cpp)
endif()
list(TRANSFORM left_out PREPEND "${CMAKE_SOURCE_DIR}/src/toroid/backends/xla/")
set_source_files_properties(${left_out} PROPERTIES HEADER_FILE_ONLY ON)

# In dependency order: a module includes only those above it (tools/check_includes.py).
toroid_module(base LINK spdlog::spdlog PkgConfig::ISAL)
toroid_module(graph)
toroid_module(ops)
toroid_module(passes)
toroid_module(models)
toroid_module(optim)
toroid_module(comm LINK MPI::MPI_C)
toroid_module(backends)
toroid_module(backends/reference)
toroid_module(backends/cpu LINK dnnl OpenMP::OpenMP_CXX)
# A square root that may set errno is no vector instruction.
set_source_files_properties("${CMAKE_SOURCE_DIR}/src/toroid/backends/cpu/local_response_norm.cpp"
                            PROPERTIES COMPILE_OPTIONS -fno-math-errno)
toroid_module(backends/xla LINK ${CMAKE_DL_LIBS} protobuf::libprotobuf pjrt_header)
toroid_module(data LINK JPEG::JPEG PNG::PNG ZLIB::ZLIB PkgConfig::ISAL protobuf::libprotobuf
              nlohmann_json::nlohmann_json)
toroid_module(data/prepare LINK ZLIB::ZLIB nlohmann_json::nlohmann_json)
toroid_module(report LINK PkgConfig::ISAL protobuf::libprotobuf nlohmann_json::nlohmann_json)
toroid_module(train LINK nlohmann_json::nlohmann_json)
toroid_module(cli LINK CLI11::CLI11 nlohmann_json::nlohmann_json)

add_executable(toroid src/toroid/cli/main.cpp)
target_link_libraries(toroid PRIVATE toroid_cli CLI11::CLI11)
