#!/usr/bin/env bash
# Checks that the C++ sources are formatted as .clang-format says.
#
#   tools/check_format.sh          prints what differs; exit status 1 when something does
#   tools/check_format.sh --fix    formats them
set -euo pipefail
cd "$(dirname "$0")/.."

case ${1:-} in
  "") mode=(--dry-run -Werror) ;;
  --fix) mode=(-i) ;;
  *) echo "usage: tools/check_format.sh [--fix]" >&2; exit 2 ;;
esac
command -v clang-format >/dev/null || {
  echo "check_format.sh: no clang-format; run tools/install_packages.sh test" >&2
  exit 1
}
find src tests bench -name '*.cpp' -o -name '*.h' | sort |
  xargs --no-run-if-empty -P "$(nproc)" -n 16 clang-format --style=file "${mode[@]}"
